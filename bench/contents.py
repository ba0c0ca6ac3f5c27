"""Whether two topics hold the same records, in whatever order."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import confluent_kafka
from bench.topics import partitions_of

from penstock.kafka import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kafka import Connection
    from penstock.names import TopicName

_BATCH_RECORDS = 10_000
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Contents:
    """What a reader of committed records finds in a topic."""

    records: int
    checksum: int
    """A sum over all records: their order does not matter, and repeated ones do."""


def contents(connection: Connection, topic: TopicName, *, last_of_each_key: bool) -> Contents:
    """Read `topic` to its end.

    Args:
        connection: how to reach the cluster.
        topic: nobody writes to it any more.
        last_of_each_key: leave out records that are followed by one of their key.
    """
    last: dict[bytes | None, int] = {}
    records = checksum = 0
    for key, value in _read(connection, topic):
        found = zlib.crc32(value or b"", zlib.crc32(key or b""))
        if last_of_each_key:
            last[key] = found
        else:
            records, checksum = records + 1, checksum + found
    return Contents(len(last) + records, sum(last.values()) + checksum)


def _read(connection: Connection, topic: TopicName) -> Iterator[tuple[bytes | None, bytes | None]]:
    with Admin(connection) as admin:
        partitions = partitions_of(admin, topic)
    client = confluent_kafka.Consumer(
        {
            "bootstrap.servers": connection.bootstrap,
            "group.id": "bench-contents",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
        }
    )
    client.assign(
        [
            confluent_kafka.TopicPartition(topic, item.partition, confluent_kafka.OFFSET_BEGINNING)
            for item in partitions
        ]
    )
    unfinished = len(partitions)
    try:
        while unfinished:
            messages = client.consume(_BATCH_RECORDS, timeout=_PATIENCE_SECONDS)
            if not messages:
                raise TimeoutError
            for message in messages:
                error = message.error()
                if error is None:
                    yield message.key(), message.value()
                elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:  # noqa: SLF001
                    unfinished -= 1
                else:
                    raise confluent_kafka.KafkaException(error)
    finally:
        client.close()
