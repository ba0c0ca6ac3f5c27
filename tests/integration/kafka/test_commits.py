"""What a group repeats, loses and skips, depending on when and how offsets are committed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from uuid import uuid4

import pytest

from penstock.kafka import (
    Automatic,
    ClusterError,
    CommitPolicy,
    Connection,
    Consumer,
    ConsumerClosedError,
    EveryRecords,
    Manual,
    NoGroupError,
    Offsets,
    RequestTimedOutError,
    Start,
    TopicPartition,
)
from penstock.kafka.consumer.commits import AsyncCommits
from penstock.kafka.errors import ClusterBusyError
from penstock.local.cluster import KafkaCluster
from penstock.names import Offset, Partition, TopicName
from penstock.settings import ClusterSettings
from support.numbers import numbers_of, read_numbers, write_numbers
from support.topic_contents import await_commits
from support.waiting import eventually

MANUAL = Manual()


@pytest.fixture
def topic(kafka: KafkaCluster, connection: Connection) -> TopicName:
    """A topic with the numbers 0 to 29 in its one partition: number and offset are the same."""
    name = kafka.create_topic(f"numbers-{uuid4().hex}", partition_count=1)
    write_numbers(connection, name, range(30))
    return name


@pytest.fixture
def partition(topic: TopicName) -> TopicPartition:
    return TopicPartition(topic, Partition(0))


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex}"


class Readers:
    """Makes consumers of one group and topic."""

    def __init__(self, connection: Connection, topic: TopicName, group: str) -> None:
        self.connection, self.topic, self.group = connection, topic, group
        self.partition = TopicPartition(topic, Partition(0))

    def open(self, commit: CommitPolicy = MANUAL) -> Consumer:
        return Consumer(
            self.connection, [self.topic], group=self.group, start=Start.EARLIEST, commit=commit
        )

    def committed(self) -> int | None:
        """Return what the group has committed, asked from outside of it."""
        with Consumer(self.connection, group=self.group) as observer:
            return observer.committed([self.partition])[self.partition]

    def read_on(self) -> list[int]:
        """Return what the group reads when it starts again, up to the end of the topic."""
        with self.open() as consumer:
            return numbers_of(consumer.read_to_end())


@pytest.fixture
def readers(connection: Connection, topic: TopicName, group: str) -> Readers:
    return Readers(connection, topic, group)


@contextmanager
def suspended(kafka: KafkaCluster) -> Iterator[None]:
    """Let the broker hang while the block runs, and wait until it is well again."""
    os.kill(kafka.pid(kafka.broker_ids[0]), signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(kafka.pid(kafka.broker_ids[0]), signal.SIGCONT)
    kafka.await_ready()


# One record a second by a clock of its own, a commit every ten, and death at second 17.
CRASHING_READER = """
import os, signal, sys
from penstock.kafka import Automatic, Consumer, Start

bootstrap, topic, group = sys.argv[1:]
second = 0
consumer = Consumer(bootstrap, [topic], group=group, start=Start.EARLIEST,
                    commit=Automatic(every_seconds=10), clock=lambda: float(second))
for record in consumer:
    second += 1
    if second == 17:
        while consumer.committed(consumer.assignment()) != {consumer.assignment()[0]: 10}:
            pass
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_crash_7_seconds_after_an_automatic_commit_repeats_7_seconds_of_records(
    readers: Readers,
) -> None:
    """Book 1-6: commits every 10 s; the process dies 7 s after one; one record comes a second."""
    crashed = subprocess.run(
        [
            *(sys.executable, "-c", CRASHING_READER),
            *(readers.connection.bootstrap, readers.topic, readers.group),
        ],
        check=False,
        timeout=30,
    )

    with Consumer(readers.connection, group=readers.group, commit=MANUAL) as successor:
        successor.assign([readers.partition])
        repeated = read_numbers(successor, count=7)

    assert (crashed.returncode, repeated) == (-signal.SIGKILL, [10, 11, 12, 13, 14, 15, 16])


def test_committing_10_and_then_5_reads_5_to_10_again(readers: Readers) -> None:
    """Book 1-6, section 6: the later commit wins, although it is the smaller one."""
    with readers.open() as consumer:
        assert read_numbers(consumer, count=10) == list(range(10))
        consumer.commit_offsets({readers.partition: Offset(10)})
        consumer.commit_offsets({readers.partition: Offset(5)})

    assert readers.read_on()[:6] == [5, 6, 7, 8, 9, 10]


def test_an_asynchronous_commit_that_is_late_does_not_take_the_group_back(
    readers: Readers,
) -> None:
    """The commit of 5 is lost on its way, that of 10 arrives, then the loss of 5 is noticed."""
    lost: list[Offsets] = []
    with readers.open() as consumer:
        read_numbers(consumer, count=10)

        def send(offsets: Offsets) -> None:
            if lost:
                consumer.commit_offsets(offsets)
            else:
                lost.append(offsets)

        commits = AsyncCommits(send)
        commits.issue({readers.partition: Offset(5)})
        commits.issue({readers.partition: Offset(10)})
        commits.answered(lost[0], ClusterBusyError("commit", reason="the answer was lost"))
        commits.repeat_failed()

    assert (readers.committed(), readers.read_on()[0]) == (10, 10)


