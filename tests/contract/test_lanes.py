"""The contract of a lane: what is in its entry is in the topics, and nothing else of it."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.kafka.errors import RequestRefusedError
from penstock.kafka.lanes.errors import LaneFencedError
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, Lane, LaneEntry
from penstock.kafka.lanes.writing import LaneTask, LaneWriter, RecordBatch, write_lane
from penstock.kafka.tables import KafkaTable
from penstock.names import Offset
from support.tables import program
from support.topic_contents import await_commits, topic_contents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.names import TopicName

QUERY = "8f4f"

FREEZING = """
import sys
import time
from pathlib import Path
from penstock.kafka import Connection
from penstock.kafka.lanes.ledger import Lane, LaneEntry
from penstock.kafka.lanes.writing import LaneWriter, RecordBatch

bootstrap, pipeline, topic, step, signal = sys.argv[1:]
lane = Lane(pipeline=pipeline, flow="f", name="0")


def stop(*_):
    print("here", flush=True)
    while not Path(signal).exists():
        time.sleep(0.05)


class Frozen(LaneWriter):
    def _commit(self, entry, counts):
        self._client.flush(10)
        if step == "before the entry":
            stop()
        super()._commit(entry, counts)

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
entry = LaneEntry(query_id="8f4f", batch_id=0, plan="p")
try:
    writer.write(entry, [RecordBatch(topic, [None], [b"zombie"], None)])
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
    )


def some(topic: TopicName, *values: str) -> list[RecordBatch]:
    return [RecordBatch(topic, [None] * len(values), [item.encode() for item in values], None)]


def entry_of(task: LaneTask) -> LaneEntry:
    return LaneEntry(query_id=task.query_id, batch_id=task.batch_id, plan=task.plan)


def values(connection: Connection, topic: TopicName) -> list[bytes]:
    """Return what readers of committed records see, when nothing is open any more."""
    await_commits(connection, topic)
    return sorted(record.value or b"" for record in topic_contents(connection.bootstrap, topic))


def test_records_and_entry_are_there_together(
    connection: Connection, topic: TopicName, table: KafkaTable, task: LaneTask
) -> None:
    result = write_lane(connection, task, [*some(topic, "a", "b"), *some(topic, "c")])

    assert values(connection, topic) == [b"a", b"b", b"c"]
    table.refresh()
    stored = table.get(task.lane.key)
    assert stored is not None
    assert LaneEntry.from_bytes(stored.value) == result.entry
    assert result.entry == LaneEntry(
        query_id=QUERY, batch_id=0, plan="p", counts={topic: 3}, totals={topic: 3}
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


def test_totals_go_on_until_another_checkpoint_begins(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    owner, totals = None, []
    for number, query_id in ((0, QUERY), (1, QUERY), (0, "other"), (1, "other")):
        batch = replace(task, query_id=query_id, batch_id=number, owner=owner)
        result = write_lane(connection, batch, some(topic, "a"))
        assert result.entry is not None
        assert owner is None or result.owner == owner
        owner = result.owner
        totals.append(result.entry.totals[topic])

    assert totals == [1, 2, 1, 2]
    assert len(values(connection, topic)) == 4


def test_a_batch_without_records_leaves_no_trace(
    connection: Connection, table: KafkaTable, task: LaneTask
) -> None:
    result = write_lane(connection, task, [])

    assert result.entry is None
    table.refresh()
    assert table.get(task.lane.key) is None


def test_who_was_replaced_writes_nothing(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    old, new = LaneWriter(connection, task.lane), LaneWriter(connection, task.lane)
    old.open(known=None, position=Offset(0))

    def records() -> Iterator[RecordBatch]:
        yield from some(topic, "old")
        new.open(known=None, position=Offset(0))

    with pytest.raises(LaneFencedError):
        old.write(entry_of(task), records())
    new.write(entry_of(task), some(topic, "new"))

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
    large = RecordBatch(topic, [None, None], [b"a", os.urandom(2_000_000)], None)

    with pytest.raises(RequestRefusedError) as refused:
        write_lane(connection, task, [large])
    result = write_lane(connection, task, some(topic, "b"))

    assert "too large" in refused.value.message.lower()
    assert not result.was_written
    assert values(connection, topic) == [b"b"]


def test_a_record_near_the_limit_of_its_topic_passes(
    connection: Connection, topic: TopicName, task: LaneTask
) -> None:
    nearly = os.urandom(1024 * 1024 - 200)

    write_lane(connection, task, [RecordBatch(topic, [b"k"], [nearly], None)])

    assert values(connection, topic) == [nearly]
