"""Records of any bytes, headers that repeat or are null included, sent by the bare client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.kafka import Connection

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """A record to send; without a partition the key decides."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = -1


def send_raw(connection: Connection, topic: str, records: Iterable[RawRecord]) -> None:
    """Send records and wait until all are acknowledged."""
    producer = Producer(connection.client_config() | {"partitioner": "murmur2_random"})
    for record in records:
        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
            partition=record.partition,
        )
    assert producer.flush(20) == 0
