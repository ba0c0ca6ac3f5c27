"""Each record once, whatever part of a batch was written before it is run again."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.engine.analysis import analyze
from penstock.engine.exactly_once.errors import (
    CheckpointBehindError,
    LaneFailedError,
    LanesChangedError,
    WanderingRowsError,
)
from penstock.engine.failure_errors import UserCodeError
from penstock.kafka import ConfigAlteration, TopicPartition, alter_topic
from penstock.kafka.lanes.fingerprints import fingerprint_of
from penstock.kafka.lanes.ledger import LaneEntry, lane_prefix, mixed
from penstock.kafka.offsets import end_offsets
from penstock.names import Partition
from penstock.pipeline import Delivery, Json, OutputMode
from support.declarations import load
from support.producing import Sent, send
from support.spark_crashes import uncommit
from support.traps import Trap
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.queries import FlowQuery
    from penstock.pipeline import Topic
    from support.flow_runs import FlowLab
    from support.topic_contents import Stored

COUNTS = Json("word string, n bigint")
WORDS = Json("word string")
ONCE = Delivery.EXACTLY_ONCE
SMALL_BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": "5"}

pytestmark = pytest.mark.timeout(240)


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


def copy_both(lines: DataFrame, more: DataFrame) -> DataFrame:
    return copy(lines).union(copy(more))


def copy_words(lines: DataFrame) -> DataFrame:
    return copy(lines.where("value <> '-'"))


def mixed_up(lines: DataFrame) -> DataFrame:
    return copy(lines).repartition(3)


def count(lines: DataFrame) -> DataFrame:
    return lines.groupBy(F.col("value").alias("word")).agg(F.count("*").alias("n"))


def by_chance(lines: DataFrame) -> DataFrame:
    dice = lines.select(F.round(F.rand() * 10).cast("string").alias("word"))
    return dice.groupBy("word").agg(F.count("*").alias("n"))


def trapped(value: str, word: str, trap: Trap) -> str:
    if value == word:
        trap.hold()
    return value


def failing_at(word: str, trap: Trap) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that fails at a word as long as the trap is armed."""

    def fail(lines: DataFrame) -> DataFrame:
        checked = F.udf(lambda value: trapped(value, word, trap), "string")
        return lines.select(checked("value").alias("word"))

    return fail


def stopped_half_way(
    lab: FlowLab, trap: Trap, delivery: Delivery
) -> tuple[Topic, Topic, Callable[[DataFrame], DataFrame], FlowQuery]:
    """Let a batch of forty words in two partitions fail at one, as long as the trap is armed.

    The other partition is written by then.
    """
    lines = lab.topic("lines", partition_count=2)
    words = lab.topic("words", value=WORDS)
    spread(lab, lines, 40, 2)
    flow = failing_at("w1", trap)
    query = lab.query(flow, lines, into=words, delivery=delivery)
    query.start()
    eventually(lambda: sum(values(lab, words).values()) >= 20, within_seconds=60)
    trap.spring()
    assert query.await_end(110)
    return lines, words, flow, query


