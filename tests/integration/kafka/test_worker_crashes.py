"""Workers that are killed: what is in the database afterwards, and how often."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import penstock as ps
from penstock.kafka import (
    Admin,
    DatabaseOffsets,
    Producer,
    Record,
    UnknownGroupError,
    describe_group,
)
from penstock.names import GroupId
from support.billing import LAST, Commits, billed, billers, ensure_bills
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.kafka import Connection, TopicPartition, Worker
    from penstock.local.cluster import KafkaCluster
    from penstock.names import Offset, TopicName
    from support.postgres import PostgresServer

SUPPORT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def group() -> GroupId:
    """A group nobody else uses."""
    return GroupId(f"group-{uuid4().hex}")


def send(
    connection: Connection, topic: TopicName, values: Sequence[bytes | str], *, partitions: int = 1
) -> None:
    """Send to all partitions in turn: left to the client, all may go to one."""
    with Producer(connection) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value, partition=number % partitions)


@contextmanager
def program(**options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the billing worker as a process of its own; it is gone at the end."""
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "support.billing", *arguments],
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One of the four crashes: which database, and how row and offset are committed."""

    database: str
    commits: Commits


SCENARIOS = [Scenario(name, commits) for name in ("sqlite", "postgres") for commits in Commits]


@pytest.fixture(scope="module")
def bills_after_crash(
    kafka: KafkaCluster, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[Scenario, list[str]]:
    """What is in each database after a crash and a restart.

    All four run at once: most of the time a restart waits until the group has given up the dead.
    """
    databases = {
        "sqlite": lambda: str(tmp_path_factory.mktemp("crash") / "bills.db"),
        "postgres": postgres.create_database,
    }
    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        futures = {
            scenario: pool.submit(
                crash_and_restart, kafka, databases[scenario.database](), scenario.commits
            )
            for scenario in SCENARIOS
        }
    return {scenario: future.result() for scenario, future in futures.items()}


def crash_and_restart(kafka: KafkaCluster, database: str, commits: Commits) -> list[str]:
    """Kill the worker over record 5 of 9, between its row and the commit; then run it again."""
    topic = kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)
    send(kafka.connection, topic, [*(str(number) for number in range(9)), LAST])
    options = {
        "bootstrap": kafka.bootstrap,
        "topic": topic,
        "group": f"group-{uuid4().hex}",
        "database": database,
        "commits": commits.value,
    }
    with program(**options, kill_at="5") as first:
        assert first.wait(timeout=60) == -signal.SIGKILL
    with program(**options) as second:
        assert second.wait(timeout=60) == 0
    return billed(database)


ONCE_EACH = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "last"]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_crash_between_two_separate_commits_repeats_the_record(
    database: str, bills_after_crash: dict[Scenario, list[str]]
) -> None:
    """The row of record 5 is committed, its offset is not: the restart writes it again."""
    rows = bills_after_crash[Scenario(database, Commits.SEPARATE)]
    assert rows == sorted([*ONCE_EACH, "5"])


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_crash_before_the_common_commit_repeats_nothing(
    database: str, bills_after_crash: dict[Scenario, list[str]]
) -> None:
    """The row of record 5 and its offset vanish together: the restart writes it once.

    Nothing was committed to Kafka before the crash, so the stored offset alone is the guide.
    """
    assert bills_after_crash[Scenario(database, Commits.TOGETHER)] == ONCE_EACH


def test_two_workers_of_which_one_is_killed_write_every_record_once(
    kafka: KafkaCluster, group: GroupId, postgres_dsn: str
) -> None:
    """The victim dies in the middle of a transaction; the other takes its partitions over."""
    topic = kafka.create_topic(f"test-{uuid4().hex}", partition_count=4)
    values = [f"{number:04}" for number in range(400)]
    options = {
        "bootstrap": kafka.bootstrap,
        "topic": topic,
        "group": group,
        "database": postgres_dsn,
    }
    ensure_bills(postgres_dsn)
    with (
        program(**options, name="survivor"),
        program(**options, name="victim", hang_after="20") as victim,
    ):
        eventually(lambda: shares(kafka.connection, group) == [2, 2], within_seconds=30)
        send(kafka.connection, topic, values, partitions=4)
        eventually(lambda: billers(postgres_dsn).count("victim") == 19, within_seconds=30)
        victim.kill()
        eventually(lambda: len(billed(postgres_dsn)) >= len(values), within_seconds=60)

    assert billed(postgres_dsn) == values
    assert set(billers(postgres_dsn)) == {"victim", "survivor"}


def shares(connection: Connection, group: GroupId) -> list[int]:
    """Return how many partitions each member of the group has."""
    with Admin(connection) as admin:
        try:
            members = describe_group(admin, group).members
        except UnknownGroupError:
            return []
    return [len(member.partitions) for member in members]


def test_the_termination_signal_ends_a_worker_after_the_record_in_hand(
    kafka: KafkaCluster, group: GroupId, tmp_path: Path
) -> None:
    topic = kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)
    database = str(tmp_path / "bills.db")
    ensure_bills(database)
    send(kafka.connection, topic, ["0", "1", "2"])
    with program(bootstrap=kafka.bootstrap, topic=topic, group=group, database=database) as process:
        eventually(lambda: len(billed(database)) == 3, within_seconds=30)
        process.terminate()
        assert process.wait(timeout=30) == 0

    with Admin(kafka.connection) as admin:
        (partition,) = describe_group(admin, group).partitions
    assert (partition.committed, billed(database)) == (3, ["0", "1", "2"])


class PausedOffsets(DatabaseOffsets[sqlite3.Cursor]):
    """Pauses before its third transaction, as a process that is suspended would."""

    def __init__(self, path: Path) -> None:
        super().__init__(lambda: sqlite3.connect(path, timeout=30))
        self.paused, self.resumed = threading.Event(), threading.Event()
        self._count = 0

    @contextmanager
    def transaction(
        self, group: GroupId, partition: TopicPartition, *, expected: Offset, following: Offset
    ) -> Iterator[sqlite3.Cursor]:
        self._count += 1
        if self._count == 3:
            self.paused.set()
            assert self.resumed.wait(60)
        with super().transaction(
            group, partition, expected=expected, following=following
        ) as cursor:
            yield cursor


def test_a_worker_that_wakes_up_after_it_lost_its_partition_writes_nothing_twice(
    kafka: KafkaCluster, group: GroupId, tmp_path: Path
) -> None:
    """The sleeper holds record 2; the group gives the partition to the other, which handles all.

    When the sleeper wakes up it still believes that record 2 is its own.
    """
    topic = kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)
    path = tmp_path / "bills.db"
    ensure_bills(str(path))
    offsets = PausedOffsets(path)
    sleeper = ps.worker(topic, group=group, offsets=offsets, max_handling_seconds=6.0)(
        bill_as("sleeper")
    )
    other = ps.worker(
        topic,
        group=group,
        offsets=ps.DatabaseOffsets(lambda: sqlite3.connect(path, timeout=30)),
        max_handling_seconds=6.0,
    )(bill_as("other"))

    send(kafka.connection, topic, [str(number) for number in range(9)])
    with running(sleeper, kafka.connection):
        assert offsets.paused.wait(30)
        with running(other, kafka.connection):
            eventually(lambda: len(billed(str(path))) == 9, within_seconds=40)
            offsets.resumed.set()
            eventually(lambda: sleeper.health().overtaken == 1, within_seconds=30)

    assert billed(str(path)) == [str(number) for number in range(9)]
    assert billers(str(path)) == ["sleeper"] * 2 + ["other"] * 7


def bill_as(name: str) -> Callable[[Record, sqlite3.Cursor], None]:
    def bill(record: Record, cursor: sqlite3.Cursor) -> None:
        content = (record.value or b"").decode()
        cursor.execute("INSERT INTO bills VALUES (?, ?)", (content, name))

    return bill


@contextmanager
def running(worker: Worker, connection: Connection) -> Iterator[None]:
    """Run `worker` in a thread while the block runs."""
    thread = threading.Thread(target=worker.run, args=(connection,))
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(timeout=30)
    assert not thread.is_alive()
