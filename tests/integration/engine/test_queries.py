"""Starts of flows on real checkpoints: certificates, stopping, crashes and what is told."""

from __future__ import annotations

import json
import shutil
from threading import Timer
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F

from penstock.engine.certificates import (
    FrozenSettingError,
    MissingCertificateError,
    SourceNameReusedError,
)
from penstock.engine.events import DeadLettersWritten, FlowStarted
from penstock.kafka import topic_ends
from penstock.monitoring.lag import partition_lags
from penstock.pipeline import Continuously, Delivery, Json, OutputMode
from support.topic_contents import await_commits
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from support.flow_runs import FlowLab

SHUFFLE = "spark.sql.shuffle.partitions"
COUNTS = Json("word string, n bigint")
WORDS = Json("word string")
LETTERS = [
    pytest.param(Delivery.EXACTLY_ONCE, 1, id="once"),
    pytest.param(Delivery.AT_LEAST_ONCE, 2, id="at least once"),
]
"""How often a dead letter is there when its mark is lost."""


def count(lines: DataFrame) -> DataFrame:
    return lines.groupBy(F.col("value").alias("word")).agg(F.count("*").alias("n"))


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


def copy_both(lines: DataFrame, more: DataFrame) -> DataFrame:
    return copy(lines).union(copy(more))


def uncommit(checkpoint: Path, batch_id: int) -> None:
    """Make a checkpoint as it is when the process dies after the sink and before the commit."""
    (checkpoint / "commits" / str(batch_id)).unlink()
    (checkpoint / "commits" / f".{batch_id}.crc").unlink()


def test_sums_are_right_after_a_restart_with_another_shuffle_count(lab: FlowLab) -> None:
    """Until the first restart Spark keeps nothing of the count: fewer give wrong sums silently."""
    lines, counts = lab.topic("lines"), lab.topic("counts", value=COUNTS)
    words = [f"w{number}" for number in range(20)]

    lab.send(lines, words * 2)
    lab.run(count, lines, into=counts, mode=OutputMode.UPDATE, conf={SHUFFLE: "5"})
    lab.send(lines, words)
    lab.run(count, lines, into=counts, mode=OutputMode.UPDATE)

    last = {row["word"]: row["n"] for row in sorted(lab.rows(counts), key=lambda row: row["n"])}
    assert last == dict.fromkeys(words, 3)
    assert [batch.batch_id for batch in lab.batches()] == [0, 1]

    with pytest.raises(FrozenSettingError) as refused:
        lab.query(count, lines, into=counts, mode=OutputMode.UPDATE, conf={SHUFFLE: "2"}).start()
    assert (refused.value.frozen, refused.value.wanted) == ("5", "2")

    (lab.root / "flow.birth.json").unlink()
    with pytest.raises(MissingCertificateError):
        lab.query(count, lines, into=counts, mode=OutputMode.UPDATE).start()


def test_a_flow_that_has_read_all_of_a_transactional_topic_has_no_lag(lab: FlowLab) -> None:
    """Markers of transactions take offsets; a batch ends behind them, and not at a record."""
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    producer = Producer(lab.kafka.connection.client_config() | {"transactional.id": lab.name})
    producer.init_transactions(30)
    for word, fate in (("a", "commit"), ("b", "abort"), ("c", "commit"), ("d", "")):
        producer.begin_transaction()
        producer.produce(lines.kafka_name, word)
        assert producer.flush(30) == 0
        if fate:
            getattr(producer, f"{fate}_transaction")(30)
    lab.run(copy, lines, into=words)
    read = [row["word"] for row in lab.rows(words)]
    ends, position = topic_ends(lab.admin, [lines.kafka_name]), lab.batches()[-1].sources[0].end
    producer.commit_transaction(30)
    await_commits(lab.kafka.connection, lines.kafka_name)
    lab.run(copy, lines, into=words)
    later = lab.batches()[-1].sources[0].end

    assert read == ["a", "c"]
    assert list(partition_lags(position, ends).values()) == [1]
    assert later == topic_ends(lab.admin, [lines.kafka_name])