def failing_late(trap: Trap) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that hands on most of a partition before it fails at its last word."""

    def fail(lines: DataFrame) -> DataFrame:
        # Spark hands rows on by 64 KB at least.
        checked = F.udf(lambda value: trapped(value, "w38", trap).ljust(20_000, "."), "string")
        return lines.select(checked("value").alias("word"))

    return fail


def at_leisure(value: str) -> str:
    time.sleep(0.05)
    return value.ljust(20_000, ".")


def slowly(lines: DataFrame) -> DataFrame:
    """Take some 50 ms for each word."""
    slow = F.udf(lambda value: at_leisure(value), "string")
    return lines.select(slow("value").alias("word"))


def slowly_by_key(lines: DataFrame) -> DataFrame:
    """Do the same behind a shuffle, from which rows come in another order each time."""
    keyed = lines.select("value", F.substring_index("value", "/", 1).alias("key"))
    slow = F.udf(lambda value: at_leisure(value), "string")
    return keyed.repartition(2, "key").select("key", slow("value").alias("word"))


def slowly_counted(lines: DataFrame) -> DataFrame:
    """Count words, and take the same time for each."""
    slow = F.udf(lambda value: at_leisure(value), "string")
    return count(lines).select(slow("word").alias("word"), "n")


def slowly_with_chance(lines: DataFrame) -> DataFrame:
    """Return other words each time."""
    return slowly(lines).select(F.concat_ws(".", F.col("word"), F.uuid()).alias("word"))


def values(lab: FlowLab, topic: Topic) -> Counter[bytes | None]:
    return Counter(record.value for record in lab.records(topic.kafka_name))


def entries(lab: FlowLab) -> dict[str, LaneEntry]:
    prefix = lane_prefix(lab.name, "flow")
    table = lab.ledger.table()
    table.refresh()
    _, found = table.entries_at(prefix)
    return {
        key.removeprefix(prefix): LaneEntry.from_bytes(entry.value) for key, entry in found.items()
    }


def spread(lab: FlowLab, topic: Topic, count: int, partitions: int) -> list[str]:
    words = [f"w{number}" for number in range(count)]
    for partition in range(partitions):
        lab.send(topic, words[partition::partitions], partition=partition)
    return words


@pytest.mark.parametrize("function", [copy, mixed_up], ids=["copy", "repartitioned"])
def test_a_batch_that_is_run_again_writes_nothing_twice(
    lab: FlowLab, function: Callable[..., DataFrame]
) -> None:
    lines = lab.topic("lines", partition_count=3)
    words = lab.topic("words", value=WORDS)
    sent = spread(lab, lines, 30, 3)
    lab.run(function, lines, into=words, delivery=ONCE)
    once = values(lab, words)
    for _ in range(2):
        uncommit(lab.checkpoint)
        lab.run(function, lines, into=words, delivery=ONCE)

    assert once == Counter({f'{{"word":"{word}"}}'.encode(): 1 for word in sent})
    assert values(lab, words) == once
    assert [batch.output_rows for batch in lab.batches()] == [30] * 3
    found = entries(lab).values()
    assert sum(sum(entry.totals.values()) for entry in found) == 30
    records = lab.records(words.kafka_name)
    written = fingerprint_of([it.key for it in records], [it.value for it in records])
    assert mixed(*(entry.total_fingerprints for entry in found)) == {words.kafka_name: written}


def test_lanes_may_have_nothing_to_write_now_and_then(lab: FlowLab) -> None:
    lines = lab.topic("lines", partition_count=2, most_per_trigger=2)
    words = lab.topic("words", value=WORDS)
    lab.send(lines, ["a", "-", "b", "-"], partition=0)
    lab.send(lines, ["-", "c", "-", "d"], partition=1)
    for _ in range(2):
        lab.run(copy_words, lines, into=words, delivery=ONCE)
        uncommit(lab.checkpoint)

    assert values(lab, words) == Counter(f'{{"word":"{word}"}}'.encode() for word in "abcd")
    assert sum(sum(entry.totals.values()) for entry in entries(lab).values()) == 4


def test_two_topics_have_lanes_of_their_own(lab: FlowLab) -> None:
    lines, more = lab.topic("lines", partition_count=1), lab.topic("more", partition_count=2)
    words = lab.topic("words", value=WORDS)
    spread(lab, lines, 10, 1)
    spread(lab, more, 10, 2)
    lab.run(copy_both, lines, more, into=words, delivery=ONCE)
    uncommit(lab.checkpoint)
    lab.run(copy_both, lines, more, into=words, delivery=ONCE)

    names = [f"0:{lines.kafka_name}-0", f"1:{more.kafka_name}-0", f"1:{more.kafka_name}-1"]
    assert sorted(entries(lab)) == names
    assert sum(values(lab, words).values()) == 20


@pytest.mark.long
def test_sums_of_a_batch_that_is_run_again_are_written_once(lab: FlowLab) -> None:
    lines, sums = lab.topic("lines"), lab.topic("sums", value=COUNTS)
    settings = {"into": sums, "mode": OutputMode.UPDATE, "delivery": ONCE}
    for _ in range(2):
        spread(lab, lines, 20, 2)
        lab.run(count, lines, **settings)
    once = values(lab, sums)
    uncommit(lab.checkpoint)
    lab.run(count, lines, **settings)

    assert len(once) == 40
    assert set(once.values()) == {1}
    assert values(lab, sums) == once


@pytest.mark.long
@pytest.mark.parametrize(
    ("delivery", "most"), [(ONCE, 1), (Delivery.AT_LEAST_ONCE, 2)], ids=["once", "at least once"]
)
def test_what_a_failed_batch_has_written_is_not_written_again(
    lab: FlowLab, tmp_path: Path, delivery: Delivery, most: int
) -> None:
    trap = Trap.arm(tmp_path)
    lines, words, flow, query = stopped_half_way(lab, trap, delivery)
    assert query.failure is not None
    assert isinstance(query.failure.error, UserCodeError)
    written = values(lab, words)
    trap.disarm()
    lab.run(flow, lines, into=words, delivery=delivery)

    assert 20 <= sum(written.values()) < 40 or delivery is not ONCE
    found = values(lab, words)
    assert set(found) == {f'{{"word":"w{number}"}}'.encode() for number in range(40)}
    assert max(found.values()) == most


def test_a_lane_whose_input_ends_early_is_not_committed(lab: FlowLab, tmp_path: Path) -> None:
    """When a task fails, Spark closes its connection, which looks like the end of the input."""
    trap = Trap.arm(tmp_path)
    trap.spring()
    lines, words = lab.topic("lines", partition_count=2), lab.topic("words", value=WORDS)
    sent = spread(lab, lines, 40, 2)
    settings: dict[str, Any] = {"into": words, "delivery": ONCE, "conf": SMALL_BATCHES}
    query = lab.query(failing_late(trap), lines, **settings)
    query.start()
    assert query.await_end(110)
    assert query.failure is not None
    written = len(lab.rows(words))
    trap.disarm()
    lab.run(failing_late(trap), lines, **settings)

    assert written in (0, 20)  # nothing of the lane that failed; the other may have been done
    found = Counter(row["word"].rstrip(".") for row in lab.rows(words))
    assert found == Counter(dict.fromkeys(sent, 1))


@pytest.mark.long
@pytest.mark.parametrize("function", [slowly, slowly_with_chance], ids=["steady", "of chance"])
def test_a_batch_longer_than_a_transaction_is_written_in_parts(
    lab: FlowLab,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[[DataFrame], DataFrame],
) -> None:
    """Two lanes of some 60 words each take three seconds; a transaction may take one."""
    monkeypatch.setattr("penstock.engine.exactly_once.opening.transaction_seconds", lambda _: 1.0)
    lines, words = lab.topic("lines", partition_count=2), lab.topic("words", value=WORDS)
    sent = spread(lab, lines, 120, 2)
    settings: dict[str, Any] = {"into": words, "delivery": ONCE, "conf": SMALL_BATCHES}
    if function is slowly_with_chance:
        assert "kept in files" in why_it_fails(lab, function, lines, settings)
    lab.run(function, lines, **settings)
    uncommit(lab.checkpoint)
    lab.run(function, lines, **settings)

    found = Counter(row["word"].partition(".")[0] for row in lab.rows(words))
    assert found == Counter(dict.fromkeys(sent, 1))
    assert sum(sum(entry.totals.values()) for entry in entries(lab).values()) == 120
    if function is slowly:  # what is kept comes all at once, so it needs one transaction
        where = [TopicPartition(words.kafka_name, Partition(number)) for number in range(2)]
        ends = end_offsets(lab.admin, where)
        # A transaction leaves a mark in each partition that it wrote.
        assert sum(ends.values()) > 120 + 2 * 2 * 2


@pytest.mark.long
@pytest.mark.parametrize("delivery", [ONCE, Delivery.AT_MOST_ONCE])
def test_rows_of_a_key_stay_in_order_in_a_batch_longer_than_a_transaction(
    lab: FlowLab, monkeypatch: pytest.MonkeyPatch, delivery: Delivery
) -> None:
    """It is found to be long, then one lane is written, and then the other from the same files.

    To be long is no failure, so nothing is given up at most once either.
    """
    monkeypatch.setattr("penstock.engine.exactly_once.opening.transaction_seconds", lambda _: 1.0)
    lines = lab.topic("lines", partition_count=1)
    name = lab.kafka.create_topic(f"{lab.name}-words", config={"max.message.bytes": "60000"})
    words = lab.declared("words", name, value=Json("key string, word string"), key=("key",))
    by_key = {f"k{key}": [f"k{key}/{word}" for word in range(20, 0, -1)] for key in range(6)}
    by_key["k0"].append(f"k0/{os.urandom(100_000).hex()}")
    lab.send(lines, [word for some in zip_longest(*by_key.values()) for word in some if word])
    conf = {**SMALL_BATCHES, "spark.sql.files.maxRecordsPerFile": "7"}
    settings: dict[str, Any] = {"into": words, "delivery": delivery, "conf": conf}
    assert "kept in files" in why_it_fails(lab, slowly_by_key, lines, settings)
    monkeypatch.setattr("penstock.engine.exactly_once.opening.transaction_seconds", lambda _: 60.0)
    assert "too large" in why_it_fails(lab, slowly_by_key, lines, settings)
    kept, half = attempts(lab), Counter(row["key"] for row in lab.rows(words))
    alter_topic(
        lab.admin, name, alterations=[ConfigAlteration(name="max.message.bytes", value="900000")]
    )
    lab.run(slowly_by_key, lines, **settings)
    again = attempts(lab)
    lab.send(lines, ["k7/0"])
    lab.run(slowly_by_key, lines, **settings)

    found: dict[str, list[str]] = {}
    for row in lab.rows(words):
        found.setdefault(row["key"], []).append(row["word"].rstrip("."))
    assert found == {**by_key, "k7": ["k7/0"]}
    assert set(half.values()) == {20}
    assert "k0" not in half
    assert len(kept) == 1
    assert again == kept
    assert attempts(lab) == []
    assert [batch.produced for batch in lab.batches()] == [121, 1]


@pytest.mark.long
def test_a_long_batch_counts_once_in_the_state(
    lab: FlowLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is evaluated when it is found to be long, when it is kept, and when it is run again."""
    monkeypatch.setattr("penstock.engine.exactly_once.opening.transaction_seconds", lambda _: 1.0)
    lines, sums = lab.topic("lines", partition_count=2), lab.topic("sums", value=COUNTS)
    sent = spread(lab, lines, 60, 2)
    settings: dict[str, Any] = {
        "into": sums,
        "delivery": ONCE,
        "mode": OutputMode.UPDATE,
        "conf": {**SMALL_BATCHES, "spark.sql.shuffle.partitions": "2"},
    }
    assert "kept in files" in why_it_fails(lab, slowly_counted, lines, settings)
    lab.run(slowly_counted, lines, **settings)
    uncommit(lab.checkpoint)
    lab.run(slowly_counted, lines, **settings)
    lab.send(lines, sent[:2])
    lab.run(slowly_counted, lines, **settings)

    found = Counter((row["word"].rstrip("."), row["n"]) for row in lab.rows(sums))
    assert found == Counter([*((word, 1) for word in sent), *((word, 2) for word in sent[:2])])


