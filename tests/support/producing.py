"""Records for tests that are about something else than producing: one call, all acknowledged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from confluent_kafka import Producer

from support.topic_contents import await_commits

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from confluent_kafka import Message

    from penstock.kafka import Connection
    from penstock.names import TopicName

# For topics with records of fixed days: those are older than a topic keeps them sooner or later,
# and would go while a test looks at them.
KEEP = {"retention.ms": "-1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A record to send; None leaves the choice to the client."""

    key: str | None = None
    value: str | bytes = "x"
    partition: int | None = None
    timestamp: datetime | None = None


def send(connection: Connection, topic: TopicName, records: Iterable[Sent]) -> list[int]:
    """Send records, with Java's mapping of keys, and return the partition of each."""
    config = connection.client_config() | {"partitioner": "murmur2_random", "linger.ms": "0"}
    producer = Producer(config)
    placed: dict[int, int] = {}

    for number, record in enumerate(records):

        def on_delivery(error: object, message: Message, number: int = number) -> None:
            assert error is None, error
            placed[number] = message.partition() or 0

        producer.produce(
            topic,
            key=record.key,
            value=record.value,
            partition=-1 if record.partition is None else record.partition,
            timestamp=0 if record.timestamp is None else int(record.timestamp.timestamp() * 1000),
            on_delivery=on_delivery,
        )
    assert producer.flush(20) == 0
    return [placed[number] for number in sorted(placed)]


def send_aborted(
    connection: Connection, topic: TopicName, values: Iterable[str], *, partition: int
) -> None:
    """Send records in a transaction that is aborted: they take offsets, and nobody sees them."""
    client = Producer(connection.client_config() | {"transactional.id": f"test-{uuid4().hex}"})
    client.init_transactions(30)
    client.begin_transaction()
    for value in values:
        client.produce(topic, value, partition=partition)
    client.flush(30)
    client.abort_transaction(30)
    await_commits(connection, topic)


def fill(connection: Connection, topic: TopicName, count: int) -> None:
    """Send many records as fast as the bare client can."""
    client = Producer(
        connection.client_config()
        | {"linger.ms": "50", "compression.type": "lz4", "queue.buffering.max.messages": "200000"}
    )
    value = b'{"amount": 12, "user": "somebody", "note": "the same in each of them"}'
    for number in range(count):
        while True:
            try:
                client.produce(topic, value, partition=number % 3)
                break
            except BufferError:
                client.poll(0.1)
    assert client.flush(60) == 0
