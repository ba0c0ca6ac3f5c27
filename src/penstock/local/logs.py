"""Reading the log files of a platform: the last lines, and what comes after them."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path


def tail_log(path: Path, count: int) -> list[str]:
    """Return the last `count` lines of the file; none when it does not exist yet."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def follow_log(path: Path, *, pause: Callable[[], None]) -> Iterator[str]:
    """Yield lines as they are written from now on, also into the file that a rotation begins.

    Args:
        path: the current log file.
        pause: called when there is nothing new; a file has no way to tell.
    """
    while not path.exists():
        pause()
    file = _open(path)
    file.seek(0, 2)
    partial = ""
    while True:
        chunk = file.readline()
        if chunk.endswith("\n"):
            yield partial + chunk.rstrip("\n")
            partial = ""
        elif chunk:
            partial += chunk
        elif _was_rotated(path, file):
            file.close()
            file = _open(path)
        else:
            pause()


def _open(path: Path) -> TextIOWrapper:
    return path.open(encoding="utf-8", errors="replace")


def _was_rotated(path: Path, file: TextIOWrapper) -> bool:
    """Return whether the name now belongs to another file, or to the same cut short."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(file.fileno())
    return named.st_ino != opened.st_ino or named.st_size < file.tell()
