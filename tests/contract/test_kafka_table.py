"""The contract of `KafkaTable`: what users of one table see, on a real broker."""

from __future__ import annotations

import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from penstock.kafka import (
    Admin,
    ClusterUnreachableError,
    Connection,
    InvalidTopicNameError,
    Producer,
    RecordTooLargeError,
    delete_topics,
    describe_topics,
)
from penstock.kafka.tables import (
    Entry,
    KafkaTable,
    TableClosedError,
    TableLostError,
    TableTimeoutError,
    TableTopicError,
)
from penstock.names import TopicName
from support.tables import unused_topic
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.local.cluster import KafkaCluster

Changes = list[tuple[str, bytes | None]]


@pytest.fixture
def topic() -> TopicName:
    """A topic that does not exist yet."""
    return unused_topic()


@pytest.fixture
def table(connection: Connection, topic: TopicName) -> Iterator[KafkaTable]:
    with KafkaTable.open(connection, topic) as opened:
        yield opened


def values(table: KafkaTable) -> dict[str, bytes]:
    return {key: entry.value for key, entry in table.snapshot().items()}


def test_an_absent_topic_is_created_compacted_and_with_one_partition(
    connection: Connection, topic: TopicName
) -> None:
    with KafkaTable.open(connection, topic) as table:
        assert (table.topic, table.snapshot()) == (topic, {})
    with Admin(connection) as admin:
        [description] = describe_topics(admin, [topic])
    assert len(description.partitions) == 1
    assert description.cleanup_policy == "compact"
    assert description.config("message.timestamp.type") == "LogAppendTime"


def test_many_may_open_a_table_whose_topic_is_absent(
    connection: Connection, topic: TopicName
) -> None:
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(lambda _: KafkaTable.open(connection, topic), range(4)))
    tables[0].put("a", b"1")
    for table in tables[1:]:
        table.refresh()
    assert [values(table) for table in tables] == [{"a": b"1"}] * 4
    for table in tables:
        table.close()


def test_what_was_written_is_shown_when_the_call_returns(table: KafkaTable) -> None:
    shown = []
    for number in range(50):
        written = table.put("a", b"%d" % number)
        shown.append((written, table.get("a")))
    assert [found for _, found in shown] == [written for written, _ in shown]
    assert [written.version for written, _ in shown] == sorted(
        {written.version for written, _ in shown}
    )


def test_an_entry_has_the_time_of_the_broker(table: KafkaTable) -> None:
    written = table.put("a", b"1")
    assert abs(datetime.now(UTC) - written.written_at) < timedelta(seconds=10)


def test_an_entry_is_the_same_for_the_next_to_open_the_table(
    table: KafkaTable, connection: Connection
) -> None:
    written = [table.put("a", b"1"), table.put_if("b", b"2", version=None)]
    with KafkaTable.open(connection, table.topic) as other:
        assert [other.get("a"), other.get("b")] == written


def test_a_deleted_entry_is_gone_for_everybody(table: KafkaTable, connection: Connection) -> None:
    table.put("a", b"1")
    table.put("b", b"2")
    table.delete("a")
    assert table.get("a") is None
    with KafkaTable.open(connection, table.topic) as other:
        assert values(other) == {"b": b"2"}


def test_an_empty_value_is_a_value(table: KafkaTable) -> None:
    table.put("a", b"")
    table.put_if("b", b"", version=None)
    assert values(table) == {"a": b"", "b": b""}


def test_deleting_what_is_not_there_is_no_error(table: KafkaTable) -> None:
    table.delete("a")
    assert table.snapshot() == {}


def test_after_a_refresh_the_table_shows_what_others_have_written(
    table: KafkaTable, connection: Connection
) -> None:
    with KafkaTable.open(connection, table.topic) as other:
        for number in range(20):
            written = other.put("a", b"%d" % number)
            table.refresh()
            assert table.get("a") == written


def test_a_change_wakes_who_waits_for_it(table: KafkaTable, connection: Connection) -> None:
    with KafkaTable.open(connection, table.topic) as other, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            table.wait_for, "a", lambda entry: entry is not None and entry.value == b"2", 20
        )
        other.put("a", b"1")
        written = other.put("a", b"2")
        assert waiting.result() == written


def test_waiting_for_a_deletion_ends_with_none(table: KafkaTable) -> None:
    table.put("a", b"1")
    table.delete("a")
    assert table.wait_for("a", lambda entry: entry is None, 1) is None