def why_it_fails(
    lab: FlowLab,
    function: Callable[..., DataFrame],
    lines: Topic,
    settings: Mapping[str, Any],
) -> str:
    """Run a flow, and return why a lane of it failed."""
    query = lab.query(function, lines, **settings)
    query.start()
    assert query.await_end(110)
    assert query.failure is not None
    assert isinstance(query.failure.error, LaneFailedError)
    return query.failure.error.message


def attempts(lab: FlowLab) -> list[Path]:
    """Return the folders of what was kept for lanes."""
    return [path.parent for path in (lab.root / "flow.lanes").glob("*/*/_SUCCESS")]


@pytest.mark.long
def test_at_most_once_a_batch_that_was_begun_is_given_up(lab: FlowLab, tmp_path: Path) -> None:
    trap = Trap.arm(tmp_path)
    lines, words, flow, query = stopped_half_way(lab, trap, Delivery.AT_MOST_ONCE)
    assert query.failure is not None
    trap.disarm()
    lab.send(lines, ["more"])
    lab.run(flow, lines, into=words, delivery=Delivery.AT_MOST_ONCE)

    found = values(lab, words)
    assert set(found.values()) == {1}
    assert 1 <= sum(found.values()) <= 21
    assert b'{"word":"more"}' in found
    assert b'{"word":"w1"}' not in found


