from dataclasses import replace
from pathlib import Path

import pytest

from penstock.local.broker import new_shape
from penstock.local.preflight import (
    NewerDataError,
    NotEnoughDiskError,
    NotEnoughMemoryError,
    check_disk,
    check_memory,
    check_version,
)

SHAPE = new_shape(brokers=3, heap_mb=192)


def test_three_brokers_need_less_than_the_promised_memory() -> None:
    check_memory(SHAPE, available_mb=1_000)

    with pytest.raises(NotEnoughMemoryError, match="996 MB of memory, 900 MB are free"):
        check_memory(SHAPE, available_mb=900)


def test_a_full_disk_is_noticed_before_anything_is_written() -> None:
    check_disk(SHAPE, Path("/data"), free_mb=600)

    with pytest.raises(NotEnoughDiskError, match="the disk of `/data` has 10 MB free"):
        check_disk(SHAPE, Path("/data"), free_mb=10)


@pytest.mark.parametrize("version", ["4.3.2", "4.10.0", "5.0.0"])
def test_newer_data_is_refused(version: str) -> None:
    with pytest.raises(NewerDataError, match=f"written by Kafka {version}"):
        check_version(replace(SHAPE, kafka_version=version), Path("/data"))


@pytest.mark.parametrize("version", ["4.3.1", "4.3.0", "3.9.2"])
def test_data_of_this_or_an_older_kafka_is_accepted(version: str) -> None:
    check_version(replace(SHAPE, kafka_version=version), Path("/data"))
