"""A real cluster with as much on it as a large one has, seeded in seconds.

Topics, groups and subjects go in by hundreds at a time, without waiting for each. Pipelines are
what their drivers say of themselves: status records, written again every few seconds, and the
shadow groups of their flows.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread
from typing import TYPE_CHECKING

from bench.registry import records_of
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.control.holders import this_process
from penstock.control.status import Rates, Totals
from penstock.control.status_records import (
    PUBLISH_SECONDS,
    STATUS_TOPIC,
    Addresses,
    BatchRecord,
    FlowRecord,
    LagRecord,
    PipelineRecord,
    PipelineState,
    encode_status,
    status_key,
)
from penstock.control.supervision import FlowState
from penstock.kafka import Admin, Producer, TopicPartition, bounds_of_present
from penstock.kafka.schemas_log.topic import ensure_schemas_topic
from penstock.kafka.tables import KafkaTable
from penstock.names import FlowName, Partition, PipelineName, TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from penstock.kafka import Connection

TOPICS = 2_000
PARTITIONS = 3
RECORDS = 5
GROUPS = 10_000
SUBJECTS = 1_400
PIPELINES = 10
FLOWS = 10
"""Of each pipeline."""

_BATCH = 250
_REQUEST_SECONDS = 60


def topic_name(number: int) -> str:
    """Return the name of one of the topics."""
    return f"shop.orders-{number:04d}"


def seed_topics(connection: Connection) -> None:
    """Create the topics, with some records in each partition."""
    client = AdminClient({**connection.client_config()})
    for start in range(0, TOPICS, _BATCH):
        new = [NewTopic(topic_name(n), PARTITIONS, 1) for n in range(start, start + _BATCH)]
        for future in client.create_topics(new, request_timeout=_REQUEST_SECONDS).values():
            future.result()
    wanted = [
        TopicPartition(TopicName(topic_name(number)), Partition(partition))
        for number in range(TOPICS)
        for partition in range(PARTITIONS)
    ]
    with Admin(connection) as admin:
        # The controller answers long before the broker has made the folders.
        while len(bounds_of_present(admin, wanted, firsts=False)) < len(wanted):
            time.sleep(2)
    with Producer(connection) as producer:
        for number in range(TOPICS):
            for index in range(PARTITIONS * RECORDS):
                producer.send(topic_name(number), b'{"amount": 1}', key=b"%d" % index)


def seed_groups(connection: Connection) -> None:
    """Commit for the groups: each has read a part of one topic."""
    admin = AdminClient({**connection.client_config()})
    shadows = [f"penstock.p{n // FLOWS:02d}.f{n % FLOWS:02d}" for n in range(PIPELINES * FLOWS)]
    names = [*shadows, *(f"team{n % 40}.reader-{n:05d}" for n in range(GROUPS - len(shadows)))]
    asked: dict[str, Future[ConsumerGroupTopicPartitions]] = {}
    for number, name in enumerate(names):
        topic = topic_name(number % TOPICS)
        positions = [ClientPartition(topic, item, number % RECORDS) for item in range(PARTITIONS)]
        request = [ConsumerGroupTopicPartitions(name, positions)]
        asked |= admin.alter_consumer_group_offsets(request, request_timeout=_REQUEST_SECONDS)
    for future in asked.values():
        future.result()


def seed_subjects(connection: Connection) -> None:
    """Write the subjects as a registry keeps them."""
    topic = TopicName("_schemas")
    with Admin(connection) as admin:
        ensure_schemas_topic(admin, topic)
    with Producer(connection) as producer:
        for number in range(SUBJECTS):
            for record in records_of(number):
                producer.send(topic, record.value, key=record.key)


@contextmanager
def speaking_drivers(connection: Connection) -> Iterator[None]:
    """Let the drivers of all pipelines say every few seconds how they are."""
    over, begun = Event(), datetime.now(UTC)
    with KafkaTable.open(connection, STATUS_TOPIC) as table, ThreadPoolExecutor(PIPELINES) as pool:

        def speak(number: int) -> None:
            record = _status(number, begun)
            table.put(status_key(record.pipeline, record.epoch), encode_status(record))

        def speak_on() -> None:
            while not over.wait(PUBLISH_SECONDS):
                list(pool.map(speak, range(PIPELINES)))

        list(pool.map(speak, range(PIPELINES)))
        thread = Thread(target=speak_on, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _status(number: int, begun: datetime) -> PipelineRecord:
    return PipelineRecord(
        pipeline=PipelineName(f"p{number:02d}"),
        state=PipelineState.RUNNING,
        since=begun,
        why=None,
        driver=this_process("0123456789ab"),
        epoch=1,
        profile="default",
        addresses=Addresses(),
        flows=tuple(_flow(index, begun) for index in range(FLOWS)),
    )


def _flow(index: int, begun: datetime) -> FlowRecord:
    now = datetime.now(UTC)
    batches = int((now - begun).total_seconds())
    return FlowRecord(
        flow=FlowName(f"f{index:02d}"),
        state=FlowState.RUNNING,
        since=begun,
        rates=Rates(records_in=1000.0 + index, records_out=900.0),
        totals=Totals(records_in=batches * 1000, records_out=batches * 900, batches=batches),
        lag=LagRecord(records=10 * index, seconds=0.1 * index),
        last_batch=BatchRecord(
            batch_id=batches,
            at=now,
            seconds=0.4,
            records_in=1000,
            records_out=900,
            phases={"addBatch": 300, "queryPlanning": 40, "walCommit": 60},
        ),
        watermark=now,
    )