@pytest.mark.long
def test_at_most_once_a_batch_that_was_given_up_is_part_of_the_state(lab: FlowLab) -> None:
    lines, sums = lab.topic("lines"), lab.topic("sums", value=COUNTS)
    settings: dict[str, Any] = {"mode": OutputMode.UPDATE, "delivery": Delivery.AT_MOST_ONCE}
    for _ in range(3):
        lab.send(lines, ["a", "b"])
        lab.run(count, lines, into=sums, **settings)
        uncommit(lab.checkpoint)
    lab.run(count, lines, into=sums, **settings)

    assert [batch.input_rows for batch in lab.batches()] == [2] * 6
    found = Counter((row["word"], row["n"]) for row in lab.rows(sums))
    assert found == Counter((word, n) for word in "ab" for n in (1, 2, 3))


@pytest.mark.long
def test_a_half_written_batch_is_not_shared_out_differently(lab: FlowLab, tmp_path: Path) -> None:
    trap = Trap.arm(tmp_path)
    lines, words, flow, _ = stopped_half_way(lab, trap, ONCE)
    trap.disarm()
    more = replace(lines, min_partitions=4)
    query = lab.query(flow, more, into=words, delivery=ONCE)
    query.start()
    assert query.await_end(110)

    assert query.failure is not None
    assert isinstance(query.failure.error, LanesChangedError)
    assert "would now share it out differently, to 4 lanes" in query.failure.error.message
    lab.run(flow, lines, into=words, delivery=ONCE)
    assert set(values(lab, words).values()) == {1}
    lab.send(lines, ["more"])
    lab.run(flow, more, into=words, delivery=ONCE)
    assert sum(values(lab, words).values()) == 41


