from __future__ import annotations

import gc
import random
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.kafka import (
    Acks,
    BufferFullError,
    ClusterUnreachableError,
    Compression,
    Connection,
    DeliveriesFailedError,
    Delivery,
    DeliveryCallbackError,
    DeliveryError,
    HotKeyPartitioner,
    KeyRequiredError,
    Producer,
    ProducerClosedError,
    RecordTooLargeError,
    RetriableDeliveryError,
    UndeliveredError,
    UnknownTopicError,
    WaitingInCallbackError,
    partition_for_key,
)
from penstock.names import Offset, Partition
from penstock.settings import ClusterSettings
from support.topic_contents import Stored, topic_contents, values_by_partition
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.kafka import DeliveryReport
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

NOWHERE = "127.0.0.1:1"
# Records from longer ago than a topic keeps them would go while a test looks at them.
MOMENT = datetime.now(UTC).replace(microsecond=250_000) - timedelta(hours=1)


@pytest.fixture
def producer(connection: Connection) -> Iterator[Producer]:
    with Producer(connection) as producer:
        yield producer


@pytest.fixture
def small_topic(kafka: KafkaCluster) -> TopicName:
    """A topic that takes records of at most 10,000 bytes."""
    return kafka.create_topic(f"small-{uuid4().hex}", config={"max.message.bytes": "10000"})


def small_batches(kafka: KafkaCluster) -> Producer:
    return Producer(kafka.bootstrap, compression=Compression.NONE, batch_bytes=5000)


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    return [record.value for record in topic_contents(bootstrap, topic)]


def test_two_thousand_records_sent_without_waiting_all_arrive(
    kafka: KafkaCluster, topic: TopicName
) -> None:
    expected = [f"Hello this is record {i}" for i in range(2000)]
    with Producer(kafka.bootstrap) as producer:
        for text in expected:
            producer.send(topic, text)

    found = [(value or b"").decode() for value in values(kafka.bootstrap, topic)]
    assert sorted(found, key=expected.index) == expected


def test_sending_and_waiting_tells_where_the_record_stands(
    kafka: KafkaCluster, topic: TopicName, producer: Producer
) -> None:
    first = producer.send_and_wait(
        topic, "one", key="k", headers=[("a", "1"), ("a", None)], partition=2, timestamp=MOMENT
    )
    second = producer.send_and_wait(topic, None, key=b"k", partition=2, timestamp=MOMENT)

    assert [first, second] == [
        Delivery(topic=topic, partition=Partition(2), offset=Offset(0), timestamp=MOMENT),
        Delivery(topic=topic, partition=Partition(2), offset=Offset(1), timestamp=MOMENT),
    ]
    assert topic_contents(kafka.bootstrap, topic) == [
        Stored(
            partition=2,
            offset=0,
            key=b"k",
            value=b"one",
            headers=(("a", b"1"), ("a", None)),
            timestamp_ms=round(MOMENT.timestamp() * 1000),
        ),
        Stored(
            partition=2,
            offset=1,
            key=b"k",
            value=None,
            timestamp_ms=round(MOMENT.timestamp() * 1000),
        ),
    ]


def test_each_record_has_its_delivery_report(topic: TopicName, producer: Producer) -> None:
    reports: list[DeliveryReport] = []
    for number in range(100):
        producer.send(topic, str(number), partition=number % 3, on_delivery=reports.append)
    producer.flush()

    assert all(isinstance(report, Delivery) for report in reports)
    assert sorted((r.partition, r.offset or 0) for r in reports if isinstance(r, Delivery)) == [
        (partition, offset) for partition in range(3) for offset in range(34 - (partition > 0))
    ]


def test_empty_is_not_null(kafka: KafkaCluster, topic: TopicName, producer: Producer) -> None:
    producer.send(topic, "", key="", partition=0)
    producer.send(topic, None, key=None, partition=0)
    producer.flush()

    found = [(record.key, record.value) for record in topic_contents(kafka.bootstrap, topic)]
    assert found == [(b"", b""), (None, None)]


def test_keys_go_where_the_java_client_sends_them(kafka: KafkaCluster, producer: Producer) -> None:
    """Librdkafka's `murmur2_random` chooses, our own function predicts, on 2,000 keys."""
    topic = kafka.create_topic(f"keys-{uuid4().hex}", partition_count=7)
    chosen = random.Random(20260501)  # noqa: S311 - keys, not secrets
    keys = {b"", *(chosen.randbytes(chosen.randrange(1, 40)) for _ in range(2000))}
    for key in keys:
        producer.send(topic, b"", key=key)
    producer.flush()

    found = {record.key: record.partition for record in topic_contents(kafka.bootstrap, topic)}
    assert found == {key: partition_for_key(key, 7) for key in keys}


