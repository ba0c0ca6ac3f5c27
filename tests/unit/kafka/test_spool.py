from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka.producer.errors import DeliveryError
from penstock.kafka.producer.spool import (
    Spool,
    SpoolDamagedError,
    SpoolFullError,
    SpoolInUseError,
    SpoolWriteError,
)
from penstock.kafka.producer.spool_entries import encoded, read_entry
from penstock.kafka.records import Header, OutgoingRecord
from penstock.names import Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOMENT = datetime(2026, 5, 1, 12, 0, 0, 123000, tzinfo=UTC)

contents = st.none() | st.binary(max_size=40)
records = st.builds(
    OutgoingRecord,
    topic=st.from_regex(r"[a-z0-9._-]{1,20}", fullmatch=True).map(TopicName),
    key=contents,
    value=contents,
    headers=st.lists(st.builds(Header, st.text(max_size=8), contents), max_size=3).map(tuple),
    partition=st.none() | st.integers(0, 2**31 - 1).map(Partition),
    timestamp=st.none() | st.just(MOMENT),
)


def record(number: int) -> OutgoingRecord:
    return OutgoingRecord(topic=TopicName("orders"), key=b"k", value=b"%d" % number)


def opened(folder: Path, *, limit_bytes: int = 1_000_000_000) -> Spool:
    return Spool(folder, limit_bytes=limit_bytes)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    spool = opened(tmp_path)
    yield spool
    spool.close()


def values_left(spool: Spool) -> list[bytes | None]:
    found = []
    while (entry := spool.next_entry()) is not None:
        found.append(entry[1].record.value)
    return found


def segment_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.entries"))


@given(record=records)
def test_a_record_comes_back_from_its_entry_as_it_was(record: OutgoingRecord) -> None:
    data = encoded(record)
    entry = read_entry(data, 0)

    assert entry is not None
    assert (entry.record, entry.byte_count) == (record, len(data))


def test_records_are_read_in_the_order_they_were_appended(spool: Spool) -> None:
    assert [spool.append(record(number)) for number in range(3)] == [0, 1, 2]

    assert values_left(spool) == [b"0", b"1", b"2"]
    assert spool.append(record(3)) == 3
    assert values_left(spool) == [b"3"]


def test_what_was_not_acknowledged_is_there_after_the_process_died(tmp_path: Path) -> None:
    """A process that is killed closes nothing: the next one finds the folder as it is then."""
    spool = opened(tmp_path / "spool")
    for number in range(5):
        spool.append(record(number))
    for _ in range(3):
        spool.next_entry()
    spool.acknowledge(0)
    spool.acknowledge(1)
    shutil.copytree(tmp_path / "spool", tmp_path / "found")
    spool.close()

    again = opened(tmp_path / "found")
    assert again.pending == 3
    assert values_left(again) == [b"2", b"3", b"4"]
    again.close()


