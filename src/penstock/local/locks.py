"""Locks on files, which end with the process that holds them, however it ends.

One that is held tells that its process lives; another lets processes take turns.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PROBE_SECONDS, _PAUSE_SECONDS = 1.0, 0.02
"""How long those may take who have the lock for a moment, to see whether it is held."""


def is_held(path: Path) -> bool:
    """Whether a process holds the lock; its folder is there."""
    with _opened(path) as lock:
        # Shared: those who only ask do not take each other for one who holds it.
        return not _taken(lock, fcntl.LOCK_SH)


def hold(path: Path) -> int | None:
    """Take the lock until this process ends; None when another holds it."""
    lock = _open(path)
    deadline = time.monotonic() + _PROBE_SECONDS
    while not _taken(lock, fcntl.LOCK_EX):
        if time.monotonic() > deadline:
            os.close(lock)
            return None
        time.sleep(_PAUSE_SECONDS)
    return lock


@contextmanager
def turn(path: Path, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep others away meanwhile; `on_wait` is called once if one must wait for them."""
    with _opened(path) as lock:
        if not _taken(lock, fcntl.LOCK_EX):
            on_wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    lock = _open(path)
    try:
        yield lock
    finally:
        os.close(lock)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _taken(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
