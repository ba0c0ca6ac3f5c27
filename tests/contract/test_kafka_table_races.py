"""The contract of `KafkaTable.put_if`: of those that expect the same version, one succeeds."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.kafka import Admin, Isolation
from penstock.kafka.tables import KafkaTable, VersionConflictError
from penstock.kafka.tables.topic import end_of
from penstock.names import Version
from support.tables import program, unused_topic
from support.topic_contents import topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.kafka import Connection
    from penstock.kafka.tables import Entry
    from penstock.names import TopicName

KEY = "lease/orders"


@pytest.fixture
def topic() -> TopicName:
    """A topic that does not exist yet."""
    return unused_topic()


@pytest.fixture
def tables(connection: Connection, topic: TopicName) -> Iterator[list[KafkaTable]]:
    """Two tables on the same topic."""
    with (
        KafkaTable.open(connection, topic) as first,
        KafkaTable.open(connection, topic) as second,
    ):
        yield [first, second]


def version_of(entry: Entry | None) -> Version | None:
    return None if entry is None else entry.version


def outcome(table: KafkaTable, key: str, value: bytes, version: Version | None) -> Entry | None:
    """Try to write; return what was written, or None when another was first."""
    try:
        return table.put_if(key, value, version=version)
    except VersionConflictError:
        return None


def test_an_entry_is_replaced_by_who_knows_its_version(tables: list[KafkaTable]) -> None:
    first, second = tables
    written = [first.put_if(KEY, b"1", version=None)]
    for number, table in enumerate([first, first, second, second, first], start=2):
        written.append(table.put_if(KEY, b"%d" % number, version=written[-1].version))
        assert table.get(KEY) == written[-1]
    assert [entry.value for entry in written] == [b"1", b"2", b"3", b"4", b"5", b"6"]


def test_who_expects_another_version_is_told_what_is_there(tables: list[KafkaTable]) -> None:
    first, second = tables
    written = first.put_if(KEY, b"1", version=None)
    for table in tables:
        for wrong in (None, Version(written.version + 1)):
            with pytest.raises(VersionConflictError) as caught:
                table.put_if(KEY, b"2", version=wrong)
            assert caught.value.found == written
    with pytest.raises(VersionConflictError) as caught:
        second.put_if("absent", b"2", version=written.version)
    assert caught.value.found is None


def test_a_writer_that_was_shut_out_begins_anew(tables: list[KafkaTable]) -> None:
    """The second takes the key over; the first has not looked since, and its version is old."""
    first, second = tables
    old = first.put_if(KEY, b"1", version=None)
    new = second.put_if(KEY, b"2", version=old.version)
    with pytest.raises(VersionConflictError) as caught:
        first.put_if(KEY, b"3", version=old.version)
    assert caught.value.found == new
    assert first.put_if(KEY, b"4", version=new.version).version > new.version


def test_keys_have_writers_of_their_own(tables: list[KafkaTable]) -> None:
    """More keys than a table keeps writers for, each written twice."""
    first, second = tables
    keys = [f"{number}" for number in range(10)]
    for key in keys:
        entry = first.put_if(key, b"1", version=None)
        if key == "9":
            second.put_if(key, b"2", version=entry.version)
    for key in keys[:-1]:
        first.put_if(key, b"3", version=version_of(first.get(key)))
    second.refresh()
    assert {key: entry.value for key, entry in second.snapshot().items()} == {
        **dict.fromkeys(keys, b"3"),
        "9": b"2",
    }


@pytest.mark.parametrize("shared", [True, False], ids=["one table", "two tables"])
def test_of_two_threads_that_expect_the_same_version_one_succeeds(
    tables: list[KafkaTable], *, shared: bool
) -> None:
    """Two rounds for each key: for the first of them both must shut out the other."""
    racers = [tables[0], tables[0 if shared else 1]]
    expected: dict[str, Entry] = {}
    with ThreadPoolExecutor(2) as pool:
        for number in range(16):
            key = f"lease/{number // 2}"
            version = version_of(expected.get(key))
            attempts = [
                pool.submit(outcome, table, key, b"%d by %d" % (number, who), version)
                for who, table in enumerate(racers)
            ]
            won = [entry for attempt in attempts if (entry := attempt.result())]
            assert len(won) == 1, f"round {number}: {won}"
            expected[key] = won[0]
    for table in tables:
        table.refresh()
        assert table.snapshot() == expected


RACER = """
import json, sys
from penstock.kafka import Connection
from penstock.kafka.tables import KafkaTable, VersionConflictError

bootstrap, topic, key, me, rounds = sys.argv[1:]
won = []
with KafkaTable.open(Connection(bootstrap=bootstrap), topic) as table:
    print("ready", flush=True)
    table.wait_for("go", lambda entry: entry is not None, 60)
    found = table.get(key)
    while True:
        number = 0 if found is None else json.loads(found.value)["number"]
        if number >= int(rounds):
            break
        expected = None if found is None else found.version
        value = json.dumps({"number": number + 1, "by": me, "after": expected}).encode()
        try:
            found = table.put_if(key, value, version=expected)
            won.append(found.version)
        except VersionConflictError as conflict:
            found = conflict.found