def test_what_is_committed_while_a_flow_starts_that_reads_once_is_read(lab: FlowLab) -> None:
    """Kafka answers a commit before it lets readers see it; the next flow is started at once."""
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    producer = Producer(lab.kafka.connection.client_config() | {"transactional.id": lab.name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(lines.kafka_name, "a")
    assert producer.flush(30) == 0
    committing = Timer(2, producer.commit_transaction, [30])
    committing.start()
    lab.run(copy, lines, into=words)
    committing.join()

    assert [row["word"] for row in lab.rows(words)] == ["a"]


def test_a_start_that_died_before_its_first_batch_is_repeated(lab: FlowLab) -> None:
    """The certificate is there, perhaps Spark's query id too; no batch was ever planned."""
    lines, words = lab.topic("lines"), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    lab.run(copy, lines, into=words)
    for folder in ("offsets", "commits"):
        shutil.rmtree(lab.checkpoint / folder)
    certificate = json.loads((lab.root / "flow.birth.json").read_text())

    lab.run(copy, lines, into=words, conf={SHUFFLE: "3"})

    again = json.loads((lab.root / "flow.birth.json").read_text())
    assert again["conf"] == {**certificate["conf"], SHUFFLE: "3"}
    assert lab.rows(words) == [{"word": "a"}] * 2
    assert [started.resumed_batch for started in lab.told(FlowStarted)] == [None, None]


@pytest.mark.parametrize(("delivery", "times"), LETTERS)
def test_a_batch_without_a_commit_is_run_again_and_its_dead_letters_are_kept(
    lab: FlowLab, delivery: Delivery, times: int
) -> None:
    """The process died after batch 0 was written; neither commit nor mark was."""
    lines, words = lab.topic("lines", value=WORDS), lab.topic("words", value=WORDS)
    letters = lab.dead_letters()
    lab.send(lines, ['{"word": "a"}', "broken"], partition=0)
    first = lab.run(lambda lines: lines, lines, into=words, delivery=delivery)
    uncommit(lab.checkpoint, 0)
    (lab.root / "flow.deadletters.json").unlink()

    again = lab.run(lambda lines: lines, lines, into=words, delivery=delivery)

    assert again.query_id == first.query_id
    assert [batch.batch_id for batch in lab.batches()] == [0, 0]
    assert [batch.undecodable for batch in lab.batches()] == [{"lines": 1}] * 2
    assert [record.value for record in lab.records(letters)] == [b"broken"] * times


def test_a_later_batch_of_the_first_run_is_run_again_with_the_same_records(lab: FlowLab) -> None:
    """Spark alone fails with `None.get` here, for ever: its log lacks the shuffle partitions."""
    lines = lab.topic("lines", partition_count=1, most_per_trigger=1)
    counts = lab.topic("counts", value=COUNTS)
    lab.send(lines, ["a", "a", "a"])
    lab.run(count, lines, into=counts, mode=OutputMode.UPDATE)
    uncommit(lab.checkpoint, 2)

    lab.run(count, lines, into=counts, mode=OutputMode.UPDATE)

    assert [batch.batch_id for batch in lab.batches()] == [0, 1, 2, 2]
    assert [row["n"] for row in lab.rows(counts)] == [1, 2, 3, 3]


@pytest.mark.parametrize(("delivery", "times"), LETTERS)
def test_what_was_committed_after_the_mark_is_looked_at_again_for_dead_letters(
    lab: FlowLab, delivery: Delivery, times: int
) -> None:
    """The process died after the dead letters of batch 0 were written, and before the mark was."""
    lines, words = lab.topic("lines", value=WORDS), lab.topic("words", value=WORDS)
    letters = lab.dead_letters()
    lab.send(lines, ['{"word": "a"}', "broken"], partition=0)
    lab.run(lambda lines: lines, lines, into=words, delivery=delivery)
    mark = (lab.root / "flow.deadletters.json").read_text()
    (lab.root / "flow.deadletters.json").unlink()

    lab.run(lambda lines: lines, lines, into=words, delivery=delivery)
    assert [record.value for record in lab.records(letters)] == [b"broken"] * times
    told = [(item.dataset, item.batch_id, item.count) for item in lab.told(DeadLettersWritten)]
    assert told == [("lines", 0, 1)] * 2
    assert (lab.root / "flow.deadletters.json").read_text() == mark

    lab.send(lines, ["broken too"], partition=0)
    lab.run(lambda lines: lines, lines, into=words, delivery=delivery)
    found = sorted(record.value or b"" for record in lab.records(letters))
    assert found == [*[b"broken"] * times, b"broken too"]


@pytest.mark.parametrize(
    ("delivery", "code"),
    [(Delivery.AT_LEAST_ONCE, "PEN-354"), (Delivery.EXACTLY_ONCE, "PEN-366")],
)
def test_a_flow_stops_when_its_dead_letters_cannot_be_written(
    lab: FlowLab, delivery: Delivery, code: str
) -> None:
    """The topic of dead letters refuses records of that size."""
    lines, words = lab.topic("lines", value=WORDS), lab.topic("words", value=WORDS)
    lab.dead_letters({"max.message.bytes": "100"})
    lab.send(lines, ["broken" * 100], partition=0)
    query = lab.query(
        lambda lines: lines, lines, into=words, trigger=Continuously(), delivery=delivery
    )
    query.start()

    assert query.await_end(60)
    assert query.failure is not None
    assert query.failure.error.code == code
    assert not (lab.root / "flow.deadletters.json").exists()


def test_stopping_after_the_batch_leaves_nothing_uncommitted(lab: FlowLab) -> None:
    lines, words = lab.topic("lines"), lab.topic("words", value=WORDS)
    lab.send(lines, ["a", "b", "c"])
    query = lab.query(copy, lines, into=words, trigger=Continuously())
    query.start()
    eventually(lambda: query.checkpoint.last_planned() is not None, within_seconds=40)

    assert query.stop_after_batch(60)

    assert not query.is_active
    assert query.failure is None
    assert query.checkpoint.last_committed() == query.checkpoint.last_planned() == 0
    assert sorted(row["word"] for row in lab.rows(words)) == ["a", "b", "c"]
    assert json.loads((lab.root / "flow.deadletters.json").read_text())["batch_id"] == 0
    query.stop_now()


def test_a_source_that_comes_back_is_refused(lab: FlowLab) -> None:
    lines, more = lab.topic("lines"), lab.topic("more")
    words = lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    lab.send(more, ["b"])
    lab.run(copy_both, lines, more, into=words)
    lab.send(lines, ["c"])
    lab.run(copy, lines, into=words)

    with pytest.raises(SourceNameReusedError) as refused:
        lab.query(copy_both, lines, more, into=words).start()
    assert refused.value.source == "more"
    assert sorted(row["word"] for row in lab.rows(words)) == ["a", "b", "c"]
