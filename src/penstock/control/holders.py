"""Who runs a pipeline: the process that holds its lease, and whether that process is still there.

The number of a process means something only among the processes that one kernel shows to each
other: not on another machine, not in another container, not after a reboot. So a holder also says
to which set of processes its number belongs, and only a member of the same set draws conclusions.
"""

from __future__ import annotations

import os
import platform
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

import psutil

_SAME_START_SECONDS = 1.0
"""Start times are told in hundredths of a second; process ids come back after many seconds."""

_LINUX_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_LINUX_PROCESS_SET = Path("/proc/self/ns/pid")


class ProcessState(StrEnum):
    """What this process can see of another one."""

    ALIVE = "alive"
    FROZEN = "frozen"
    """It is there, and has been stopped by a signal or a debugger."""

    GONE = "gone"
    OUT_OF_SIGHT = "out of sight"
    """It runs, or ran, on another machine or in another container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A driver: the process that runs, or wants to run, a pipeline."""

    driver_id: str
    """Unique for ever, so that two starts by one process are told apart."""

    host: str
    pid: int
    process_set: str
    """Among which processes `pid` is unique."""

    boot_seconds: float
    """When the process began, in seconds after the boot: clocks that are set do not change it."""

    started_at: datetime
    code_version: str


def this_process(code_version: str) -> Holder:
    """Return this process as the holder of a new run."""
    return Holder(
        driver_id=uuid.uuid4().hex,
        host=platform.node() or "unknown",
        pid=os.getpid(),
        process_set=_process_set(),
        boot_seconds=_boot_seconds(psutil.Process()),
        started_at=datetime.now(UTC),
        code_version=code_version,
    )


def process_state(holder: Holder) -> ProcessState:
    """Return what has become of the process of `holder`, as far as this one can see it."""
    if holder.process_set != _process_set():
        return ProcessState.OUT_OF_SIGHT
    try:
        process = psutil.Process(holder.pid)
        began, status = _boot_seconds(process), process.status()
    except psutil.NoSuchProcess:
        return ProcessState.GONE
    if status == psutil.STATUS_ZOMBIE or abs(began - holder.boot_seconds) > _SAME_START_SECONDS:
        return ProcessState.GONE
    is_frozen = status in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return ProcessState.FROZEN if is_frozen else ProcessState.ALIVE


def _boot_seconds(process: psutil.Process) -> float:
    # In this order: the time of the boot, by which psutil counts, moves when a clock is set.
    boot = psutil.boot_time()
    return process.create_time() - boot


def _process_set() -> str:
    """Return what tells this machine, boot and container from all others."""
    try:
        parts = (_LINUX_BOOT_ID.read_text().strip(), str(_LINUX_PROCESS_SET.readlink()))
    except OSError:
        # Elsewhere than on Linux containers do not share a kernel with us.
        parts = (platform.node(), f"{uuid.getnode()}-{round(psutil.boot_time())}")
    return sha256("/".join(parts).encode()).hexdigest()[:16]