def test_the_hot_key_is_alone_on_the_last_partition(kafka: KafkaCluster) -> None:
    topic = kafka.create_topic(f"hot-{uuid4().hex}", partition_count=4)
    others = [f"customer-{number}" for number in range(60)]
    with Producer(kafka.bootstrap, partitioner=HotKeyPartitioner(["Banana"])) as producer:
        for name in others:
            producer.send(topic, name, key=name)
            producer.send(topic, "Banana", key="Banana")
        with pytest.raises(KeyRequiredError):
            producer.send(topic, "nobody")

    expected = {0: [], 1: [], 2: [], 3: [b"Banana"] * 60}
    for name in others:
        expected[partition_for_key(name.encode(), 3)].append(name.encode())
    assert values_by_partition(kafka.bootstrap, topic) == expected


def test_a_named_partition_goes_before_the_partitioner(
    topic: TopicName, kafka: KafkaCluster
) -> None:
    with Producer(kafka.bootstrap, partitioner=HotKeyPartitioner(["Banana"])) as producer:
        delivery = producer.send_and_wait(topic, "x", key="Banana", partition=0)

    assert delivery.partition == 0


def test_partitions_of_a_topic_and_of_one_that_does_not_exist(
    topic: TopicName, producer: Producer
) -> None:
    assert producer.partitions_for(topic) == (0, 1, 2)
    with pytest.raises(UnknownTopicError) as unknown:
        producer.partitions_for(f"{topic}x")
    assert unknown.value.hint == f"did you mean `{topic}`?"


@pytest.mark.parametrize("acks", list(Acks))
def test_every_level_of_acknowledgement_delivers(
    kafka: KafkaCluster, topic: TopicName, acks: Acks
) -> None:
    with Producer(kafka.bootstrap, acks=acks) as producer:
        delivery = producer.send_and_wait(topic, "x", partition=1)

    assert delivery.offset == (None if acks is Acks.NONE else 0)
    # With `acks=0` nobody says when the broker has it.
    eventually(
        lambda: values_by_partition(kafka.bootstrap, topic) == {1: [b"x"]}, within_seconds=10
    )


@pytest.mark.parametrize("compression", list(Compression))
def test_every_compression_is_readable(
    kafka: KafkaCluster, topic: TopicName, compression: Compression
) -> None:
    with Producer(kafka.bootstrap, compression=compression) as producer:
        for number in range(50):
            producer.send(topic, f"{number} " * 50, partition=0)

    assert values(kafka.bootstrap, topic) == [f"{n} ".encode() * 50 for n in range(50)]


def test_a_record_larger_than_the_producer_allows_is_refused_at_once(
    topic: TopicName, producer: Producer
) -> None:
    with pytest.raises(RecordTooLargeError) as refused:
        producer.send(topic, b"x" * 1_000_001)

    assert (refused.value.retryable, producer.metrics().sent) == (False, 0)
    assert "it has 1000001 bytes, and this producer allows 1000000" in refused.value.message
    assert "`max_record_bytes=`" in refused.value.hint


def test_a_record_larger_than_the_topic_allows_is_fatal(
    small_topic: TopicName, kafka: KafkaCluster
) -> None:
    with (
        small_batches(kafka) as producer,
        pytest.raises(RecordTooLargeError) as refused,
    ):
        producer.send_and_wait(small_topic, b"x" * 20_000)

    assert refused.value.retryable is False
    assert (
        "it has 20000 bytes, and the topic's `max.message.bytes` is less" in refused.value.message
    )
    assert f"penstock topics alter {small_topic} --set max.message.bytes" in refused.value.hint


def test_small_records_do_not_suffer_with_a_large_one_when_batches_are_small(
    small_topic: TopicName, kafka: KafkaCluster
) -> None:
    """The broker refuses a batch whole; with `batch_bytes` below its limit the large is alone."""
    reports: list[DeliveryReport] = []
    with small_batches(kafka) as producer:
        producer.send_and_wait(small_topic, "first")
        for value in ("before", "x" * 20_000, "after"):
            producer.send(small_topic, value, on_delivery=reports.append)

    assert [type(report) for report in reports] == [Delivery, RecordTooLargeError, Delivery]
    assert values(kafka.bootstrap, small_topic) == [b"first", b"before", b"after"]


