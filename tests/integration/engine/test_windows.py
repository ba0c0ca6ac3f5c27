"""Windows of event time by the numbers of the texts, in flows as users declare and test them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from penstock.engine.analysis import analyze
from penstock.pipeline import Pipeline
from support.projects import project

MIDNIGHT = datetime(2030, 1, 31, tzinfo=UTC)

DECLARATIONS = """
ps.topic("events", value=ps.json("host string, at timestamp"), event_time="at",
         allowed_lateness="1 hour")
ps.topic("counts", value=ps.json("start timestamp, end timestamp, hits bigint"))
ps.topic("periods", value=ps.json("period string, start timestamp, host string, hits bigint"))
ps.topic("owned", value=ps.json("host string, owner string"))
ps.lookup("owners", ps.csv_file("owners.csv", "host string, owner string"))

def hits(windows: DataFrame) -> DataFrame:
    return windows.agg(F.count("*").alias("hits")).select("window.start", "window.end", "hits")

@ps.flow(into="counts", output_mode="update")
def sliding(events: DataFrame) -> DataFrame:
    return hits(events.groupBy(F.window("at", "30 seconds", "10 seconds")))

@ps.flow(into="counts", output_mode="update")
def dense(events: DataFrame) -> DataFrame:
    return hits(events.groupBy(F.window("at", "10 minutes", "2 seconds")))

def per(period: str, events: DataFrame) -> DataFrame:
    counted = events.groupBy(F.window("at", period), "host").agg(F.count("*").alias("hits"))
    return counted.select(F.lit(period).alias("period"), "window.start", "host", "hits")

@ps.flow(into="periods", output_mode="update")
def quarters(events: DataFrame) -> DataFrame:
    return per("15 minutes", events)

@ps.flow(into="periods", output_mode="update")
def hours(events: DataFrame) -> DataFrame:
    return per("1 hour", events)

@ps.flow(into="owned")
def owned(events: DataFrame, owners: DataFrame) -> DataFrame:
    return events.join(owners, "host").select("host", "owner")
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return project(tmp_path, DECLARATIONS)


def events(spark: SparkSession, *offsets: timedelta) -> DataFrame:
    rows = [("a", MIDNIGHT + offset) for offset in offsets]
    return spark.createDataFrame(rows, "host string, at timestamp")


def seconds(frame: DataFrame) -> list[tuple[int, int]]:
    """Return start and end of each window in seconds after midnight."""
    bounds = frame.selectExpr("unix_timestamp(start)", "unix_timestamp(end)").collect()
    midnight = int(MIDNIGHT.timestamp())
    return sorted((row[0] - midnight, row[1] - midnight) for row in bounds)


def test_these_flows_can_run_as_streams(pipeline: Pipeline, spark: SparkSession) -> None:
    assert analyze(pipeline, spark) == []


def test_an_event_at_25_seconds_falls_into_three_windows_of_30_seconds_every_10(
    pipeline: Pipeline, spark: SparkSession
) -> None:
    result = pipeline.flow("sliding").function(events(spark, timedelta(seconds=25)))

    assert seconds(result) == [(0, 30), (10, 40), (20, 50)]


def test_the_end_of_a_window_is_not_in_it(pipeline: Pipeline, spark: SparkSession) -> None:
    result = pipeline.flow("sliding").function(events(spark, timedelta(seconds=30)))

    assert seconds(result) == [(10, 40), (20, 50), (30, 60)]


def test_10_minutes_every_2_seconds_are_300_windows_per_event(
    pipeline: Pipeline, spark: SparkSession
) -> None:
    # For one row, compiling an expression per window takes far longer than evaluating it.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    result = pipeline.flow("dense").function(events(spark, timedelta(minutes=20, seconds=1)))

    found = seconds(result)

    assert len(found) == 300
    assert (found[0], found[-1]) == ((602, 1202), (1200, 1800))


def test_one_stream_is_counted_in_several_periods_at_once(
    pipeline: Pipeline, spark: SparkSession, tmp_path: Path
) -> None:
    """Two flows read the stream; each gives the rows that its function gives for a batch."""
    minutes = (5, 10, 20, 59, 61)
    arrived = events(spark, *(timedelta(minutes=minute) for minute in minutes))
    arrived.coalesce(1).write.parquet(str(tmp_path / "arrived"))
    functions = [pipeline.flow(name).function for name in ("quarters", "hours")]

    counted = [
        row
        for function in functions
        for row in _streamed(function, spark, tmp_path / "arrived", arrived.schema)
    ]

    assert sorted(
        (
            row.period,
            int(row.start.replace(tzinfo=UTC).timestamp() - MIDNIGHT.timestamp()),
            row.hits,
        )
        for row in counted
    ) == [
        ("1 hour", 0, 4),
        ("1 hour", 3600, 1),
        ("15 minutes", 0, 2),
        ("15 minutes", 900, 1),
        ("15 minutes", 2700, 1),
        ("15 minutes", 3600, 1),
    ]
    assert sorted(counted) == sorted(row for f in functions for row in f(arrived).collect())


def _streamed(
    function: Callable[[DataFrame], DataFrame],
    spark: SparkSession,
    folder: Path,
    schema: StructType,
) -> list[Row]:
    """Return what `function` writes for the files in `folder`, read as a stream."""
    source = spark.readStream.name("events").schema(schema).parquet(str(folder))
    name = f"streamed_{uuid4().hex}"
    query = (
        function(source.withWatermark("at", "1 hour"))
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("update")
        .option("checkpointLocation", str(folder.parent / name))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(90)
    return spark.table(name).collect()


def test_a_flow_is_a_function_of_two_small_dataframes(
    pipeline: Pipeline, spark: SparkSession
) -> None:
    owned = pipeline.flow("owned").function
    seen = spark.createDataFrame([("a", MIDNIGHT), ("b", MIDNIGHT)], "host string, at timestamp")
    owners = spark.createDataFrame([("b", "Ada")], "host string, owner string")

    assert [tuple(row) for row in owned(seen, owners).collect()] == [("b", "Ada")]
