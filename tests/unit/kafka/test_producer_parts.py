from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock.kafka import (
    Acks,
    DeliveryError,
    Header,
    InvalidProducerSettingError,
    InvalidRecordError,
    OutgoingRecord,
    Producer,
    ProducerFailedError,
    RecordTooLargeError,
    RetriableDeliveryError,
    outgoing_record,
)
from penstock.kafka.producer.errors import DeliveryTerms, delivery_error
from penstock.kafka.producer.metrics import LatencyHistogram
from penstock.names import Partition, TopicName

NOWHERE = "127.0.0.1:1"
MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)
TERMS = DeliveryTerms(
    bootstrap=NOWHERE, max_record_bytes=10_000, batch_bytes=1000, delivery_timeout_seconds=120
)


def test_text_is_encoded_and_bytes_stay_as_they_are() -> None:
    record = outgoing_record(
        "orders",
        "grün",
        key=b"\xff\x00",
        headers={"trace": "7", "empty": None},
        partition=2,
        timestamp=MOMENT,
    )

    assert record == OutgoingRecord(
        topic=TopicName("orders"),
        key=b"\xff\x00",
        value="grün".encode(),
        headers=(Header("trace", b"7"), Header("empty", None)),
        partition=Partition(2),
        timestamp=MOMENT,
    )


def test_header_names_may_repeat() -> None:
    record = outgoing_record("orders", None, headers=[("a", b"1"), Header("a", b"2")])

    assert record.headers == (Header("a", b"1"), Header("a", b"2"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"value": {"id": 1}}, "its value is a `dict`, and must be str, bytes or None"),
        ({"key": 7}, "its key is a `int`, and must be str, bytes or None"),
        ({"value": "\ud800"}, "its value is text that UTF-8 cannot express: surrogates not"),
        ({"topic": "no spaces"}, "`no spaces` cannot be the name of a topic"),
        ({"topic": ".."}, "`..` cannot be the name of a topic"),
        ({"topic": ["orders"]}, "`['orders']` cannot be the name of a topic"),
        ({"partition": -1}, "its partition is `-1`"),
        ({"partition": True}, "its partition is `True`"),
        ({"timestamp": datetime(2026, 5, 1)}, "without a time zone"),  # noqa: DTZ001 - the point
        ({"timestamp": datetime(1969, 1, 1, tzinfo=UTC)}, "its timestamp is `1969-01-01"),
        ({"headers": ["trace"]}, "header `'trace'` is not a name with a value"),
        ({"headers": {"trace": 7}}, "its header `trace` is a `int`"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_record_that_cannot_be_sent_is_refused_before_sending(
    arguments: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        outgoing_record(**({"topic": "orders", "value": "x"} | arguments))

    assert reason in refused.value.message
    assert refused.value.exit_status == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"linger_seconds": -1}, "`linger_seconds` is -1, and must be between 0 and 900"),
        ({"buffer_records": 0}, "`buffer_records` is 0, and must be between 1 and 1e+07"),
        (
            {"linger_seconds": 3, "delivery_timeout_seconds": 2},
            "`linger_seconds` is 3, and must be less than `delivery_timeout_seconds` (2)",
        ),
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProducerSettingError) as refused:
        Producer(NOWHERE, **settings)

    assert refused.value.message == message


def test_a_spool_needs_all_acknowledgements(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(InvalidProducerSettingError, match="must be `all` with a spool"):
        Producer(NOWHERE, acks=Acks.LEADER, spool=tmp_path_factory.mktemp("spool"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._MSG_TIMED_OUT, RetriableDeliveryError),  # noqa: SLF001 - a public constant
        (KafkaError._PURGE_QUEUE, RetriableDeliveryError),  # noqa: SLF001
        (KafkaError._ALL_BROKERS_DOWN, RetriableDeliveryError),  # noqa: SLF001
        (KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLargeError),
        (KafkaError._UNKNOWN_PARTITION, DeliveryError),  # noqa: SLF001
        (KafkaError.UNKNOWN_TOPIC_OR_PART, DeliveryError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, DeliveryError),
        (KafkaError.INVALID_TIMESTAMP, DeliveryError),
        (KafkaError._FATAL, ProducerFailedError),  # noqa: SLF001
    ],
    ids=str,
)
def test_retriable_and_fatal_failures_are_told_apart(code: int, kind: type[DeliveryError]) -> None:
    error = delivery_error(
        KafkaError(code), topic="orders", partition=3, byte_count=2000, terms=TERMS
    )

    assert type(error) is kind
    assert error.retryable is (kind is RetriableDeliveryError)


@pytest.mark.parametrize(
    ("byte_count", "blamed"),
    [
        (1000, "the topic's `max.message.bytes` is less"),
        (999, "the batch it was sent in is larger"),
    ],
    ids=["alone", "in company"],
)
def test_a_record_is_not_blamed_for_its_batch(byte_count: int, blamed: str) -> None:
    error = delivery_error(
        KafkaError(KafkaError.MSG_SIZE_TOO_LARGE),
        topic="orders",
        partition=0,
        byte_count=byte_count,
        terms=TERMS,
    )

    assert f"it has {byte_count} bytes, and {blamed}" in error.message


def test_percentiles_are_within_a_tenth_of_the_truth() -> None:
    histogram = LatencyHistogram()
    for milliseconds in range(1, 1001):
        histogram.add(milliseconds / 1000)

    latency = histogram.summary()

    assert latency is not None
    assert latency.p50 == pytest.approx(0.5, rel=0.1)
    assert latency.p95 == pytest.approx(0.95, rel=0.1)
    assert latency.p99 == pytest.approx(0.99, rel=0.1)
    assert latency.maximum == 1.0


def test_latency_is_unknown_until_a_record_was_acknowledged() -> None:
    assert LatencyHistogram().summary() is None
