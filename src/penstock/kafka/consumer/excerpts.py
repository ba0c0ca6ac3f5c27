"""Excerpts: which partitions to read and where to begin, for readers without a group.

A reader that wants "the last ten", "since this morning" or "partition 2 from offset 120" gets here
the partitions and offsets for it, checked against what the cluster has.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, assert_never

from penstock.kafka.consumer.assignment import partition_of
from penstock.kafka.consumer.subscription import Subscription
from penstock.kafka.errors import ClusterError, UnknownPartitionError, UnknownTopicError
from penstock.kafka.offsets import (
    Isolation,
    TopicPartition,
    end_offsets,
    first_offsets,
    offsets_at,
)
from penstock.names import Offset, Partition, nearest

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Sequence

    from penstock.kafka.admin import Admin
    from penstock.kafka.consumer.consumer import Consumer
    from penstock.kafka.records import Record

_EARLIEST_MOMENT = datetime.min.replace(tzinfo=UTC)
# Offsets are not records: where compaction or transactions left gaps, look that much further back.
_REACH_FACTOR = 10


class NoTopicMatchesError(ClusterError):
    """No topic of the cluster matches the pattern."""

    code = "PEN-498"

    def __init__(self, pattern: str, *, known: Collection[str]) -> None:
        close = nearest(pattern, known)
        super().__init__(
            f"no topic matches `{pattern}`; the cluster has {len(known)}",
            hint=f"did you mean `{close}`?"
            if close
            else "the pattern must match the whole name; `penstock topics list` shows the names",
        )


class OffsetNotThereError(ClusterError):
    """A partition does not hold the offset at which reading shall begin."""

    code = "PEN-499"

    def __init__(
        self, partition: TopicPartition, *, offset: Offset, first: Offset, end: Offset
    ) -> None:
        holds = f"offsets {first} to {end - 1}" if end > first else "no records"
        super().__init__(
            f"`{partition}` has no offset {offset}: it holds {holds}, and the next will be {end}",
            hint=f"`--from offset:{first}` is the first that is still there",
        )
        self.partition, self.offset, self.first, self.end = partition, offset, first, end


@dataclass(frozen=True, slots=True)
class FromBeginning:
    """Begin at the first records that are still there."""


@dataclass(frozen=True, slots=True)
class FromEnd:
    """Begin with the records that come from now on."""


@dataclass(frozen=True, slots=True)
class FromOffset:
    """Begin at this offset of each partition."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class FromTime:
    """Begin at the first records from this moment or later."""

    moment: datetime


StartingPoint = FromBeginning | FromEnd | FromOffset | FromTime


def partitions_to_read(
    admin: Admin, topics: Sequence[str] | re.Pattern[str], numbers: Collection[int] = ()
) -> tuple[TopicPartition, ...]:
    """Return the partitions of `topics`, or those of these numbers.

    Raises:
        UnknownTopicError: a topic does not exist.
        NotAuthorizedError: this user may not see a topic.
        NoTopicMatchesError: nothing matches the pattern.
        UnknownPartitionError: a topic has no partition of such a number.
    """
    known = admin.metadata().topics
    subscription = Subscription(topics)
    try:
        names = subscription.matching(known)
    except UnknownTopicError as unknown:
        raise admin.absence(unknown.topic, f"read `{unknown.topic}`", known=known) from None
    if not names:
        raise NoTopicMatchesError(str(getattr(topics, "pattern", topics)), known=known)
    for name in names:
        count = len(known[name].partitions)
        for number in numbers:
            if not 0 <= number < count:
                raise UnknownPartitionError(name, number, partition_count=count)
    return tuple(
        TopicPartition(name, Partition(number))
        for name in names
        for number in sorted(set(numbers) or known[name].partitions)
    )


def starting_offsets(
    admin: Admin,
    partitions: Collection[TopicPartition],
    start: StartingPoint,
    *,
    isolation: Isolation,
) -> dict[TopicPartition, Offset]:
    """Return the offset to read first in each partition.

    Raises:
        OffsetNotThereError: a partition does not reach to the offset, or no longer has it.
        ClusterError: another subclass, for what else went wrong.
    """
    match start:
        case FromBeginning():
            return first_offsets(admin, partitions)
        case FromEnd():
            return end_offsets(admin, partitions, isolation=isolation)
        case FromTime(moment=moment):
            return offsets_at(admin, partitions, moment, isolation=isolation)
        case FromOffset(offset=offset):
            _ensure_held(admin, partitions, offset)
            return dict.fromkeys(partitions, offset)
        case _:
            assert_never(start)


def _ensure_held(admin: Admin, partitions: Collection[TopicPartition], offset: Offset) -> None:
    firsts, ends = first_offsets(admin, partitions), end_offsets(admin, partitions)
    for item in partitions:
        if not firsts[item] <= offset <= ends[item]:
            raise OffsetNotThereError(item, offset=offset, first=firsts[item], end=ends[item])


def last_records(
    consumer: Consumer, admin: Admin, partitions: Collection[TopicPartition], count: int
) -> list[Record]:
    """Return the `count` newest records of all partitions together, in the order of time.

    Afterwards `consumer`, which must have neither topics nor a group, stands where they end.
    """
    firsts = first_offsets(admin, partitions)
    ends = end_offsets(admin, partitions, isolation=consumer.isolation)
    reach = count
    while True:
        starts = {item: Offset(max(firsts[item], ends[item] - reach)) for item in partitions}
        consumer.assign(partitions, at=starts)
        found = Counter[TopicPartition]()
        newest: list[tuple[tuple[datetime, TopicPartition, Offset], Record]] = []
        for record in consumer.read_to_end():
            found[partition_of(record)] += 1
            entry = (_place(record), record)
            if len(newest) < count:
                heapq.heappush(newest, entry)
            else:
                heapq.heappushpop(newest, entry)
        if all(found[item] >= count or starts[item] == firsts[item] for item in partitions):
            return [record for _, record in sorted(newest, key=lambda entry: entry[0])]
        reach *= _REACH_FACTOR


def _place(record: Record) -> tuple[datetime, TopicPartition, Offset]:
    return (record.timestamp or _EARLIEST_MOMENT, partition_of(record), record.offset)
