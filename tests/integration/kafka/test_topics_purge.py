"""Purging records of a real topic, by offset and by time."""

from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.kafka import (
    Admin,
    BeforeOffset,
    BeforeTime,
    CompactedTopicError,
    Everything,
    OffsetBeyondEndError,
    PartitionPurge,
    TopicPartition,
    UnknownPartitionError,
    UnknownTopicError,
    apply_purge,
    first_offsets,
    plan_purge,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import Offset, Partition, TopicName
from support.producing import Sent, send

# Records from longer ago than a topic keeps them would go while a test looks at them.
START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)


def purge(partition: int, first: int, new_first: int, end: int) -> PartitionPurge:
    return PartitionPurge(
        partition=Partition(partition),
        first=Offset(first),
        new_first=Offset(new_first),
        end=Offset(end),
    )


def fill(admin: Admin, topic: TopicName) -> None:
    """Give partition 0 ten records, an hour apart, partition 1 five, partition 2 none."""
    counts = {0: 10, 1: 5}
    records = [
        Sent(partition=partition, timestamp=START + timedelta(hours=hour))
        for partition, count in counts.items()
        for hour in range(count)
    ]
    send(admin.connection, topic, records)


def firsts(admin: Admin, topic: TopicName) -> list[int]:
    partitions = [TopicPartition(topic, Partition(number)) for number in range(3)]
    return list(first_offsets(admin, partitions).values())


def test_records_before_an_offset_go_in_every_partition(admin: Admin, topic: TopicName) -> None:
    fill(admin, topic)

    plan = plan_purge(admin, topic, BeforeOffset(Offset(7)))
    assert plan == (purge(0, 0, 7, 10), purge(1, 0, 5, 5), purge(2, 0, 0, 0))
    assert firsts(admin, topic) == [0, 0, 0]

    apply_purge(admin, topic, plan)
    assert firsts(admin, topic) == [7, 5, 0]


def test_records_before_a_time_go(admin: Admin, topic: TopicName) -> None:
    fill(admin, topic)

    plan = plan_purge(admin, topic, BeforeTime(START + timedelta(hours=3)))
    apply_purge(admin, topic, plan)

    assert plan == (purge(0, 0, 3, 10), purge(1, 0, 3, 5), purge(2, 0, 0, 0))
    assert firsts(admin, topic) == [3, 3, 0]


def test_one_partition_can_be_emptied(admin: Admin, topic: TopicName) -> None:
    fill(admin, topic)

    plan = plan_purge(admin, topic, Everything(), partition=Partition(0))
    apply_purge(admin, topic, plan)

    assert plan == (purge(0, 0, 10, 10),)
    assert firsts(admin, topic) == [10, 0, 0]


def test_a_purge_never_moves_a_partition_backwards(admin: Admin, topic: TopicName) -> None:
    fill(admin, topic)
    apply_purge(admin, topic, plan_purge(admin, topic, BeforeOffset(Offset(7))))

    plan = plan_purge(admin, topic, BeforeOffset(Offset(2)))
    apply_purge(admin, topic, plan)

    assert plan == (purge(0, 7, 7, 10), purge(1, 5, 5, 5), purge(2, 0, 0, 0))


def test_an_offset_beyond_every_end_is_refused(admin: Admin, topic: TopicName) -> None:
    fill(admin, topic)

    with pytest.raises(OffsetBeyondEndError) as caught:
        plan_purge(admin, topic, BeforeOffset(Offset(11)))

    assert caught.value.message == f"offset 11 is beyond the end of topic `{topic}`, which is 10"


def test_unknown_topics_and_partitions_are_refused(admin: Admin, topic: TopicName) -> None:
    with pytest.raises(UnknownTopicError):
        plan_purge(admin, TopicName(f"{topic}x"), Everything())
    with pytest.raises(UnknownPartitionError):
        plan_purge(admin, topic, Everything(), partition=Partition(3))


def test_a_compacted_topic_is_refused_before_and_while_it_is_tried(
    admin: Admin, kafka: KafkaCluster, topic: TopicName
) -> None:
    """Its policy may change between the plan and the deed: then Kafka's own refusal is told."""
    compacted = kafka.create_topic(f"{topic}-compacted", config={"cleanup.policy": "compact"})
    send(admin.connection, compacted, [Sent(key="a")])

    with pytest.raises(CompactedTopicError):
        plan_purge(admin, compacted, Everything())
    with pytest.raises(CompactedTopicError) as caught:
        apply_purge(admin, compacted, [purge(0, 0, 1, 1)])

    cause = caught.value.__cause__
    assert isinstance(cause, KafkaException)
    assert cause.args[0].code() == KafkaError.POLICY_VIOLATION
