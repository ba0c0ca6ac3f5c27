"""Members come, go and die: partitions move, and a clean handover neither loses nor repeats."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from penstock.kafka import (
    Admin,
    Assignor,
    CommitFailedError,
    Connection,
    Consumer,
    EveryRecords,
    GroupState,
    Manual,
    MemberFencedError,
    Offsets,
    PollIntervalExceededError,
    Record,
    Start,
    TopicPartition,
    alter_topic,
    describe_group,
    list_groups,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import GroupId, Partition, TopicName
from support.numbers import numbers_of, write_numbers, write_partitions
from support.waiting import eventually

Opened = Callable[..., Consumer]


@pytest.fixture
def topic(kafka: KafkaCluster) -> TopicName:
    return kafka.create_topic(f"numbers-{uuid4().hex}", partition_count=2)


@pytest.fixture
def partitions(topic: TopicName) -> tuple[TopicPartition, TopicPartition]:
    return TopicPartition(topic, Partition(0)), TopicPartition(topic, Partition(1))


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex}"


@pytest.fixture
def member(connection: Connection, topic: TopicName, group: str) -> Iterator[Opened]:
    """Makes members of the group, with the shortest session that a broker allows."""
    opened: list[Consumer] = []

    def open_member(**arguments: object) -> Consumer:
        choices = {"start": Start.EARLIEST, "session_timeout_seconds": 6, **arguments}
        opened.append(Consumer(connection, [topic], group=group, **choices))  # type: ignore[arg-type] # the tests' own arguments
        return opened[-1]

    yield open_member
    for consumer in opened:
        consumer.close()


def committed(
    connection: Connection, group: str, partitions: tuple[TopicPartition, ...]
) -> Offsets:
    """Return what the group has committed, asked from outside of it."""
    with Consumer(connection, group=group) as observer:
        answers = observer.committed(partitions)
    return {partition: offset for partition, offset in answers.items() if offset is not None}


class Polling(threading.Thread):
    """Reads with a consumer in a thread of its own until it is stopped."""

    def __init__(self, consumer: Consumer) -> None:
        super().__init__()
        self.consumer = consumer
        self.records: list[Record] = []

    def run(self) -> None:
        for record in self.consumer:
            self.records.append(record)
        self.consumer.close()

    def end(self) -> None:
        self.consumer.stop()
        self.join()


@pytest.mark.parametrize(
    "assignor", [Assignor.COOPERATIVE_STICKY, Assignor.RANGE], ids=["incremental", "all at once"]
)
def test_a_clean_handover_neither_loses_nor_repeats_a_record(
    connection: Connection,
    topic: TopicName,
    partitions: tuple[TopicPartition, TopicPartition],
    group: str,
    member: Opened,
    assignor: Assignor,
) -> None:
    """Records flow all the time, while a second member comes and the first one goes."""
    first = Polling(member(assignor=assignor, commit=EveryRecords(1000)))
    first.start()
    write_partitions(connection, topic, {0: range(100), 1: range(200, 300)})
    eventually(lambda: len(first.records) == 200, within_seconds=20)
    second = Polling(member(assignor=assignor, commit=EveryRecords(1000)))
    second.start()
    eventually(lambda: len(second.consumer.assignment()) == 1, within_seconds=20)
    write_partitions(connection, topic, {0: range(100, 150), 1: range(300, 350)})
    eventually(lambda: len(first.records) + len(second.records) == 300, within_seconds=20)
    first.end()
    eventually(lambda: len(second.consumer.assignment()) == 2, within_seconds=20)
    write_partitions(connection, topic, {0: range(150, 200), 1: range(350, 400)})
    eventually(lambda: len(first.records) + len(second.records) >= 400, within_seconds=20)
    second.end()

    assert sorted(numbers_of(first.records + second.records)) == list(range(400))
    assert committed(connection, group, partitions) == dict.fromkeys(partitions, 200)


def test_the_hook_flushes_and_commits_before_partitions_go(
    connection: Connection,
    topic: TopicName,
    partitions: tuple[TopicPartition, TopicPartition],
    group: str,
    member: Opened,
) -> None:
    """The first member keeps records in a buffer; commits are its own business."""
    buffer: list[int] = []
    flushed: list[list[int]] = []
    moves: list[tuple[TopicPartition, ...]] = []

    def flush(going: tuple[TopicPartition, ...]) -> None:
        moves.append(going)
        flushed.append(sorted(buffer))
        buffer.clear()
        first.commit()

    first = member(commit=Manual(), on_revoked=flush)
    write_partitions(connection, topic, {0: range(5), 1: range(5, 10)})
    eventually(lambda: _buffered(first, buffer) == 10, within_seconds=20)

    second = Polling(member(commit=Manual()))
    second.start()
    eventually(lambda: first.poll(0.05) or second.consumer.assignment(), within_seconds=20)
    moved = second.consumer.assignment()
    second.end()

    assert (moves[0], flushed[0]) == (moved, list(range(10)))
    assert committed(connection, group, partitions) == dict.fromkeys(partitions, 5)
    assert second.records == []


def _buffered(consumer: Consumer, buffer: list[int]) -> int:
    buffer.extend(numbers_of(consumer.poll_many(100, 0.05)))
    return len(buffer)


READER_TO_KILL = """
import sys
from penstock.kafka import Consumer, Start

