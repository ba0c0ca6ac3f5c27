"""Several topics by lanes: each record once in its own, with its key and headers, or none."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.kafka import partition_for_key
from penstock.kafka.lanes.fingerprints import fingerprint_of
from penstock.kafka.lanes.ledger import LaneEntry, added, lane_prefix, mixed
from penstock.pipeline import Delivery, Json
from support.producing import Sent, send
from support.spark_crashes import uncommit
from support.traps import Trap
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from penstock.names import TopicName
    from support.flow_runs import FlowLab

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

ORDER = Json("id string, n int")
SMALL_BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": "5"}
Record = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


def trapped(n: int, at: int, trap: Trap) -> int:
    if n == at:
        trap.hold()
    return n


def splitting(at: int, trap: Trap) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that fails at a number as long as the trap is armed."""

    def split(orders: DataFrame) -> DataFrame:
        n = F.udf(lambda n: trapped(n, at, trap), "int")("n")
        route = F.when(n % 7 == 0, "nowhere").when(n % 3 == 0, "rest").otherwise("kept")
        entry = F.struct(F.lit("n").alias("key"), n.cast("string").cast("binary").alias("value"))
        nothing = F.struct(F.lit("b").alias("key"), F.lit(None).cast("binary").alias("value"))
        return orders.select(
            F.when((route == "kept") | (n % 2 == 0), F.col("id")).alias("id"),
            F.when((route == "rest") | (n % 5 > 0), n).alias("n"),
            F.when(n % 4 > 0, F.array(entry, nothing)).alias("_headers"),
            route.alias("_route"),
        )

    return split


def headers_of(n: int) -> tuple[tuple[str, bytes | None], ...]:
    return (("n", str(n).encode()), ("b", None)) if n % 4 else ()


def value_of(key: bytes | None, n: int) -> bytes:
    row = {"id": None if key is None else key.decode(), "n": n}
    return json.dumps(row, separators=(",", ":")).encode()


def essences(lab: FlowLab, topic: TopicName) -> Counter[Record]:
    return Counter((it.key, it.value, it.headers) for it in lab.records(topic))


def entries(lab: FlowLab) -> Sequence[LaneEntry]:
    table = lab.ledger.table()
    table.refresh()
    _, found = table.entries_at(lane_prefix(lab.name, "flow"))
    return [LaneEntry.from_bytes(entry.value) for entry in found.values()]


def test_routes_of_a_half_written_batch_have_each_record_once(lab: FlowLab, tmp_path: Path) -> None:
    """Tombstones and null keys, headers and none, and what has no route, all from one lane."""
    trap = Trap.arm(tmp_path)
    orders = lab.topic("orders", value=ORDER)
    kept = lab.topic("kept", partition_count=4, value=ORDER, key=("id",), compacted=True)
    rest = lab.topic("rest", value=ORDER, key=("id",))
    letters = lab.dead_letters()
    for n in range(60):
        value = f'{{"id":"k{n % 9}","n":{n}}}'
        send(lab.kafka.connection, orders.kafka_name, [Sent(value=value, partition=n % 2)])
    settings: dict[str, Any] = {
        "into": {"kept": kept, "rest": rest},
        "delivery": Delivery.EXACTLY_ONCE,
    }
    numbers: dict[str, list[int]] = {name: [] for name in ("kept", "rest", "nowhere")}
    for n in range(60):
        route = "nowhere" if n % 7 == 0 else "rest" if n % 3 == 0 else "kept"
        numbers[route].append(n)
    evens = [len([n for n in numbers[name] if n % 2 == 0]) for name in ("kept", "rest")]
    query = lab.query(splitting(59, trap), orders, **settings)
    query.start()

    def written() -> list[int]:
        return [sum(essences(lab, topic.kafka_name).values()) for topic in (kept, rest)]

    eventually(lambda: written() == evens, within_seconds=60)
    trap.spring()
    assert query.await_end(110)
    assert query.failure is not None
    half = written()
    trap.disarm()
    lab.run(splitting(59, trap), orders, **settings)
    uncommit(lab.checkpoint)
    lab.run(splitting(59, trap), orders, **settings)

    key = {n: f"k{n % 9}".encode() for n in range(60)}
    tombstones = [n for n in numbers["kept"] if n % 5 == 0]
    null_keys = [n for n in numbers["rest"] if n % 2]
    assert tombstones
    assert null_keys
    assert half == evens
    assert essences(lab, kept.kafka_name) == Counter(
        (key[n], None if n in tombstones else value_of(key[n], n), headers_of(n))
        for n in numbers["kept"]
    )
    keys = {n: None if n in null_keys else key[n] for n in numbers["rest"]}
    assert essences(lab, rest.kafka_name) == Counter(
        (keys[n], value_of(keys[n], n), headers_of(n)) for n in numbers["rest"]
    )
    assert len(lab.records(letters)) == len(numbers["nowhere"])
    placed = {(it.key, it.partition) for it in lab.records(kept.kafka_name)}
    assert placed == {(name, partition_for_key(name or b"", 4)) for name, _ in placed}
    assert_ledger_is_exact(lab, [kept.kafka_name, rest.kafka_name, letters])


