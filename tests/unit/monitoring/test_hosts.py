"""The machine that samples."""

from pathlib import Path

from penstock.monitoring.catalog.hosts import (
    HOST_CORES,
    HOST_DISK_USED,
    HOST_MEMORY,
    HOST_MEMORY_AVAILABLE,
    HOSTS,
)
from penstock.monitoring.hosts import HostSampler


def test_a_machine_tells_what_it_does(tmp_path: Path) -> None:
    samples = {item.metric: item.value for item in HostSampler(tmp_path).sample()}

    assert samples.keys() <= {metric.name for metric in HOSTS}
    assert samples[HOST_CORES.name] >= 1
    assert 0 <= samples[HOST_DISK_USED.name] <= 1
    assert 0 < samples[HOST_MEMORY_AVAILABLE.name] < samples[HOST_MEMORY.name]