def test_an_unknown_topic_is_fatal(producer: Producer) -> None:
    with pytest.raises(DeliveryError, match="does not exist") as refused:
        producer.send_and_wait(f"none-{uuid4().hex}", "x")

    assert refused.value.retryable is False


def test_an_unknown_partition_is_fatal(topic: TopicName, producer: Producer) -> None:
    producer.partitions_for(topic)
    with pytest.raises(DeliveryError, match="the topic has no partition 9"):
        producer.send_and_wait(topic, "x", partition=9)


def test_a_cluster_that_is_away_is_retriable() -> None:
    with (
        Producer(NOWHERE, delivery_timeout_seconds=0.5) as producer,
        pytest.raises(RetriableDeliveryError, match=r"did not acknowledge it within 0\.5 s"),
    ):
        producer.send_and_wait("orders", "x")


def test_a_partitioner_cannot_work_while_the_cluster_is_away() -> None:
    hurried = Connection(bootstrap=NOWHERE, security=ClusterSettings(request_timeout_seconds=0.5))
    with (
        Producer(hurried, partitioner=HotKeyPartitioner(["Banana"])) as producer,
        pytest.raises(ClusterUnreachableError),
    ):
        producer.send("orders", "x", key="Apple")


def test_failures_that_nobody_waited_for_are_raised_by_flush_once(
    small_topic: TopicName, kafka: KafkaCluster
) -> None:
    with small_batches(kafka) as producer:
        producer.send(small_topic, b"small")
        producer.flush()
        for _ in range(3):
            producer.send(small_topic, b"x" * 20_000)
        with pytest.raises(DeliveriesFailedError, match="3 records failed; the first: ") as failed:
            producer.flush()
        producer.flush()
        metrics = producer.metrics()

    assert (failed.value.failed, type(failed.value.first)) == (3, RecordTooLargeError)
    assert (metrics.sent, metrics.delivered, metrics.failed, metrics.in_flight) == (4, 1, 3, 0)


def test_failures_that_nobody_waited_for_are_raised_by_close(
    small_topic: TopicName, kafka: KafkaCluster
) -> None:
    producer = small_batches(kafka)
    producer.send(small_topic, b"x" * 20_000)
    with pytest.raises(DeliveriesFailedError):
        producer.close()
    producer.close()


def test_closing_in_time_gives_up_what_is_not_acknowledged_and_tells_each() -> None:
    reports: list[DeliveryReport] = []
    producer = Producer(NOWHERE)
    for number in range(5):
        producer.send("orders", str(number), on_delivery=reports.append)

    with pytest.raises(UndeliveredError, match=r"5 records not acknowledged within 0\.2 s"):
        producer.close(timeout_seconds=0.2)
    assert [type(report) for report in reports] == [RetriableDeliveryError] * 5


def test_a_full_buffer_holds_the_sender_back_and_then_refuses() -> None:
    producer = Producer(NOWHERE, buffer_records=10, block_seconds=0.2)
    for number in range(10):
        producer.send("orders", str(number))
    with pytest.raises(BufferFullError, match="10 records not yet acknowledged") as full:
        producer.send("orders", "one too many")

    assert full.value.retryable is True
    assert producer.metrics().in_flight == 10
    with pytest.raises(UndeliveredError):
        producer.close(timeout_seconds=0)


def test_back_pressure_lets_everything_through_a_small_buffer(
    kafka: KafkaCluster, topic: TopicName
) -> None:
    with Producer(kafka.bootstrap, buffer_records=50, linger_seconds=0) as producer:
        for number in range(3000):
            producer.send(topic, str(number), partition=0)

    assert values(kafka.bootstrap, topic) == [str(number).encode() for number in range(3000)]


