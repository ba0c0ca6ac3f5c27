"""The contract of a lane: what is in its entry is in the topics, and nothing else of it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from penstock.kafka import Admin
from penstock.kafka.errors import RequestRefusedError
from penstock.kafka.lanes.errors import (
    LaneExpiredError,
    LaneFencedError,
    LaneToBeKeptError,
    LaneTooLongError,
)
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, Lane, LaneEntry
from penstock.kafka.lanes.limits import batch_bytes
from penstock.kafka.lanes.writing import LaneTask, LaneWriter, Parts, RecordBatch, write_lane
from penstock.kafka.tables import KafkaTable
from penstock.kafka.tables.entries import key_bytes
from penstock.names import Offset, TopicName
from support.tables import program
from support.topic_contents import await_commits, topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.kafka.lanes.writing import Records
    from penstock.local.cluster import KafkaCluster

QUERY = "8f4f"
FINGERPRINT = 2**63 + 5

FREEZING = """
import sys
import time
from pathlib import Path
from penstock.kafka import Connection
from penstock.kafka.lanes.ledger import Lane
from penstock.kafka.lanes.writing import LaneTask, LaneWriter, Parts, RecordBatch

bootstrap, pipeline, topic, step, signal = sys.argv[1:]
lane = Lane(pipeline=pipeline, flow="f", name="0")


def stop(*_):
    print("here", flush=True)
    while not Path(signal).exists():
        time.sleep(0.05)


class Frozen(LaneWriter):
    def _commit(self, entry):
        self._client.flush(10)
        if step == "before the entry":
            stop()
        super()._commit(entry)

writer = Frozen(Connection(bootstrap=bootstrap), lane)
writer.open(known=None, position=0)
if step == "before the commit":
    client = writer._client

    class Stopping:
        def __getattr__(self, name):
            return getattr(client, name)

        def commit_transaction(self, seconds):
            client.flush(10)
            stop()
            client.commit_transaction(seconds)

    writer._client = Stopping()
task = LaneTask(
    lane=lane, query_id="8f4f", batch_id=0, plan="p", known=None, position=0, owner=None,
    transaction_seconds=60, parts=Parts.NEVER,
)
try:
    writer.write(task, lambda rows: [[RecordBatch(topic, [None], [b"zombie"], None, 0)]])
except Exception as err:
    print(type(err).__name__, flush=True)
else:
    print("written", flush=True)
