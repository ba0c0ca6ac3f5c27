"""The topic behind a table: one partition, compacted, stamped by the broker."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.kafka.cluster.configs import topic_configs
from penstock.kafka.errors import ClusterBusyError, UnknownTopicError
from penstock.kafka.offsets import TopicPartition, end_offsets
from penstock.kafka.tables.errors import TableTopicError
from penstock.kafka.topics.creation import TopicExistsError, create_topic
from penstock.names import Partition

if TYPE_CHECKING:
    from penstock.kafka.admin import Admin
    from penstock.kafka.offsets import Isolation
    from penstock.names import Offset, TopicName

PARTITION = Partition(0)
"""The only one: its order decides between writers."""

_REQUIRED = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
_CONFIGS = _REQUIRED | {
    # Kafka never compacts the segment that it writes to. With its own 1 GB, a table whose few
    # entries change every few seconds would grow for weeks, and all of it is read at every open.
    "segment.bytes": str(16 * 1024 * 1024),
}


def ensure_table_topic(admin: Admin, topic: TopicName) -> None:
    """Create the topic of a table if it is absent; whoever comes second accepts the first's.

    Raises:
        TableTopicError: it exists, and cannot hold a table.
        InvalidTopicNameError: Kafka cannot have a topic of that name.
        ClusterError: another subclass, for what else went wrong.
    """
    if topic not in admin.metadata().topics:
        with suppress(TopicExistsError):  # another opened the table at the same moment
            create_topic(admin, topic, partition_count=1, config=_CONFIGS)
    flaws = admin.retried(lambda: _flaws(admin, topic))
    if flaws:
        raise TableTopicError(topic, flaws=flaws)


def _flaws(admin: Admin, topic: TopicName) -> list[str]:
    """Return what keeps a topic from being a table.

    Raises:
        ClusterBusyError: the broker has not heard of the topic yet, which exists.
    """
    action = f"describe topic `{topic}`"
    known = admin.metadata().topics.get(topic)
    if known is None:
        raise ClusterBusyError(action, reason="it is being created")
    try:
        configs = {entry.name: entry.value for entry in topic_configs(admin, [topic])[topic]}
    except UnknownTopicError as err:
        raise ClusterBusyError(action, reason="it is being created") from err
    count = len(known.partitions)
    flaws = [f"{count} partitions instead of 1"] if count != 1 else []
    return flaws + [
        f"`{name}={configs.get(name)}` instead of `{value}`"
        for name, value in _REQUIRED.items()
        if configs.get(name) != value
    ]


def partition_of(topic: TopicName) -> TopicPartition:
    """Return the partition of a table."""
    return TopicPartition(topic, PARTITION)


def end_of(admin: Admin, topic: TopicName, isolation: Isolation) -> Offset:
    """Return the end of a table: `READ_COMMITTED` is before the first open transaction.

    Raises:
        ClusterError: the cluster did not answer in time, or refuses.
    """
    partition = partition_of(topic)
    return end_offsets(admin, [partition], isolation=isolation)[partition]
