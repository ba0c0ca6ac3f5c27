"""Reading: where it begins, where it ends, what is seen, and what is said when it cannot go on."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.kafka import (
    Admin,
    ClusterUnreachableError,
    Connection,
    Consumer,
    ConsumerClosedError,
    Header,
    InvalidConsumerError,
    Isolation,
    NoStartingPointError,
    NotAssignedError,
    OffsetOutOfRangeError,
    Producer,
    Record,
    Start,
    TimestampType,
    TopicPartition,
    UnknownPartitionError,
    UnknownTopicError,
    stopping_on_signals,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import Offset, Partition, TopicName
from support.numbers import numbers_of, read_numbers, write_numbers, write_partitions
from support.producing import KEEP
from support.topic_contents import await_commits
from support.waiting import eventually


@pytest.fixture
def topic(kafka: KafkaCluster, connection: Connection) -> TopicName:
    """A topic with the numbers 0 to 9 in partition 0, 10 to 19 in 1, and 20 to 29 in 2."""
    name = kafka.create_topic(f"numbers-{uuid4().hex}", partition_count=3)
    tens = {partition: range(partition * 10, partition * 10 + 10) for partition in range(3)}
    write_partitions(connection, name, tens)
    return name


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex}"


@pytest.fixture
def reader(connection: Connection, topic: TopicName) -> Iterator[Consumer]:
    """A consumer without a group that reads partition 0 from its beginning."""
    with Consumer(connection) as consumer:
        consumer.assign([at(topic, 0)], Start.EARLIEST)
        yield consumer


def at(topic: TopicName, partition: int) -> TopicPartition:
    return TopicPartition(topic, Partition(partition))


def test_a_record_comes_with_everything_that_was_sent(
    kafka: KafkaCluster, connection: Connection
) -> None:
    name = kafka.create_topic(f"orders-{uuid4().hex}", partition_count=1, config=KEEP)
    moment = datetime(2024, 2, 29, 12, 30, 15, 123000, tzinfo=UTC)
    with Producer(connection) as producer:
        producer.send(name, b"\xff", key="k", headers=[("a", b"1"), ("a", None)], timestamp=moment)
        producer.send(name, None, key="k", timestamp=moment)

    with Consumer(connection, [name], start=Start.EARLIEST) as consumer:
        records = list(consumer.read_to_end())

    assert records == [
        Record(
            topic=name,
            partition=Partition(0),
            offset=Offset(0),
            key=b"k",
            value=b"\xff",
            headers=(Header("a", b"1"), Header("a", None)),
            timestamp=moment,
            timestamp_type=TimestampType.CREATE_TIME,
        ),
        Record(
            topic=name,
            partition=Partition(0),
            offset=Offset(1),
            key=b"k",
            value=None,
            timestamp=moment,
            timestamp_type=TimestampType.CREATE_TIME,
        ),
    ]


def test_partitions_0_and_1_are_assigned_by_hand(connection: Connection, topic: TopicName) -> None:
    with Consumer(connection) as consumer:
        consumer.assign([at(topic, 0), at(topic, 1)], Start.EARLIEST)
        numbers = sorted(numbers_of(consumer.read_to_end()))

        assert consumer.assignment() == (at(topic, 0), at(topic, 1))
    assert numbers == list(range(20))


def test_partitions_are_assigned_at_given_offsets(connection: Connection, topic: TopicName) -> None:
    with Consumer(connection) as consumer:
        consumer.assign(
            [at(topic, 0), at(topic, 2)], {at(topic, 0): Offset(8), at(topic, 2): Offset(9)}
        )
        assert sorted(numbers_of(consumer.read_to_end())) == [8, 9, 29]


def test_an_assignment_replaces_the_one_before(reader: Consumer, topic: TopicName) -> None:
    assert read_numbers(reader, count=2) == [0, 1]

    reader.assign([at(topic, 1)], {at(topic, 1): Offset(7)})

    assert (reader.assignment(), numbers_of(reader.read_to_end())) == (
        (at(topic, 1),),
        [17, 18, 19],
    )


def test_seek_to_an_offset_the_beginning_and_the_end(
    connection: Connection, reader: Consumer, topic: TopicName
) -> None:
    partition = at(topic, 0)
    reader.seek(partition, Offset(7))
    after_seek = numbers_of(reader.read_to_end())
    reader.seek_to_beginning([partition])
    from_beginning = numbers_of(islice(reader, 3))
    reader.seek_to_end([partition])
    at_end = reader.position(partition)
    write_numbers(connection, topic, [99])

    assert (after_seek, from_beginning, at_end) == ([7, 8, 9], [0, 1, 2], 10)
    assert read_numbers(reader, count=1) == [99]


def test_seek_to_a_moment(kafka: KafkaCluster, connection: Connection) -> None:
    name = kafka.create_topic(f"times-{uuid4().hex}", partition_count=1, config=KEEP)
    noon = datetime(2024, 2, 29, 12, tzinfo=UTC)
    with Producer(connection) as producer:
        for minute in range(10):
            producer.send(name, str(minute), timestamp=noon + timedelta(minutes=minute))

    with Consumer(connection, [name], start=Start.EARLIEST) as consumer:
        consumer.seek_to_time([at(name, 0)], noon + timedelta(minutes=6, seconds=30))
        between = numbers_of(consumer.read_to_end())
        consumer.seek_to_time([at(name, 0)], noon + timedelta(hours=1))
        beyond = consumer.position(at(name, 0))

    assert (between, beyond) == ([7, 8, 9], 10)


def test_a_paused_partition_rests_and_goes_on_where_it_was(
    connection: Connection, topic: TopicName
) -> None:
    with Consumer(connection) as consumer:
        consumer.assign([at(topic, 0), at(topic, 1)], Start.EARLIEST)
        consumer.pause([at(topic, 0)])
        paused = consumer.paused()
        others = read_numbers(consumer, count=10)
        nothing = consumer.poll(0.3)
        consumer.resume([at(topic, 0)])

        assert (paused, others, nothing) == ((at(topic, 0),), list(range(10, 20)), None)
        assert (read_numbers(consumer, count=10), consumer.paused()) == (list(range(10)), ())


def test_many_records_come_at_once_and_not_more_than_asked_for(reader: Consumer) -> None:
    batches: list[list[int]] = []

    def is_complete() -> bool:
        batches.append(numbers_of(reader.poll_many(4, 1)))
        return sum(map(len, batches)) == 10

    eventually(is_complete, within_seconds=10)

    assert [batch for batch in batches if batch] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_the_lag_is_what_is_left_to_read(reader: Consumer) -> None:
    before = reader.lag()
    lags = [reader.lag() for _ in islice(reader, 10)]

    assert before in (None, 10)  # it is not known before the broker has answered
    assert lags == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def test_reading_to_the_end_leaves_what_comes_later_for_the_next_time(
    connection: Connection, topic: TopicName, reader: Consumer
) -> None:
    reading = reader.read_to_end()
    numbers = numbers_of(islice(reading, 5))
    write_numbers(connection, topic, range(100, 105))
    numbers += numbers_of(reading)

    assert numbers == list(range(10))
    assert numbers_of(reader.read_to_end()) == [100, 101, 102, 103, 104]


def test_reading_to_the_end_ends_behind_a_transaction_whatever_comes_then(
    kafka: KafkaCluster, connection: Connection
) -> None:
    """A record came right behind a marker, before the client had told of the end: it hung."""
    from confluent_kafka import Producer as Client

    name = kafka.create_topic(f"committed-{uuid4().hex}")
    producer = Client(connection.client_config() | {"transactional.id": f"tx-{uuid4().hex}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, "0")
    producer.commit_transaction(30)
    await_commits(connection, name)

    with Consumer(connection, [name], start=Start.EARLIEST) as consumer:
        reading = consumer.read_to_end()
        first = numbers_of(islice(reading, 1))
        producer.begin_transaction()
        producer.produce(name, "1")
        producer.commit_transaction(30)
        rest = numbers_of(reading)

        assert (first, rest) == ([0], [])
        await_commits(connection, name)
        assert numbers_of(consumer.read_to_end()) == [1]


def test_reading_to_the_end_of_an_empty_topic_ends(
    kafka: KafkaCluster, connection: Connection
) -> None:
    name = kafka.create_topic(f"empty-{uuid4().hex}", partition_count=2)

    with Consumer(connection, [name], start=Start.EARLIEST) as consumer:
        assert list(consumer.read_to_end()) == []


def test_reading_to_the_end_in_a_group_reads_its_share(
    connection: Connection, topic: TopicName, group: str
) -> None:
    with Consumer(connection, [topic], group=group, start=Start.EARLIEST) as consumer:
        first = sorted(numbers_of(consumer.read_to_end()))
    with Consumer(connection, [topic], group=group) as consumer:
        second = list(consumer.read_to_end())

    assert (first, second) == (list(range(30)), [])


@pytest.mark.parametrize(
    ("isolation", "expected"),
    [
        (Isolation.READ_COMMITTED, ["committed", "committed"]),
        (Isolation.READ_UNCOMMITTED, ["committed", "aborted", "committed", "open"]),
    ],
)
def test_aborted_and_open_transactions_are_seen_only_when_asked_for(
    kafka: KafkaCluster, connection: Connection, isolation: Isolation, expected: list[str]
) -> None:
    from confluent_kafka import Producer as Client

    name = kafka.create_topic(f"transactions-{uuid4().hex}", partition_count=1)
    producer = Client(connection.client_config() | {"transactional.id": f"tx-{uuid4().hex}"})
    producer.init_transactions(10)
    for value in ("committed", "aborted", "committed", "open"):
        producer.begin_transaction()
        producer.produce(name, value)
        producer.flush(10)
        if value == "aborted":
            producer.abort_transaction(10)
        elif value == "committed":
            producer.commit_transaction(10)

    with Consumer(connection, [name], start=Start.EARLIEST, isolation=isolation) as consumer:
        values = [(record.value or b"").decode() for record in consumer.read_to_end()]
    producer.abort_transaction(10)

    assert values == expected


def test_a_pattern_picks_up_a_new_topic_with_and_without_a_group(
    kafka: KafkaCluster, connection: Connection, group: str
) -> None:
    run = uuid4().hex
    pattern = re.compile(rf"metrics-{run}-\d+")
    first = kafka.create_topic(f"metrics-{run}-1", partition_count=1)
    kafka.create_topic(f"other-{run}-1", partition_count=1)
    write_numbers(connection, first, [1])

    with (
        Consumer(connection, pattern, group=group, start=Start.EARLIEST) as member,
        Consumer(connection, pattern, start=Start.EARLIEST) as alone,
    ):
        before = read_numbers(member, count=1) + read_numbers(alone, count=1)
        second = kafka.create_topic(f"metrics-{run}-22", partition_count=1)
        write_numbers(connection, second, [22])
        after: list[Record] = []

        def both_have_read() -> bool:
            after.extend([*member.poll_many(1, 0.05), *alone.poll_many(1, 0.05)])
            return len(after) == 2

        eventually(both_have_read, within_seconds=20)

        assert (before, numbers_of(after)) == ([1, 1], [22, 22])
        assert member.assignment() == alone.assignment() == (at(first, 0), at(second, 0))


def test_stop_from_another_thread_ends_the_loop(
    connection: Connection, topic: TopicName, group: str
) -> None:
    seen: list[Record] = []
    with Consumer(connection, [topic], group=group, start=Start.EARLIEST) as consumer:

        def stop_after_30() -> None:
            eventually(lambda: len(seen) == 30, within_seconds=20)
            consumer.stop()

        stopper = threading.Thread(target=stop_after_30)
        stopper.start()
        seen.extend(consumer)
        stopper.join()

        assert (sorted(numbers_of(seen)), consumer.poll(5)) == (list(range(30)), None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_loop_after_the_record_in_hand_and_commits_it(
    connection: Connection, topic: TopicName, group: str, number: signal.Signals
) -> None:
    seen: list[Record] = []
    with (
        Consumer(connection, group=group, start=Start.EARLIEST) as consumer,
        stopping_on_signals(consumer),
    ):
        consumer.assign([at(topic, 0)])
        for record in consumer:
            if record.offset == 4:
                os.kill(os.getpid(), number)
            seen.append(record)

    with Consumer(connection, group=group) as observer:
        committed = observer.committed([at(topic, 0)])
    assert (numbers_of(seen), committed) == ([0, 1, 2, 3, 4], {at(topic, 0): 5})


def test_a_topic_that_does_not_exist_is_said_at_once(
    connection: Connection, topic: TopicName, group: str
) -> None:
    with pytest.raises(UnknownTopicError) as caught:
        Consumer(connection, [topic[:-1]], group=group, start=Start.EARLIEST)
    assert caught.value.hint == f"did you mean `{topic}`?"


def test_a_partition_that_does_not_exist_cannot_be_assigned(
    connection: Connection, topic: TopicName
) -> None:
    with Consumer(connection) as consumer, pytest.raises(UnknownPartitionError):
        consumer.assign([at(topic, 3)], Start.EARLIEST)


def test_a_topic_deleted_while_it_is_read_is_an_error_unless_a_pattern_asked_for_it(
    kafka: KafkaCluster, connection: Connection, group: str
) -> None:
    topic = kafka.create_topic(f"deleted-{group}", partition_count=1)
    write_numbers(connection, topic, range(3))
    pattern = re.compile(f"deleted-{group}")

    with (
        Consumer(connection, [topic], group=f"{group}-1", start=Start.EARLIEST) as named,
        Consumer(connection, pattern, group=f"{group}-2", start=Start.EARLIEST) as matched,
    ):
        before = read_numbers(named, count=3), read_numbers(matched, count=3)
        with Admin(connection) as admin:
            admin.client.delete_topics([topic])[topic].result(10)
        with pytest.raises(UnknownTopicError) as caught:
            read_numbers(named, count=1)

        assert (before, caught.value.topic) == (([0, 1, 2], [0, 1, 2]), topic)
        eventually(
            lambda: matched.poll(0.05) is None and not matched.assignment(), within_seconds=20
        )


def test_a_group_without_commits_must_say_where_to_begin(
    connection: Connection, topic: TopicName, group: str
) -> None:
    with Consumer(connection, [topic], group=group) as consumer:
        with pytest.raises(NoStartingPointError) as caught:
            read_numbers(consumer, count=1)
        assert caught.value.partitions == tuple(at(topic, number) for number in range(3))


def test_where_to_begin_can_be_decided_when_partitions_come(
    connection: Connection, topic: TopicName, group: str
) -> None:
    def begin_near_the_end(partitions: tuple[TopicPartition, ...]) -> None:
        for partition in partitions:
            consumer.seek(partition, Offset(9))

    with Consumer(connection, [topic], group=group, on_assigned=begin_near_the_end) as consumer:
        assert sorted(numbers_of(consumer.read_to_end())) == [9, 19, 29]


@pytest.mark.parametrize("with_group", [True, False], ids=["group", "alone"])
def test_records_deleted_before_they_were_read_are_an_error_and_not_a_silent_jump(
    connection: Connection, topic: TopicName, group: str, *, with_group: bool
) -> None:
    from confluent_kafka import TopicPartition as ClientPartition

    partition = at(topic, 0)
    with Admin(connection) as admin:
        upto = ClientPartition(topic, 0, 6)
        admin.client.delete_records([upto])[upto].result(10)
    with Consumer(connection, group=group if with_group else None) as consumer:
        consumer.assign([partition], {partition: Offset(3)})
        with pytest.raises(OffsetOutOfRangeError) as caught:
            read_numbers(consumer, count=1)
        consumer.seek_to_beginning([partition])
        numbers = numbers_of(consumer.read_to_end())

    fault = caught.value
    assert (fault.partition, fault.offset, fault.first, fault.end) == (partition, 3, 6, 10)
    assert numbers == [6, 7, 8, 9]


def test_only_partitions_that_are_read_have_a_position(reader: Consumer, topic: TopicName) -> None:
    with pytest.raises(NotAssignedError):
        reader.position(at(topic, 1))
    with pytest.raises(NotAssignedError):
        reader.seek(at(topic, 1), Offset(0))
    with pytest.raises(NotAssignedError):
        reader.pause([at(topic, 1)])


def test_a_consumer_of_topics_takes_no_assignment(connection: Connection, topic: TopicName) -> None:
    with (
        Consumer(connection, [topic], start=Start.LATEST) as consumer,
        pytest.raises(InvalidConsumerError),
    ):
        consumer.assign([at(topic, 0)])


def test_a_closed_consumer_says_so(connection: Connection, topic: TopicName) -> None:
    consumer = Consumer(connection, [topic], start=Start.LATEST)
    consumer.close()

    with pytest.raises(ConsumerClosedError):
        consumer.poll(1)
    assert list(consumer) == []


def test_a_cluster_that_is_not_there_is_named() -> None:
    with pytest.raises(ClusterUnreachableError) as caught:
        Consumer("127.0.0.1:1", ["orders"], group="g")
    assert "127.0.0.1:1" in caught.value.message


@pytest.mark.long
def test_a_consumer_without_a_group_closes_soon_though_the_only_broker_died(
    tmp_path: Path,
) -> None:
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        name = cluster.create_topic(f"alone-{uuid4().hex}", partition_count=3)
        write_numbers(cluster.connection, name, range(3))
        with Consumer(cluster.connection, [name], start=Start.EARLIEST) as consumer:
            assert len(list(consumer.read_to_end())) == 3
            (broker_id,) = cluster.broker_ids
            cluster.kill(broker_id)
            # Only a client that has met the outage would wait for the broker when it closes.
            assert consumer.poll(8) is None
            started = time.monotonic()
        assert time.monotonic() - started < 15


@pytest.mark.timeout(100)
def test_a_consumer_tells_what_it_does_lately(
    connection: Connection, topic: TopicName, group: str
) -> None:
    """The client tells every five seconds; something must come between two times."""
    with (
        Producer(connection) as producer,
        Consumer(connection, [topic], group=group, start=Start.EARLIEST) as consumer,
    ):
        first = consumer.metrics()

        def tells() -> bool:
            producer.send(topic, b"x" * 100)
            consumer.poll_many(1000, 0.1)
            consumer.commit_async()
            rates = consumer.metrics()
            return rates is not None and rates.commit_rate > 0 and rates.heartbeat_rate > 0

        eventually(tells, within_seconds=90)
        rates = consumer.metrics()

    assert first is None
    assert rates is not None
    assert rates.records_consumed_rate > 0
    assert rates.bytes_consumed_rate < rates.incoming_byte_rate
    assert rates.fetch_rate <= rates.request_rate
    assert 0 < rates.fetch_latency_avg <= rates.fetch_latency_max < 5
    assert rates.record_size_avg >= 100
    assert (rates.assigned_partitions, rates.rebalances) == (3, 1)
    assert rates.records_lag_max >= 0