print(json.dumps(won), flush=True)
"""


def test_every_version_follows_the_one_that_its_writer_expected(
    connection: Connection, topic: TopicName
) -> None:
    """Two processes count together, each from the version that it has read or written last."""
    rounds = 40
    arguments = (connection.bootstrap, topic, KEY)
    with (
        KafkaTable.open(connection, topic) as table,
        program(RACER, *arguments, "a", str(rounds)) as first,
        program(RACER, *arguments, "b", str(rounds)) as second,
    ):
        racers = {"a": first, "b": second}
        ready = [racer.stdout.readline() for racer in racers.values() if racer.stdout]
        table.put("go", b"")
        won = {name: json.loads(racer.communicate()[0]) for name, racer in racers.items()}

    written = [
        record
        for record in topic_contents(connection.bootstrap, topic)
        if record.key == KEY.encode()
    ]
    contents = [json.loads(record.value or b"") for record in written]
    assert ready == ["ready\n", "ready\n"]
    assert [content["number"] for content in contents] == list(range(1, rounds + 1))
    versions = [record.offset for record in written]
    assert [content["after"] for content in contents] == [None, *versions[:-1]]
    by = {
        name: [v for v, c in zip(versions, contents, strict=True) if c["by"] == name]
        for name in won
    }
    assert won == by


NEWCOMER = """
import sys
from penstock.kafka import Connection
from penstock.kafka.tables import KafkaTable, VersionConflictError

bootstrap, topic, me, rounds = sys.argv[1:]
with KafkaTable.open(Connection(bootstrap=bootstrap), topic) as table:
    for number in range(int(rounds)):
        table.put(f"ready/{me}", str(number).encode())
        table.wait_for("go", lambda entry: entry and int(entry.value) == number, 60)
        try:
            table.put_if(f"lease/{number}", me.encode(), version=None)
            print(number, flush=True)
        except VersionConflictError:
            pass
"""


def test_of_two_processes_that_want_a_new_key_at_the_same_moment_one_gets_it(
    connection: Connection, topic: TopicName
) -> None:
    """For a new key both must shut out the other before they write."""
    rounds = 12

    def is_ready(number: int) -> Callable[[Entry | None], bool]:
        return lambda entry: entry is not None and entry.value == b"%d" % number

    with (
        KafkaTable.open(connection, topic) as table,
        program(NEWCOMER, connection.bootstrap, topic, "a", str(rounds)) as first,
        program(NEWCOMER, connection.bootstrap, topic, "b", str(rounds)) as second,
    ):
        for number in range(rounds):
            for name in ("a", "b"):
                table.wait_for(f"ready/{name}", is_ready(number), 60)
            table.put("go", b"%d" % number)
        won = {
            name: [int(line) for line in racer.communicate()[0].splitlines()]
            for name, racer in (("a", first), ("b", second))
        }
        table.refresh()
        held = {key: entry.value for key, entry in table.snapshot().items()}

    assert sorted(won["a"] + won["b"]) == list(range(rounds))
    assert {key: value for key, value in held.items() if key.startswith("lease/")} == {
        f"lease/{number}": name.encode() for name in won for number in won[name]
    }


FROZEN = """
import os, signal, sys
from penstock.kafka import Connection
from penstock.kafka.tables import KafkaTable, VersionConflictError
from penstock.kafka.tables import transactions
from penstock.kafka.tables.transactions import KeyWriter

bootstrap, topic, key = sys.argv[1:]
transactions._TRANSACTION_SECONDS = 300.0  # Kafka itself would end it after ten
commit = KeyWriter._commit

def freeze_and_commit(writer, timeout_seconds):
    os.kill(os.getpid(), signal.SIGSTOP)
    commit(writer, timeout_seconds)

with KafkaTable.open(Connection(bootstrap=bootstrap), topic) as table:
    KeyWriter._commit = freeze_and_commit
    try:
        table.put_if(key, b"frozen", version=table.get(key).version)
    except VersionConflictError as conflict:
        print("conflict", conflict.found.value.decode(), flush=True)
"""


def test_a_writer_that_freezes_in_a_transaction_is_shut_out_when_it_wakes(
    tables: list[KafkaTable], connection: Connection
) -> None:
    table, other = tables
    before = table.put_if(KEY, b"before", version=None)
    with program(FROZEN, connection.bootstrap, table.topic, KEY) as frozen:
        await_stopped(frozen.pid)
        hidden = hidden_offsets(connection, table.topic)
        successor = table.put_if(KEY, b"after", version=before.version)
        other.refresh()
        found = other.get(KEY)
        os.kill(frozen.pid, signal.SIGCONT)
        said = frozen.communicate(timeout=60)[0]

    assert hidden == 1
    assert found == successor
    assert said == "conflict after\n"
    values = [record.value for record in topic_contents(connection.bootstrap, table.topic)]
    assert values == [b"before", b"after"]


def test_a_writer_that_freezes_in_a_transaction_holds_up_others_for_seconds_only(
    tables: list[KafkaTable], connection: Connection
) -> None:
    table, other = tables
    table.put_if(KEY, b"before", version=None)
    with program(FROZEN, connection.bootstrap, table.topic, KEY) as frozen:
        await_stopped(frozen.pid)
        hidden = hidden_offsets(connection, table.topic)
        started = time.monotonic()
        table.put("status/orders", b"1")
        other.refresh()
        waited = time.monotonic() - started
    assert hidden == 1
    assert other.get("status/orders") is not None
    assert waited < 60


def await_stopped(pid: int) -> None:
    process = psutil.Process(pid)
    eventually(lambda: process.status() == psutil.STATUS_STOPPED, within_seconds=30)


def hidden_offsets(connection: Connection, topic: TopicName) -> int:
    """Return how much of the topic an open transaction hides."""
    with Admin(connection) as admin:
        committed, end = (end_of(admin, topic, isolation) for isolation in Isolation)
    return end - committed
