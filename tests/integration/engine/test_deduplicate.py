"""Records that were sent twice are removed, and counted."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import penstock as ps
from penstock.pipeline import Json
from penstock.pipeline.deduplicating import InvalidSpanError, UnboundedDuplicatesError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from support.flow_runs import FlowLab

ORDER = Json("id int, at timestamp")
ID = Json("id int")


def once(orders: DataFrame) -> DataFrame:
    return orders.transform(ps.deduplicate(by="id", within="10 minutes")).select("id")


def order(number: int, minute: int) -> str:
    return f'{{"id":{number},"at":"2026-11-16T12:{minute:02}:00Z"}}'


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_first_of_each_stays_over_batches_and_restarts(lab: FlowLab) -> None:
    time = {"event_time": "at", "allowed_lateness": timedelta(minutes=10)}
    orders = lab.topic("orders", partition_count=1, value=ORDER, **time)
    ids = lab.topic("ids", value=ID)

    for sent in (
        [order(1, 0), order(2, 0), order(1, 1)],
        [order(2, 9), order(3, 9)],
        [order(9, 40)],  # the watermark passes all before
        [order(3, 45), order(9, 46)],
    ):
        lab.send(orders, sent)
        lab.run(once, orders, into=ids)

    assert sorted(row["id"] for row in lab.rows(ids)) == [1, 2, 3, 3, 9]
    assert sum(batch.duplicates for batch in lab.batches()) == 3


@pytest.mark.parametrize(
    ("time", "found"),
    [
        ({}, "there is no event time"),
        (
            {"event_time": "at", "allowed_lateness": timedelta(minutes=5)},
            "records are remembered for 0:05:00",
        ),
    ],
    ids=["no event time", "too short"],
)
def test_what_is_forgotten_too_soon_is_refused(
    lab: FlowLab, time: dict[str, Any], found: str
) -> None:
    orders = lab.topic("orders", value=ORDER, **time)

    with pytest.raises(UnboundedDuplicatesError) as refused:
        lab.query(once, orders, into=lab.topic("ids", value=ID)).start()

    assert refused.value.message.endswith(found)


def test_a_frame_that_is_no_stream_is_looked_at_as_a_whole(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "a"), (1, "b"), (2, "a")], "id int, word string")
    by_both = ps.deduplicate(by=["id", "word"], within="1 hour")

    assert rows.transform(ps.deduplicate(by="id", within="1 hour")).count() == 2
    assert rows.transform(by_both).count() == 3


@pytest.mark.parametrize("text", ["soon", "0 seconds", ""])
def test_a_text_that_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(InvalidSpanError):
        ps.deduplicate(by="id", within=text)
