"""The processes of a platform, found by what stands on their command line.

A list of process ids in a file may be stale or incomplete after a crash; the marker on the command
line is there from a process's first moment and goes with it.
"""

from pathlib import Path

import psutil

MARKER = "-Dpenstock.platform="
"""Stands on the command line of every process of a platform, followed by its folder."""

_GRACE_SECONDS = 10


def find_processes(folder: Path) -> list[psutil.Process]:
    """Return the running processes of the platform in `folder`, the supervisor among them."""
    wanted = f"{MARKER}{folder}"
    found = []
    for process in psutil.process_iter():
        try:
            if wanted in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue  # ended meanwhile, or another user's
    return found


def end_processes(processes: list[psutil.Process]) -> None:
    """End `processes`: politely, then, after ten seconds, for certain."""
    for process in processes:
        _signal(process, force=False)
    _, stubborn = psutil.wait_procs(processes, timeout=_GRACE_SECONDS)
    for process in stubborn:
        _signal(process, force=True)
    psutil.wait_procs(stubborn, timeout=_GRACE_SECONDS)


def _signal(process: psutil.Process, *, force: bool) -> None:
    try:
        process.kill() if force else process.terminate()
    except psutil.NoSuchProcess:
        return
