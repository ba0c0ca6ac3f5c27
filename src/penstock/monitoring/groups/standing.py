"""Where a group stands in a partition, as it is followed from look to look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.monitoring.groups.figures import PartitionFigures, moment
from penstock.monitoring.groups.losing import Loss, Unread, loss_of
from penstock.monitoring.groups.verdicts import Verdict, Window
from penstock.names import Offset

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.kafka import LoggedCommit, TopicPartition
    from penstock.monitoring.groups.ends import EndHistory
    from penstock.monitoring.groups.losing import Retention

NOTHING_FOLLOWS = math.inf
"""As the time of the first unread record: there is none, only markers of transactions follow."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What of a topic decides how long unread records stay."""

    retention: Retention
    bytes_per_record: float | None


class Standing:
    """One group in one partition."""

    __slots__ = (
        "_end",
        "_read",
        "_read_end",
        "_still",
        "commit",
        "expired",
        "lag",
        "loss",
        "since",
        "verdict",
        "window",
    )

    def __init__(self, commit: LoggedCommit) -> None:
        self.commit = commit
        self.lag: int | None = None
        self.expired = 0
        self.since: float | None = None
        self.loss: Loss | None = None
        self.verdict = Verdict.OK
        self.window = Window()
        self._read: tuple[int, float] | None = None
        self._read_end: int | None = None
        self._still = False
        self._end: int | None = None

    def move(self, commit: LoggedCommit) -> None:
        """Go to what the group has committed now."""
        if commit.offset != self.commit.offset:
            self._still = False
        self.commit = commit

    def note_timestamp(self, offset: int, since: float) -> None:
        """Keep when the record at `offset` was written, or that none follows there."""
        self._read, self._read_end = (offset, since), self._end

    def look(self, ends: EndHistory | None, storage: Storage, *, at: float) -> bool:
        """Compare with the ends; return whether the first unread record should be read.

        It should when no look at the ends tells when it came, or the group stands still: then the
        record itself is read once.
        """
        if ends is None or ends.end is None:
            self.lag, self.expired, self.since, self.loss = None, 0, None, None
            self.verdict = Verdict.OK
            return False
        offset, self._end = self.commit.offset, ends.end
        self.lag = max(0, ends.end - offset)
        self.expired = max(0, (ends.first or 0) - offset) if self.lag else 0
        unread = offset + self.expired  # what is gone is not waiting any more
        wanted = self._age(ends, unread)
        waiting = 0 if self.since == NOTHING_FOLLOWS else self.lag
        self.window.note(offset=offset, lag=waiting, at=at)
        self.loss = self._loss(ends, storage, at=at) if waiting else None
        self.verdict = (
            Verdict.ERR
            if self.expired
            else self.window.verdict(committed_at=self.commit.at, since=self.since, at=at)
        )
        self._still = True
        return wanted

    def _age(self, ends: EndHistory, unread: int) -> bool:
        if not self.lag:
            self.since = None
            return False
        if self._read is not None and self._read[0] == unread:
            self.since = self._read[1]
            # A record may have followed the markers meanwhile.
            return self.since == NOTHING_FOLLOWS and ends.end != self._read_end
        self.since = ends.arrival(unread)
        return self.since is None or self._still

    def _loss(self, ends: EndHistory, storage: Storage, *, at: float) -> Loss | None:
        if self.expired:
            return Loss(at=at, span=0.0)
        unread = Unread(
            since=self.since,
            records=self.lag or 0,
            records_per_second=ends.rate(),
            bytes_per_record=storage.bytes_per_record,
        )
        return loss_of(unread, storage.retention, at=at)

    def unread_offset(self) -> Offset:
        """Return the offset of the first record that it can still read."""
        return Offset(self.commit.offset + self.expired)

    def figures(self, partition: TopicPartition, ends: EndHistory | None) -> PartitionFigures:
        """Return what is shown of it."""
        return PartitionFigures(
            partition=partition,
            committed=self.commit.offset,
            committed_at=moment(self.commit.at),
            first=None if ends is None or ends.first is None else Offset(ends.first),
            end=None if ends is None or ends.end is None else Offset(ends.end),
            lag=self.lag,
            expired=self.expired,
            unread_since=_known(self.since),
            lost_at=None if self.loss is None else moment(self.loss.at),
            verdict=self.verdict,
        )


def _known(since: float | None) -> datetime | None:
    return None if since is None or since == NOTHING_FOLLOWS else moment(since)
