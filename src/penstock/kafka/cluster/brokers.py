"""The cluster as a whole: brokers, controller quorum, features, health and disk usage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.cluster.log_directories import LogDirectory, log_directories
from penstock.kafka.cluster.quorum import Feature, Quorum, finalized_features, quorum
from penstock.kafka.reachability import reachable_brokers
from penstock.kafka.topics.creation import UnknownBrokerError
from penstock.kafka.topics.description import ReplicaSizes
from penstock.names import BrokerId, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka._model import Node
    from confluent_kafka.admin._cluster import DescribeClusterResult
    from confluent_kafka.admin._metadata import ClusterMetadata, PartitionMetadata

    from penstock.kafka.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDescription:
    """One broker of the cluster. `directories` is None when it could not be asked."""

    broker_id: BrokerId
    host: str
    port: int
    rack: str | None
    reachable: bool
    """Whether it accepts connections; a broker that has just died is still a member."""
    leader_count: int
    replica_count: int
    directories: tuple[LogDirectory, ...] | None

    @property
    def disk_bytes(self) -> int | None:
        """Bytes of all replicas on the broker."""
        if self.directories is None:
            return None
        return sum(directory.used_bytes for directory in self.directories)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicUsage:
    """The space that all replicas of a topic take."""

    topic: TopicName
    disk_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """A cluster at one moment. `quorum` and `features` are None where they cannot be asked."""

    cluster_id: str
    brokers: tuple[BrokerDescription, ...]
    missing: Mapping[BrokerId, int]
    """Brokers that hold replicas and are no members now, with how many each of them holds."""

    quorum: Quorum | None
    features: tuple[Feature, ...] | None
    topic_count: int
    partition_count: int
    under_replicated_count: int
    offline_count: int
    topics: tuple[TopicUsage, ...]
    """The largest first; empty when no broker could say."""

    @property
    def controller(self) -> BrokerId | None:
        """The leader of the quorum: brokers name any of themselves when clients ask."""
        return self.quorum.leader if self.quorum else None


def describe_cluster(admin: Admin) -> ClusterDescription:
    """Return the cluster as it is now.

    Raises:
        ClusterUnreachableError: no broker answered.
    """
    action = "describe the cluster"
    future = admin.steered_client.describe_cluster(request_timeout=admin.timeout_seconds)
    answer: DescribeClusterResult = admin.await_one(future, action)
    metadata = admin.metadata()
    nodes = sorted(answer.nodes, key=lambda node: node.id)
    there = reachable_brokers(admin, metadata)
    directories = log_directories(admin, there)
    partitions = _partitions(metadata)
    anyone = next(iter(there.values()), None)
    return ClusterDescription(
        cluster_id=str(answer.cluster_id),
        brokers=tuple(
            _broker(node, partitions, directories, reachable=node.id in there) for node in nodes
        ),
        missing=_missing(partitions, {node.id for node in nodes}),
        quorum=None if anyone is None else quorum(admin, anyone),
        features=None if anyone is None else finalized_features(admin, anyone),
        topic_count=len(metadata.topics),
        partition_count=len(partitions),
        under_replicated_count=sum(len(item.isrs) < len(item.replicas) for item in partitions),
        offline_count=sum(item.leader < 0 for item in partitions),
        topics=_usage(ReplicaSizes.of(directories).by_topic()),
    )


def ensure_broker(admin: Admin, broker: BrokerId) -> None:
    """Check that a broker is in the cluster and up.

    Raises:
        UnknownBrokerError: it is not.
    """
    known = admin.metadata().brokers
    if broker not in known:
        raise UnknownBrokerError(broker, known=known)


def _partitions(metadata: ClusterMetadata) -> list[PartitionMetadata]:
    return [
        partition for topic in metadata.topics.values() for partition in topic.partitions.values()
    ]


def _missing(partitions: list[PartitionMetadata], members: set[int]) -> dict[BrokerId, int]:
    holders = Counter(broker for partition in partitions for broker in partition.replicas)
    return {BrokerId(id_): count for id_, count in holders.items() if id_ not in members}


def _broker(
    node: Node,
    partitions: list[PartitionMetadata],
    directories: Mapping[BrokerId, tuple[LogDirectory, ...]],
    *,
    reachable: bool,
) -> BrokerDescription:
    leaders = Counter(partition.leader for partition in partitions)
    replicas = Counter(broker for partition in partitions for broker in partition.replicas)
    return BrokerDescription(
        broker_id=BrokerId(node.id),
        host=node.host,
        port=node.port,
        rack=node.rack or None,
        reachable=reachable,
        leader_count=leaders[node.id],
        replica_count=replicas[node.id],
        directories=directories.get(BrokerId(node.id)),
    )


def _usage(sizes: Mapping[TopicName, int]) -> tuple[TopicUsage, ...]:
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return tuple(TopicUsage(topic=topic, disk_bytes=size) for topic, size in ordered)
