"""Each record once, whatever part of a batch was written before it is run again."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.engine.analysis import analyze
from penstock.engine.exactly_once.errors import LanesChangedError, WanderingRowsError
from penstock.engine.exactly_once.sink import Ledger
from penstock.engine.failure_errors import UserCodeError
from penstock.kafka.lanes.ledger import LaneEntry, lane_prefix
from penstock.pipeline import Delivery, Json, OutputMode
from support.declarations import load
from support.producing import Sent, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.queries import FlowQuery
    from penstock.pipeline import Topic
    from support.flow_runs import FlowLab
    from support.topic_contents import Stored

COUNTS = Json("word string, n bigint")
WORDS = Json("word string")
ONCE = Delivery.EXACTLY_ONCE

pytestmark = pytest.mark.timeout(240)


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


def copy_both(lines: DataFrame, more: DataFrame) -> DataFrame:
    return copy(lines).union(copy(more))


def mixed_up(lines: DataFrame) -> DataFrame:
    return copy(lines).repartition(3)


def count(lines: DataFrame) -> DataFrame:
    return lines.groupBy(F.col("value").alias("word")).agg(F.count("*").alias("n"))


def by_chance(lines: DataFrame) -> DataFrame:
    dice = lines.select(F.round(F.rand() * 10).cast("string").alias("word"))
    return dice.groupBy("word").agg(F.count("*").alias("n"))


def trapped(value: str, word: str, place: str) -> str:
    assert value != word or not Path(place).exists(), "trapped"
    return value


def failing_at(word: str, trap: Path) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that fails at a word as long as the trap is there."""
    place = str(trap)

    def fail(lines: DataFrame) -> DataFrame:
        checked = F.udf(lambda value: trapped(value, word, place), "string")
        return lines.select(checked("value").alias("word"))

    return fail


def stopped_half_way(
    lab: FlowLab, trap: Path, delivery: Delivery
) -> tuple[Topic, Topic, Callable[[DataFrame], DataFrame], FlowQuery]:
    """Let a batch of forty words in two partitions fail at one, as long as the trap is there."""
    lines = lab.topic("lines", partition_count=2)
    words = lab.topic("words", value=WORDS)
    trap.touch()
    spread(lab, lines, 40, 2)
    flow = failing_at("w1", trap)
    query = lab.query(flow, lines, into=words, delivery=delivery)
    query.start()
    assert query.await_end(110)
    return lines, words, flow, query


def uncommit(checkpoint: Path) -> None:
    """Make a checkpoint as it is when the process dies after the sink and before the commit."""
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink()


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
    assert sum(sum(entry.totals.values()) for entry in entries(lab).values()) == 30


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
    trap = tmp_path / "trap"
    lines, words, flow, query = stopped_half_way(lab, trap, delivery)
    assert query.failure is not None
    assert isinstance(query.failure.error, UserCodeError)
    written = values(lab, words)
    trap.unlink()
    lab.run(flow, lines, into=words, delivery=delivery)

    assert 20 <= sum(written.values()) < 40 or delivery is not ONCE
    found = values(lab, words)
    assert set(found) == {f'{{"word":"w{number}"}}'.encode() for number in range(40)}
    assert max(found.values()) == most


@pytest.mark.long
def test_at_most_once_a_batch_that_was_begun_is_given_up(lab: FlowLab, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    lines, words, flow, query = stopped_half_way(lab, trap, Delivery.AT_MOST_ONCE)
    assert query.failure is not None
    trap.unlink()
    lab.send(lines, ["more"])
    lab.run(flow, lines, into=words, delivery=Delivery.AT_MOST_ONCE)

    found = values(lab, words)
    assert set(found.values()) == {1}
    assert 1 <= sum(found.values()) <= 21
    assert b'{"word":"more"}' in found
    assert b'{"word":"w1"}' not in found


@pytest.mark.long
def test_a_half_written_batch_is_not_shared_out_differently(lab: FlowLab, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    lines, words, flow, _ = stopped_half_way(lab, trap, ONCE)
    trap.unlink()
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


def test_lanes_of_a_flow_are_forgotten_with_its_checkpoint(lab: FlowLab) -> None:
    lines, words = lab.topic("lines", partition_count=1), lab.topic("words", value=WORDS)
    lab.send(lines, ["a"])
    lab.run(copy, lines, into=words, delivery=ONCE)
    found = entries(lab)

    for is_needed in (True, False):
        ledger = Ledger(lab.kafka.connection)
        ledger.retire(lab.name, lambda flow: flow != "flow" or is_needed)  # noqa: B023 - used at once
        ledger.close()
        assert entries(lab) == (found if is_needed else {})
    assert list(found) == [f"{lines.kafka_name}-0"]


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