def test_threads_share_a_producer(kafka: KafkaCluster, topic: TopicName) -> None:
    def send_all(producer: Producer, name: str) -> None:
        for number in range(500):
            producer.send(topic, f"{name}-{number}", key=name)

    with Producer(kafka.bootstrap) as producer:
        threads = [threading.Thread(target=send_all, args=(producer, name)) for name in "0123"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
        assert producer.metrics().delivered == 2000

    found = topic_contents(kafka.bootstrap, topic)
    assert {
        name: [record.value for record in found if record.key == name]
        for name in (b"0", b"1", b"2", b"3")
    } == {name: [name + b"-%d" % n for n in range(500)] for name in (b"0", b"1", b"2", b"3")}


def test_an_error_in_a_callback_is_raised_by_flush_and_harms_nobody(
    topic: TopicName, producer: Producer
) -> None:
    def broken(report: DeliveryReport) -> None:
        raise ZeroDivisionError(str(report))

    producer.send(topic, "x", on_delivery=broken)
    with pytest.raises(DeliveryCallbackError, match="raised ZeroDivisionError"):
        producer.flush()
    assert producer.send_and_wait(topic, "y").topic == topic


def test_waiting_inside_a_callback_is_refused(topic: TopicName, producer: Producer) -> None:
    caught: list[WaitingInCallbackError] = []

    def waits(_: DeliveryReport) -> None:
        for call in (producer.flush, producer.close, lambda: producer.send_and_wait(topic, "z")):
            try:
                call()
            except WaitingInCallbackError as err:
                caught.append(err)

    producer.send(topic, "x", on_delivery=waits)
    producer.flush()

    assert [err.message.split("`")[1] for err in caught] == ["flush", "close", "send_and_wait"]


def test_a_callback_may_send(kafka: KafkaCluster, topic: TopicName) -> None:
    with Producer(kafka.bootstrap) as producer:
        producer.send(topic, "1", partition=0, on_delivery=lambda _: producer.send(topic, "2"))

    assert sorted(value or b"" for value in values(kafka.bootstrap, topic)) == [b"1", b"2"]


def test_lingering_records_are_sent_at_once_by_flush(topic: TopicName, kafka: KafkaCluster) -> None:
    with Producer(kafka.bootstrap, linger_seconds=60) as producer:
        producer.send(topic, "x")
        producer.flush(timeout_seconds=10)
        assert producer.metrics().delivered == 1


def test_metrics_tell_counts_sizes_and_latency(topic: TopicName, producer: Producer) -> None:
    for _ in range(10):
        producer.send(topic, b"12345678", key=b"12")
    producer.flush()
    metrics = producer.metrics()

    assert (metrics.sent, metrics.delivered, metrics.failed) == (10, 10, 0)
    assert (metrics.sent_bytes, metrics.average_record_bytes, metrics.spooled) == (100, 10.0, 0)
    assert metrics.latency is not None
    assert 0 < metrics.latency.p50 <= metrics.latency.p99 <= metrics.latency.maximum < 10


def test_a_producer_tells_what_it_does_lately(topic: TopicName, producer: Producer) -> None:
    """The client tells every five seconds; something must be sent between two times."""
    first = producer.metrics().rates

    def tells() -> bool:
        producer.send(topic, b"x" * 90, key=b"0123456789")
        rates = producer.metrics().rates
        return rates is not None and rates.record_send_rate > 0 and rates.compression_rate_avg > 0

    eventually(tells, within_seconds=60)
    rates = producer.metrics().rates

    assert (first, rates is None) == (None, False)
    assert rates is not None
    assert (rates.record_error_rate, rates.record_retry_rate) == (0, 0)
    assert 0 < rates.request_latency_avg < 5
    assert 0 < rates.record_queue_time_avg < 5
    assert 100 <= rates.record_size_avg < 200
    # The client counts records after requests: of one it may have seen the request alone.
    assert rates.records_per_request_avg > 0.9
    assert rates.request_size_avg > rates.record_size_avg
    assert rates.batch_size_avg > rates.record_size_avg
    assert rates.outgoing_byte_rate > rates.record_send_rate * rates.record_size_avg
    assert 0 < rates.request_rate <= rates.record_send_rate + 1


def test_a_closed_producer_refuses_and_leaves_no_thread(
    topic: TopicName, connection: Connection
) -> None:
    before = set(threading.enumerate())
    with Producer(connection) as producer:
        producer.send(topic, "x")

    assert set(threading.enumerate()) <= before
    with pytest.raises(ProducerClosedError):
        producer.send(topic, "y")
    with pytest.raises(ProducerClosedError):
        producer.flush()


def test_a_producer_that_nobody_closes_ends_its_thread_when_it_is_collected(
    topic: TopicName, connection: Connection
) -> None:
    before = set(threading.enumerate())
    producer = Producer(connection)
    producer.send_and_wait(topic, "x")
    del producer
    gc.collect()

    eventually(lambda: set(threading.enumerate()) <= before, within_seconds=5)


def test_an_error_in_the_block_is_not_hidden_by_closing(
    small_topic: TopicName, kafka: KafkaCluster
) -> None:
    def send_and_fail() -> None:
        with small_batches(kafka) as producer:
            producer.send(small_topic, b"x" * 20_000)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        send_and_fail()
