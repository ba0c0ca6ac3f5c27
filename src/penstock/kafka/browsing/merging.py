"""The records of several partitions in the order of time, read in pieces as they are asked for.

Within a partition the order is that of offsets, whatever the timestamps say; between partitions
the head with the newer (or older) timestamp comes first. So a position per partition says exactly
what has been seen, and reading goes on from there without a gap or a repetition.
"""

from __future__ import annotations

import heapq
from collections import deque
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.kafka.browsing.slices import Slice
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.kafka.browsing.slices import Contents, SliceReader
    from penstock.kafka.offsets import TopicPartition
    from penstock.kafka.records import Record

# What all partitions together may take while they wait for their turn.
_HELD_BYTES = 16 * 1024 * 1024
# A piece that takes no more than this is followed by one of twice as many offsets.
_PIECE_BYTES = 256 * 1024
_MOST_OFFSETS = 20_000  # in one piece: what is read in vain when somebody goes away
# Going back, a piece without records is in a gap, which may be long: what lies before the gap is
# read in vain up to this many times its length.
_GAP_FACTOR = 4
_MOST_GAP_OFFSETS = 10_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Direction(StrEnum):
    """Where reading goes: back in time or on."""

    OLDER = "older"
    NEWER = "newer"


class Lane:
    """One partition while it is read in one direction.

    Args:
        partition: which one.
        first: the first offset that is still there.
        end: behind the last one.
        begin: where reading begins: older records end before it, newer ones begin with it.
        direction: where reading goes.
    """

    def __init__(
        self,
        partition: TopicPartition,
        *,
        first: Offset,
        end: Offset,
        begin: Offset,
        direction: Direction,
    ) -> None:
        self.partition = partition
        self.first, self.end, self.begin = first, end, begin
        self.position = begin
        """What lies between `begin` and this has been handed out."""
        self._goes_back = direction is Direction.OLDER
        self._loaded = begin
        self._waiting: deque[Record] = deque()
        self._offsets = 1

    @property
    def is_read(self) -> bool:
        """Whether nothing is left to be loaded."""
        return self._loaded <= self.first if self._goes_back else self._loaded >= self.end

    @property
    def head(self) -> Record | None:
        """The record that comes next, if it is loaded."""
        if not self._waiting:
            return None
        return self._waiting[-1] if self._goes_back else self._waiting[0]

    def take(self) -> Record:
        """Hand out the head."""
        if self._goes_back:
            record = self._waiting.pop()
            self.position = record.offset
        else:
            record = self._waiting.popleft()
            self.position = Offset(record.offset + 1)
        if not self._waiting:
            self.position = self._loaded
        return record

    def expect(self, offsets: int) -> None:
        """Begin with pieces of this many offsets."""
        self._offsets = max(1, offsets)

    def piece(self) -> Slice:
        """Return what to load next."""
        if self._goes_back:
            start = Offset(max(self.first, self._loaded - self._offsets))
            return Slice(self.partition, start, self._loaded)
        end = Offset(min(self.end, self._loaded + self._offsets))
        return Slice(self.partition, self._loaded, end)

    def load(self, contents: Contents) -> None:
        """Take what a piece holds; this lane has no head."""
        self._waiting = contents.records
        # In a gap the next record may lie behind the end that reading knows of.
        self._loaded = contents.first if self._goes_back else min(contents.end, self.end)
        if not self._waiting:
            self.position = self._loaded
            if self._goes_back:
                self._offsets = min(self._offsets * _GAP_FACTOR, _MOST_GAP_OFFSETS)
            return
        average = max(1, contents.byte_count // len(self._waiting))
        self._offsets = max(1, min(self._offsets * 2, _PIECE_BYTES // average, _MOST_OFFSETS))


class MergedRecords:
    """Iterates over the records of all lanes, in the order of time.

    Yields None when a piece was read that held no record, so that the caller can tell how far
    reading is. Ends when nothing is left, or when `is_over` says so.

    Args:
        reader: reads the pieces.
        lanes: at least one, all of the same direction.
        direction: that one.
        expected: about how many records somebody wants.
        is_over: asked several times a second.
    """

    def __init__(
        self,
        reader: SliceReader,
        lanes: Sequence[Lane],
        direction: Direction,
        *,
        expected: int,
        is_over: Callable[[], bool],
    ) -> None:
        self._reader, self._lanes, self._is_over = reader, lanes, is_over
        self._goes_back = direction is Direction.OLDER
        self._heads: list[tuple[int, int]] = []
        self._unloaded = [number for number, lane in enumerate(lanes) if not lane.is_read]
        for lane in lanes:
            lane.expect(2 * expected // len(lanes))

    def __iter__(self) -> Iterator[Record | None]:
        """Yield records; raises what the reader raises."""
        while not self._is_over():
            if self._unloaded:
                if not self._load():
                    return
                if self._unloaded:
                    yield None
                continue
            if not self._heads:
                return
            _, number = heapq.heappop(self._heads)
            lane = self._lanes[number]
            record = lane.take()
            self._follow_up(number)
            yield record

    def _load(self) -> bool:
        """Read a piece of each lane that has no head; False when the time was over before that."""
        wanted = {lane.partition: lane for lane in (self._lanes[n] for n in self._unloaded)}
        pieces = self._reader.read(
            [lane.piece() for lane in wanted.values()],
            keep_bytes=_HELD_BYTES // len(self._lanes),
            keep_newest=self._goes_back,
            is_over=self._is_over,
        )
        for partition, contents in pieces.items():
            wanted[partition].load(contents)
        unloaded, self._unloaded = self._unloaded, []
        for number in unloaded:
            self._follow_up(number)
        return bool(pieces)

    def _follow_up(self, number: int) -> None:
        """Put a lane among those that wait for their turn, or among those to be read on."""
        lane = self._lanes[number]
        if lane.head is not None:
            heapq.heappush(self._heads, (self._rank(lane.head), number))
        elif not lane.is_read:
            self._unloaded.append(number)

    def _rank(self, record: Record) -> int:
        """Return what is smallest for the record that comes first."""
        moment = record.timestamp or _EPOCH
        milliseconds = int((moment - _EPOCH).total_seconds() * 1000)
        return -milliseconds if self._goes_back else milliseconds
