"""Processes that may end while they are looked at."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from penstock.local.processes import find_processes

if TYPE_CHECKING:
    from pathlib import Path


def kill_all(root: Path) -> None:
    """Kill what belongs to a platform that keeps its data in `root`."""
    for process in find_processes(root):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def is_alive(process: psutil.Process) -> bool:
    """Whether a process computes, or could: one that nobody has waited for yet does not."""
    with suppress(psutil.Error):  # it ended in between
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
