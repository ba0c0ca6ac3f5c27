"""What a driver that died has left behind: found by its environment, and ended.

Java ends by itself when the process that started it is gone; this is for the Java that does not,
and for a driver whose keeper died. Process ids in a file may be stale, the environment is not.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from penstock.control.kept import KEEPER_VARIABLE

if TYPE_CHECKING:
    from penstock.control.kept import KeptFolder

_GRACE_SECONDS, _PAUSE_SECONDS = 10.0, 0.05


def find_leftovers(folder: KeptFolder) -> list[psutil.Process]:
    """Return the processes that a driver of this pipeline has started, and the driver itself."""
    return [process for process in psutil.process_iter() if _is_left(process, folder)]


def end_leftovers(folder: KeptFolder) -> int:
    """End what is left, politely and then for certain; return how many processes there were."""
    leftovers = find_leftovers(folder)
    for process in leftovers:
        _signal(process, force=False)
    for process in _still_there(leftovers, folder):
        _signal(process, force=True)
    return len(leftovers)


def _still_there(processes: list[psutil.Process], folder: KeptFolder) -> list[psutil.Process]:
    """Return those that have not ended after the time they have for it."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while left := [process for process in processes if _is_left(process, folder)]:
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE_SECONDS)
    return left


def _is_left(process: psutil.Process, folder: KeptFolder) -> bool:
    try:
        # A process that has ended is there until its parent takes notice, with no environment.
        return process.environ().get(KEEPER_VARIABLE) == str(folder.root)
    except psutil.Error:
        return False  # ended meanwhile, or another user's


def _signal(process: psutil.Process, *, force: bool) -> None:
    with suppress(psutil.NoSuchProcess):
        process.kill() if force else process.terminate()
