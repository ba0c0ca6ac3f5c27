"""Lag of flows: how many records, and how many seconds, they are behind the ends of their topics.

Spark compares a batch with the ends it knew when it planned that batch, which is 0 whenever it
reads all there is. Here the end offsets of a flow's last finished batch are compared with the ends
that the cluster has now.

**Records** are differences of offsets, an upper bound of the records to be read: compaction and
transaction markers leave gaps. Ends are high watermarks and not the last stable offsets that a flow
can reach: behind a transaction that stays open a flow stands still and would seem to be up to date,
while its lag in fact grows. Partitions that were added since the last batch count from their start.

**Held** records are those of the lag that are behind an open transaction: from its first record, or
the flow's position, to the end. Transactions come and go, so it takes two looks at the same one to
tell since when: then its first record is read for its timestamp.

**Seconds** are the age, by Kafka's timestamp, of the oldest record that no finished batch has read:
the first at or after the flow's position, of all partitions the oldest; 0 when nothing is unread.
One record per lagging partition is read to learn that, and none while a partition's position stays
the same. Clocks of producers that go ahead count as 0.

While brokers are silent nothing is told: `control` tells that Kafka is away.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from penstock.engine.events import FlowLag
from penstock.kafka import Admin, ClusterError, Isolation, TimestampReader, topic_ends
from penstock.monitoring.periodic import Periodic
from penstock.monitoring.positions import Positions
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.engine.events import BatchFinished, Notify, Offsets
    from penstock.kafka import Connection, TopicPartition
    from penstock.names import FlowName

    Timestamps = Mapping[TopicPartition, datetime | None]

logger = logging.getLogger(__name__)

EVERY_SECONDS = 2.0
# A silent broker must not hold up the next look for long.
_REQUEST_SECONDS = 3.0


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LagMonitor:
    """Tells the lag of each flow every few seconds, from `with` or `start` until `stop`.

    `begin`, `note` and `forget` may be called from any thread and never wait for Kafka. Failures
    stay inside: a flow never suffers from being watched.
    """

    def __init__(
        self,
        connection: Connection,
        notify: Notify,
        *,
        clock: Callable[[], datetime] = _utc_now,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        connection = connection.with_request_timeout(_REQUEST_SECONDS)
        self._admin, self._reader = Admin(connection), TimestampReader(connection)
        self._notify, self._clock = notify, clock
        self._positions = Positions()
        self._oldest: dict[FlowName, dict[TopicPartition, tuple[Offset, datetime]]] = {}
        self._open: dict[TopicPartition, tuple[Offset, datetime | None]] = {}
        self._failing = False
        self._periodic = Periodic(self.look, seconds=every_seconds, name="penstock-lag")

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Begin to look every few seconds."""
        self._periodic.start()

    def stop(self) -> None:
        """Look no more; what is under way may still be told."""
        self._periodic.stop(wait_seconds=_REQUEST_SECONDS)
        self._reader.close()

    def begin(self, flow: FlowName, position: Offsets) -> None:
        """Note where `flow` resumes, before its first batch of this process has finished."""
        self._positions.begin(flow, position)

    def note(self, event: BatchFinished) -> None:
        """Note where a finished batch ended."""
        self._positions.move(event)

    def forget(self, flow: FlowName) -> None:
        """Tell no more of `flow`."""
        self._positions.forget(flow)

    def look(self) -> None:
        """Ask the cluster once, and tell the lag of every flow whose position is known."""
        positions = self._positions.known()
        self._oldest = {flow: self._oldest.get(flow, {}) for flow in positions}
        topics = {item.topic for position in positions.values() for item in position}
        if not topics:
            return
        try:
            ends = topic_ends(self._admin, topics)
            stable = topic_ends(self._admin, topics, isolation=Isolation.READ_COMMITTED)
        except ClusterError as fault:
            self._missed(fault)
            return
        self._failing = False
        opened = self._opened(ends, stable)
        for flow, position in positions.items():
            lags = partition_lags(position, ends)
            oldest = self._oldest_unread(flow, position, lags)
            lag = flow_lag(flow, position, lags, oldest, at=self._clock())
            self._notify(with_held(lag, position, stable, opened))

    def _opened(
        self, ends: Mapping[TopicPartition, Offset], stable: Mapping[TopicPartition, Offset]
    ) -> Timestamps:
        """Return when the transactions were opened that were open at the last look as well."""
        held = {item: at for item, at in stable.items() if at < ends.get(item, 0)}
        before, self._open = self._open, {item: (at, None) for item, at in held.items()}
        still = {item: at for item, at in held.items() if item in before and before[item][0] == at}
        known = {item: moment for item in still if (moment := before[item][1])}
        asked = {item: at for item, at in still.items() if item not in known}
        known |= {item: moment for item, moment in self._read(asked).items() if moment}
        self._open |= {item: (held[item], moment) for item, moment in known.items()}
        return known

    def _read(self, asked: Mapping[TopicPartition, Offset]) -> Timestamps:
        return self._reader.read(asked, timeout_seconds=_REQUEST_SECONDS) if asked else {}

    def _oldest_unread(
        self, flow: FlowName, position: Offsets, lags: Mapping[TopicPartition, int]
    ) -> Timestamps:
        """Return the timestamp at which each lagging partition stands, from memory or by reading.

        A partition that gave no answer is missing.
        """
        unread = {item: position.get(item, Offset(0)) for item, lag in lags.items() if lag}
        known = {
            item: (offset, moment)
            for item, (offset, moment) in self._oldest[flow].items()
            if unread.get(item) == offset
        }
        asked = {item: offset for item, offset in unread.items() if item not in known}
        read = self._read(asked)
        known |= {item: (asked[item], moment) for item, moment in read.items() if moment}
        self._oldest[flow] = known
        return {**read, **{item: moment for item, (_, moment) in known.items()}}

    def _missed(self, fault: ClusterError) -> None:
        self._admin.forget()  # a client that met an outage would wait longer and longer
        if not self._failing and not fault.retryable:
            logger.warning("the lag of flows is not known", extra={"reason": fault.message})
        self._failing = True


