"""Is the cluster ready? A record that is written, acknowledged and read back is the proof."""

import time
from collections.abc import Callable
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.kafka.connection import Connection
from penstock.kafka.errors import ClusterUnreachableError, error_of

PROBE_TOPIC = "_penstock.probe"
_PAUSE_SECONDS = 0.05


def await_round_trip(
    connection: Connection,
    *,
    brokers: int,
    timeout_seconds: float,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Return when `brokers` brokers are there and a record has made the way in and out.

    Args:
        connection: the cluster.
        brokers: how many brokers must have joined.
        timeout_seconds: how long to wait for all of it.
        check: called between attempts; raises when waiting has become pointless.

    Raises:
        ClusterUnreachableError: it did not work in time.
    """
    deadline = time.monotonic() + timeout_seconds
    # Connections are refused until the brokers listen: the client shall try again quickly.
    config: dict[str, str | int | float | bool] = connection.client_config() | {
        "log_level": 0,
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 100,
    }
    admin = AdminClient(config)
    reason = _retry_until(
        lambda: _topic_ready(admin, brokers), deadline=deadline, check=check
    ) or _retry_until(lambda: _round_trip(config), deadline=deadline, check=check)
    if reason is not None:
        raise ClusterUnreachableError(
            connection.bootstrap, tried=f"waited {timeout_seconds:g} s for it", reason=reason
        )


def _retry_until(
    attempt: Callable[[], str | None], *, deadline: float, check: Callable[[], None]
) -> str | None:
    """Repeat `attempt` until it gives no reason for failure; return the last reason in the end."""
    while True:
        reason = attempt()
        if reason is None or time.monotonic() > deadline:
            return reason
        check()
        time.sleep(_PAUSE_SECONDS)


def _topic_ready(admin: AdminClient, brokers: int) -> str | None:
    try:
        found = len(admin.list_topics(timeout=0.5).brokers)
        if found < brokers:
            return f"{found} of {brokers} brokers have joined"
        admin.create_topics([NewTopic(PROBE_TOPIC, 1, brokers)])[PROBE_TOPIC].result(timeout=10)
    except KafkaException as err:
        if error_of(err).code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return None
        return str(error_of(err).str())
    except TimeoutError:
        return "the test topic was not created"
    return None


def _round_trip(config: dict[str, str | int | float | bool]) -> str | None:
    token = uuid4().bytes
    producer = Producer(config | {"acks": "all", "message.timeout.ms": 5000, "linger.ms": 0})
    delivered: list[tuple[int, int]] = []

    def on_delivery(error: KafkaError | None, message: object) -> None:
        if error is None:
            delivered.append((message.partition(), message.offset()))  # type: ignore[attr-defined]

    producer.produce(PROBE_TOPIC, token, on_delivery=on_delivery)
    producer.flush(6)
    if not delivered:
        return "the test record was not acknowledged"
    return _read_back(config, *delivered[0], token)


def _read_back(
    config: dict[str, str | int | float | bool], partition: int, offset: int, token: bytes
) -> str | None:
    consumer = Consumer(config | {"group.id": PROBE_TOPIC, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(PROBE_TOPIC, partition, offset)])
        record = consumer.poll(5)
        if record is None or record.error() or record.value() != token:
            return "the test record could not be read back"
    finally:
        consumer.close()
    return None
