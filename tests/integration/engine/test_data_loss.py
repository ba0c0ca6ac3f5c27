"""Records that were gone before a flow read them: found at its start, and told with counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.engine.data_loss import DataLossError, LossReason
from penstock.engine.events import DataLost
from penstock.kafka import BeforeOffset, TopicPartition, apply_purge, delete_topics, plan_purge
from penstock.names import Offset, Partition
from penstock.pipeline import DataLoss, Delivery, Json
from support.traps import Trap
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame

    from penstock.pipeline import Topic
    from support.flow_runs import FlowLab

WORDS = Json("word string")


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


def recreate(lab: FlowLab, topic: Topic) -> None:
    delete_topics(lab.admin, [topic.kafka_name])
    eventually(lambda: topic.kafka_name not in lab.admin.metadata().topics, within_seconds=20)
    lab.kafka.create_topic(topic.kafka_name)


def purge(lab: FlowLab, topic: Topic, before: int) -> None:
    plan = plan_purge(lab.admin, topic.kafka_name, BeforeOffset(Offset(before)))
    apply_purge(lab.admin, topic.kafka_name, plan)


def tolerant(topic: Topic) -> Topic:
    return replace(topic, on_data_loss=DataLoss.CONTINUE)


def words(lab: FlowLab, topic: Topic) -> list[str]:
    return [row["word"] for row in lab.rows(topic)]


@pytest.mark.parametrize("new", [["d"], ["d", "e", "f", "g", "h"]], ids=["shorter", "longer"])
def test_a_topic_created_again_is_refused_until_the_loss_is_allowed(
    lab: FlowLab, new: list[str]
) -> None:
    """Spark reads on at the old offset when the successor is longer, and says nothing."""
    lines, out = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    lab.send(lines, ["a", "b", "c"])
    lab.run(copy, lines, into=out)
    recreate(lab, lines)
    lab.send(lines, new)

    with pytest.raises(DataLossError) as refused:
        lab.query(copy, lines, into=out).start()
    assert refused.value.loss.reason is LossReason.RECREATED
    assert "read up to 3 records" in refused.value.message

    lab.run(copy, tolerant(lines), into=out)
    assert sorted(words(lab, out)) == sorted(["a", "b", "c", *new])
    (lost,) = lab.told(DataLost)
    assert (lost.topic, lost.lost) == (lines.kafka_name, {})

    lab.run(copy, lines, into=out)
    assert len(words(lab, out)) == 3 + len(new)


@pytest.mark.parametrize(
    ("delivery", "again"),
    [(Delivery.AT_LEAST_ONCE, ["d"]), (Delivery.EXACTLY_ONCE, [])],
    ids=["at least once", "once"],
)
def test_records_that_retention_removed_unread_are_refused_until_the_loss_is_allowed(
    lab: FlowLab, delivery: Delivery, again: list[str]
) -> None:
    """The planned batch keeps its id and end, because a sink may have written it already."""
    lines, out = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    lab.send(lines, ["a", "b"])
    lab.run(copy, lines, into=out, delivery=delivery)
    lab.send(lines, ["c", "d"])
    lab.run(copy, lines, into=out, delivery=delivery)
    for name in ("1", ".1.crc"):
        (lab.checkpoint / "commits" / name).unlink()
    lab.send(lines, ["e", "f"])
    purge(lab, lines, 3)

    with pytest.raises(DataLossError) as refused:
        lab.query(copy, lines, into=out, delivery=delivery).start()
    where = TopicPartition(lines.kafka_name, Partition(0))
    assert refused.value.loss.lost == {where: 1}

    lab.run(copy, tolerant(lines), into=out, delivery=delivery)
    assert sorted(words(lab, out)) == sorted(["a", "b", "c", "d", *again, "e", "f"])
    assert [(batch.batch_id, batch.input_rows) for batch in lab.batches()[2:]] == [(1, 1), (2, 2)]
    assert [event.lost for event in lab.told(DataLost)] == [{where: 1}]


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("min_partitions", [None, 3], ids=["whole", "in ranges"])
def test_a_half_written_batch_that_loses_records_is_finished_with_what_is_left(
    lab: FlowLab, tmp_path: Path, min_partitions: int | None
) -> None:
    """What one partition had is written; of the other a part is gone, which fails meanwhile.

    Spark ends all tasks of a batch with the first that fails, so that lane waits for the other one.
    """
    trap = Trap.arm(tmp_path)
    lines, out = lab.topic("lines", min_partitions=min_partitions), lab.topic("words", value=WORDS)
    half = ["a", "b", "c", "d"]
    for partition, values in enumerate((half, "yz")):
        lab.send(lines, list(values), partition=partition)
    settings: dict[str, Any] = {"into": out, "delivery": Delivery.EXACTLY_ONCE}
    query = lab.query(failing_beyond("x", trap), lines, **settings)
    query.start()
    eventually(lambda: sorted(words(lab, out)) == half, within_seconds=60)
    trap.spring()
    assert query.await_end(110)
    assert query.failure is not None
    trap.disarm()
    purge(lab, lines, 1)

    lab.run(failing_beyond("x", trap), tolerant(lines), **settings)
    lab.send(lines, ["more"])
    lab.run(failing_beyond("x", trap), lines, **settings)

    assert sorted(words(lab, out)) == [*half, "more", "z"]
    assert [batch.produced for batch in lab.batches()] == [None, 1]


def failing_beyond(word: str, trap: Trap) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that fails at words behind one, as long as the trap is armed."""

    def fail(lines: DataFrame) -> DataFrame:
        checked = F.udf(lambda value: trapped(value, word, trap), "string")
        return lines.select(checked("value").alias("word"))

    return fail


def trapped(value: str, word: str, trap: Trap) -> str:
    if value > word:
        trap.hold()
    return value


def test_a_loss_before_the_first_commit_moves_the_beginning(lab: FlowLab) -> None:
    lines, out = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    lab.send(lines, ["a", "b", "c"])
    lab.run(copy, lines, into=out)
    for name in ("0", ".0.crc"):
        (lab.checkpoint / "commits" / name).unlink()
    purge(lab, lines, 2)
    with pytest.raises(DataLossError):
        lab.query(copy, lines, into=out).start()
    lab.run(copy, tolerant(lines), into=out)
    assert words(lab, out)[3:] == ["c"]
