"""Time to data loss: how long until retention deletes what a group has not read.

Kafka deletes whole segments: by time when the newest record of a segment is older than
`retention.ms`, by size when what is behind the segment alone fills `retention.bytes`. A record can
therefore stay longer than computed here, and never goes earlier: what is told is the time that one
has for certain. Compaction keeps the newest value of each key: a topic that is only compacted
loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What a topic keeps; None means for ever, or without bounds."""

    seconds: float | None = None
    size_bytes: int | None = None
    """Of one partition."""


KEEPS_ALL = Retention()


def retention_of(
    *, cleanup_policy: str | None, milliseconds: str | None, size_bytes: str | None
) -> Retention:
    """Return what configs of a topic, as Kafka writes them, keep."""
    if "delete" not in (cleanup_policy or "delete").split(","):
        return KEEPS_ALL
    seconds, size = int(milliseconds or -1), int(size_bytes or -1)
    return Retention(
        seconds=seconds / 1000 if seconds >= 0 else None, size_bytes=size if size >= 0 else None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """What a group has still to read in a partition, as far as losing it is concerned."""

    since: float | None
    """When the first of it was written; None when that is not known."""

    records: int
    records_per_second: float | None
    """How fast the partition grows."""

    bytes_per_record: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The first moment at which retention may delete unread records.

    It says nothing of now: what was found of a group that stands still stays true as time goes by.
    """

    at: float
    span: float
    """For how many seconds a record stays: the retention, or how long it takes to fill its size."""

    def margin(self, at: float) -> float:
        """Return how much of that is left: 1 when all was just written, 0 when it may go now."""
        left = self.at - at
        if left <= 0:
            return 0.0
        return min(1.0, left / self.span) if self.span > 0 else 1.0


def decisive(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Return those of `losses` of which one has the smallest margin, at whatever time.

    The earliest comes first. One that is later has a smaller margin only if its span is longer.
    """
    found: list[Loss] = []
    for loss in sorted(losses, key=lambda item: (item.at, -item.span)):
        if not found or loss.span > found[-1].span:
            found.append(loss)
    return tuple(found)


def loss_of(unread: Unread, retention: Retention, *, at: float) -> Loss | None:
    """Return when the first unread record may go; None when nothing says that it ever will.

    Args:
        unread: at least one record.
        retention: of the topic.
        at: now.
    """
    found = [
        loss
        for loss in (_by_time(unread, retention, at=at), _by_size(unread, retention, at=at))
        if loss is not None
    ]
    return min(found, key=lambda loss: (loss.at, -loss.span), default=None)


def _by_time(unread: Unread, retention: Retention, *, at: float) -> Loss | None:
    if unread.since is None or retention.seconds is None:
        return None
    # Producers whose clocks go ahead do not make records stay longer than a whole retention.
    left = min(retention.seconds, unread.since + retention.seconds - at)
    return Loss(at=max(at, at + left), span=retention.seconds)


def _by_size(unread: Unread, retention: Retention, *, at: float) -> Loss | None:
    if retention.size_bytes is None or unread.bytes_per_record is None:
        return None
    left = max(0.0, retention.size_bytes - unread.records * unread.bytes_per_record)
    growth = (unread.records_per_second or 0.0) * unread.bytes_per_record
    if left <= 0:
        return Loss(at=at, span=0.0)
    return Loss(at=at + left / growth, span=retention.size_bytes / growth) if growth > 0 else None
