"""Topics as the cluster has them: layout, offsets, sizes, configs, rate, and which look unused.

Every function asks for all its topics at once: the number of requests grows with the brokers,
never with the topics. Creating is in `topic_creation.py`, changing in `topic_changes.py`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from confluent_kafka import TopicCollection

from penstock.kafka.cluster.configs import topic_configs, visible_topic_configs
from penstock.kafka.cluster.log_directories import log_directories
from penstock.kafka.errors import UnknownTopicError
from penstock.kafka.offsets import TopicPartition, end_offsets, known_bounds, newest_records
from penstock.kafka.reachability import reachable_brokers
from penstock.names import BrokerId, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from confluent_kafka._model import TopicPartitionInfo as ClientPartition
    from confluent_kafka.admin._topic import TopicDescription as ClientTopic

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigEntry
    from penstock.kafka.cluster.log_directories import LogDirectory
    from penstock.kafka.offsets import Bounds

# Kafka's own topics start with two underscores, ours on a platform with `_penstock.`.
_INTERNAL_PREFIXES = ("__", "_penstock.")
# A topic may be deleted between two of our requests; then the list is made again.
_LIST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription:
    """One partition: who holds it, and what it holds. None means that nobody could say."""

    partition: Partition
    leader: BrokerId | None
    replicas: tuple[BrokerId, ...]
    in_sync: tuple[BrokerId, ...]
    first: Offset | None
    end: Offset | None
    size_bytes: int | None
    """Size of the leader's replica on disk."""

    @property
    def span(self) -> int | None:
        """Offsets between first and end: at least as many as there are records."""
        return None if self.first is None or self.end is None else self.end - self.first

    @property
    def under_replicated(self) -> bool:
        """Whether a replica is missing or behind."""
        return len(self.in_sync) < len(self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """A topic with its partitions and configs."""

    name: TopicName
    topic_id: str
    internal: bool
    partitions: tuple[PartitionDescription, ...]
    configs: tuple[ConfigEntry, ...]
    disk_bytes: int | None
    """Size of all replicas on the brokers that answered; None when none did."""

    @property
    def replication_factor(self) -> int:
        """The number of replicas; the smallest where a reassignment makes partitions differ."""
        return min((len(partition.replicas) for partition in self.partitions), default=0)

    @property
    def under_replicated_count(self) -> int:
        """How many partitions miss a replica."""
        return sum(partition.under_replicated for partition in self.partitions)

    @property
    def offline_count(self) -> int:
        """How many partitions have no leader: they can neither be written nor read."""
        return sum(partition.leader is None for partition in self.partitions)

    @property
    def span(self) -> int | None:
        """Offsets between first and end of all partitions; None when one is not known."""
        return _total(partition.span for partition in self.partitions)

    @property
    def size_bytes(self) -> int | None:
        """Size of one copy of each partition."""
        return _total(partition.size_bytes for partition in self.partitions)

    @property
    def cleanup_policy(self) -> str:
        """`delete`, `compact` or both."""
        return self.config("cleanup.policy") or ""

    def config(self, name: str) -> str | None:
        """Return the value in force of the config `name`."""
        return next((entry.value for entry in self.configs if entry.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicIdentity:
    """Which topic bears a name now: one that was deleted and created again has another id."""

    topic_id: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedTopic:
    """A topic to which nothing was written for a while. `newest` None: it holds no records."""

    name: TopicName
    partition_count: int
    newest: datetime | None


def is_internal(name: str) -> bool:
    """Whether the topic belongs to Kafka or to Penstock rather than to users."""
    return name.startswith(_INTERNAL_PREFIXES)


def topic_names(
    admin: Admin, pattern: str | None = None, *, internal: bool = False
) -> tuple[TopicName, ...]:
    """Return the names of topics in order.

    Args:
        admin: the cluster.
        pattern: a shell pattern such as `orders-*`; None for all.
        internal: whether Kafka's and Penstock's own topics are included.
    """
    return tuple(
        TopicName(name)
        for name in sorted(admin.metadata().topics)
        if (internal or not is_internal(name)) and (pattern is None or fnmatchcase(name, pattern))
    )


def ensure_exist(admin: Admin, names: Iterable[TopicName]) -> None:
    """Check that all topics exist.

    Raises:
        UnknownTopicError: for the first that does not, with the nearest name.
        NotAuthorizedError: this user may not see it.
    """
    known = admin.metadata().topics
    for name in names:
        if name not in known:
            raise admin.absence(name, f"show topic `{name}`", known=known)


def list_topics(
    admin: Admin, pattern: str | None = None, *, internal: bool = False
) -> tuple[TopicDescription, ...]:
    """Return the topics whose name fits `pattern`, in the order of their names.

    Who may see a topic need not be allowed to see its configs: they are empty then.
    """
    for _ in range(_LIST_ATTEMPTS):
        names = topic_names(admin, pattern, internal=internal)
        try:
            return _described(admin, names, visible_topic_configs)
        except UnknownTopicError:
            continue
    names = topic_names(admin, pattern, internal=internal)
    return _described(admin, names, visible_topic_configs)


def describe_topics(admin: Admin, names: Sequence[TopicName]) -> tuple[TopicDescription, ...]:
    """Return the topics in the order of `names`.

    Raises:
        UnknownTopicError: one of them does not exist.
        NotAuthorizedError: this user may not see one of them or its configs.
    """
    return _described(admin, names, topic_configs)


def topic_identities(admin: Admin, names: Sequence[TopicName]) -> dict[TopicName, TopicIdentity]:
    """Return which topics bear these names; asks for nothing but their layout.

    Raises:
        UnknownTopicError: one of them does not exist.
        NotAuthorizedError: this user may not see one of them.
    """
    layouts = _layouts(admin, names) if names else []
    return {
        TopicName(layout.name): TopicIdentity(
            topic_id=_readable_id(layout),
            partitions=tuple(
                TopicPartition(TopicName(layout.name), Partition(item.id))
                for item in layout.partitions
            ),
        )
        for layout in layouts
    }


def _described(
    admin: Admin,
    names: Sequence[TopicName],
    configs_of: Callable[[Admin, Sequence[TopicName]], dict[TopicName, tuple[ConfigEntry, ...]]],
) -> tuple[TopicDescription, ...]:
    if not names:
        return ()
    layouts = _layouts(admin, names)
    brokers = reachable_brokers(admin)
    led = [
        TopicPartition(TopicName(layout.name), Partition(partition.id))
        for layout in layouts
        for partition in layout.partitions
        if partition.leader is not None and partition.leader.id in brokers
    ]
    details = _Details(
        bounds=known_bounds(admin, led),
        sizes=ReplicaSizes.of(log_directories(admin, brokers)),
        configs=configs_of(admin, names),
    )
    return tuple(details.described(layout) for layout in layouts)


def record_rates(
    admin: Admin, partitions: Collection[TopicPartition], *, window_seconds: float
) -> dict[TopicName, float]:
    """Return how many offsets per second each topic grew by during the next `window_seconds`.

    Waits for that long. Transaction markers count as records.
    """
    before, started = end_offsets(admin, partitions), time.monotonic()
    time.sleep(window_seconds)
    after, elapsed = end_offsets(admin, partitions), time.monotonic() - started
    grown: defaultdict[TopicName, int] = defaultdict(int)
    for partition in partitions:
        grown[partition.topic] += after[partition] - before[partition]
    return {topic: count / elapsed for topic, count in grown.items()}


def unused_topics(admin: Admin, *, older_than: datetime) -> tuple[UnusedTopic, ...]:
    """Return the topics whose newest record is older than a moment, and those without records.

    Goes by the timestamps of records, not by readers. Internal topics are left out, and so are
    topics of which a partition has no leader: what they hold cannot be known.
    """
    brokers = reachable_brokers(admin)
    layouts = {
        TopicName(name): topic.partitions
        for name, topic in admin.metadata().topics.items()
        if not is_internal(name) and all(p.leader in brokers for p in topic.partitions.values())
    }
    asked = [TopicPartition(topic, Partition(p)) for topic, ps in layouts.items() for p in ps]
    newest: dict[TopicName, datetime] = {}
    for partition, record in newest_records(admin, asked).items():
        if record is not None:
            known = newest.get(partition.topic, record.timestamp)
            newest[partition.topic] = max(known, record.timestamp)
    return tuple(
        UnusedTopic(name=name, partition_count=len(layouts[name]), newest=newest.get(name))
        for name in sorted(layouts)
        if name not in newest or newest[name] < older_than
    )


@dataclass(frozen=True, slots=True)
class ReplicaSizes:
    """Bytes of each replica, by broker and partition."""

    by_replica: Mapping[tuple[BrokerId, TopicPartition], int]

    @classmethod
    def of(cls, directories: Mapping[BrokerId, Sequence[LogDirectory]]) -> ReplicaSizes:
        """Add up what brokers said about their log directories."""
        sizes: defaultdict[tuple[BrokerId, TopicPartition], int] = defaultdict(int)
        for broker, folders in directories.items():
            for replica in (replica for folder in folders for replica in folder.replicas):
                # A replica on its way to another folder of the broker appears in both.
                sizes[broker, replica.partition] += replica.size_bytes
        return cls(sizes)

    def replica(self, broker: BrokerId | None, partition: TopicPartition) -> int | None:
        """Return the size of one replica, or None when it is not known."""
        return None if broker is None else self.by_replica.get((broker, partition))

    def by_topic(self) -> dict[TopicName, int]:
        """Return the size of all replicas of each topic."""
        sizes: defaultdict[TopicName, int] = defaultdict(int)
        for (_, partition), size in self.by_replica.items():
            sizes[partition.topic] += size
        return dict(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Details:
    """What was asked about many topics, ready to be dealt out to each."""

    bounds: Mapping[TopicPartition, Bounds]
    sizes: ReplicaSizes
    configs: Mapping[TopicName, tuple[ConfigEntry, ...]]

    def described(self, layout: ClientTopic) -> TopicDescription:
        name = TopicName(layout.name)
        partitions = tuple(self._partition(name, item) for item in layout.partitions)
        replicas = [
            self.sizes.replica(broker, TopicPartition(name, partition.partition))
            for partition in partitions
            for broker in partition.replicas
        ]
        known = [size for size in replicas if size is not None]
        return TopicDescription(
            name=name,
            topic_id=_readable_id(layout),
            internal=layout.is_internal or is_internal(name),
            partitions=partitions,
            configs=self.configs[name],
            disk_bytes=sum(known) if known else None,
        )

    def _partition(self, topic: TopicName, layout: ClientPartition) -> PartitionDescription:
        key = TopicPartition(topic, Partition(layout.id))
        led = layout.leader is not None and layout.leader.id >= 0
        leader = BrokerId(layout.leader.id) if led else None
        bounds = self.bounds.get(key)
        return PartitionDescription(
            partition=key.partition,
            leader=leader,
            replicas=tuple(BrokerId(node.id) for node in layout.replicas),
            in_sync=tuple(BrokerId(node.id) for node in layout.isr),
            first=bounds.first if bounds else None,
            end=bounds.end if bounds else None,
            size_bytes=self.sizes.replica(leader, key),
        )


def _readable_id(layout: ClientTopic) -> str:
    # The client writes plain Base64, Kafka's own tools the variant for addresses.
    return str(layout.topic_id).translate(str.maketrans("+/", "-_"))


def _layouts(admin: Admin, names: Sequence[TopicName]) -> list[ClientTopic]:
    def answers() -> list[ClientTopic]:
        futures = admin.steered_client.describe_topics(
            TopicCollection(list(names)), request_timeout=admin.timeout_seconds
        )
        return [
            admin.await_one(futures[name], f"describe topic `{name}`", topic=name) for name in names
        ]

    return admin.retried(answers)


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)
