"""Which partitions there are, on which brokers: one question for the whole cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.cluster.log_directories import log_directories
from penstock.kafka.reachability import reachable_brokers
from penstock.kafka.topics.description import ReplicaSizes
from penstock.names import BrokerId, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka.admin._metadata import PartitionMetadata, TopicMetadata

    from penstock.kafka.admin import Admin


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """Which brokers hold a partition."""

    leader: BrokerId | None
    replicas: tuple[BrokerId, ...]
    in_sync: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """All partitions of all topics, by the names of the topics in order."""

    brokers: frozenset[BrokerId]
    """Those that accept connections: for seconds after its death a broker is still a leader."""

    topics: Mapping[TopicName, Mapping[Partition, PartitionLayout]]


def cluster_layout(admin: Admin) -> ClusterLayout:
    """Return the layout of the cluster as brokers know it now.

    Raises:
        ClusterUnreachableError: no broker answered.
    """
    metadata = admin.metadata()
    return ClusterLayout(
        frozenset(reachable_brokers(admin, metadata)),
        {TopicName(name): _partitions(topic) for name, topic in sorted(metadata.topics.items())},
    )


def replica_sizes(admin: Admin) -> ReplicaSizes:
    """Return the size of each replica on the brokers that can say."""
    return ReplicaSizes.of(log_directories(admin, reachable_brokers(admin)))


def _partitions(topic: TopicMetadata) -> dict[Partition, PartitionLayout]:
    return {Partition(number): _layout(item) for number, item in sorted(topic.partitions.items())}


def _layout(item: PartitionMetadata) -> PartitionLayout:
    return PartitionLayout(
        leader=BrokerId(item.leader) if item.leader >= 0 else None,
        replicas=tuple(BrokerId(broker) for broker in item.replicas),
        in_sync=tuple(BrokerId(broker) for broker in item.isrs),
    )