def assert_ledger_is_exact(lab: FlowLab, topics: Sequence[TopicName]) -> None:
    found = entries(lab)
    stored = {topic: lab.records(topic) for topic in topics}
    assert added(*(entry.totals for entry in found)) == {
        topic: len(content) for topic, content in stored.items()
    }
    assert mixed(*(entry.total_fingerprints for entry in found)) == {
        topic: fingerprint_of([it.key for it in content], [it.value for it in content])
        for topic, content in stored.items()
    }


def splitting_slowly(trap: Trap) -> Callable[[DataFrame], DataFrame]:
    """Return a flow that takes some 50 ms for each word, and fails at the last but one."""

    def at_leisure(value: str) -> str:
        time.sleep(0.05)
        if value == "w78":
            trap.hold()
        return value.ljust(20_000, ".")  # Spark hands rows on by 64 KB at least

    def split(lines: DataFrame) -> DataFrame:
        word = F.udf(lambda value: at_leisure(value), "string")("value")
        route = F.when(F.substring("value", -1, 1) < "6", "some").otherwise("more")
        return lines.select(word.alias("word"), route.alias("_route"))

    return split


def test_parts_of_a_long_batch_are_written_once_into_two_topics(
    lab: FlowLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails when parts are committed: they hold rows of both topics, and are not sent again."""
    monkeypatch.setattr("penstock.engine.exactly_once.opening.transaction_seconds", lambda _: 1.0)
    trap = Trap.arm(tmp_path)
    lines = lab.topic("lines")
    some, more = (lab.topic(name, value=Json("word string")) for name in ("some", "more"))
    lab.dead_letters()
    words = [f"w{number}" for number in range(80)]
    for partition in range(2):
        lab.send(lines, words[partition::2], partition=partition)
    settings: dict[str, Any] = {
        "into": {"some": some, "more": more},
        "delivery": Delivery.EXACTLY_ONCE,
        "conf": SMALL_BATCHES,
    }
    trap.spring()
    query = lab.query(splitting_slowly(trap), lines, **settings)
    query.start()
    assert query.await_end(200)
    assert query.failure is not None
    parts = [entry for entry in entries(lab) if entry.rows]
    trap.disarm()
    lab.run(splitting_slowly(trap), lines, **settings)

    assert [set(entry.counts) for entry in parts] == [{some.kafka_name, more.kafka_name}]
    for topic, chosen in ((some, "012345"), (more, "6789")):
        found = Counter(row["word"].rstrip(".") for row in lab.rows(topic))
        assert found == Counter(word for word in words if word[-1] in chosen)
    assert_ledger_is_exact(lab, [some.kafka_name, more.kafka_name])