def test_another_checkpoint_is_another_beginning(lab: FlowLab) -> None:
    lines, words = lab.topic("lines"), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    lab.run(copy, lines, into=words, delivery=ONCE)
    shutil.rmtree(lab.checkpoint)
    lab.run(copy, lines, into=words, delivery=ONCE)

    assert values(lab, words) == Counter({b'{"word":"a"}': 2})


def test_an_older_copy_of_a_checkpoint_is_refused(lab: FlowLab, tmp_path: Path) -> None:
    """Its next batch has the number of one that is written, and other records."""
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    copies = []
    for word in "abc":
        lab.send(lines, [word])
        lab.run(copy, lines, into=words, delivery=ONCE)
        copies.append(shutil.copytree(lab.checkpoint, tmp_path / f"copy of {word}"))
    lab.send(lines, ["d"])
    entries(lab)  # the table has them all
    for number in (0, 1):
        put_back(lab, copies[number])
        with pytest.raises(CheckpointBehindError) as refused:
            lab.query(copy, lines, into=words, delivery=ONCE).start()
        assert (refused.value.planned, refused.value.written) == (number, 2)
    put_back(lab, copies[2])
    lab.run(copy, lines, into=words, delivery=ONCE)

    assert values(lab, words) == Counter(f'{{"word":"{word}"}}'.encode() for word in "abcd")


def put_back(lab: FlowLab, copied: Path) -> None:
    shutil.rmtree(lab.checkpoint)
    shutil.copytree(copied, lab.checkpoint)


@pytest.mark.parametrize("delivery", [ONCE, Delivery.AT_LEAST_ONCE], ids=["lanes", "no lanes"])
def test_lanes_of_a_removed_flow_are_forgotten_with_its_checkpoint(
    lab: FlowLab, delivery: Delivery
) -> None:
    """Whichever flow is left: the next start of the pipeline looks for them."""
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    lab.run(copy, lines, into=words, delivery=ONCE)
    found = [set(entries(lab))]
    for has_checkpoint in (True, False):
        if not has_checkpoint:
            shutil.rmtree(lab.checkpoint)
        lab.ledger.close()
        del lab.ledger  # as another process has none yet
        lab.run(copy, lines, into=words, delivery=delivery, name="other")
        found.append(set(entries(lab)))

    lane = f"{lines.kafka_name}-0"
    assert found == [{lane}, {lane}, set()]


def test_a_deposit_stays_before_its_withdrawal(lab: FlowLab) -> None:
    """The order of a key is kept, and neither is there twice, so no account is overdrawn."""
    steps = lab.topic("steps", partition_count=3, value=Json("account string, amount int"))
    booked = lab.topic("booked", value=Json("account string, amount int"), key=("account",))
    accounts = [f"a{number}" for number in range(30)]
    records = [
        Sent(key=account, value=f'{{"account":"{account}","amount":{amount}}}')
        for amount in (100, -100, 50, -30)
        for account in accounts
    ]
    send(lab.kafka.connection, steps.kafka_name, records)
    for _ in range(2):
        lab.run(book, steps, into=booked, delivery=ONCE)
        uncommit(lab.checkpoint)

    amounts: dict[str, list[int]] = {account: [] for account in accounts}
    for record in lab.records(booked.kafka_name):
        step = json.loads(record.value or b"")
        amounts[step["account"]].append(step["amount"])
    assert amounts == {account: [100, -100, 50, -30] for account in accounts}