def partition_lags(
    position: Offsets, ends: Mapping[TopicPartition, Offset]
) -> dict[TopicPartition, int]:
    """Return the lag in each partition whose end is known, of the topics that `position` names."""
    topics = {item.topic for item in position}
    return {
        item: max(0, end - position.get(item, 0))
        for item, end in sorted(ends.items())
        if item.topic in topics
    }


def flow_lag(
    flow: FlowName,
    position: Offsets,
    lags: Mapping[TopicPartition, int],
    oldest: Timestamps,
    *,
    at: datetime,
) -> FlowLag:
    """Return the lag of `flow`; a part that is not known makes the sum unknown, not smaller."""
    complete = all(item in lags for item in position)
    unread = [item for item, lag in lags.items() if lag]
    aged = complete and all(item in oldest for item in unread)
    # None is a partition in which only markers of transactions follow: no record is waiting there.
    moments = [moment for item in unread if (moment := oldest.get(item)) is not None]
    waiting = max(0.0, (at - min(moments)).total_seconds()) if moments else 0.0
    return FlowLag(
        flow=flow,
        at=at,
        records=sum(lags.values()) if complete else None,
        seconds=waiting if aged else None,
        by_partition=dict(lags),
    )


def with_held(
    lag: FlowLag,
    position: Offsets,
    stable: Mapping[TopicPartition, Offset],
    opened: Timestamps,
) -> FlowLag:
    """Return `lag` with what of it is behind open transactions.

    Args:
        lag: of a flow.
        position: where the flow stands.
        stable: up to where it can read now.
        opened: when transactions were opened, as far as that is known.
    """
    if lag.records is None or any(item not in stable for item in lag.by_partition):
        return replace(lag, held_records=None)
    held = {
        item: records - max(0, stable[item] - position.get(item, 0))
        for item, records in lag.by_partition.items()
    }
    waiting = {item: records for item, records in held.items() if records > 0}
    moments = [moment for item in waiting if (moment := opened.get(item)) is not None]
    return replace(
        lag, held_records=sum(waiting.values()), held_since=min(moments) if moments else None
    )
