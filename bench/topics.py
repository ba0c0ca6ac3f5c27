"""How many records a topic holds, by the offsets of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka import Admin, TopicPartition, describe_topics, end_offsets
from penstock.names import Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Sequence


def partitions_of(admin: Admin, topic: TopicName) -> tuple[TopicPartition, ...]:
    """Return the partitions of `topic`."""
    [description] = describe_topics(admin, [topic])
    return tuple(
        TopicPartition(topic, Partition(number)) for number in range(len(description.partitions))
    )


def record_count(admin: Admin, partitions: Sequence[TopicPartition]) -> int:
    """Return the records ever written to `partitions`.

    Exact for topics without transactions: their markers take offsets too.
    """
    return sum(end_offsets(admin, partitions).values())