bootstrap, topic, group = sys.argv[1:]
consumer = Consumer(bootstrap, [topic], group=group, start=Start.EARLIEST,
                    session_timeout_seconds=6)
for _ in iter(lambda: consumer.poll(0.1) or len(consumer.assignment()) == 2, True):
    pass
print("ready", flush=True)
for record in consumer:
    pass
"""


def test_partitions_of_a_crashed_member_move_after_its_session_and_of_a_closed_one_at_once(
    connection: Connection, topic: TopicName, group: str, member: Opened
) -> None:
    """Guide 3.11. The crashed member has a session of six seconds, the closed one of 45."""
    arguments = [sys.executable, "-c", READER_TO_KILL, connection.bootstrap, topic, group]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as crashing:
        assert crashing.stdout is not None
        assert crashing.stdout.readline() == "ready\n"
        crashed_at = time.monotonic()
        crashing.kill()
    survivor = member()
    eventually(lambda: survivor.poll(0.05) or len(survivor.assignment()) == 2, within_seconds=20)
    after_crash = time.monotonic() - crashed_at

    other = member(session_timeout_seconds=45)
    eventually(
        lambda: survivor.poll(0.05) or other.poll(0.05) or len(other.assignment()) == 1,
        within_seconds=20,
    )
    other.close()
    closed_at = time.monotonic()
    eventually(lambda: survivor.poll(0.05) or len(survivor.assignment()) == 2, within_seconds=20)
    after_close = time.monotonic() - closed_at

    assert after_crash > 3
    assert after_close < 20


def test_a_member_that_polls_too_late_has_lost_its_partitions(
    connection: Connection,
    topic: TopicName,
    partitions: tuple[TopicPartition, TopicPartition],
    group: str,
    member: Opened,
) -> None:
    """They are lost and not revoked: nothing can be committed, and the next poll joins again."""
    lost: list[tuple[TopicPartition, ...]] = []
    revoked: list[tuple[TopicPartition, ...]] = []
    slow = member(
        commit=Manual(),
        max_poll_interval_seconds=6,
        on_lost=lost.append,
        on_revoked=revoked.append,
    )
    write_numbers(connection, topic, range(5))
    seen: list[int] = []
    eventually(lambda: _buffered(slow, seen) == 5, within_seconds=20)
    with Admin(connection) as admin:
        group_id = GroupId(group)
        eventually(
            lambda: describe_group(admin, group_id).state is GroupState.EMPTY, within_seconds=20
        )
    other = Polling(member(commit=Manual()))
    other.start()
    eventually(lambda: len(other.records) == 5, within_seconds=20)
    other.end()

    with pytest.raises(CommitFailedError):
        slow.commit()
    with pytest.raises(PollIntervalExceededError):
        eventually(lambda: slow.poll(0.05) and False, within_seconds=20)
    eventually(lambda: slow.poll(0.05) or slow.assignment(), within_seconds=20)

    assert (lost, revoked) == ([partitions], [])
    assert seen == numbers_of(other.records) == list(range(5))


def test_the_successor_of_a_static_member_takes_its_place(
    partitions: tuple[TopicPartition, TopicPartition], member: Opened
) -> None:
    """Two processes were given the same name by mistake; the later one wins."""
    first = member(static_member_id="worker-1")
    eventually(lambda: first.poll(0.05) or first.assignment() == partitions, within_seconds=20)
    second = member(static_member_id="worker-1")
    eventually(lambda: second.poll(0.05) or second.assignment() == partitions, within_seconds=20)

    with pytest.raises(MemberFencedError) as caught:
        eventually(lambda: first.poll(0.05) and False, within_seconds=20)
    assert caught.value.static_member_id == "worker-1"


def test_new_partitions_of_a_topic_are_read_without_a_restart(
    connection: Connection, topic: TopicName, member: Opened
) -> None:
    reading = Polling(member())
    reading.start()
    eventually(lambda: len(reading.consumer.assignment()) == 2, within_seconds=20)
    with Admin(connection) as admin:
        alter_topic(admin, topic, partition_count=3)
    write_partitions(connection, topic, {2: [7]})
    eventually(lambda: reading.records, within_seconds=20)
    reading.end()

    assert numbers_of(reading.records) == [7]


def test_closing_while_partitions_are_on_their_way_neither_waits_nor_fails(
    member: Opened, connection: Connection, group: str
) -> None:
    """The group has given partitions to a member that has not polled since, and now closes.

    The client then says so while it closes. To ask it for committed offsets at that moment waited
    for the time of a request in vain, and `close` failed.
    """
    admin = Admin(connection)
    consumer = member()

    def has_partitions() -> bool:
        if group not in [item.group for item in list_groups(admin)]:
            return False
        members = describe_group(admin, GroupId(group)).members
        return [len(item.partitions) for item in members] == [2]

    eventually(has_partitions, within_seconds=20)
    started = time.monotonic()
    consumer.close()

    assert time.monotonic() - started < connection.request_timeout_seconds / 2
