"""The topic behind a table: one partition, compacted, stamped by the broker."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.kafka.cluster.configs import topic_configs
from penstock.kafka.errors import ClusterBusyError, ClusterError, UnknownTopicError
from penstock.kafka.offsets import TopicPartition, end_offsets, first_offsets
from penstock.kafka.tables.errors import TableTopicError
from penstock.kafka.topics.creation import TopicExistsError, create_topic
from penstock.kafka.topics.description import topic_identities
from penstock.names import Partition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigEntry
    from penstock.kafka.offsets import Isolation
    from penstock.kafka.topics.description import TopicIdentity
    from penstock.names import Offset, TopicName

PARTITION = Partition(0)
"""The only one: its order decides between writers."""

# Who closes a table waits for the look that is under way.
_LOOK_SECONDS = 1.0
_REQUIRED = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
_CONFIGS = _REQUIRED | {
    # Kafka never compacts the segment that it writes to. With its own 1 GB, a table whose few
    # entries change every few seconds would grow for weeks, and all of it is read at every open.
    "segment.bytes": str(16 * 1024 * 1024),
}


def ensure_table_topic(admin: Admin, topic: TopicName) -> TopicIdentity:
    """Create the topic of a table if it is absent; whoever comes second accepts the first's.

    Raises:
        TableTopicError: it exists, and cannot hold a table.
        InvalidTopicNameError: Kafka cannot have a topic of that name.
        ClusterError: another subclass, for what else went wrong.
    """
    if topic not in admin.metadata().topics:
        with suppress(TopicExistsError):  # another opened the table at the same moment
            create_topic(admin, topic, partition_count=1, config=_CONFIGS)
    identity, configs = admin.retried(lambda: described(admin, topic))
    found = flaws(len(identity.partitions), configs)
    if found:
        raise TableTopicError(topic, flaws=found)
    return identity


def flaws(partition_count: int, configs: Iterable[ConfigEntry]) -> list[str]:
    """Return what keeps a topic from being a table."""
    values = {entry.name: entry.value for entry in configs}
    partitions = [f"{partition_count} partitions instead of 1"] if partition_count != 1 else []
    return partitions + [
        f"`{name}={values.get(name)}` instead of `{value}`"
        for name, value in _REQUIRED.items()
        if values.get(name) != value
    ]


def is_gone(admin: Admin, topic: TopicName, identity: TopicIdentity) -> bool:
    """Whether the topic was deleted, or another bears its name; False while nobody can tell."""
    try:
        found = topic_identities(admin.within(_LOOK_SECONDS), [topic])[topic]
    except UnknownTopicError:
        return True
    except ClusterError:
        return False
    return found.topic_id != identity.topic_id


def partition_of(topic: TopicName) -> TopicPartition:
    """Return the partition of a table."""
    return TopicPartition(topic, PARTITION)


def first_of(admin: Admin, topic: TopicName) -> Offset:
    """Return where a table begins.

    Raises:
        ClusterError: the cluster did not answer in time, or refuses.
    """
    partition = partition_of(topic)
    return first_offsets(admin, [partition])[partition]


def end_of(admin: Admin, topic: TopicName, isolation: Isolation) -> Offset:
    """Return the end of a table: `READ_COMMITTED` is before the first open transaction.

    Raises:
        ClusterError: the cluster did not answer in time, or refuses.
    """
    partition = partition_of(topic)
    return end_offsets(admin, [partition], isolation=isolation)[partition]


def described(admin: Admin, topic: TopicName) -> tuple[TopicIdentity, tuple[ConfigEntry, ...]]:
    """Return which topic bears the name, and its configs.

    Raises:
        ClusterBusyError: the broker has not heard of the topic yet, which was just created.
    """
    try:
        return topic_identities(admin, [topic])[topic], topic_configs(admin, [topic])[topic]
    except UnknownTopicError as err:
        action = f"describe topic `{topic}`"
        raise ClusterBusyError(action, reason="it is being created") from err
