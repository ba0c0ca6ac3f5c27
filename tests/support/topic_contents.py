"""What stands in a topic, read by the bare client: our producer is not judged by our consumer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from penstock.kafka import (
    Admin,
    Connection,
    UnknownTopicError,
    await_transactions,
    partitions_to_read,
)
from penstock.names import TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A record in a partition."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = 0


def topic_contents(
    bootstrap: str, topic: str, *, isolation: str = "read_committed"
) -> list[Stored]:
    """Return all records of `topic` by partition and offset.

    What was committed just now is there: for transactions that are open it waits a while.
    """
    if isolation == "read_committed":
        # A topic that is not there yet is asked for below.
        with suppress(UnknownTopicError), Admin(Connection(bootstrap=bootstrap)) as admin:
            await_transactions(admin, partitions_to_read(admin, [TopicName(topic)]))
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"contents-of-{topic}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        return sorted(_until_the_ends(consumer, len(partitions)), key=_position)
    finally:
        consumer.close()


def await_commits(connection: Connection, topic: str) -> None:
    """Wait until no transaction is open in `topic`.

    A commit is done when Kafka has decided on it; readers are told a moment later.
    """
    with Admin(connection) as admin:
        places = partitions_to_read(admin, [TopicName(topic)])
        assert await_transactions(admin, places, within_seconds=20)


def values_by_partition(bootstrap: str, topic: str) -> dict[int, list[bytes | None]]:
    """Return the values of each partition that has any, in their order."""
    found: dict[int, list[bytes | None]] = {}
    for record in topic_contents(bootstrap, topic):
        found.setdefault(record.partition, []).append(record.value)
    return found


def _until_the_ends(consumer: Consumer, partition_count: int) -> list[Stored]:
    found, ended = [], 0
    while ended < partition_count:
        message = consumer.poll(20)
        assert message is not None, "the topic did not answer within 20 s"
        error = message.error()
        if error is None:
            found.append(_stored(message))
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error  # noqa: SLF001
            ended += 1
    return found


def _stored(message: Message) -> Stored:
    headers = message.headers() or []
    pairs = headers.items() if isinstance(headers, dict) else headers
    return Stored(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=tuple((name, _bytes(value)) for name, value in pairs),
        timestamp_ms=message.timestamp()[1],
    )


def _position(record: Stored) -> tuple[int, int]:
    return record.partition, record.offset


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
