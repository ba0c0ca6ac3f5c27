"""Flows whose batches would be others when they are run again: kept first, or refused."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.engine.analysis import analyze
from penstock.engine.exactly_once.errors import KeptBatchMissingError, WanderingRowsError
from penstock.kafka import ConfigAlteration, alter_topic
from penstock.names import DatasetName
from penstock.pipeline import Delivery, Json, Nondeterminism, Table, Topic
from support.declarations import load
from support.declared import ORIGIN
from support.spark_crashes import uncommit

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from support.flow_runs import FlowLab

WORDS = Json("word string")
KEPT: dict[str, Any] = {
    "delivery": Delivery.EXACTLY_ONCE,
    "nondeterministic": Nondeterminism.PERSIST,
    "conf": {"spark.sql.shuffle.partitions": "4"},
}

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def wandering(lines: DataFrame) -> DataFrame:
    """Each row has another name and another place whenever it is computed."""
    named = lines.select(F.concat_ws("/", F.col("value"), F.uuid()).alias("word"))
    return named.repartition(3, F.rand())


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


def routed_by_chance(lines: DataFrame) -> DataFrame:
    drawn = copy(lines).where(F.rand() < 0.8).withColumn("draw", F.rand())
    route = F.when(F.col("draw") < 0.4, "t").when(F.col("draw") < 0.7, "h").otherwise("more")
    return drawn.select("word", route.alias("_route"))


def shared_by_chance(lines: DataFrame) -> DataFrame:
    return copy(lines).repartition(3, F.rand())


def words(lab: FlowLab, topic: Topic) -> list[str]:
    return sorted(row["word"] for row in lab.rows(topic))


def attempts(lab: FlowLab) -> list[Path]:
    return [path.parent for path in (lab.root / "flow.batches").glob("*/*/_SUCCESS")]


def send(lab: FlowLab, lines: Topic, prefix: str) -> list[str]:
    sent = [f"{prefix}{number}" for number in range(30)]
    for partition in range(2):
        lab.send(lines, sent[partition::2], partition=partition)
    return sent


def test_a_batch_run_again_is_the_one_that_was_kept(lab: FlowLab) -> None:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    sent = send(lab, lines, "a")
    lab.run(wandering, lines, into=out, **KEPT)
    once, first = words(lab, out), attempts(lab)
    uncommit(lab.checkpoint)
    lab.run(wandering, lines, into=out, **KEPT)
    again = attempts(lab)
    send(lab, lines, "b")
    lab.run(wandering, lines, into=out, **KEPT)

    assert [word.partition("/")[0] for word in once] == sorted(sent)
    assert first == again
    assert [batch.output_rows for batch in lab.batches()] == [30, 30, 30]
    assert [batch.input_rows for batch in lab.batches()] == [30, 30, 30]
    assert len(words(lab, out)) == 60
    assert set(once) < set(words(lab, out))
    (last,) = attempts(lab)
    assert last not in first


def test_the_rest_of_a_half_written_batch_is_taken_from_what_was_kept(lab: FlowLab) -> None:
    """One record is too large for its topic at first, so that its lane alone is not written."""
    lines = lab.topic("lines")
    name = lab.kafka.create_topic(f"{lab.name}-words", config={"max.message.bytes": "2000"})
    out = lab.declared("words", name, value=WORDS)
    sent = [*send(lab, lines, "a"), os.urandom(20_000).hex()]
    lab.send(lines, sent[-1:])
    query = lab.query(wandering, lines, into=out, **KEPT)
    query.start()
    assert query.await_end(110)
    assert query.failure is not None
    kept = attempts(lab)
    (lab.root / "flow.batches" / "left-behind" / "by-a-killed-process").mkdir(parents=True)
    larger = ConfigAlteration(name="max.message.bytes", value="100000")
    alter_topic(lab.admin, name, alterations=[larger])
    lab.run(wandering, lines, into=out, **KEPT)

    assert len(kept) == 1
    assert attempts(lab) == kept
    assert Counter(word.partition("/")[0] for word in words(lab, out)) == Counter(sent)
    assert [path.name for path in (lab.root / "flow.batches").iterdir()] == [kept[0].parent.name]


def test_a_topic_and_a_table_get_what_was_kept_and_it_is_counted(lab: FlowLab) -> None:
    """Computed again, other rows would pass, and take other routes."""
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    table = Table(name=DatasetName("history"), schema="word string", origin=ORIGIN)
    targets = {"t": out, "h": table, "more": table}
    found = []
    send(lab, lines, "a")
    for _ in range(3):
        lab.run(routed_by_chance, lines, into=targets, **KEPT)
        kept = lab.spark.read.format("delta").load(str(lab.folder / "tables" / "history"))
        found.append((words(lab, out), sorted(row.word for row in kept.collect())))
        uncommit(lab.checkpoint)
    sent, stored = found[0]
    counts = {out.kafka_name: len(sent), "history": len(stored), f"{lab.name}.deadletters": 0}
    batches = lab.batches()

    assert found == [found[0]] * 3
    assert sorted({*sent, *stored}) == sorted([*sent, *stored])
    assert [batch.produced for batch in batches] == [len(sent) + len(stored)] * 3
    assert [batch.output_rows for batch in batches] == [len(sent) + len(stored)] * 3
    assert [counts | dict(batch.written) for batch in batches] == [counts] * 3


@pytest.mark.parametrize("lost", ["complete", "rows"])
def test_a_process_may_die_before_a_batch_is_kept_and_nobody_may_take_it_away_later(
    lab: FlowLab, lost: str
) -> None:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    send(lab, lines, "a")
    lab.run(wandering, lines, into=out, **KEPT)
    once = words(lab, out)
    uncommit(lab.checkpoint)
    (kept,) = attempts(lab)
    for path in (kept / "..").resolve().glob("*complete*" if lost == "complete" else "gone"):
        path.unlink()
    if lost == "complete":
        lab.run(wandering, lines, into=out, **KEPT)
        assert len(attempts(lab)) == 2
    else:
        kept.rename(lab.folder / "gone")
        query = lab.query(wandering, lines, into=out, **KEPT)
        query.start()
        assert query.await_end(110)
        assert query.failure is not None
        assert isinstance(query.failure.error, KeptBatchMissingError)
    assert words(lab, out) == once


def test_a_needless_declaration_does_no_harm_and_dead_letters_are_found_in_both_runs(
    lab: FlowLab,
) -> None:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    lab.dead_letters()
    sent = send(lab, lines, "a")
    lab.send(lines, [b"\xff"])
    lab.run(copy, lines, into=out, **KEPT)
    uncommit(lab.checkpoint)
    lab.run(copy, lines, into=out, **KEPT)

    assert words(lab, out) == sorted(sent)
    assert [batch.undecodable for batch in lab.batches()] == [{"lines": 1}] * 2


def test_rows_that_are_shared_out_by_chance_are_refused(lab: FlowLab) -> None:
    lines, out = lab.topic("lines"), lab.topic("words", value=WORDS)
    query = lab.query(shared_by_chance, lines, into=out, delivery=Delivery.EXACTLY_ONCE)

    with pytest.raises(WanderingRowsError):
        query.start()


DECLARED = """
import penstock as ps
from pyspark.sql import DataFrame, functions as F