def test_an_asynchronous_commit_reports_what_was_committed(readers: Readers) -> None:
    reports: list[tuple[Offsets, ClusterError | None]] = []
    with readers.open() as consumer:
        read_numbers(consumer, count=10)
        consumer.commit_async(lambda offsets, fault: reports.append((offsets, fault)))

        def has_answered() -> bool:
            consumer.poll(0.05)
            return bool(reports)

        eventually(has_answered, within_seconds=20)

    assert reports == [({readers.partition: 10}, None)]
    assert readers.committed() == 10


def test_a_synchronous_commit_covers_everything_handed_out(readers: Readers) -> None:
    with readers.open() as consumer:
        read_numbers(consumer, count=7)
        consumer.commit()

        assert consumer.committed([readers.partition]) == {readers.partition: 7}
    assert readers.read_on()[0] == 7


def test_every_ten_records_a_commit(readers: Readers) -> None:
    """The 25th record is in hand: 24 are processed, and two times ten are committed."""
    consumer = readers.open(EveryRecords(10))
    read_numbers(consumer, count=25)
    eventually(lambda: readers.committed() == 20, within_seconds=10)

    consumer.close()

    assert readers.committed() == 24


def test_manual_commits_are_the_only_ones(readers: Readers) -> None:
    with readers.open(Manual()) as consumer:
        read_numbers(consumer, count=10)
        consumer.commit()
        read_numbers(consumer, count=10)

    assert readers.committed() == 10


def test_leaving_the_block_normally_counts_the_last_record(readers: Readers) -> None:
    with readers.open(Automatic()) as consumer:
        for record in islice(consumer, 12):
            assert record.value

    assert readers.read_on()[0] == 12


def test_a_record_over_which_the_caller_failed_comes_again(readers: Readers) -> None:
    def fail_at_12() -> None:
        with readers.open(Automatic()) as consumer:
            for record in consumer:
                if record.offset == 12:
                    raise ValueError(record.offset)

    with pytest.raises(ValueError, match="12"):
        fail_at_12()

    assert readers.read_on()[0] == 12


def test_an_idle_partition_keeps_its_place_when_started_at_the_end(
    connection: Connection, readers: Readers
) -> None:
    """Nothing comes while the first consumer reads; the next record comes while nobody does."""
    with Consumer(connection, [readers.topic], group=readers.group, start=Start.LATEST) as first:
        eventually(lambda: first.poll(0.05) or first.assignment(), within_seconds=10)
    write_numbers(connection, readers.topic, [30])

    with Consumer(connection, [readers.topic], group=readers.group, start=Start.LATEST) as second:
        assert read_numbers(second, count=1) == [30]


def test_the_end_commits_exactly_once(readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts the requests for commits that leave the process, and lets them go."""
    consumer = readers.open(Automatic(every_seconds=1000))
    sent: list[Offsets] = []
    commit_now = consumer._reader.commit_now  # noqa: SLF001 - the last place before the client

    def counted(offsets: Offsets) -> None:
        sent.append(offsets)
        commit_now(offsets)

    monkeypatch.setattr(consumer._reader, "commit_now", counted)  # noqa: SLF001
    seen = []
    for record in consumer:
        seen.append(record)
        if len(seen) == 10:
            consumer.stop()
    consumer.close()
    consumer.close()

    assert (sent, readers.committed()) == ([{readers.partition: 10}], 10)


def test_without_a_group_nothing_can_be_committed(connection: Connection, topic: TopicName) -> None:
    with Consumer(connection, [topic], start=Start.EARLIEST) as consumer:
        assert read_numbers(consumer, count=3) == [0, 1, 2]
        with pytest.raises(NoGroupError):
            consumer.commit()
        with pytest.raises(NoGroupError):
            consumer.commit_async()


def test_offsets_of_a_transaction_marker_leave_no_lag(
    connection: Connection, readers: Readers
) -> None:
    """The marker takes offset 33: 30 numbers, three in a transaction, its end at 34."""
    from confluent_kafka import Producer as Client

    producer = Client(connection.client_config() | {"transactional.id": f"tx-{uuid4().hex}"})
    producer.init_transactions(10)
    producer.begin_transaction()
    for number in (30, 31, 32):
        producer.produce(readers.topic, str(number))
    producer.commit_transaction(10)
    await_commits(connection, readers.topic)

    with readers.open(Automatic()) as consumer:
        numbers = numbers_of(consumer.read_to_end())

    assert (numbers, readers.committed()) == (list(range(33)), 34)


def test_a_commit_waits_for_a_broker_that_hangs(kafka: KafkaCluster, readers: Readers) -> None:
    """The broker's process is suspended for half a second."""
    reports: list[ClusterError | None] = []
    with readers.open() as consumer:
        read_numbers(consumer, count=10)
        with suspended(kafka):
            consumer.commit_async(lambda _offsets, fault: reports.append(fault))
            consumer.poll(0.5)
            before = list(reports)

        def has_answered() -> bool:
            consumer.poll(0.05)
            return bool(reports)

        eventually(has_answered, within_seconds=20)

    assert (before, reports, readers.committed()) == ([], [None], 10)


def test_closing_while_the_broker_hangs_takes_no_longer_than_a_request(
    kafka: KafkaCluster, readers: Readers
) -> None:
    patience = ClusterSettings(request_timeout_seconds=3)
    readers.connection = Connection(bootstrap=kafka.bootstrap, security=patience)
    consumer = readers.open(Automatic())
    read_numbers(consumer, count=10)
    began = time.monotonic()
    with suspended(kafka):
        with pytest.raises(RequestTimedOutError):
            consumer.close()
        seconds = time.monotonic() - began

    assert seconds < 30
    with pytest.raises(ConsumerClosedError):
        consumer.poll(0)