def test_waiting_in_vain_is_an_error(table: KafkaTable) -> None:
    with pytest.raises(TableTimeoutError, match="did not show the awaited entry of `a`"):
        table.wait_for("a", lambda entry: entry is not None, 0.05)


def test_a_snapshot_is_one_moment_of_the_topic(table: KafkaTable, connection: Connection) -> None:
    """A writer raises `a` and then `b`: whoever looks at one moment sees `a` at most one ahead."""
    stopping = threading.Event()

    def write() -> None:
        with Producer(connection, linger_seconds=0) as producer:
            number = 0
            while not stopping.wait(0.001):
                for key in ("a", "b"):
                    producer.send(table.topic, str(number), key=key)
                number += 1

    seen: list[dict[str, bytes]] = []

    def enough() -> bool:
        """Look some more; whether the table has changed often meanwhile."""
        seen.extend(values(table) for _ in range(50))
        return len({moment["a"] for moment in seen}) > 20

    writer = threading.Thread(target=write)
    writer.start()
    try:
        table.wait_for("b", lambda entry: entry is not None, 20)
        eventually(enough, within_seconds=30)
    finally:
        stopping.set()
        writer.join()
    ahead = {int(moment["a"]) - int(moment["b"]) for moment in seen}
    assert ahead <= {0, 1}


def test_changes_are_told_in_order_and_not_what_was_there_before(
    connection: Connection, topic: TopicName
) -> None:
    told: Changes = []

    def tell(key: str, entry: Entry | None) -> None:
        told.append((key, None if entry is None else entry.value))

    with KafkaTable.open(connection, topic) as writer:
        writer.put("old", b"0")
        with KafkaTable.open(connection, topic, on_change=tell):
            expected: Changes = []
            for number in range(100):
                writer.put("a", b"%d" % number)
                expected.append(("a", b"%d" % number))
            writer.put_if("b", b"1", version=None)
            writer.delete("a")
            expected += [("b", b"1"), ("a", None)]
            eventually(lambda: len(told) == len(expected), within_seconds=20)
    assert told == expected


