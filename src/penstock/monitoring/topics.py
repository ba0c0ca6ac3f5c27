"""All topics of a cluster: what they are, what they hold, and how much comes in.

Nothing here costs a request per topic. Every look asks for the layout of the cluster and, in one
request per broker, for all ends; where partitions begin, what lies on disks and what configs say is
asked every minute or few. A large cluster is looked at less often: `pace.py`.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from penstock.kafka import (
    Admin,
    ClusterError,
    ReplicaSizes,
    TopicPartition,
    bounds_of_present,
    cluster_layout,
    is_internal,
    replica_sizes,
)
from penstock.monitoring.catalog import sample
from penstock.monitoring.catalog.topics import (
    PARTITION_EARLIEST,
    PARTITION_LATEST,
    TOPIC_BYTES,
    TOPIC_HOT,
    TOPIC_OFFLINE,
    TOPIC_PARTITIONS,
    TOPIC_RATE,
    TOPIC_RECORDS,
    TOPIC_UNDER_REPLICATED,
)
from penstock.monitoring.pace import Pace
from penstock.monitoring.topic_settings import TopicSettings, TopicSettingsCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.kafka import Connection, PartitionLayout
    from penstock.monitoring.catalog import Sample
    from penstock.names import BrokerId, Offset, Partition, TopicName

HOT_FACTOR = 10.0
"""How many times the records of the median of the others make a partition hot."""

HOT_RATE = 10.0
"""Records per second below which no partition is called hot: chance decides there."""

_WINDOW_SECONDS = 60.0
_SLOW_SECONDS = 60.0
_REQUEST_SECONDS = 10.0
_MOST_PARTITIONS_TOLD = 5_000
"""Above it the two series per partition are left out: they would crowd out everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFigures:
    """One partition; None is what nobody could say."""

    partition: Partition
    leader: BrokerId | None
    replicas: tuple[BrokerId, ...]
    in_sync: tuple[BrokerId, ...]
    first: Offset | None
    end: Offset | None
    records_per_second: float | None
    size_bytes: int | None
    """Size of the leader's replica."""

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is missing or behind."""
        return len(self.in_sync) < len(self.replicas)

    @property
    def span(self) -> int | None:
        """Offsets between first and end: at least as many as there are records."""
        return None if self.first is None or self.end is None else self.end - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFigures:
    """One topic; None is what nobody could say, or has said yet."""

    name: TopicName
    is_internal: bool
    partitions: tuple[PartitionFigures, ...]
    hot: tuple[Partition, ...]
    """Partitions that get ten times as many records as the median of the others."""

    disk_bytes: int | None
    """Space of all replicas."""

    settings: TopicSettings | None

    @property
    def replication_factor(self) -> int:
        """The number of replicas; the smallest where partitions differ."""
        return min((len(item.replicas) for item in self.partitions), default=0)

    @property
    def under_replicated(self) -> int:
        """How many partitions miss a replica."""
        return sum(item.is_under_replicated for item in self.partitions)

    @property
    def offline(self) -> int:
        """How many partitions have no leader."""
        return sum(item.leader is None for item in self.partitions)

    @property
    def span(self) -> int | None:
        """Offsets between first and end of all partitions."""
        return _total(item.span for item in self.partitions)

    @property
    def end_total(self) -> int | None:
        """Offsets that were ever given out."""
        return _total(item.end for item in self.partitions)

    @property
    def records_per_second(self) -> float | None:
        """How many of them per second in the last minute."""
        rates = [item.records_per_second for item in self.partitions]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsSnapshot:
    """All topics as of one look."""

    at: datetime
    by_name: Mapping[TopicName, TopicFigures] = field(default_factory=dict)
    is_complete: bool = False
    """Whether the settings of all topics are known."""


class TopicSampler:
    """Looks at all topics; `sample` belongs to one thread, the snapshot to any."""

    def __init__(
        self,
        connection: Connection,
        *,
        is_followed: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at nothing yet; `is_followed` says whether somebody waits for the next look."""
        self._admin = Admin(connection.with_request_timeout(_REQUEST_SECONDS))
        self._clock, self._pace = clock, Pace(is_followed=is_followed, clock=clock)
        self._settings = TopicSettingsCache(self._admin)
        self._ends: deque[tuple[float, dict[TopicPartition, Offset]]] = deque()
        self._firsts: dict[TopicPartition, Offset] = {}
        self._purged: set[TopicName] = set()
        self._sizes = ReplicaSizes({})
        self._slow_at = float("-inf")
        self._snapshot = TopicsSnapshot(at=datetime.fromtimestamp(0, UTC))
        self._samples: tuple[Sample, ...] = ()

    def snapshot(self) -> TopicsSnapshot:
        """Return all topics as of the last look."""
        return self._snapshot

    def sample(self) -> Iterable[Sample]:
        """Look when it is time to, and return the series of the last look.

        Raises:
            ClusterError: the cluster does not answer; the snapshot stays as it was.
        """
        if self._pace.is_due:
            try:
                with self._pace.measured():
                    self._look()
            except ClusterError:
                self._admin.forget()  # a client that met an outage would wait longer and longer
                raise
        return self._samples

    def hasten(self) -> None:
        """Let the next `sample` look whenever it comes: somebody has just changed topics."""
        self._pace.hasten()

    def note_change(self, topic: TopicName) -> None:
        """Ask at the next look what `topic` is set to: somebody has changed it. Any thread may."""
        self._settings.forget(topic)
        self.hasten()

    def note_purge(self, topic: TopicName) -> None:
        """Ask at the next look where `topic` begins: records were deleted. Any thread may."""
        self._purged.add(topic)
        self.hasten()

    def close(self) -> None:
        """Let the client go."""
        self._admin.forget()

    def _look(self) -> None:
        layout = cluster_layout(self._admin)
        led = [
            TopicPartition(name, number)
            for name, partitions in layout.topics.items()
            for number, item in partitions.items()
            if item.leader in layout.brokers
        ]
        now = self._clock()
        self._note_ends(bounds_of_present(self._admin, led, firsts=False), now)
        self._look_slowly(led, now)
        is_complete = self._settings.refresh(layout.topics.keys(), at=now)
        known = {name: self._figures(name, items) for name, items in layout.topics.items()}
        self._snapshot = TopicsSnapshot(
            at=datetime.now(UTC), by_name=known, is_complete=is_complete
        )
        self._samples = tuple(samples_of(self._snapshot))

    def _note_ends(self, ends: dict[TopicPartition, Offset], now: float) -> None:
        self._ends.append((now, ends))
        # The oldest look is the first one that lies a window or more behind.
        while len(self._ends) > 2 and self._ends[1][0] <= now - _WINDOW_SECONDS:
            self._ends.popleft()

    def _look_slowly(self, led: list[TopicPartition], now: float) -> None:
        """Ask for what changes little: once a minute, and at once for what is new or purged."""
        purged = self._purged.copy()
        if now - self._slow_at >= _SLOW_SECONDS:
            self._firsts = bounds_of_present(self._admin, led, firsts=True)
            self._sizes = replica_sizes(self._admin)
            self._slow_at = now
        else:
            asked = [item for item in led if item not in self._firsts or item.topic in purged]
            if asked:
                self._firsts |= bounds_of_present(self._admin, asked, firsts=True)
        self._purged -= purged

    def _figures(
        self, name: TopicName, layout: Mapping[Partition, PartitionLayout]
    ) -> TopicFigures:
        partitions = tuple(
            self._partition(TopicPartition(name, number), item) for number, item in layout.items()
        )
        sizes = [
            self._sizes.replica(broker, TopicPartition(name, item.partition))
            for item in partitions
            for broker in item.replicas
        ]
        known = [size for size in sizes if size is not None]
        return TopicFigures(
            name=name,
            is_internal=is_internal(name),
            partitions=partitions,
            hot=hot_partitions(partitions),
            disk_bytes=sum(known) if known else None,
            settings=self._settings.known.get(name),
        )

    def _partition(self, item: TopicPartition, layout: PartitionLayout) -> PartitionFigures:
        return PartitionFigures(
            partition=item.partition,
            leader=layout.leader,
            replicas=layout.replicas,
            in_sync=layout.in_sync,
            first=self._firsts.get(item),
            end=self._ends[-1][1].get(item),
            records_per_second=self._rate(item),
            size_bytes=self._sizes.replica(layout.leader, item),
        )

    def _rate(self, item: TopicPartition) -> float | None:
        (before, old), (after, new) = self._ends[0], self._ends[-1]
        if after <= before or item not in old or item not in new:
            return None
        # A topic that was made anew under the same name begins again at 0.
        return max(0, new[item] - old[item]) / (after - before)


