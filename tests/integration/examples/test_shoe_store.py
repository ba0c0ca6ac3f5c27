"""The shoe store: a stream that keeps all five transactions, and tables that end with blue only."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from support.example_runs import EXAMPLES, ExampleRuns, last_values, load_script
from support.producing import Sent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)  # flows are started several times

FLOWS = load_script("shoe_store/flows.py")
EVENTS = (EXAMPLES / "shoe_store" / "events.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("shoe_store", spark, kafka, tmp_path) as runs:
        yield runs


@pytest.fixture
def booked(spark: SparkSession) -> DataFrame:
    rows = [json.loads(event) for event in EVENTS]
    columns = "kind string, shoes array<string>, price decimal(10,2), at string"
    events = spark.createDataFrame(
        [
            (
                row["kind"],
                row["shoes"],
                Decimal(row["price"]) if "price" in row else None,
                row["at"],
            )
            for row in rows
        ],
        columns,
    )
    frame: DataFrame = FLOWS.booked(events)
    return frame


def test_each_pair_is_one_more_or_less_and_money_comes_or_goes(booked: DataFrame) -> None:
    changes = FLOWS.changes(booked).drop("at").collect()

    assert [tuple(row) for row in changes] == [
        ("shipment", "red", 1, 0),
        ("shipment", "blue", 1, 0),
        ("shipment", "green", 1, 0),
        ("sale", "blue", -1, 75),
        ("sale", "red", -1, 90),
        ("return", "blue", 1, -75),
        ("sale", "green", -1, 80),
    ]


def test_the_order_of_events_does_not_change_what_is_left(booked: DataFrame) -> None:
    backwards = booked.orderBy(booked["at"].desc())

    for events in (booked, backwards):
        changes = FLOWS.changes(events)
        assert [tuple(row) for row in FLOWS.fill_shelf(changes).collect()] == [("blue", 1)]
        assert sorted(tuple(row) for row in FLOWS.keep_inventory(changes).collect()) == [
            ("blue", 1),
            ("green", None),
            ("red", None),
        ]


@pytest.mark.long
def test_the_stream_keeps_everything_and_the_tables_end_with_blue_only(runs: ExampleRuns) -> None:
    shelves, inventories = [], []
    for part in (EVENTS[:3], EVENTS[3:]):
        runs.send("events", [Sent(value=event) for event in part])
        runs.run_once()
        shelves.append([tuple(row) for row in runs.table("shoe_shelf").collect()])
        inventories.append(last_values(runs.records("inventory")))

    assert shelves == [[("green", 1)], [("blue", 1)]]
    assert inventories == [
        {b"green": b'{"color":"green","pairs":1}'},
        {b"blue": b'{"color":"blue","pairs":1}'},
    ]
    movements = [json.loads(record.value or b"") for record in runs.records("movements")]
    assert [(row["kind"], row["pairs"]) for row in movements if row["color"] == "blue"] == [
        ("shipment", 1),
        ("sale", -1),
        ("return", 1),
    ]
    assert len(movements) == 7
    (till,) = runs.table("shoe_till").collect()
    assert (till["transactions"], till["cash"]) == (5, Decimal("170.00"))