def test_a_table_that_has_been_open_for_a_while_is_told_everything_once(
    connection: Connection, topic: TopicName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then another client reads on, which asks the broker less often."""
    monkeypatch.setattr("penstock.kafka.tables.following._FIRST_SECONDS", 0.5)
    told: Changes = [(str(number), str(number).encode()) for number in range(150)]
    seen: Changes = []

    def hear(key: str, entry: Entry | None) -> None:
        seen.append((key, entry.value if entry else None))

    with (
        KafkaTable.open(connection, topic) as writer,
        KafkaTable.open(connection, topic, on_change=hear) as follower,
    ):
        for key, value in told:
            writer.put(key, value or b"")
            time.sleep(0.01)
        writer.put_if("conditional", b"x", version=None)
        writer.put("last", b"y")
        follower.refresh()
        found = values(follower)
        eventually(lambda: len(seen) == len(found), within_seconds=20)
    told += [("conditional", b"x"), ("last", b"y")]

    assert found == dict(told)
    assert seen == told


def test_a_callback_that_fails_is_logged_and_hears_of_the_next_change(
    connection: Connection, topic: TopicName, caplog: pytest.LogCaptureFixture
) -> None:
    told = []

    def fail_once(key: str, _entry: Entry | None) -> None:
        told.append(key)
        if key == "a":
            raise ZeroDivisionError

    with KafkaTable.open(connection, topic, on_change=fail_once) as table:
        table.put("a", b"1")
        table.put("b", b"2")
        eventually(lambda: told == ["a", "b"], within_seconds=20)
        assert values(table) == {"a": b"1", "b": b"2"}
    [logged] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (vars(logged)["topic"], vars(logged)["key"]) == (topic, "a")
    assert logged.exc_info is not None
    assert logged.exc_info[0] is ZeroDivisionError


def test_a_callback_may_write_to_the_table(connection: Connection, topic: TopicName) -> None:
    opened: list[KafkaTable] = []

    def answer(key: str, _entry: Entry | None) -> None:
        if key == "question":
            opened[0].put("answer", b"42")

    with KafkaTable.open(connection, topic, on_change=answer) as table:
        opened.append(table)
        table.put("question", b"?")
        found = table.wait_for("answer", lambda entry: entry is not None, 20)
    assert found is not None
    assert found.value == b"42"


def test_a_callback_may_close_the_table(connection: Connection, topic: TopicName) -> None:
    opened: list[KafkaTable] = []
    closed = threading.Event()

    def close(_key: str, _entry: Entry | None) -> None:
        opened[0].close()
        closed.set()

    opened.append(KafkaTable.open(connection, topic, on_change=close))
    with Producer(connection) as producer:
        producer.send(topic, "1", key="a")
    assert closed.wait(20)


def test_closing_ends_the_threads(connection: Connection, topic: TopicName) -> None:
    before = set(threading.enumerate())
    table = KafkaTable.open(connection, topic)
    table.put("a", b"1")
    table.put_if("b", b"1", version=None)
    during = set(threading.enumerate()) - before
    started = time.monotonic()
    table.close()
    assert time.monotonic() - started < 8
    assert {thread.name for thread in during} >= {"penstock-table", "penstock-table-changes"}
    assert set(threading.enumerate()) - before == set()


def test_a_closed_table_says_so_and_may_be_closed_again(table: KafkaTable) -> None:
    table.close()
    table.close()
    calls: list[Callable[[], object]] = [
        lambda: table.get("a"),
        table.snapshot,
        table.refresh,
        lambda: table.put("a", b"1"),
        lambda: table.put_if("a", b"1", version=None),
        lambda: table.delete("a"),
        lambda: table.wait_for("a", lambda _entry: True, 1),
    ]
    for call in calls:
        with pytest.raises(TableClosedError):
            call()


@pytest.mark.parametrize(
    ("partition_count", "config", "flaws"),
    [
        (
            2,
            {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"},
            ("2 partitions instead of 1",),
        ),
        (
            1,
            {},
            (
                "`cleanup.policy=delete` instead of `compact`",
                "`message.timestamp.type=CreateTime` instead of `LogAppendTime`",
            ),
        ),
    ],
)
def test_a_topic_of_another_shape_is_refused(
    kafka: KafkaCluster,
    topic: TopicName,
    partition_count: int,
    config: dict[str, str],
    flaws: tuple[str, ...],
) -> None:
    kafka.create_topic(topic, partition_count=partition_count, config=config)
    with pytest.raises(TableTopicError) as caught:
        KafkaTable.open(kafka.connection, topic)
    assert caught.value.flaws == flaws


def test_a_name_that_no_topic_can_have_is_refused(connection: Connection) -> None:
    with pytest.raises(InvalidTopicNameError):
        KafkaTable.open(connection, TopicName("a table"))


def test_without_kafka_opening_fails_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(ClusterUnreachableError):
        KafkaTable.open(Connection(bootstrap=f"127.0.0.1:{port}"), TopicName("any"))
    assert time.monotonic() - started < 8


def test_an_entry_that_is_too_large_is_refused_and_the_next_is_not(table: KafkaTable) -> None:
    with pytest.raises(RecordTooLargeError):
        table.put("a", b"." * 2_000_000)
    with pytest.raises(RecordTooLargeError):
        table.put_if("b", b"." * 2_000_000, version=None)
    table.put("a", b"1")
    table.put_if("b", b"2", version=None)
    assert values(table) == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize("record_count", [0, 100], ids=["empty", "longer than before"])
def test_a_table_whose_topic_is_made_anew_says_that_it_is_lost(
    table: KafkaTable, kafka: KafkaCluster, record_count: int
) -> None:
    table.put("a", b"1")
    with Admin(kafka.connection) as admin:
        delete_topics(admin, [table.topic])
    config = {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}
    kafka.create_topic(table.topic, config=config)
    with Producer(kafka.connection) as producer:
        for number in range(record_count):
            producer.send(table.topic, "2", key=str(number))

    def is_lost() -> bool:
        try:
            table.get("a")
        except TableLostError:
            return True
        return False

    eventually(is_lost, within_seconds=30)


def test_a_hundred_thousand_entries_load_in_seconds(
    connection: Connection, topic: TopicName
) -> None:
    """Seconds of this process: others may have the machine at the same time."""
    count = 100_000
    KafkaTable.open(connection, topic).close()
    with Producer(connection) as producer:
        for number in range(count):
            producer.send(topic, f"value {number}", key=f"key/{number}")
    started = time.process_time()
    with KafkaTable.open(connection, topic) as table:
        assert time.process_time() - started < 15
        assert len(table.snapshot()) == count
        found = table.get(f"key/{count - 1}")
    assert found is not None
    assert found.value == f"value {count - 1}".encode()
