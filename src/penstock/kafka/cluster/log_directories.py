"""What lies on the brokers' disks: log directories and the size of each replica in them.

Asked over the plain protocol (`wire.py`), because the client library has no such request. Where
that is not possible, sizes are unknown and shown as such, never estimated.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.cluster.wire import NO_TAGS, Reader, Request, WireError, ask
from penstock.kafka.offsets import TopicPartition
from penstock.kafka.reachability import reachable_brokers
from penstock.names import BrokerId, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kafka.admin import Admin
    from penstock.kafka.reachability import Address

logger = logging.getLogger(__name__)

# Version 4 (Kafka 3.3) is the first with the capacity of the disk. A null list asks for all topics.
_DESCRIBE_LOG_DIRS = Request(api_key=35, api_version=4, body=b"\x00" + NO_TAGS)
_MAX_THREADS = 16  # brokers asked at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSize:
    """One replica on one broker's disk, indexes not counted."""

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    """How far the replica is behind its leader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """A folder in which a broker keeps replicas."""

    path: str
    total_bytes: int | None
    """Capacity of the volume; None when the broker does not say."""
    usable_bytes: int | None
    replicas: tuple[ReplicaSize, ...]
    failed: bool
    """Whether the broker has taken the folder out of use, after a disk error for instance."""

    @property
    def used_bytes(self) -> int:
        """Bytes of all replicas in the folder."""
        return sum(replica.size_bytes for replica in self.replicas)


def log_directories(
    admin: Admin, brokers: Mapping[BrokerId, Address]
) -> dict[BrokerId, tuple[LogDirectory, ...]]:
    """Return the log directories of each broker that can be asked.

    A broker that cannot be is absent: it is down, or the connection is not `PLAINTEXT`.
    """
    if not brokers or not admin.connection.is_plaintext:
        return {}
    with ThreadPoolExecutor(max_workers=min(len(brokers), _MAX_THREADS)) as pool:
        answers = pool.map(lambda address: _asked(admin, address), brokers.values())
    found = zip(brokers, answers, strict=True)
    return {broker: directories for broker, directories in found if directories is not None}


def partition_sizes(admin: Admin) -> dict[TopicPartition, int]:
    """Return the bytes of each partition, by its largest replica; empty when no broker says."""
    sizes: dict[TopicPartition, int] = {}
    for directories in log_directories(admin, reachable_brokers(admin)).values():
        for replica in (replica for directory in directories for replica in directory.replicas):
            known = sizes.get(replica.partition, 0)
            sizes[replica.partition] = max(known, replica.size_bytes)
    return sizes


def _asked(admin: Admin, address: Address) -> tuple[LogDirectory, ...] | None:
    try:
        return ask(address, _DESCRIBE_LOG_DIRS, _decoded, timeout_seconds=admin.timeout_seconds)
    except WireError:
        logger.warning("log directories unknown", extra={"address": str(address)})
        return None


def _decoded(reader: Reader) -> tuple[LogDirectory, ...] | None:
    reader.int32()  # throttle time
    refused = reader.int16() != 0  # such as not authorized: sizes are a nicety, not worth failing
    return None if refused else reader.array(_directory)


def _directory(reader: Reader) -> LogDirectory:
    failed = reader.int16() != 0
    path = reader.name()
    replicas = tuple(replica for topic in reader.array(_topic) for replica in topic)
    total, usable = reader.int64(), reader.int64()
    return LogDirectory(
        path=path,
        total_bytes=total if total >= 0 else None,
        usable_bytes=usable if usable >= 0 else None,
        replicas=replicas,
        failed=failed,
    )


def _topic(reader: Reader) -> tuple[ReplicaSize, ...]:
    topic = TopicName(reader.name())
    return reader.array(lambda item: _replica(item, topic))


def _replica(reader: Reader, topic: TopicName) -> ReplicaSize:
    partition = TopicPartition(topic, Partition(reader.int32()))
    size, lag = reader.int64(), reader.int64()
    reader.int8()  # whether the replica is being moved to this folder: it takes space either way
    return ReplicaSize(partition=partition, size_bytes=size, offset_lag=lag)
