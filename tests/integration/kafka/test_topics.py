"""Topics on a real broker: creating, describing, altering, deleting."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition

from penstock.errors import UsageError
from penstock.kafka import (
    Admin,
    ConfigAlteration,
    ConfigSource,
    Connection,
    FewerPartitionsError,
    InternalTopicError,
    InvalidConfigValueError,
    InvalidTopicNameError,
    Isolation,
    KeyMove,
    KeysWouldMoveError,
    PartitionDescription,
    ReplicaAssignment,
    TooFewBrokersError,
    TopicExistsError,
    TopicPartition,
    UnknownBrokerError,
    UnknownConfigError,
    UnknownPartitionError,
    UnknownTopicError,
    UnusedTopic,
    alter_topic,
    await_transactions,
    create_topic,
    delete_topics,
    describe_topics,
    end_offsets,
    first_offsets,
    list_topics,
    offsets_at,
    record_rates,
    topic_names,
    unused_topics,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import BrokerId, Offset, Partition, TopicName
from support.producing import KEEP, Sent, send
from support.waiting import eventually


def new_name() -> TopicName:
    return TopicName(f"test-{uuid4().hex}")


def partitions_of(topic: TopicName, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, Partition(number)) for number in range(count)]


def value_of(admin: Admin, topic: TopicName, name: str) -> tuple[str | None, ConfigSource]:
    configs = describe_topics(admin, [topic])[0].configs
    return next((entry.value, entry.source) for entry in configs if entry.name == name)


def test_a_new_topic_has_leaders_and_no_records(admin: Admin) -> None:
    name = new_name()

    create_topic(admin, name, partition_count=2, replication_factor=1)

    topic = describe_topics(admin, [name])[0]
    empty = PartitionDescription(
        partition=Partition(0),
        leader=BrokerId(1),
        replicas=(BrokerId(1),),
        in_sync=(BrokerId(1),),
        first=Offset(0),
        end=Offset(0),
        size_bytes=0,
    )
    assert topic.partitions == (empty, replace(empty, partition=Partition(1)))
    assert (topic.name, topic.internal, topic.disk_bytes, len(topic.topic_id)) == (
        name,
        False,
        0,
        22,
    )


def test_records_show_in_offsets_and_sizes(admin: Admin, topic: TopicName) -> None:
    send(admin.connection, topic, [Sent(value="x" * 1000, partition=1) for _ in range(10)])

    found = describe_topics(admin, [topic])[0]

    assert [(partition.first, partition.end) for partition in found.partitions] == [
        (0, 0),
        (0, 10),
        (0, 0),
    ]
    sizes = [partition.size_bytes for partition in found.partitions]
    assert (sizes[0], sizes[2], found.span) == (0, 0, 10)
    assert 10_000 < (sizes[1] or 0) < 20_000
    assert found.disk_bytes == found.size_bytes == sizes[1]


def test_topics_are_listed_by_pattern_and_without_internal_ones(
    admin: Admin, kafka: KafkaCluster
) -> None:
    mark = uuid4().hex
    for suffix in ("b", "a"):
        kafka.create_topic(f"list-{mark}-{suffix}")

    assert [topic.name for topic in list_topics(admin, f"list-{mark}-*")] == [
        f"list-{mark}-a",
        f"list-{mark}-b",
    ]
    assert "_penstock.probe" not in topic_names(admin)
    assert "_penstock.probe" in topic_names(admin, internal=True)


def test_the_record_rate_is_what_arrives_while_it_looks(admin: Admin, topic: TopicName) -> None:
    partitions = partitions_of(topic, 3)
    assert record_rates(admin, partitions, window_seconds=0.05) == {topic: 0.0}

    with ThreadPoolExecutor() as pool:
        rates = pool.submit(record_rates, admin, partitions, window_seconds=4)
        while not rates.done():
            send(admin.connection, topic, [Sent() for _ in range(10)])

    assert rates.result()[topic] > 0


def test_open_transactions_are_waited_for_as_long_as_that_makes_sense(
    admin: Admin, topic: TopicName
) -> None:
    partitions = partitions_of(topic, 3)
    client = Producer(admin.connection.client_config() | {"transactional.id": topic})
    client.init_transactions(30)
    client.begin_transaction()
    client.produce(topic, "x", partition=1)
    assert client.flush(30) == 0

    assert not await_transactions(admin, partitions, within_seconds=0.2)
    with ThreadPoolExecutor() as pool:
        ended = pool.submit(await_transactions, admin, partitions, within_seconds=60)
        client.commit_transaction(30)
        assert ended.result()
    assert end_offsets(admin, partitions, isolation=Isolation.READ_COMMITTED)[partitions[1]] == 2


def test_an_unknown_topic_comes_with_the_nearest_name(admin: Admin, topic: TopicName) -> None:
    with pytest.raises(UnknownTopicError) as caught:
        describe_topics(admin, [TopicName(f"{topic}x")])

    assert caught.value.hint == f"did you mean `{topic}`?"


def test_offsets_of_what_does_not_exist_say_what_is_missing(admin: Admin, topic: TopicName) -> None:
    with pytest.raises(UnknownTopicError):
        end_offsets(admin, partitions_of(new_name(), 1))
    with pytest.raises(UnknownPartitionError) as caught:
        end_offsets(admin, [TopicPartition(topic, Partition(7))])

    assert caught.value.message == f"topic `{topic}` has no partition 7: it has 3, 0 to 2"


def test_an_offset_is_found_by_time_and_the_end_by_a_later_one(
    admin: Admin, topic: TopicName
) -> None:
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    hours = [Sent(partition=0, timestamp=start + timedelta(hours=hour)) for hour in range(5)]
    send(admin.connection, topic, hours)
    first = partitions_of(topic, 1)

    assert offsets_at(admin, first, start + timedelta(hours=2)) == {first[0]: 2}
    assert offsets_at(admin, first, start + timedelta(minutes=90)) == {first[0]: 2}
    assert offsets_at(admin, first, start + timedelta(days=9)) == {first[0]: 5}
    assert first_offsets(admin, first) == {first[0]: 0}


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("a b", {}, InvalidTopicNameError, "`a b` cannot be the name of a topic"),
        (
            "x",
            {"replication_factor": 3},
            TooFewBrokersError,
            "replication 3 needs 3 brokers, the cluster has 1",
        ),
        (
            "x",
            {"config": {"retention.mss": "1"}},
            UnknownConfigError,
            "`retention.mss` is not a config of topics",
        ),
        (
            "x",
            {"assignment": [ReplicaAssignment(partition=Partition(0), brokers=(BrokerId(9),))]},
            UnknownBrokerError,
            "broker 9 is not in the cluster, which has 1",
        ),
    ],
    ids=["name", "replication", "config", "broker"],
)
def test_what_cannot_be_created_is_refused_before_it_is_tried(
    admin: Admin,
    name: str,
    options: dict[str, object],
    error: type[UsageError],
    message: str,
) -> None:
    with pytest.raises(error) as caught:
        create_topic(admin, TopicName(name), **options)  # type: ignore[arg-type]  # by design

    assert caught.value.message == message
    assert name not in topic_names(admin)


def test_a_topic_cannot_be_created_twice(admin: Admin, topic: TopicName) -> None:
    with pytest.raises(TopicExistsError):
        create_topic(admin, topic, partition_count=1)


def test_the_cluster_chooses_partitions_and_replication_when_nobody_does(admin: Admin) -> None:
    name = new_name()

    create_topic(admin, name)

    topic = describe_topics(admin, [name])[0]
    assert (len(topic.partitions), topic.replication_factor) == (1, 1)


def test_a_topic_is_altered_to_eight_partitions(admin: Admin, topic: TopicName) -> None:
    change = alter_topic(admin, topic, partition_count=8)

    assert (change.old_partition_count, change.new_partition_count) == (3, 8)
    assert len(describe_topics(admin, [topic])[0].partitions) == 8


def test_a_config_is_set_and_removed(admin: Admin, topic: TopicName) -> None:
    setting = ConfigAlteration(name="max.message.bytes", value="64000")
    removal = ConfigAlteration(name="max.message.bytes", value=None)

    alter_topic(admin, topic, alterations=[setting])
    assert value_of(admin, topic, "max.message.bytes") == ("64000", ConfigSource.TOPIC)

    change = alter_topic(admin, topic, alterations=[removal])
    assert value_of(admin, topic, "max.message.bytes") == ("1048588", ConfigSource.DEFAULT)
    assert [
        (item.name, item.old and item.old.value, item.new and item.new.value)
        for item in change.configs
    ] == [("max.message.bytes", "64000", "1048588")]


def test_fewer_partitions_are_refused_and_nothing_else_is_changed(
    admin: Admin, topic: TopicName
) -> None:
    setting = ConfigAlteration(name="max.message.bytes", value="64000")

    with pytest.raises(FewerPartitionsError):
        alter_topic(admin, topic, partition_count=2, alterations=[setting])

    assert value_of(admin, topic, "max.message.bytes")[1] is ConfigSource.DEFAULT


def test_a_refused_value_leaves_the_partitions_as_they_were(admin: Admin, topic: TopicName) -> None:
    setting = ConfigAlteration(name="max.message.bytes", value="many")

    with pytest.raises(InvalidConfigValueError):
        alter_topic(admin, topic, partition_count=8, alterations=[setting])

    assert len(describe_topics(admin, [topic])[0].partitions) == 3


def test_more_partitions_are_refused_when_records_have_keys(admin: Admin, topic: TopicName) -> None:
    send(admin.connection, topic, [Sent(key=str(number)) for number in range(1000)])

    with pytest.raises(KeysWouldMoveError) as caught:
        alter_topic(admin, topic, partition_count=8)

    assert caught.value.move == KeyMove(
        old_count=3, new_count=8, record_count=1000, key_count=1000, moved_keys=869
    )
    assert "869 of 1000 keys (87%)" in caught.value.message
    assert len(describe_topics(admin, [topic])[0].partitions) == 3


def test_partition_growth_moves_the_share_of_keys_that_was_announced(
    admin: Admin, topic: TopicName
) -> None:
    records = [Sent(key=f"customer-{number}") for number in range(500)]
    before = send(admin.connection, topic, records)

    change = alter_topic(admin, topic, partition_count=8, allow_key_move=True)

    after = send(admin.connection, topic, records)
    moved = sum(old != new for old, new in zip(before, after, strict=True))
    assert change.key_move is not None
    assert (change.key_move.key_count, change.key_move.moved_keys) == (500, moved)
    assert moved > 250


def test_more_partitions_are_fine_when_records_have_no_keys(admin: Admin, topic: TopicName) -> None:
    send(admin.connection, topic, [Sent() for _ in range(20)])

    change = alter_topic(admin, topic, partition_count=4)

    assert change.key_move == KeyMove(
        old_count=3, new_count=4, record_count=20, key_count=0, moved_keys=0
    )


def test_deleted_topics_are_gone(admin: Admin, kafka: KafkaCluster) -> None:
    names = [kafka.create_topic(new_name()) for _ in range(2)]

    delete_topics(admin, names)

    assert set(names) & set(topic_names(admin)) == set()


def test_nothing_is_deleted_when_one_of_the_topics_is_unknown(
    admin: Admin, topic: TopicName
) -> None:
    with pytest.raises(UnknownTopicError):
        delete_topics(admin, [topic, new_name()])

    assert topic in topic_names(admin)


def test_internal_topics_are_not_deleted_by_accident(admin: Admin) -> None:
    with pytest.raises(InternalTopicError):
        delete_topics(admin, [TopicName("_penstock.probe")])


def test_topics_without_recent_records_count_as_unused(admin: Admin, kafka: KafkaCluster) -> None:
    old, fresh, empty = (
        kafka.create_topic(new_name(), partition_count=2, config=KEEP) for _ in range(3)
    )
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    send(admin.connection, old, [Sent(timestamp=long_ago)])
    send(admin.connection, fresh, [Sent(timestamp=long_ago, partition=0), Sent(partition=1)])

    unused = unused_topics(admin, older_than=datetime.now(UTC) - timedelta(days=30))

    assert {topic for topic in unused if topic.name in (old, fresh, empty)} == {
        UnusedTopic(name=old, partition_count=2, newest=long_ago),
        UnusedTopic(name=empty, partition_count=2, newest=None),
    }


def test_producing_and_consuming_do_not_create_topics(admin: Admin, connection: Connection) -> None:
    """The client itself is willing: `allow.auto.create.topics` is on where it has that option."""
    name = new_name()
    producer = Producer(connection.client_config() | {"message.timeout.ms": "1500"})
    outcomes: list[object] = []
    producer.produce(name, b"x", on_delivery=lambda error, _: outcomes.append(error is None))
    consumer = Consumer(
        connection.client_config()
        | {"group.id": name, "allow.auto.create.topics": "true", "log_level": "0"}
    )
    consumer.subscribe([name])

    message = consumer.poll(3)
    producer.flush(5)
    consumer.close()

    assert outcomes == [False]
    assert message is None or message.error() is not None
    assert name not in topic_names(admin, internal=True)


def test_a_compacted_topic_keeps_one_value_per_key(kafka: KafkaCluster) -> None:
    name = kafka.create_topic(
        new_name(),
        config={
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.ms": "100",
            "min.compaction.lag.ms": "0",
            "delete.retention.ms": "100",
        },
    )
    for round_number in range(3):
        records = [Sent(key=key, value=f"{key}{round_number}") for key in "abc"]
        send(kafka.connection, name, records)

    def kept() -> dict[str, list[str]]:
        # The newest segment is never cleaned: a last record of another key closes it.
        send(kafka.connection, name, [Sent(key="last")])
        values: dict[str, list[str]] = {}
        for key, value in read_all(kafka.connection, name):
            values.setdefault(key, []).append(value)
        values.pop("last")
        return values

    eventually(lambda: kept() == {"a": ["a2"], "b": ["b2"], "c": ["c2"]}, within_seconds=60)


def read_all(connection: Connection, topic: TopicName) -> list[tuple[str, str]]:
    """Return keys and values of partition 0, from beginning to end."""
    consumer = Consumer(
        connection.client_config()
        | {"group.id": topic, "enable.partition.eof": "true", "auto.offset.reset": "earliest"}
    )
    found = []
    try:
        consumer.assign([ClientPartition(topic, 0, OFFSET_BEGINNING)])
        while (message := consumer.poll(10)) is not None and message.error() is None:
            found.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
    finally:
        consumer.close()
    return found
