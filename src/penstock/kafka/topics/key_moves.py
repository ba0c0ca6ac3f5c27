"""What more partitions would do to keys: which of them the mapping would send elsewhere.

A key's records keep their order because they are on one partition. When the partition count
changes, the mapping `murmur2(key) % count` does too, and records of one key end up on two.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.errors import ClusterError, translated
from penstock.kafka.offsets import TopicPartition, end_offsets, first_offsets
from penstock.kafka.partitioning import partition_for_key

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from penstock.kafka.admin import Admin
    from penstock.kafka.connection import Connection
    from penstock.names import TopicName

# Enough to see keys and to know the share to a few percent; read in well under a second.
SAMPLE_SIZE = 3000
_POLL_SECONDS = 0.1


class KeysWouldMoveError(ClusterError):
    """More partitions would send keys elsewhere, and nobody said that this is fine."""

    code = "PEN-419"

    def __init__(self, topic: TopicName, move: KeyMove) -> None:
        super().__init__(
            f"topic `{topic}` has keys: with {move.new_count} partitions instead of "
            f"{move.old_count}, {move.moved_keys} of {move.key_count} keys "
            f"({move.share:.0%}) in its latest {move.record_count} records would move to "
            "another partition and lose their order",
            hint="add `--allow-key-move` when no consumer relies on the order per key, or copy "
            "the records to a new topic",
        )
        self.move = move


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMove:
    """How many keys of a sample another partition count would send elsewhere."""

    old_count: int
    new_count: int
    record_count: int
    """Records in the sample."""
    key_count: int
    """Distinct keys among them; 0 when records have no keys."""
    moved_keys: int

    @property
    def share(self) -> float:
        """The part of the keys that would move, between 0 and 1."""
        return self.moved_keys / self.key_count if self.key_count else 0.0


def key_move(keys: Sequence[bytes | None], *, old_count: int, new_count: int) -> KeyMove:
    """Return what going from `old_count` to `new_count` partitions does to the sampled keys."""
    distinct = {key for key in keys if key is not None}
    moved = sum(
        partition_for_key(key, old_count) != partition_for_key(key, new_count) for key in distinct
    )
    return KeyMove(
        old_count=old_count,
        new_count=new_count,
        record_count=len(keys),
        key_count=len(distinct),
        moved_keys=moved,
    )


def sample_keys(
    admin: Admin, partitions: Collection[TopicPartition], *, size: int = SAMPLE_SIZE
) -> list[bytes | None]:
    """Return the keys of about `size` records from the ends of the partitions, None for no key.

    Raises:
        ClusterError: a subclass, when records cannot be read.
    """
    firsts, ends = first_offsets(admin, partitions), end_offsets(admin, partitions)
    filled = [partition for partition in partitions if firsts[partition] < ends[partition]]
    if not filled:
        return []
    share = max(1, size // len(filled))
    starts = [
        ClientPartition(item.topic, item.partition, max(firsts[item], ends[item] - share))
        for item in filled
    ]
    return _keys_from(admin.connection, starts, size)


def _keys_from(
    connection: Connection, starts: Sequence[ClientPartition], size: int
) -> list[bytes | None]:
    consumer = Consumer(_consumer_config(connection))
    keys: list[bytes | None] = []
    open_partitions = {start.partition for start in starts}
    deadline = time.monotonic() + connection.request_timeout_seconds
    try:
        consumer.assign(list(starts))
        while open_partitions and len(keys) < size and time.monotonic() < deadline:
            for message in consumer.consume(size, timeout=_POLL_SECONDS):
                error = message.error()
                if error is None:
                    keys.append(message.key())
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    open_partitions.discard(message.partition())
                else:
                    raise _unreadable(KafkaException(error), connection)
    finally:
        consumer.close()
    return keys


def _consumer_config(connection: Connection) -> dict[str, str | int | bool]:
    return {
        **connection.client_config(),
        "group.id": "penstock-key-sample",  # the client asks for one; nothing is ever committed
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "log_level": 0,
    }


def _unreadable(err: KafkaException, connection: Connection) -> ClusterError:
    return translated(err, action="read recent records", bootstrap=connection.bootstrap)
