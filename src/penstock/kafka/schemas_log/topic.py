"""The topic that schemas are kept in: one partition, compacted; Confluent's own is just that."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.kafka.schemas_log.errors import SchemasTopicError
from penstock.kafka.tables.topic import described
from penstock.kafka.topics.creation import TopicExistsError, create_topic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigEntry
    from penstock.kafka.topics.description import TopicIdentity
    from penstock.names import TopicName

_CONFIGS = {
    "cleanup.policy": "compact",
    # Kafka never compacts the segment that it writes to, and all of it is read at every start.
    "segment.bytes": str(16 * 1024 * 1024),
}


def ensure_schemas_topic(admin: Admin, topic: TopicName) -> TopicIdentity:
    """Create the topic if it is absent; whoever comes second accepts the first's.

    Raises:
        SchemasTopicError: it exists, and would lose schemas or their order.
        ClusterError: another subclass, for what else went wrong.
    """
    if topic not in admin.metadata().topics:
        with suppress(TopicExistsError):  # another instance started at the same moment
            create_topic(admin, topic, partition_count=1, config=_CONFIGS)
    identity, configs = admin.retried(lambda: described(admin, topic))
    found = flaws(len(identity.partitions), configs)
    if found:
        raise SchemasTopicError(topic, flaws=found)
    return identity


def flaws(partition_count: int, configs: Iterable[ConfigEntry]) -> list[str]:
    """Return what keeps a topic from holding schemas."""
    policy = next((entry.value for entry in configs if entry.name == "cleanup.policy"), None)
    found = [f"{partition_count} partitions instead of 1"] if partition_count != 1 else []
    return found + ([f"`cleanup.policy={policy}` instead of `compact`"] * (policy != "compact"))
