"""Workers on a real broker: retries, dead letters, commits, stopping, health."""

from __future__ import annotations

import json
import sqlite3
import threading
import urllib.request
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

import penstock as ps
from penstock.kafka import (
    Admin,
    Consumer,
    HandlerFailedError,
    Header,
    Producer,
    Record,
    TopicPartition,
    UnknownTopicError,
    Worker,
    WorkerRunningError,
    WorkerState,
    committed_offsets,
)
from penstock.kafka.consumer.commits import Automatic
from penstock.kafka.consumer.membership import Start
from penstock.names import GroupId, Partition, TopicName
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster


@pytest.fixture
def group() -> GroupId:
    """A group nobody else uses."""
    return GroupId(f"group-{uuid4().hex}")


@pytest.fixture
def single(kafka: KafkaCluster) -> TopicName:
    """A topic of one partition: its records have one order."""
    return kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)


@pytest.fixture
def other(kafka: KafkaCluster) -> TopicName:
    """A second topic of one partition."""
    return kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)


def send(connection: Connection, topic: TopicName, values: Sequence[str]) -> None:
    with Producer(connection) as producer:
        for value in values:
            producer.send(topic, value, key=f"key-{value}", headers=[("trace", value)])


def records_of(connection: Connection, topic: TopicName) -> list[Record]:
    with Consumer(connection, [topic], start=Start.EARLIEST) as consumer:
        return list(consumer.read_to_end())


def committed(connection: Connection, group: GroupId, topic: TopicName) -> int | None:
    with Admin(connection) as admin:
        found = committed_offsets(admin, [group])[group].get(TopicPartition(topic, Partition(0)))
    return None if found is None else found.offset


class Running:
    """A worker in a thread of its own; `error` is what `run` raised."""

    def __init__(self, worker: Worker, connection: Connection, **options: int) -> None:
        self.worker = worker
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(connection, options))

    def _run(self, connection: Connection, options: dict[str, int]) -> None:
        try:
            self.worker.run(connection, health_port=options.get("health_port"))
        except Exception as err:  # noqa: BLE001 - handed to the test
            self.error = err

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.stop()
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()


def until(worker: Worker, connection: Connection, condition: Callable[[], object]) -> None:
    """Run `worker` until `condition()` is true, then stop it cleanly."""
    with Running(worker, connection) as running:
        eventually(lambda: running.error is not None or condition(), within_seconds=30)
    if running.error is not None:
        raise running.error