def test_the_cursor_waits_for_the_first_record_without_an_acknowledgement(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    for number in range(3):
        spool.append(record(number))
    values_left(spool)
    spool.acknowledge(2)
    assert (spool.pending, spool.handed_out) == (2, 3)
    spool.close()

    again = opened(tmp_path)
    assert values_left(again) == [b"0", b"1", b"2"]
    again.close()


def test_rewinding_reads_again_what_is_not_acknowledged(spool: Spool) -> None:
    for number in range(4):
        spool.append(record(number))
    values_left(spool)
    spool.acknowledge(0)
    spool.acknowledge(2)

    spool.rewind()

    assert values_left(spool) == [b"1", b"3"]


def test_files_are_removed_once_all_their_records_are_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.kafka.producer.spool.SEGMENT_BYTES", 120)
    spool = opened(tmp_path)
    for number in range(6):
        spool.append(record(number))
    assert segment_names(tmp_path) == [f"{first:020d}.entries" for first in (0, 2, 4)]

    values_left(spool)
    for sequence in (0, 1, 2):
        spool.acknowledge(sequence)
    assert segment_names(tmp_path) == [f"{first:020d}.entries" for first in (2, 4)]

    for sequence in (3, 4, 5):
        spool.acknowledge(sequence)
    spool.close()
    assert segment_names(tmp_path) == []


def test_numbers_go_on_after_the_spool_was_emptied(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    spool.append(record(0))
    values_left(spool)
    spool.acknowledge(0)
    spool.close()

    again = opened(tmp_path)
    assert again.append(record(1)) == 1
    assert values_left(again) == [b"1"]
    again.close()


def test_an_entry_cut_short_by_the_death_of_the_process_is_dropped(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    for number in range(3):
        spool.append(record(number))
    spool.close()
    (path,) = tmp_path.glob("*.entries")
    whole = path.read_bytes()

    for cut in range(1, len(encoded(record(2)))):
        path.write_bytes(whole[:-cut])
        again = opened(tmp_path)
        assert values_left(again) == [b"0", b"1"]
        again.close()
    again = opened(tmp_path)
    again.append(record(3))
    assert values_left(again) == [b"0", b"1", b"3"]
    again.close()


@pytest.mark.parametrize("byte", range(0, len(encoded(record(0))), 5))
def test_a_changed_byte_is_damage_and_drops_nothing(tmp_path: Path, byte: int) -> None:
    spool = opened(tmp_path)
    for number in range(3):
        spool.append(record(number))
    spool.close()
    (path,) = tmp_path.glob("*.entries")
    damaged = bytearray(path.read_bytes())
    damaged[8 + byte] ^= 0x10
    path.write_bytes(damaged)

    with pytest.raises(SpoolDamagedError, match="entry 1 does not fit its checksum"):
        opened(tmp_path)
    assert path.read_bytes() == bytes(damaged)


def test_a_missing_file_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kafka.producer.spool.SEGMENT_BYTES", 120)
    spool = opened(tmp_path)
    for number in range(6):
        spool.append(record(number))
    spool.close()
    (tmp_path / f"{2:020d}.entries").unlink()

    with pytest.raises(SpoolDamagedError, match="the records from 2 on are missing"):
        opened(tmp_path)


def test_a_damaged_cursor_only_costs_repetition(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    for number in range(3):
        spool.append(record(number))
    values_left(spool)
    spool.acknowledge(0)
    spool.close()
    (tmp_path / "cursor").write_bytes(b"\xff" * 12)

    again = opened(tmp_path)
    assert values_left(again) == [b"0", b"1", b"2"]
    again.close()


def test_a_full_spool_refuses_and_takes_again_after_acknowledgements(tmp_path: Path) -> None:
    size = len(encoded(record(0)))
    spool = opened(tmp_path, limit_bytes=2 * size)
    spool.append(record(0))
    spool.append(record(1))
    with pytest.raises(SpoolFullError, match="2 records wait"):
        spool.append(record(2))

    values_left(spool)
    spool.acknowledge(0)
    spool.append(record(2))
    assert values_left(spool) == [b"2"]
    spool.close()


def test_a_disk_that_refuses_leaves_the_spool_as_it_was(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk takes half of the entry and then has no space left."""
    spool.append(record(0))
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if len(data) < len(encoded(record(1))):
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr("os.write", half)
        with pytest.raises(SpoolWriteError, match="No space left on device"):
            spool.append(record(1))
    spool.append(record(2))

    assert values_left(spool) == [b"0", b"2"]
    assert segment_names(tmp_path) == [f"{0:020d}.entries"]


def test_two_producers_cannot_share_a_spool(spool: Spool, tmp_path: Path) -> None:
    assert spool.pending == 0
    with pytest.raises(SpoolInUseError, match=f"in use by process {os.getpid()}"):
        opened(tmp_path)


def test_refused_records_are_put_aside_as_produce_reads_them(spool: Spool, tmp_path: Path) -> None:
    spool.refuse(record(7), DeliveryError("orders", reason="too old", hint="none"))

    (line,) = (tmp_path / "refused.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "topic": "orders",
        "partition": None,
        "timestamp": None,
        "key": "k",
        "value": "7",
        "headers": [],
        "error": {
            "code": "PEN-452",
            "message": "a record for `orders` was not delivered: too old",
            "hint": "none",
            "origin": None,
            "retryable": False,
        },
    }
