"""The machine that samples: load, processors, memory, disk and network."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import psutil

from penstock.monitoring.catalog import sample
from penstock.monitoring.catalog.hosts import (
    HOST_CORES,
    HOST_CPU,
    HOST_DISK,
    HOST_DISK_READ,
    HOST_DISK_USED,
    HOST_DISK_WRITTEN,
    HOST_LOAD,
    HOST_MEMORY,
    HOST_MEMORY_AVAILABLE,
    HOST_RECEIVED,
    HOST_SENT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from penstock.monitoring.catalog import Metric, Sample

_LOOPBACK = ("lo", "lo0")


class HostSampler:
    """Looks at this machine; `folder` is on the volume whose space matters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host = platform.node() or "localhost"
        psutil.cpu_percent()  # what it says next is about the time since now

    def sample(self) -> Iterable[Sample]:
        """Return what the machine does; what the system does not tell is left out."""
        return [sample(metric, value, host=self._host) for metric, value in self._measured()]

    def _measured(self) -> Iterator[tuple[Metric, float]]:
        yield HOST_LOAD, os.getloadavg()[0]
        yield HOST_CORES, os.cpu_count() or 1
        yield HOST_CPU, psutil.cpu_percent() / 100
        memory = psutil.virtual_memory()
        yield HOST_MEMORY, memory.total
        yield HOST_MEMORY_AVAILABLE, memory.available
        disk = psutil.disk_usage(str(self._folder))
        yield HOST_DISK, disk.total
        # As `df` counts: what is kept for the administrator is of use to nobody else.
        yield HOST_DISK_USED, disk.percent / 100
        moved = psutil.disk_io_counters()
        if moved is not None:
            yield HOST_DISK_READ, moved.read_bytes
            yield HOST_DISK_WRITTEN, moved.write_bytes
        networks = psutil.net_io_counters(pernic=True)
        outside = [counted for name, counted in networks.items() if name not in _LOOPBACK]
        yield HOST_RECEIVED, sum(counted.bytes_recv for counted in outside)
        yield HOST_SENT, sum(counted.bytes_sent for counted in outside)
