"""The same function over a range as in the stream: equal rows, as far as they can be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.engine.batch import NotBoundedError
from penstock.kafka import FromBeginning, FromEnd, FromOffset, TopicPartition
from penstock.names import DatasetName, Offset, Partition
from penstock.pipeline import Json, Rate
from support.declared import ORIGIN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from support.flow_runs import FlowLab

READINGS = Json("sensor string, at timestamp, value bigint")
SUMS = Json("sensor string, start timestamp, total bigint")


def keep_odd(readings: DataFrame) -> DataFrame:
    return readings.where("value % 2 = 1").drop("_record")


def sums(readings: DataFrame) -> DataFrame:
    by_window = readings.groupBy("sensor", F.window("at", "10 seconds").alias("window"))
    totals = by_window.agg(F.sum("value").alias("total"))
    return totals.select("sensor", F.col("window.start").alias("start"), "total")


def copy_value(ticks: DataFrame) -> DataFrame:
    return ticks.selectExpr("'x' AS sensor", "timestamp AS at", "value")


def reading(second: int, value: int, sensor: str = "a") -> str:
    return json.dumps({"sensor": sensor, "at": f"2026-05-01T12:00:{second:02}Z", "value": value})


def rows(values: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return sorted(tuple(value.values()) for value in values)


def test_a_stateless_flow_gives_the_same_rows_and_dead_letters(lab: FlowLab) -> None:
    readings = lab.topic("readings", value=READINGS)
    odd, again = lab.topic("odd", value=READINGS), lab.topic("again", value=READINGS)
    letters = lab.dead_letters()
    lab.send(readings, [reading(n, n) for n in range(20)] + ["broken"])

    lab.run(keep_odd, readings, into=odd)
    result = lab.run_range(keep_odd, readings, into=again, start=FromBeginning(), end=FromEnd())

    assert rows(lab.rows(again)) == rows(lab.rows(odd))
    assert (result.output_rows, result.offsets, result.dead_letters) == (10, 21, 1)
    first, second = lab.records(letters)
    assert (first.value, first.headers) == (second.value, second.headers)


def test_windows_that_the_stream_has_closed_have_the_same_sums(lab: FlowLab) -> None:
    """The last reading moves the watermark to 12:00:35; the window from 12:00:30 stays open."""
    readings = lab.topic("readings", partition_count=1, value=READINGS, event_time="at")
    closed, all_of_them = lab.topic("closed", value=SUMS), lab.topic("all", value=SUMS)
    lab.send(readings, [reading(n, n, sensor) for n in range(0, 36, 5) for sensor in "ab"])

    lab.run(sums, readings, into=closed)
    lab.run_range(sums, readings, into=all_of_them, start=FromBeginning(), end=FromEnd())

    streamed, bounded = rows(lab.rows(closed)), rows(lab.rows(all_of_them))
    starts = {str(start) for _, start, _ in streamed}
    assert len(streamed) == 6
    assert [row for row in bounded if row[1] in starts] == streamed
    assert len(bounded) == 8


def test_only_the_range_is_read(lab: FlowLab) -> None:
    readings = lab.topic("readings", partition_count=1, value=READINGS)
    odd = lab.topic("odd", value=READINGS)
    lab.dead_letters()
    lab.send(readings, [reading(n, n) for n in range(10)])

    result = lab.run_range(
        keep_odd, readings, into=odd, start=FromOffset(Offset(2)), end=FromOffset(Offset(7))
    )

    assert [row["value"] for row in lab.rows(odd)] == [3, 5]
    where = TopicPartition(readings.kafka_name, Partition(0))
    assert result.ranges == {where: (Offset(2), Offset(7))}


def test_what_keeps_nothing_has_no_range(lab: FlowLab) -> None:
    ticks = Rate(name=DatasetName("ticks"), origin=ORIGIN)
    out = lab.topic("out", value=READINGS)

    with pytest.raises(NotBoundedError) as caught:
        lab.run_range(copy_value, ticks, into=out, start=FromBeginning(), end=FromEnd())

    assert "`ticks`" in caught.value.message
