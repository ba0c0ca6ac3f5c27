"""What brokers and topics let a lane do: for how long, and how much at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka.cluster.configs import broker_configs, visible_topic_configs
from penstock.kafka.errors import NotAuthorizedError
from penstock.names import BrokerId

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kafka.admin import Admin
    from penstock.names import TopicName

_MOST_SECONDS = 600.0
"""A writer that dies keeps readers waiting for so long, if nobody opens its lane again."""

_LIMIT = "transaction.max.timeout.ms"

MOST_BATCH_BYTES = 1024 * 1024
"""More records in one request to a partition make nothing faster."""

_BATCH_LIMIT = "max.message.bytes"


def transaction_seconds(admin: Admin) -> float:
    """Return how long a transaction of a lane may be open.

    Whoever may not read the configs of brokers gets what brokers allow by default.

    Raises:
        ClusterError: the cluster is away.
    """
    try:
        entries = broker_configs(admin, BrokerId(min(admin.metadata().brokers)))
    except NotAuthorizedError:
        return _MOST_SECONDS
    limits = [int(entry.value) / 1000 for entry in entries if entry.name == _LIMIT and entry.value]
    return min([_MOST_SECONDS, *limits])


def batch_bytes(admin: Admin, topics: Iterable[TopicName]) -> int:
    """Return how many bytes of records may go to a partition of any of `topics` at once.

    A topic limits its batches, and the client does not make smaller ones of one that is refused.

    Raises:
        ClusterError: the cluster is away.
    """
    there = set(topics) & admin.metadata().topics.keys()
    found = visible_topic_configs(admin, there).values()
    limits = [int(it.value) for of in found for it in of if it.name == _BATCH_LIMIT and it.value]
    return min([MOST_BATCH_BYTES, *limits])