def hot_partitions(partitions: Iterable[PartitionFigures]) -> tuple[Partition, ...]:
    """Return the partitions that get ten times as many records as the median of the others."""
    rates = {
        item.partition: item.records_per_second
        for item in partitions
        if item.records_per_second is not None
    }
    if len(rates) < 2:
        return ()
    ordered = sorted(rates.values())
    # Of those above the median it makes no difference which one is left out.
    limit = max(HOT_FACTOR * median(ordered[:-1]), HOT_RATE)
    return tuple(partition for partition, rate in rates.items() if rate >= limit)


def samples_of(snapshot: TopicsSnapshot) -> Iterator[Sample]:
    """Return the series of all topics; of each partition unless there are very many."""
    count = sum(len(topic.partitions) for topic in snapshot.by_name.values())
    for topic in snapshot.by_name.values():
        yield from _topic_samples(topic)
        if count <= _MOST_PARTITIONS_TOLD:
            yield from _partition_samples(topic)


def _topic_samples(topic: TopicFigures) -> Iterator[Sample]:
    yield sample(TOPIC_PARTITIONS, len(topic.partitions), topic=topic.name)
    yield sample(TOPIC_UNDER_REPLICATED, topic.under_replicated, topic=topic.name)
    yield sample(TOPIC_OFFLINE, topic.offline, topic=topic.name)
    yield sample(TOPIC_HOT, len(topic.hot), topic=topic.name)
    if topic.end_total is not None:
        yield sample(TOPIC_RECORDS, topic.end_total, topic=topic.name)
    if topic.records_per_second is not None:
        yield sample(TOPIC_RATE, topic.records_per_second, topic=topic.name)
    if topic.disk_bytes is not None:
        yield sample(TOPIC_BYTES, topic.disk_bytes, topic=topic.name)


def _partition_samples(topic: TopicFigures) -> Iterator[Sample]:
    for item in topic.partitions:
        number = str(item.partition)
        if item.first is not None:
            yield sample(PARTITION_EARLIEST, item.first, topic=topic.name, partition=number)
        if item.end is not None:
            yield sample(PARTITION_LATEST, item.end, topic=topic.name, partition=number)


def _total(values: Iterable[int | None]) -> int | None:
    """Return the sum; None when one is not known."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
