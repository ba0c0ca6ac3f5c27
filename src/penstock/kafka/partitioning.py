"""Which partition a key belongs to: the mapping of Java's client, and partitioners of one's own.

Java, Spark and Penstock put the same key on the same partition. librdkafka's own default (CRC32)
does not: joins, compaction and order per key break when both write to one topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

Partitioner = Callable[[bytes | None, int], int]
"""Takes a record's key and the topic's partition count, returns the partition.

Called in the thread that sends, once per record that names no partition. It must give the same
answer for the same arguments, or records of one key lose their order.
"""

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_WORD = 0xFFFFFFFF


class KeyRequiredError(UsageError):
    """A partitioner works by key, and the record has none."""

    code = "PEN-450"

    def __init__(self, partitioner: str) -> None:
        super().__init__(
            f"`{partitioner}` chooses the partition by key, and this record has none",
            hint="send it with `key=...`, or name its partition with `partition=...`",
        )


class TooFewPartitionsError(UsageError):
    """A topic has fewer partitions than a partitioner can work with."""

    code = "PEN-451"

    def __init__(self, partitioner: str, *, found: int, needed: int) -> None:
        super().__init__(
            f"`{partitioner}` needs at least {needed} partitions, the topic has {found}",
            hint=f"`penstock topics alter TOPIC --partitions {needed}`, or send without it",
        )


def murmur2(data: bytes) -> int:
    """Return Java's `Utils.toPositive(Utils.murmur2(data))`, between 0 and 2³¹ - 1."""
    length = len(data)
    state = _SEED ^ length
    whole = length & ~3
    for index in range(0, whole, 4):
        word = int.from_bytes(data[index : index + 4], "little") * _MULTIPLIER & _WORD
        word = (word ^ word >> 24) * _MULTIPLIER & _WORD
        state = state * _MULTIPLIER & _WORD ^ word
    if length > whole:
        state = (state ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _WORD
    state = (state ^ state >> 13) * _MULTIPLIER & _WORD
    return (state ^ state >> 15) & 0x7FFFFFFF


def partition_for_key(key: bytes, partition_count: int) -> int:
    """Return the partition that Java's client chooses for `key`."""
    return murmur2(key) % partition_count


@dataclass(frozen=True, slots=True, init=False)
class HotKeyPartitioner:
    """Gives the hot keys the last partition for themselves; the others share the rest by murmur2.

    For a customer whose records would drown the others: with n partitions, a hot key goes to
    n - 1, every other key to one of 0 … n - 2.
    """

    hot_keys: frozenset[bytes]

    def __init__(self, hot_keys: Collection[str | bytes]) -> None:
        # A string is a collection of strings: `hot_keys="Banana"` would mean its letters.
        given = [hot_keys] if isinstance(hot_keys, str | bytes) else hot_keys
        keys = frozenset(key.encode() if isinstance(key, str) else key for key in given)
        object.__setattr__(self, "hot_keys", keys)

    def __call__(self, key: bytes | None, partition_count: int) -> int:
        """Return the partition for `key`.

        Raises:
            KeyRequiredError: the record has no key.
            TooFewPartitionsError: there is no second partition for the other keys.
        """
        if key is None:
            raise KeyRequiredError(type(self).__name__)
        if partition_count < 2:
            raise TooFewPartitionsError(type(self).__name__, found=partition_count, needed=2)
        if key in self.hot_keys:
            return partition_count - 1
        return partition_for_key(key, partition_count - 1)
