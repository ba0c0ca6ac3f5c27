"""What a driver that died has left behind: found by its environment, and ended.

Java ends by itself when the process that started it is gone; this is for the Java that does not,
and for a driver whose keeper died. Process ids in a file may be stale, the environment is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from penstock.control.kept import KEEPER_VARIABLE
from penstock.local.processes import end_processes

if TYPE_CHECKING:
    from penstock.control.kept import KeptFolder


def find_leftovers(folder: KeptFolder) -> list[psutil.Process]:
    """Return the processes that a driver of this pipeline has started, and the driver itself."""
    found = []
    for process in psutil.process_iter():
        try:
            is_ours = process.environ().get(KEEPER_VARIABLE) == str(folder.root)
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue  # ended meanwhile, or another user's
    return found


def end_leftovers(folder: KeptFolder) -> int:
    """End what is left, politely and then for certain; return how many processes there were."""
    leftovers = find_leftovers(folder)
    end_processes(leftovers)
    return len(leftovers)
