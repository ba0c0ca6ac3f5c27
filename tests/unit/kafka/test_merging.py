"""Merged records: whatever the partitions hold and however they are read, each comes once."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka.browsing.merging import Direction, Lane, MergedRecords
from penstock.kafka.browsing.slices import Contents, Slice, SliceReader
from penstock.kafka.offsets import TopicPartition
from penstock.kafka.records import Record
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TOPIC = TopicName("orders")
BEGIN = datetime(2026, 5, 1, tzinfo=UTC)


def record(partition: int, offset: int, second: int) -> Record:
    return Record(
        topic=TOPIC,
        partition=Partition(partition),
        offset=Offset(offset),
        key=None,
        value=b"x" * 10,
        timestamp=BEGIN + timedelta(seconds=second),
    )


class Shelf:
    """Records in memory, read as of a broker: a piece holds a few at most, gaps are passed."""

    def __init__(self, logs: list[dict[int, int]], most: int) -> None:
        self._logs, self._most = logs, most

    def read(
        self,
        slices: Iterable[Slice],
        *,
        keep_bytes: int,
        keep_newest: bool,
        is_over: Callable[[], bool],
    ) -> Mapping[TopicPartition, Contents]:
        del keep_bytes, is_over
        return {item.partition: self._read(item, keep_newest=keep_newest) for item in slices}

    def _read(self, piece: Slice, *, keep_newest: bool) -> Contents:
        assert piece.first < piece.end
        number = piece.partition.partition
        log = self._logs[number]
        inside = [offset for offset in sorted(log) if piece.first <= offset < piece.end]
        first, end = piece.first, piece.end
        if len(inside) > self._most:
            inside = inside[-self._most :] if keep_newest else inside[: self._most]
            first = Offset(inside[0]) if keep_newest else first
            end = end if keep_newest else Offset(inside[-1] + 1)
        else:
            end = Offset(min((offset for offset in log if offset >= end), default=end))
        records = deque(record(number, offset, log[offset]) for offset in inside)
        return Contents(first, end, records, 10 * len(records))


logs = st.lists(
    st.dictionaries(st.integers(0, 60), st.integers(0, 40), max_size=15), min_size=1, max_size=4
)


@given(
    logs=logs, most=st.integers(1, 5), page=st.integers(1, 7), direction=st.sampled_from(Direction)
)
def test_pages_show_every_record_once_and_in_order(
    logs: list[dict[int, int]], most: int, page: int, direction: Direction
) -> None:
    goes_back = direction is Direction.OLDER
    positions = [61 if goes_back else 0 for _ in logs]
    seen: list[Record] = []
    for _ in range(100):
        lanes = [
            Lane(
                TopicPartition(TOPIC, Partition(number)),
                first=Offset(0),
                end=Offset(61),
                begin=Offset(position),
                direction=direction,
            )
            for number, position in enumerate(positions)
        ]
        reader = cast("SliceReader", Shelf(logs, most))
        merged = MergedRecords(reader, lanes, direction, expected=page, is_over=lambda: False)
        found: list[Record] = []
        for item in merged:
            if item is not None:
                found.append(item)
            if len(found) == page:
                break
        seen += found
        positions = [lane.position for lane in lanes]
        if len(found) < page:
            break

    expected = {(n, offset) for n, log in enumerate(logs) for offset in log}
    assert len(seen) == len(expected)
    assert {(item.partition, item.offset) for item in seen} == expected
    assert positions == [0 if goes_back else 61 for _ in logs]
    for number in range(len(logs)):
        offsets = [item.offset for item in seen if item.partition == number]
        assert all(left > right if goes_back else left < right for left, right in pairwise(offsets))


@given(times=st.lists(st.lists(st.integers(0, 40), max_size=12), min_size=1, max_size=4))
def test_where_each_partition_is_in_the_order_of_time_so_is_the_whole(
    times: list[list[int]],
) -> None:
    logs = [dict(enumerate(sorted(item))) for item in times]
    lanes = [
        Lane(
            TopicPartition(TOPIC, Partition(number)),
            first=Offset(0),
            end=Offset(len(log)),
            begin=Offset(len(log)),
            direction=Direction.OLDER,
        )
        for number, log in enumerate(logs)
    ]
    reader = cast("SliceReader", Shelf(logs, 3))

    merged = MergedRecords(reader, lanes, Direction.OLDER, expected=5, is_over=lambda: False)
    found = [item.timestamp for item in merged if item is not None]

    assert found == sorted(found, key=lambda at: at or BEGIN, reverse=True)
