"""An audit of what flows have noted on real Kafka and Spark, honest and tampered with."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.control.auditing import PipelineAudit, audit
from penstock.delivery.history import HistoryReader, HistoryWriter
from penstock.delivery.records import BatchRecord
from penstock.engine.quarantine import QuarantineWorker
from penstock.kafka import UnknownTopicError
from penstock.kafka.lanes.ledger import LEDGER_TOPIC
from penstock.names import PipelineName
from penstock.pipeline import Continuously, Delivery, Json, OutputMode, RealTime
from support.topic_contents import await_commits
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from penstock.delivery.audit import Finding
    from penstock.delivery.records import HistoryRecord
    from penstock.kafka import Connection
    from penstock.pipeline import Topic
    from support.flow_runs import FlowLab

WORDS = Json("word string")
ONCE = Delivery.EXACTLY_ONCE

pytestmark = pytest.mark.timeout(240)


def long_words(lines: DataFrame) -> DataFrame:
    return lines.where(F.length("value") > 2).select(F.col("value").alias("word"))


def audited(lab: FlowLab) -> PipelineAudit:
    lab.history.close(30)
    with suppress(UnknownTopicError):  # none has been written yet
        await_commits(lab.kafka.connection, LEDGER_TOPIC)
    return audit(lab.kafka.connection, PipelineName(lab.name), deep=True)


def noted(lab: FlowLab) -> list[BatchRecord]:
    with HistoryReader(lab.kafka.connection, lab.name, since=None) as history:
        return [it for it in history.read() if isinstance(it, BatchRecord)]


class DyingWriter(HistoryWriter):
    """Of a driver that dies before it has noted anything."""

    def note(self, record: HistoryRecord) -> None:
        pass


class DyingWorker(QuarantineWorker):
    """Never comes to do anything."""

    def submit(self, job: Callable[[], None]) -> None:
        pass


class TellingWriter(HistoryWriter):
    """Tells when it has noted something."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.told = Event()

    def note(self, record: HistoryRecord) -> None:
        super().note(record)
        self.told.set()


def two_batches(lab: FlowLab) -> tuple[Topic, Topic]:
    lab.dead_letters()
    lines, words = lab.topic("lines"), lab.topic("words", value=WORDS)
    batches: tuple[list[str | bytes], ...] = ["a", "long", b"\xff"], ["longer", "longest"]
    for values in batches:
        lab.send(lines, values, partition=0)
        lab.run(long_words, lines, into=words, delivery=ONCE)
    return lines, words


def test_a_run_that_is_honest_adds_up(lab: FlowLab) -> None:
    _, words = two_batches(lab)
    found = audited(lab)

    assert found.findings == ()
    (flow,) = found.flows
    assert len(flow.batches) == 2
    assert sum(flow.rows.values()) == 5
    assert flow.dead_letters == sum(batch.undecodable for batch in flow.batches) == 1
    assert flow.filtered == 1
    assert flow.written == {words.kafka_name: 3}
    assert flow.ledger is not None
    assert flow.ledger.totals == {words.kafka_name: 3}
    assert found.topics is not None
    assert [(item.found, item.has_fingerprints) for item in found.topics] == [(3, True)]


@pytest.mark.long
def test_it_adds_up_while_the_flow_runs(lab: FlowLab) -> None:
    lines, words = lab.topic("lines"), lab.topic("words", value=WORDS)
    query = lab.query(long_words, lines, into=words, trigger=Continuously(), delivery=ONCE)
    query.start()
    lab.send(lines, ["first"])
    eventually(lambda: noted(lab) != [], within_seconds=60)
    findings: list[Finding] = []
    found = 0
    while found < 5:
        lab.send(lines, ["some", "more"])
        audit_now = audit(lab.kafka.connection, PipelineName(lab.name), deep=True)
        findings += audit_now.findings
        found = len(audit_now.flows[0].batches) if audit_now.flows else 0
    query.stop_now()

    assert findings == []
    assert audited(lab).findings == ()


@pytest.mark.long
def test_of_real_time_flows_what_is_in_the_topic_is_counted(lab: FlowLab) -> None:
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    settings = {"trigger": RealTime(timedelta(seconds=5)), "mode": OutputMode.UPDATE}
    query = lab.query(long_words, lines, into=words, **settings)  # type: ignore[arg-type]
    query.start()

    def has_read(count: int) -> bool:
        return sum(batch.input_rows for batch in lab.batches()) == count

    for count in (3, 6):
        lab.send(lines, ["a", "long", "longer"])
        eventually(partial(has_read, count), within_seconds=60)
    query.stop_now()
    honest = audited(lab)
    lab.send(words, ["by hand"])
    later = audited(lab)

    assert honest.findings == later.findings == ()
    assert honest.topics is not None
    assert [(it.found, it.has_fingerprints) for it in honest.topics] == [(4, False)]
    assert sum(honest.flows[0].rows.values()) == 6
    assert honest.flows[0].written == {words.kafka_name: 4}
    assert later.topics == honest.topics


@pytest.mark.long
@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "behind the next batch"])
def test_what_a_driver_that_died_has_not_noted_is_counted_by_the_next(
    lab: FlowLab, *, is_late: bool
) -> None:
    lines, words = two_batches(lab)
    lab.history.close(30)
    for values in (["more", "b"], ["most"]):
        lab.send(lines, values, partition=1)
        lab.history = DyingWriter(lab.kafka.connection)
        lab.run(long_words, lines, into=words, delivery=ONCE)
    history = TellingWriter(lab.kafka.connection)
    lab.history = history
    if is_late:

        def wait() -> None:
            assert history.told.wait(100)

        lab.worker.submit(wait)
    missing = audited(lab)
    lab.send(lines, ["after"], partition=1)
    lab.run(long_words, lines, into=words, delivery=ONCE)
    found = audited(lab)

    assert [it.message for it in missing.findings] == [
        "batch 1 is the last in the history, and the ledger has batch 3"
    ]
    assert found.findings == ()
    batches = {batch.batch_id: batch for batch in found.flows[0].batches}
    assert sorted(batches) == [0, 1, 3, 4]
    assert (batches[3].first_batch_id, batches[3].recounted) == (2, True)
    assert batches[3].input_rows == 3
    assert batches[3].written == {words.kafka_name: 2}
    assert found.flows[0].written == {words.kafka_name: 6}


@pytest.mark.long
def test_a_hole_that_a_second_driver_has_not_counted_either_is_counted_by_the_third(
    lab: FlowLab,
) -> None:
    """The second one died after it had noted its own batch, and before it had counted."""
    lines, words = two_batches(lab)
    lab.history.close(30)
    lab.send(lines, ["missed"], partition=1)
    lab.history = DyingWriter(lab.kafka.connection)
    lab.run(long_words, lines, into=words, delivery=ONCE)
    lab.history, lab.worker = HistoryWriter(lab.kafka.connection), DyingWorker()
    lab.send(lines, ["noted"], partition=1)
    lab.run(long_words, lines, into=words, delivery=ONCE)
    missing = audited(lab)
    lab.history, lab.worker = HistoryWriter(lab.kafka.connection), QuarantineWorker()
    lab.send(lines, ["after"], partition=1)
    lab.run(long_words, lines, into=words, delivery=ONCE)
    found = audited(lab)

    assert missing.findings[0].message.startswith("batch 2 is not in the history: offsets of ")
    assert found.findings == ()
    batches = {batch.batch_id: batch for batch in found.flows[0].batches}
    assert sorted(batches) == [0, 1, 2, 3, 4]
    assert batches[2].recounted
    assert batches[2].written == {words.kafka_name: 1}