"""


@pytest.fixture
def table(connection: Connection) -> Iterator[KafkaTable]:
    """The ledger, open."""
    with KafkaTable.open(connection, LEDGER_TOPIC) as table:
        yield table


@pytest.fixture
def lane(table: KafkaTable) -> Lane:
    """A lane that nobody else uses, in a ledger that there is."""
    assert table.topic == LEDGER_TOPIC
    return Lane(pipeline=f"p{uuid4().hex}", flow="f", name="orders-0")


@pytest.fixture
def task(lane: Lane) -> LaneTask:
    """The first batch of the lane."""
    return LaneTask(
        lane=lane,
        query_id=QUERY,
        batch_id=0,
        plan="p",
        known=None,
        position=Offset(0),
        owner=None,
        transaction_seconds=60,
        parts=Parts.AS_THEY_COME,
    )


def of(topic: TopicName, *values: str | bytes) -> RecordBatch:
    content = [item.encode() if isinstance(item, str) else item for item in values]
    return RecordBatch(topic, [None] * len(values), content, None, FINGERPRINT)


def some(topic: TopicName, *values: str | bytes) -> Records:
    """Return a share with one row at a time."""
    return lambda rows: [[of(topic, value)] for value in values[rows:]]


def test_a_lane_is_opened_in_no_time(connection: Connection, table: KafkaTable, lane: Lane) -> None:
    """Lanes wander between workers, so this happens in most batches."""
    position, _ = table.entries_at(lane.key)
    seconds = []
    for _ in range(20):
        started = time.monotonic()
        LaneWriter(connection, lane).open(known=None, position=position)
        seconds.append(time.monotonic() - started)
    # A client that has not noticed its broker looks again after half a second. The machine may be
    # slow in between.
    assert sorted(seconds)[4] < 0.4, seconds


def values(connection: Connection, topic: TopicName) -> list[bytes]:
    """Return what readers of committed records see, when nothing is open any more."""
    await_commits(connection, topic)
    return sorted(record.value or b"" for record in topic_contents(connection.bootstrap, topic))


def test_records_and_entry_are_there_together(
    connection: Connection, topic: TopicName, table: KafkaTable, task: LaneTask
) -> None:
    result = write_lane(connection, task, lambda _: [[of(topic, "a", "b")], [of(topic, "c")]])

    assert values(connection, topic) == [b"a", b"b", b"c"]
    table.refresh()
    stored = table.get(task.lane.key)
    assert stored is not None
    assert LaneEntry.from_bytes(stored.value) == result.entry
    assert result.entry == LaneEntry(
        query_id=QUERY,
        batch_id=0,
        plan="p",
        counts={topic: 3},
        totals={topic: 3},
        fingerprints={topic: 0},
        total_fingerprints={topic: 0},
    )


def test_a_batch_is_written_once_whoever_runs_it(
    connection: Connection, topic: TopicName, table: KafkaTable, task: LaneTask
) -> None:
    first = write_lane(connection, task, some(topic, "a"))
    again = write_lane(connection, task, some(topic, "a"))
    table.refresh()
    position, found = table.entries_at(task.lane.key)
    known = LaneEntry.from_bytes(found[task.lane.key].value)
    later = replace(task, known=known, position=position)
    once_more = write_lane(connection, later, some(topic, "a"))

    assert [item.was_written for item in (first, again, once_more)] == [False, True, True]
    assert again.entry == once_more.entry == first.entry
    assert values(connection, topic) == [b"a"]


def test_a_batch_that_another_driver_has_planned_otherwise_is_not_taken_for_written(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    write_lane(connection, task, some(topic, "a"))

    with pytest.raises(LaneFencedError):
        write_lane(connection, replace(task, plan="other"), some(topic, "a", "b"))

    assert values(connection, topic) == [b"a"]


def test_records_that_belong_behind_one_batch_are_not_written_behind_another(
    connection: Connection, topic: TopicName, table: KafkaTable, task: LaneTask
) -> None:
    """Two drivers have looked into the ledger; the other one was faster."""
    position, _ = table.entries_at(task.lane.key)
    first = replace(task, behind=("", -1), position=position)
    write_lane(connection, replace(first, batch_id=3), some(topic, "theirs"))

    with pytest.raises(LaneFencedError):
        write_lane(connection, replace(first, batch_id=4), some(topic, "theirs", "ours"))
    behind = replace(first, batch_id=4, behind=(QUERY, 3))
    again = [write_lane(connection, behind, some(topic, "ours")) for _ in range(2)]

    assert [item.was_written for item in again] == [False, True]
    assert values(connection, topic) == [b"ours", b"theirs"]


def test_totals_go_on_until_another_checkpoint_begins(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    owner, totals, fingerprints = None, [], []
    for number, query_id in ((0, QUERY), (1, QUERY), (0, "other"), (1, "other")):
        batch = replace(task, query_id=query_id, batch_id=number, owner=owner)
        result = write_lane(connection, batch, some(topic, "a"))
        assert result.entry is not None
        assert owner is None or result.owner == owner
        owner = result.owner
        totals.append(result.entry.totals[topic])
        fingerprints.append(result.entry.total_fingerprints[topic])

    assert totals == [1, 2, 1, 2]
    assert fingerprints == [FINGERPRINT, 0, FINGERPRINT, 0]
    assert len(values(connection, topic)) == 4


def test_a_batch_without_records_leaves_no_trace(
    connection: Connection, topic: TopicName, table: KafkaTable, task: LaneTask
) -> None:
    result = write_lane(connection, task, some(topic))

    assert result.entry is None
    table.refresh()
    assert table.get(task.lane.key) is None


def test_who_was_replaced_writes_nothing(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    old, new = LaneWriter(connection, task.lane), LaneWriter(connection, task.lane)
    old.open(known=None, position=Offset(0))

    def records(_: int) -> Iterator[list[RecordBatch]]:
        yield [of(topic, "old")]
        new.open(known=None, position=Offset(0))

    with pytest.raises(LaneFencedError):
        old.write(task, records)
    new.write(task, some(topic, "new"))

    assert values(connection, topic) == [b"new"]


def test_a_kept_writer_that_was_replaced_is_told_and_the_next_opens_anew(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    first = write_lane(connection, task, some(topic, "a"))
    LaneWriter(connection, task.lane).open(known=None, position=Offset(0))
    second = replace(task, batch_id=1, owner=first.owner)

    with pytest.raises(LaneFencedError):
        write_lane(connection, second, some(topic, "b"))
    result = write_lane(connection, second, some(topic, "b"))

    assert result.owner != first.owner
    assert values(connection, topic) == [b"a", b"b"]


@pytest.mark.parametrize("step", ["before the entry", "before the commit"])
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "frozen"])
def test_a_writer_that_stops_in_the_middle_is_undone_at_once(
    connection: Connection,
    topic: TopicName,
    task: LaneTask,
    tmp_path: Path,
    step: str,
    *,
    killed: bool,
) -> None:
    go_on = tmp_path / "go on"
    arguments = (connection.bootstrap, task.lane.pipeline, topic, step, str(go_on))
    task = replace(task, lane=replace(task.lane, name="0"))
    with program(FREEZING, *arguments) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "here"
        os.kill(process.pid, signal.SIGKILL if killed else signal.SIGSTOP)
        started = time.monotonic()
        result = write_lane(connection, task, some(topic, "mine"))
        seconds = time.monotonic() - started
        if not killed:
            go_on.touch()
            os.kill(process.pid, signal.SIGCONT)
            assert process.stdout.readline().strip() == "LaneFencedError"

    assert not result.was_written
    assert seconds < 20
    assert values(connection, topic) == [b"mine"]


def test_a_record_that_its_topic_refuses_leaves_nothing_behind(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    large = of(topic, b"a", os.urandom(2_000_000))

    with pytest.raises(RequestRefusedError) as refused:
        write_lane(connection, task, lambda _: [[large]])
    result = write_lane(connection, task, some(topic, "b"))

    assert "too large" in refused.value.message.lower()
    assert not result.was_written
    assert values(connection, topic) == [b"b"]


def test_what_is_kept_behind_a_record_that_was_refused_keeps_nobody_waiting(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    """The client never sends it, as the transaction cannot be committed any more."""
    small = [os.urandom(500) for _ in range(200)]
    mixed = of(topic, *small, os.urandom(2_000_000), *small)
    started = time.monotonic()

    with pytest.raises(RequestRefusedError) as refused:
        write_lane(connection, replace(task, batch_bytes=2_000), lambda _: [[mixed]])

    assert "too large" in refused.value.message.lower()
    assert time.monotonic() - started < 30


def test_a_record_near_the_limit_of_its_topic_passes(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    nearly = os.urandom(1024 * 1024 - 200)

    write_lane(connection, task, lambda _: [[RecordBatch(topic, [b"k"], [nearly], None, 0)]])

    assert values(connection, topic) == [nearly]


def slowly(topic: TopicName, count: int, *, fails_at: int | None = None) -> Records:
    """Return a share whose rows take longer to come than a part of a hasty task may."""

    def records(rows: int) -> Iterator[list[RecordBatch]]:
        for number in range(rows, count):
            if number == fails_at:
                raise InterruptedError
            pause = time.monotonic() + 0.06
            while time.monotonic() < pause:
                pass  # a flow at work
            yield [of(topic, f"w{number}")]

    return records


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch, task: LaneTask) -> LaneTask:
    """A task whose transactions should end after a twentieth of a second."""
    monkeypatch.setattr("penstock.kafka.lanes.writing._PART_SHARE", 0.05 / task.transaction_seconds)
    return task


def test_a_transaction_of_another_lane_that_hangs_holds_up_nobody_for_long(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    """Its writer died between the entry and the commit: readers see nothing behind that."""
    other = Lane(pipeline=f"p{uuid4().hex}", flow="f", name="orders-0")
    dead = Producer(
        connection.client_config()
        | {"transactional.id": other.transactional_id, "transaction.timeout.ms": 600_000}
    )
    dead.init_transactions()
    dead.begin_transaction()
    dead.produce(LEDGER_TOPIC, b"{}", key_bytes(other.key), partition=0)
    dead.flush()
    began = time.monotonic()

    write_lane(connection, task, some(topic, "a"))

    assert values(connection, topic) == [b"a"]
    assert time.monotonic() - began < 30


def test_a_share_that_takes_long_is_committed_in_parts(
    connection: Connection, topic: TopicName, table: KafkaTable, hasty: LaneTask
) -> None:
    """It fails in the middle: what is committed is not sent again, what was not is sent."""
    earlier = replace(hasty, batch_id=0)
    write_lane(connection, earlier, some(topic, "before"))
    batch = replace(hasty, batch_id=1)
    with pytest.raises(InterruptedError):
        write_lane(connection, batch, slowly(topic, 6, fails_at=3))
    table.refresh()
    stored = table.get(batch.lane.key)
    half_way = values(connection, topic)
    result = write_lane(connection, batch, slowly(topic, 6))
    again = write_lane(connection, batch, slowly(topic, 6))

    assert stored is not None
    rows = LaneEntry.from_bytes(stored.value).rows
    assert rows in (1, 2, 3)  # as slow as the machine is
    assert half_way == [b"before", b"w0", b"w1", b"w2"][: 1 + rows]
    assert values(connection, topic) == [b"before", *(f"w{number}".encode() for number in range(6))]
    assert result.entry is not None
    assert (result.entry.rows, result.entry.counts, result.entry.totals) == (
        None,
        {topic: 6},
        {topic: 7},
    )
    assert (result.was_written, again.was_written) == (False, True)


def test_what_is_sent_is_committed_while_the_next_rows_take_longer_than_a_transaction(
    connection: Connection, topic: TopicName, task: LaneTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.kafka.lanes.writing._WAITING_SHARE", 0.02)

    def records(rows: int) -> Iterator[list[RecordBatch]]:
        assert rows == 0
        yield [of(topic, "a")]
        eventually(lambda: committed(connection, topic) == [b"a"], within_seconds=20)
        yield [of(topic, "b")]

    result = write_lane(connection, task, records)

    assert values(connection, topic) == [b"a", b"b"]
    assert result.entry is not None
    assert (result.entry.rows, result.entry.totals) == (None, {topic: 2})


@pytest.mark.long
def test_a_transaction_that_was_open_for_too_long_is_not_taken_for_one_that_was_taken_over(
    connection: Connection, topic: TopicName, task: LaneTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its process stands still; Kafka looks for such transactions every ten seconds."""
    monkeypatch.setattr("penstock.kafka.lanes.writing._WAITING_SHARE", 1000)
    hasty = replace(task, transaction_seconds=1)

    def records(_: int) -> Iterator[list[RecordBatch]]:
        yield [of(topic, "a")]
        await_sent(connection, topic)
        await_commits(connection, topic)
        yield [of(topic, "b")]

    with pytest.raises(LaneExpiredError):
        write_lane(connection, hasty, records)
    write_lane(connection, hasty, some(topic, "a", "b"))

    assert values(connection, topic) == [b"a", b"b"]


