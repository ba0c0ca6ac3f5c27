"""The class archive of drivers: made in the background from what a pipeline has loaded.

A driver's JVM spends most of its start on loading and verifying some fifteen thousand classes. A
pipeline that runs without an archive lists the classes it loads, which costs it nothing one could
measure. When it has ended, a process of the lowest priority makes the archive from that list, in a
minute or so, and is gone. The JVM could also write the archive when it ends, but recording for
that doubles its start, and the user would wait for its end.

An archive that does not fit, or is damaged, is ignored by the JVM.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.java import ClassArchive

if TYPE_CHECKING:
    from collections.abc import Sequence

DUMP_TIMEOUT_SECONDS = 900
"""On an idle machine it takes one minute; at the lowest priority it may have to wait for others."""

LATE_CLASSES = frozenset(
    {
        "org/apache/spark/sql/execution/python/MapInArrowExec",
        "org/apache/spark/sql/execution/streaming/checkpointing/CommitMetadata",
    }
)
"""In the list of a driver that has called Python workers and finished a batch; lists without them
lack what makes starts slow."""

_DUMP_OPTIONS = ("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def use_options(archive: ClassArchive, class_list: Path | None) -> tuple[str, ...]:
    """Return the JVM options that use the archive, or, without one, write `class_list`."""
    if archive.path.exists():
        return (f"-XX:SharedArchiveFile={archive.path}", "-Xshare:auto")
    return (f"-XX:DumpLoadedClassList={class_list}",) if class_list else ()


def make_later(archive: ClassArchive, class_list: Path, java: Sequence[str]) -> None:
    """Have the archive made by a process that outlives this one, if the list is worth it.

    Args:
        archive: where it goes.
        class_list: what a JVM has loaded; is removed in the end.
        java: the command line of that JVM up to and with its class path.
    """
    if not _is_complete(class_list):
        class_list.unlink(missing_ok=True)
        return
    maker = [sys.executable, "-m", __name__, str(archive.path), str(class_list), *java]
    # The shell ends at once, so that nobody has to wait for the maker.
    subprocess.run(
        ["/bin/sh", "-c", '"$@" &', "sh", *maker],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        check=False,
    )


def make(archive: ClassArchive, class_list: Path, java: Sequence[str]) -> None:
    """Make the archive now, unless somebody else does; remove `class_list`."""
    with archive.path.with_suffix(".lock").open("w") as lock, suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        recording = archive.new_recording()
        if recording is not None:
            archive.adopt(recording, complete=_dumped(recording, class_list, java))
    class_list.unlink(missing_ok=True)


def _dumped(recording: Path, class_list: Path, java: Sequence[str]) -> bool:
    command = [
        *(java[0], *_DUMP_OPTIONS, *java[1:]),
        "-Xshare:dump",
        f"-XX:SharedClassListFile={class_list}",
        f"-XX:SharedArchiveFile={recording}",
    ]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=DUMP_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _is_complete(class_list: Path) -> bool:
    try:
        lines = class_list.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    # A line has the name of a class, and then where it came from.
    return {line.partition(" ")[0] for line in lines} >= LATE_CLASSES


def main(arguments: Sequence[str]) -> None:
    """Make the archive named first from the list named second, with the Java of the rest."""
    os.nice(19)
    archive, class_list, *java = arguments
    make(ClassArchive(Path(archive)), Path(class_list), java)


if __name__ == "__main__":
    main(sys.argv[1:])