def book(steps: DataFrame) -> DataFrame:
    return steps.select("account", "amount")


def test_rows_that_wander_are_refused(lab: FlowLab) -> None:
    lines, sums = lab.topic("lines"), lab.topic("sums", value=COUNTS)
    query = lab.query(by_chance, lines, into=sums, mode=OutputMode.UPDATE, delivery=ONCE)

    with pytest.raises(WanderingRowsError) as refused:
        query.start()

    assert "`Project` has values that differ" in refused.value.message
    lab.run(by_chance, lines, into=sums, mode=OutputMode.UPDATE)


DECLARED = """
import penstock as ps
from pyspark.sql import DataFrame, functions as F

ps.topic("payments", value=ps.json("id string, amount double"))
ps.topic("alerts", value=ps.json("id string, amount double"))
"""
BY_CHANCE = """
@ps.flow(into="alerts", output_mode="update", delivery="exactly_once")
def draw(payments: DataFrame) -> DataFrame:
    drawn = payments.withColumn("id", F.uuid())
    return drawn.groupBy("id").agg(F.sum("amount").alias("amount"))
"""
AT_ONCE = """
@ps.flow(into="alerts", trigger="real_time", delivery="exactly_once")
def copy(payments: DataFrame) -> DataFrame:
    return payments.select("id", "amount")
"""
HARMLESS = """
@ps.flow(into="alerts", delivery="exactly_once")
def noise(payments: DataFrame) -> DataFrame:
    return payments.where(F.rand() < 0.5).select("id", F.rand().alias("amount"))
"""
PAGE = (Path(__file__).parents[3] / "docs" / "exactly-once.md").read_text("utf-8")
(SNIPPET,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("flow", "codes"),
    [(SNIPPET, []), (HARMLESS, []), (BY_CHANCE, ["PEN-363"]), (AT_ONCE, ["PEN-330"])],
    ids=["of the page", "harmless", "by chance", "real time"],
)
def test_what_cannot_be_exact_is_found_before_the_start(
    spark: SparkSession, tmp_path: Path, flow: str, codes: list[str]
) -> None:
    (tmp_path / "flows.py").write_text(DECLARED + flow, encoding="utf-8")

    assert [problem.code for problem in analyze(load(tmp_path), spark)] == codes


@pytest.mark.long
def test_records_are_what_sparks_own_sink_writes(lab: FlowLab) -> None:
    """The same partitions, keys, values and headers, null ones too, in the same order per key."""
    orders = lab.topic("orders", partition_count=3, value=Json("id string, n int"), key=("id",))
    records = [
        Sent(key=key, value=f'{{"id":{text},"n":{number}}}')
        for number in range(50)
        for key, text in ((f"k{number % 7}", f'"k{number % 7}"'),)
    ]
    send(lab.kafka.connection, orders.kafka_name, records)
    found = []
    for delivery in (ONCE, Delivery.AT_LEAST_ONCE):
        copied = lab.topic(f"copied-{delivery}", partition_count=4, **_KEYED)
        lab.run(with_headers, orders, into=copied, delivery=delivery)
        found.append([_essence(record) for record in lab.records(copied.kafka_name)])
        shutil.rmtree(lab.root)

    assert len(found[0]) == 50
    assert sorted(found[0], key=repr) == sorted(found[1], key=repr)
    for key in {key for _, key, _, _ in found[0]}:
        assert [it for it in found[0] if it[1] == key] == [it for it in found[1] if it[1] == key]


_KEYED = {"value": Json("id string, n int"), "key": ("id",), "compacted": True}


def with_headers(orders: DataFrame) -> DataFrame:
    entry = F.struct(F.lit("a").alias("key"), F.lit(b"\x00\xff").alias("value"))
    nothing = F.struct(F.lit("b").alias("key"), F.lit(None).cast("binary").alias("value"))
    return orders.select(
        "id",
        F.when(F.col("n") % 5 > 0, F.col("n")).alias("n"),
        F.array(entry, nothing).alias("_headers"),
    )


def _essence(record: Stored) -> tuple[int, bytes | None, bytes | None, object]:
    return record.partition, record.key, record.value, record.headers
