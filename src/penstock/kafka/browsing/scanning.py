"""Scans: the records of a topic from some place on, within limits, until enough are found.

A scan tells what it finds and how far it is while it runs. However it ends (enough found, nothing
left, a limit, somebody has gone away), its positions say where another scan goes on without a gap.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.kafka.admin import Admin
from penstock.kafka.browsing.merging import MergedRecords
from penstock.kafka.browsing.places import direction_of, lanes_at
from penstock.kafka.browsing.slices import SliceReader
from penstock.kafka.consumer.excerpts import partitions_to_read
from penstock.kafka.partitioning import partition_for_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from penstock.kafka.browsing.merging import Lane
    from penstock.kafka.browsing.places import Place
    from penstock.kafka.connection import Connection
    from penstock.kafka.offsets import Isolation
    from penstock.kafka.records import Record
    from penstock.names import TopicName

Kept = TypeVar("Kept")

_TELL_SECONDS = 0.25  # how often a scan that finds nothing tells how far it is


class Ending(StrEnum):
    """Why a scan ended, as users read it."""

    ENOUGH = "as many were found as were asked for"
    NOTHING_LEFT = "no more records"
    RECORDS = "the limit of records was reached"
    BYTES = "the limit of bytes was reached"
    TIME = "the time was over"
    CANCELLED = "it was cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a scan may cost at most. A record is never cut in two: the last one may exceed it."""

    found: int
    records: int
    byte_count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Found(Generic[Kept]):
    """What was kept of a record."""

    kept: Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """How far a scan is."""

    records: int
    byte_count: int
    found: int
    seconds: float
    moment: datetime | None
    """The timestamp of the record that was looked at last."""

    positions: Mapping[int, int]
    """By partition: where the next record lies, or behind it when reading goes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The last word of a scan."""

    ending: Ending
    scanned: Scanned
    begins: Mapping[int, int]
    """By partition: where this scan began, to read in the other direction from there."""

    left_out: tuple[int, ...]
    """Partitions that have no leader now, so that nothing of them could be read."""


class Scan(Generic[Kept]):
    """Reads records of one topic and keeps what `select` makes of them.

    Nothing is read before it is iterated, and its client is closed when iterating ends, also when
    the iterator is dropped or closed early. The client is in no group and commits nothing.

    Args:
        connection: the cluster.
        topic: what to read.
        place: where to begin, and in which direction.
        partitions: the numbers of those to read; none: all.
        key: read only the partition that Java's client chooses for this key.
        isolation: whether aborted and open transactions are read.
        select: returns what to keep of a record, None when it is not wanted. Called once for each.
        limits: when to end.
        is_stopped: asked several times a second; a scan ends soon after it says so.
    """

    def __init__(
        self,
        connection: Connection,
        topic: TopicName,
        place: Place,
        *,
        partitions: Sequence[int] = (),
        key: bytes | None = None,
        isolation: Isolation,
        select: Callable[[Record], Kept | None],
        limits: Limits,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connection, self._topic, self._place = connection, topic, place
        self._partitions, self._key, self._isolation = partitions, key, isolation
        self._select, self._limits, self._is_stopped = select, limits, is_stopped
        self._records = self._byte_count = self._found = 0
        self._moment: datetime | None = None
        self._lanes: tuple[Lane, ...] = ()
        self._started = self._told = 0.0

    def __iter__(self) -> Iterator[Found[Kept] | Scanned | Ended]:
        """Yield what is found and how far it is; at last why it ended.

        Raises:
            OffsetNotThereError: the place is in none of the partitions.
            UnknownTopicError, UnknownPartitionError: there is no such topic or partition.
            ClusterError: another subclass, for what else went wrong.
        """
        self._started = self._told = time.monotonic()
        with Admin(self._connection) as admin:
            partitions = partitions_to_read(admin, [self._topic], self._partitions)
            if self._key is not None:
                partitions = (partitions[partition_for_key(self._key, len(partitions))],)
            self._lanes = lanes_at(admin, partitions, self._place, isolation=self._isolation)
        with SliceReader(self._connection, self._isolation) as reader:
            records = MergedRecords(
                reader,
                self._lanes,
                direction_of(self._place),
                expected=self._limits.found,
                is_over=self._is_over,
            )
            for record in records:
                kept = None if record is None else self._looked_at(record)
                if kept is not None:
                    self._found += 1
                    yield Found(kept)
                elif time.monotonic() - self._told > _TELL_SECONDS:
                    self._told = time.monotonic()
                    yield self._scanned()
                if self._limit_reached() is not None:
                    break
        yield Ended(
            ending=self._ending(),
            scanned=self._scanned(),
            begins={lane.partition.partition: lane.begin for lane in self._lanes},
            left_out=tuple(
                item.partition
                for item in partitions
                if all(lane.partition != item for lane in self._lanes)
            ),
        )

    def _looked_at(self, record: Record) -> Kept | None:
        self._records += 1
        self._byte_count += record.byte_count
        self._moment = record.timestamp
        return self._select(record)

    def _is_over(self) -> bool:
        return self._is_stopped() or self._seconds() > self._limits.seconds

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _limit_reached(self) -> Ending | None:
        if self._found >= self._limits.found:
            return Ending.ENOUGH
        if self._records >= self._limits.records:
            return Ending.RECORDS
        return Ending.BYTES if self._byte_count >= self._limits.byte_count else None

    def _ending(self) -> Ending:
        reached = self._limit_reached()
        if reached is not None:
            return reached
        if all(lane.is_read and lane.head is None for lane in self._lanes):
            return Ending.NOTHING_LEFT
        return Ending.CANCELLED if self._is_stopped() else Ending.TIME

    def _scanned(self) -> Scanned:
        return Scanned(
            records=self._records,
            byte_count=self._byte_count,
            found=self._found,
            seconds=self._seconds(),
            moment=self._moment,
            positions={lane.partition.partition: lane.position for lane in self._lanes},
        )