ps.topic("payments", value=ps.json("id string, amount double"))
ps.topic("alerts", value=ps.json("id string, amount double"))
ps.table("history", schema="id string, amount double")
"""
MIXED = """
@ps.flow(into={{"a": "alerts", "h": "history"}}, delivery="exactly_once", nondeterministic="{how}")
def draw(payments: DataFrame) -> DataFrame:
    return payments.withColumn("_route", F.when(F.rand() < 0.5, "a").otherwise("h"))
"""
STATE = """
@ps.flow(
    into="alerts", output_mode="update", delivery="exactly_once", nondeterministic="persist"
)
def draw(payments: DataFrame) -> DataFrame:
    drawn = payments.withColumn("id", F.uuid())
    return drawn.groupBy("id").agg(F.sum("amount").alias("amount"))
"""
ABOVE_STATE = """
@ps.flow(
    into="alerts", output_mode="update", delivery="exactly_once", nondeterministic="persist"
)
def draw(payments: DataFrame) -> DataFrame:
    sums = payments.groupBy("id").agg(F.sum("amount").alias("amount"))
    return sums.repartition(3, F.rand())
"""


@pytest.mark.parametrize(
    ("flow", "codes"),
    [
        (MIXED.format(how="refuse"), ["PEN-363"]),
        (MIXED.format(how="persist"), []),
        (STATE, ["PEN-368"]),
        (ABOVE_STATE, []),
    ],
    ids=["topic and table refused", "topic and table kept", "state", "above state"],
)
def test_what_cannot_be_kept_is_found_before_the_start(
    spark: SparkSession, tmp_path: Path, flow: str, codes: list[str]
) -> None:
    (tmp_path / "flows.py").write_text(DECLARED + flow, encoding="utf-8")

    assert [problem.code for problem in analyze(load(tmp_path), spark)] == codes
