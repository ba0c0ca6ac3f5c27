"""A disk that can be made full: a small one in memory for root, else a limit for the JVM."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SIZE = "256m"
_CHUNK = b"x" * (1 << 20)


class Disk:
    """Where checkpoints are."""

    def __init__(self, folder: Path, *, is_mounted: bool) -> None:
        self.folder = folder
        self.is_mounted = is_mounted

    @classmethod
    @contextmanager
    def mounted(cls, folder: Path) -> Iterator[Disk]:
        """Put one at `folder` while the block runs."""
        folder.mkdir(parents=True)
        is_mounted = os.geteuid() == 0 and _ran(
            "mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)
        )
        try:
            yield cls(folder, is_mounted=is_mounted)
        finally:
            if is_mounted:
                _ran("umount", "--lazy", str(folder))

    @contextmanager
    def full(self, writers: Iterable[psutil.Process]) -> Iterator[None]:
        """Let nothing more be written while the block runs, by `writers` at least."""
        if self.is_mounted:
            ballast = self.folder / "ballast"
            try:
                _fill(ballast)
                yield
            finally:
                ballast.unlink()
            return
        limited = list(writers)
        for process in limited:
            process.rlimit(psutil.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        try:
            yield
        finally:
            for process in limited:
                with suppress(psutil.Error):
                    infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                    process.rlimit(psutil.RLIMIT_FSIZE, infinite)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        for chunk in (_CHUNK, b"x"):  # to the last byte
            try:
                while True:
                    file.write(chunk)
            except OSError as err:
                if err.errno != errno.ENOSPC:
                    raise


def _ran(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
