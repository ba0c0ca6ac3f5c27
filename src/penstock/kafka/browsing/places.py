"""Places: where browsing begins, and in which direction it goes from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from penstock.kafka.browsing.merging import Direction, Lane
from penstock.kafka.consumer.excerpts import OffsetNotThereError
from penstock.kafka.offsets import end_offsets, first_offsets, known_bounds, offsets_at
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from penstock.kafka.admin import Admin
    from penstock.kafka.offsets import Isolation, TopicPartition


@dataclass(frozen=True, slots=True)
class Newest:
    """Begin at the end, and go back."""


@dataclass(frozen=True, slots=True)
class Oldest:
    """Begin with the first records that are still there."""


@dataclass(frozen=True, slots=True)
class Since:
    """Begin with the first records from this moment or later."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class AtOffset:
    """Begin at this offset of each partition that has come so far; before it is too early."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class Continued:
    """Go on, in either direction, where an earlier reading began or ended.

    A partition for which there is no position is new since then: it is read as a whole.
    """

    positions: Mapping[int, int]
    direction: Direction


Place = Newest | Oldest | Since | AtOffset | Continued


def lanes_at(
    admin: Admin, partitions: Sequence[TopicPartition], place: Place, *, isolation: Isolation
) -> tuple[Lane, ...]:
    """Return where to begin in each partition, and where it ends today.

    A partition without a leader is left out: the records of the others are there to be seen.

    Raises:
        OffsetNotThereError: the offset that was asked for is in none of the partitions.
        ClusterError: another subclass, for what else went wrong.
    """
    firsts = {item: bounds.first for item, bounds in known_bounds(admin, partitions).items()}
    if not firsts:
        firsts = first_offsets(admin, partitions)  # says why, or waits for an election to end
    partitions = tuple(firsts)
    ends = end_offsets(admin, partitions, isolation=isolation)
    begins: Mapping[TopicPartition, int]
    match place:
        case Newest():
            begins = ends
        case Oldest():
            begins = firsts
        case Since(moment=moment):
            begins = offsets_at(admin, partitions, moment, isolation=isolation)
        case AtOffset(offset=offset):
            _ensure_held(partitions, offset, firsts, ends)
            begins = dict.fromkeys(partitions, offset)
        case Continued(positions=positions, direction=direction):
            unknown = ends if direction is Direction.OLDER else firsts
            begins = {item: positions.get(item.partition, unknown[item]) for item in partitions}
        case _:
            assert_never(place)
    direction = direction_of(place)
    return tuple(
        Lane(
            item,
            first=firsts[item],
            end=ends[item],
            begin=Offset(max(firsts[item], min(begins[item], ends[item]))),
            direction=direction,
        )
        for item in partitions
    )


def direction_of(place: Place) -> Direction:
    """Return in which direction reading goes from `place`."""
    if isinstance(place, Continued):
        return place.direction
    return Direction.OLDER if isinstance(place, Newest) else Direction.NEWER


def _ensure_held(
    partitions: Sequence[TopicPartition],
    offset: Offset,
    firsts: Mapping[TopicPartition, Offset],
    ends: Mapping[TopicPartition, Offset],
) -> None:
    """Refuse an offset that no partition has: one of many having it is enough."""
    if not any(firsts[item] <= offset <= ends[item] for item in partitions):
        item = partitions[0]
        raise OffsetNotThereError(item, offset=offset, first=firsts[item], end=ends[item])
