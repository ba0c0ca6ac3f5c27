"""Reading log files: the last lines, and what comes after them."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from io import TextIOWrapper
from pathlib import Path


def tail_log(path: Path, count: int) -> list[str]:
    """Return the last `count` lines of the file; none when it does not exist yet."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def follow_log(
    path: Path, *, pause: Callable[[], None], count: int = 0
) -> Generator[str, None, None]:
    """Yield lines as they are written from now on, also into the file that a rotation begins.

    Args:
        path: the current log file.
        pause: called when there is nothing new; a file has no way to tell.
        count: begin with so many lines of what is there; nothing is lost between them and the rest.
    """
    while not path.exists():
        pause()
    is_first = True
    while True:
        with path.open(encoding="utf-8", errors="replace") as file:
            if is_first:
                yield from (line.rstrip("\n") for line in deque(file, maxlen=count))
            yield from _lines_until_rotation(path, file, pause)
        is_first = False


def _lines_until_rotation(
    path: Path, file: TextIOWrapper, pause: Callable[[], None]
) -> Iterator[str]:
    partial = ""
    while True:
        chunk = file.readline()
        if chunk.endswith("\n"):
            yield partial + chunk.rstrip("\n")
            partial = ""
        elif chunk:
            partial += chunk
        elif _was_rotated(path, file):
            return
        else:
            pause()


def _was_rotated(path: Path, file: TextIOWrapper) -> bool:
    """Return whether the name now belongs to another file, or to the same cut short."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(file.fileno())
    return named.st_ino != opened.st_ino or named.st_size < file.tell()