def test_a_stopped_worker_has_committed_exactly_what_it_handled(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    """The stop comes while the tenth of a hundred records is in hand; no commit was due yet."""
    handled: list[bytes | None] = []

    @ps.worker(single, group=group, commit=Automatic(every_seconds=3600))
    def bill(record: Record) -> None:
        handled.append(record.value)
        if len(handled) == 10:
            bill.stop()

    send(connection, single, [str(number) for number in range(100)])
    bill.run(connection)

    assert handled == [str(number).encode() for number in range(10)]
    assert committed(connection, group, single) == 10
    health = bill.health()
    assert (health.state, health.handled, health.failed_attempts) == (WorkerState.STOPPED, 10, 0)


def test_a_record_that_fails_at_first_is_retried_before_the_next(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    calls: list[bytes | None] = []

    @ps.worker(single, group=group, retries=2, retry_delay_seconds=0.01)
    def bill(record: Record) -> None:
        calls.append(record.value)
        if calls.count(b"1") < 3 and record.value == b"1":
            raise ConnectionError

    send(connection, single, ["0", "1", "2"])
    until(bill, connection, lambda: len(calls) == 5)

    assert calls == [b"0", b"1", b"1", b"1", b"2"]
    assert (bill.health().handled, bill.health().failed_attempts) == (3, 2)
    assert committed(connection, group, single) == 3


def test_a_record_that_fails_for_good_stops_the_worker_at_that_record(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    calls: list[bytes | None] = []

    @ps.worker(single, group=group, retries=1, retry_delay_seconds=0.01)
    def bill(record: Record) -> None:
        calls.append(record.value)
        if record.value == b"1":
            raise LookupError("no such customer")  # noqa: EM101, TRY003 - a user's error

    send(connection, single, ["0", "1", "2"])
    with pytest.raises(HandlerFailedError) as caught:
        bill.run(connection)

    assert calls == [b"0", b"1", b"1"]
    assert caught.value.message == (
        f"handler `{bill.name}` failed 2 times on `{single}-0@1`: LookupError: no such customer"
    )
    assert isinstance(caught.value.__cause__, LookupError)
    assert committed(connection, group, single) == 1
    assert bill.health().state is WorkerState.FAILED
    assert bill.health().failure == caught.value.message


def test_an_exception_that_is_not_worth_a_retry_is_not_retried(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    calls: list[bytes | None] = []

    @ps.worker(single, group=group, retries=5, retry_on=ConnectionError)
    def bill(record: Record) -> None:
        calls.append(record.value)
        raise LookupError

    send(connection, single, ["0"])
    with pytest.raises(HandlerFailedError):
        bill.run(connection)
    assert calls == [b"0"]


def test_a_dead_letter_holds_the_record_and_the_reason_and_the_worker_goes_on(
    connection: Connection, single: TopicName, other: TopicName, group: GroupId
) -> None:
    handled: list[bytes | None] = []

    @ps.worker(single, group=group, retries=0, dead_letters=other)
    def bill(record: Record) -> None:
        if record.value == b"1":
            raise LookupError("no such customer")  # noqa: EM101, TRY003 - a user's error
        handled.append(record.value)

    send(connection, single, ["0", "1", "2"])
    until(bill, connection, lambda: len(handled) == 2)

    assert handled == [b"0", b"2"]
    assert committed(connection, group, single) == 3
    assert (bill.health().handled, bill.health().dead_lettered) == (2, 1)
    (letter,) = records_of(connection, other)
    (_, original, _) = records_of(connection, single)
    assert (letter.key, letter.value, letter.timestamp) == (b"key-1", b"1", original.timestamp)
    assert letter.headers[:-1] == (
        Header("trace", b"1"),
        Header("__connect.errors.topic", single.encode()),
        Header("__connect.errors.partition", b"0"),
        Header("__connect.errors.offset", b"1"),
        Header("__connect.errors.connector.name", group.encode()),
        Header("__connect.errors.stage", b"HANDLER"),
        Header("__connect.errors.class.name", bill.name.encode()),
        Header("__connect.errors.exception.class.name", b"builtins.LookupError"),
        Header("__connect.errors.exception.message", b"no such customer"),
    )


def test_a_missing_dead_letter_topic_is_noticed_before_the_first_record(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    @ps.worker(single, group=group, dead_letters=f"{single}x")
    def bill(record: Record) -> None:
        raise AssertionError(record)

    send(connection, single, ["0"])
    with pytest.raises(UnknownTopicError) as caught:
        bill.run(connection)
    assert caught.value.hint == f"did you mean `{single}`?"
    assert committed(connection, group, single) is None


def test_an_unknown_topic_suggests_the_nearest(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    @ps.worker(f"{single}x", group=group)
    def bill(record: Record) -> None:
        raise AssertionError(record)

    with pytest.raises(UnknownTopicError) as caught:
        bill.run(connection)
    assert caught.value.hint == f"did you mean `{single}`?"


def test_a_stop_during_the_wait_for_a_retry_leaves_the_record_for_the_next_run(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    calls: list[bytes | None] = []

    @ps.worker(single, group=group, retries=1, retry_delay_seconds=20)
    def bill(record: Record) -> None:
        calls.append(record.value)
        if len(calls) == 2:
            raise ConnectionError

    send(connection, single, ["0", "1"])
    until(bill, connection, lambda: len(calls) == 2)
    assert committed(connection, group, single) == 1
    until(bill, connection, lambda: len(calls) == 3)
    assert calls == [b"0", b"1", b"1"]
    assert committed(connection, group, single) == 2


def test_a_worker_runs_once_at_a_time(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    seen = threading.Event()

    @ps.worker(single, group=group)
    def bill(record: Record) -> None:
        del record
        seen.set()

    send(connection, single, ["0"])
    with Running(bill, connection):
        assert seen.wait(30)
        with pytest.raises(WorkerRunningError):
            bill.run(connection)


def test_health_is_served_while_the_worker_lives(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    release, inside = threading.Event(), threading.Event()

    @ps.worker(single, group=group)
    def bill(record: Record) -> None:
        inside.set()
        if record.value == b"2":
            assert release.wait(30)

    with Running(bill, connection, health_port=0):
        eventually(lambda: bill.health().partitions, within_seconds=30)
        send(connection, single, ["0", "1", "2"])
        eventually(lambda: bill.health().handled == 2, within_seconds=30)
        status, body = get(f"http://127.0.0.1:{bill.health_port}/health")
        release.set()
        eventually(lambda: bill.health().lag == 0, within_seconds=30)
        missing, _ = get(f"http://127.0.0.1:{bill.health_port}/other")

    assert (status, missing) == (200, 404)
    assert {key: body[key] for key in ("state", "healthy", "handled", "topics", "group")} == {
        "state": "running",
        "healthy": True,
        "handled": 2,
        "topics": [single],
        "group": group,
    }
    assert body["partitions"] == [f"{single}-0"]
    assert not bill.health().healthy
    assert bill.health().last_record_at is not None


def test_prometheus_reads_what_a_workers_consumer_does(
    connection: Connection, single: TopicName, group: GroupId
) -> None:
    """The client tells every five seconds, and what it does lately is known after the second."""

    @ps.worker(single, group=group)
    def bill(record: Record) -> None:
        assert record.value

    def assigned() -> set[float]:
        address = f"http://127.0.0.1:{bill.health_port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        return {
            item.value
            for family in families
            for item in family.samples
            if item.name == "penstock_consumer_assigned_partitions"
        }

    send(connection, single, ["0"])
    with Running(bill, connection, health_port=0):
        eventually(lambda: bill.health_port, within_seconds=30)
        eventually(lambda: 1.0 in assigned(), within_seconds=60)


def get(address: str) -> tuple[int, dict[str, object]]:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - our own server
            return answer.status, json.loads(answer.read())
    except HTTPError as err:
        with err:
            return err.code, {}


def test_a_chain_of_two_workers_writes_each_order_to_both_databases(
    connection: Connection, single: TopicName, other: TopicName, tmp_path: Path
) -> None:
    """Application 1 reads a topic, writes a database and a second topic, which 2 reads."""
    orders, invoices = tmp_path / "orders.db", tmp_path / "invoices.db"
    for path in (orders, invoices):
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE entries (content TEXT)")
        database.close()

    with Producer(connection) as producer:

        @ps.worker(
            single,
            group=f"accept-{uuid4().hex}",
            offsets=ps.DatabaseOffsets(lambda: sqlite3.connect(orders)),
        )
        def accept(record: Record, cursor: sqlite3.Cursor) -> None:
            cursor.execute("INSERT INTO entries VALUES (?)", (record.value,))
            producer.send_and_wait(other, record.value, key=record.key)

        @ps.worker(
            other,
            group=f"invoice-{uuid4().hex}",
            offsets=ps.DatabaseOffsets(lambda: sqlite3.connect(invoices)),
        )
        def invoice(record: Record, cursor: sqlite3.Cursor) -> None:
            cursor.execute("INSERT INTO entries VALUES (?)", (record.value,))

        send(connection, single, [str(number) for number in range(20)])
        with Running(accept, connection), Running(invoice, connection) as last:
            eventually(
                lambda: last.error is not None or invoice.health().handled == 20, within_seconds=30
            )

    expected = [str(number).encode() for number in range(20)]
    assert [entries(orders), entries(invoices)] == [expected, expected]


def entries(path: Path) -> list[bytes]:
    database = sqlite3.connect(path)
    rows = database.execute("SELECT content FROM entries ORDER BY rowid").fetchall()
    database.close()
    return [row[0] for row in rows]
