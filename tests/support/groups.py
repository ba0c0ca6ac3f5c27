"""Groups made by hand with Kafka's client: records, commits and members as a test needs them."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.names import GroupId
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.kafka import Connection
    from penstock.names import TopicName


def new_group() -> GroupId:
    """Return the name of a group that nobody else uses."""
    return GroupId(f"test-{uuid4().hex}")


def produce(
    connection: Connection, topic: TopicName, counts: Mapping[int, int], *, timestamp: int = 0
) -> None:
    """Write so many records to each partition, from `timestamp` on one per millisecond."""
    producer = Producer(connection.client_config() | {"enable.idempotence": True})
    for partition, count in counts.items():
        for index in range(count):
            moment = timestamp + index if timestamp else 0
            producer.produce(topic, str(index), partition=partition, timestamp=moment)
    assert producer.flush(30) == 0


def commit(
    connection: Connection,
    group: GroupId,
    topic: TopicName,
    offsets: Mapping[int, int],
    *,
    metadata: str = "",
) -> None:
    """Commit as a consumer does that chooses its partitions itself."""
    consumer = Consumer(connection.client_config() | {"group.id": group})
    consumer.commit(
        offsets=[
            TopicPartition(topic, partition, offset, metadata)
            for partition, offset in offsets.items()
        ],
        asynchronous=False,
    )
    consumer.close()


@contextmanager
def joined(
    connection: Connection,
    group: GroupId,
    topic: TopicName,
    *client_ids: str,
    protocol: str = "classic",
) -> Iterator[list[Consumer]]:
    """Keep one member per client id in the group; all have their partitions when the body runs."""
    with ExitStack() as stack:
        consumers = []
        for client_id in client_ids:
            config = {
                "client.id": client_id,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
            consumer = Consumer(connection.client_config() | config)
            stack.callback(consumer.close)
            consumer.subscribe([topic])
            consumers.append(consumer)
        eventually(lambda: _all_assigned(consumers), within_seconds=30)
        yield consumers


def _all_assigned(consumers: list[Consumer]) -> bool:
    for consumer in consumers:
        message = consumer.poll(0.05)
        if message is not None and message.error() is None:  # it is for the test
            place = message.topic() or "", message.partition() or 0, message.offset() or 0
            consumer.seek(TopicPartition(*place))
    return all(consumer.assignment() for consumer in consumers)


def delete_records_before(connection: Connection, topic: TopicName, offset: int) -> None:
    """Let the first partition begin at `offset`, as retention does."""
    admin = AdminClient({**connection.client_config()})
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result()
