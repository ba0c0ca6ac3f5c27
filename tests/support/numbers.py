"""Records that are numbers: a test writes a range and sees at a glance what was read of it."""

from collections.abc import Iterable, Mapping

from penstock.kafka import Connection, Consumer, Producer, Record
from penstock.names import TopicName


def write_numbers(connection: Connection, topic: TopicName, numbers: Iterable[int]) -> None:
    """Write each number as the value of a record into partition 0, in order."""
    write_partitions(connection, topic, {0: numbers})


def write_partitions(
    connection: Connection, topic: TopicName, numbers: Mapping[int, Iterable[int]]
) -> None:
    """Write numbers into each partition, in order, and wait until all are there."""
    with Producer(connection) as producer:
        for partition, values in numbers.items():
            for value in values:
                producer.send(topic, str(value), partition=partition)


def numbers_of(records: Iterable[Record]) -> list[int]:
    """Return the numbers that `write_numbers` wrote."""
    return [int(record.value or b"") for record in records]


def read_numbers(consumer: Consumer, *, count: int) -> list[int]:
    """Return the next `count` numbers; fewer when they do not come in a minute."""
    records: list[Record] = []
    for _ in range(600):
        if len(records) == count:
            break
        record = consumer.poll(0.1)
        if record is not None:
            records.append(record)
    return numbers_of(records)