def committed(connection: Connection, topic: TopicName) -> list[bytes | None]:
    return [record.value for record in topic_contents(connection.bootstrap, topic)]


def await_sent(connection: Connection, topic: TopicName) -> None:
    def is_there() -> bool:
        found = topic_contents(connection.bootstrap, topic, isolation="read_uncommitted")
        return len(found) == 1

    eventually(is_there, within_seconds=20)


def test_small_records_pass_into_a_topic_that_takes_small_batches(
    connection: Connection, kafka: KafkaCluster, table: KafkaTable, task: LaneTask
) -> None:
    """The broker limits whole batches, of which the client makes no smaller ones."""
    assert table.topic == LEDGER_TOPIC
    topic = kafka.create_topic(f"small-{uuid4().hex}", config={"max.message.bytes": "20000"})
    sent = [os.urandom(100) for _ in range(2000)]
    with Admin(connection) as admin:
        limit = batch_bytes(admin, [LEDGER_TOPIC, topic, TopicName("not-there")])

    write_lane(connection, replace(task, batch_bytes=limit), lambda _: [[of(topic, *sent)]])

    assert limit == 20_000
    assert values(connection, topic) == sorted(sent)


def test_a_share_that_takes_long_asks_for_a_run_that_keeps_the_batch(
    connection: Connection, topic: TopicName, table: KafkaTable, hasty: LaneTask
) -> None:
    """That run may share it out differently: nothing of it is written."""
    for _ in range(2):
        with pytest.raises(LaneToBeKeptError):
            write_lane(connection, replace(hasty, parts=Parts.KEPT), slowly(topic, 4))
    nothing = values(connection, topic)
    table.refresh()
    stored = table.get(hasty.lane.key)
    result = write_lane(connection, replace(hasty, plan="another"), slowly(topic, 4))

    assert nothing == []
    assert stored is not None
    assert LaneEntry.from_bytes(stored.value).is_part_of(QUERY, 0)
    assert result.entry is not None
    assert result.entry.totals == {topic: 4}
    assert len(values(connection, topic)) == 4


def test_a_share_that_takes_long_and_has_no_parts_leaves_nothing_behind(
    connection: Connection, topic: TopicName, table: KafkaTable, hasty: LaneTask
) -> None:
    with pytest.raises(LaneTooLongError):
        write_lane(connection, replace(hasty, parts=Parts.NEVER), slowly(topic, 4))

    table.refresh()
    assert table.get(hasty.lane.key) is None
    assert values(connection, topic) == []
