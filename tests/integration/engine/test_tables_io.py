"""Flows into tables: appended, replaced by key, replaced as a whole; replays change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.engine.flow_errors import TableMissingError
from penstock.engine.tables import BatchIdentity, write_rows
from penstock.engine.writing import OUTPUT_METRIC
from penstock.names import DatasetName, PipelineName
from penstock.pipeline import OutputMode, Table, load_pipeline
from support.declared import ORIGIN
from support.flow_io import FlowIO
from support.projects import project
from support.raw_records import RawRecord, send_raw
from support.spark_crashes import uncommit
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

DECLARATIONS = """
ps.topic("orders", value=ps.json("id int, n int"), kafka_name="{topic}")
ps.topic("odd", value=ps.json("id int"), kafka_name="{output}")
ps.table("history", schema="id bigint, n int, half int", partition_by="half")
ps.table("latest", key="id")
ps.table("totals", schema="id int, total bigint")
ps.table("plain", format="parquet")
ps.table("even", schema="id int, n int")

@ps.flow(into="history")
def append(orders):
    return orders.withColumn("half", F.col("n") % 2)

@ps.flow(into="latest")
def upsert(orders):
    return orders

@ps.flow(into="totals", output_mode="complete")
def sum_up(orders):
    return orders.groupBy("id").agg(F.sum("n").alias("total"))

@ps.flow(into="plain")
def land(orders):
    return orders

@ps.flow(into={{"even": "even", "odd": "odd"}})
def split(orders):
    route = F.when(F.col("id") % 2 == 0, "even").when(F.col("id") % 2 == 1, "odd")
    return orders.withColumn("_route", F.coalesce(route, F.lit("nowhere")))
"""


@pytest.fixture
def io(spark: SparkSession, kafka: KafkaCluster, topic: TopicName, tmp_path: Path) -> FlowIO:
    name = f"shop{uuid4().hex}"
    kafka.create_topic(f"{name}.deadletters", partition_count=1)
    output = kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)
    project(tmp_path, DECLARATIONS.format(topic=topic, output=output))
    pipeline = load_pipeline(tmp_path, name=PipelineName(name), files=["flows.py"])
    return FlowIO(spark=spark, pipeline=pipeline, connection=kafka.connection, folder=tmp_path)


def send_orders(io: FlowIO, *values: tuple[int | None, int]) -> None:
    topic = io.reader("append").topic(DatasetName("orders")).kafka_name
    records = [
        RawRecord(
            value=f'{{"id":{"null" if order is None else order},"n":{n}}}'.encode(), partition=0
        )
        for order, n in values
    ]
    send_raw(io.connection, topic, records)


def forget_commit(io: FlowIO, flow: str) -> None:
    """Leave a checkpoint as a crash does between the write of a batch and its commit."""
    uncommit(io.folder / "checkpoints" / flow)


def rows(io: FlowIO, table: str) -> list[tuple[int | None, ...]]:
    return sorted(tuple(row) for row in io.table(table).collect())


def written(query: StreamingQuery) -> list[int]:
    return [
        item["observedMetrics"][OUTPUT_METRIC].rows
        for item in query.recentProgress
        if item["numInputRows"]
    ]


def test_rows_are_appended_once_also_when_a_batch_is_run_again(io: FlowIO) -> None:
    send_orders(io, (1, 10), (2, 21))
    assert written(io.run("append")) == [2]
    forget_commit(io, "append")
    io.run("append")
    assert rows(io, "history") == [(1, 10, 0), (2, 21, 1)]
    assert io.table("history").dtypes[0] == ("id", "bigint")
    assert (io.folder / "tables" / "history" / "half=1").is_dir()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_rows_of_one_key_replace_each_other_and_the_last_of_a_batch_counts(io: FlowIO) -> None:
    send_orders(io, (1, 10), (2, 20), (1, 11))
    assert written(io.run("upsert")) == [3]
    forget_commit(io, "upsert")
    io.run("upsert")
    assert rows(io, "latest") == [(1, 11), (2, 20)]
    send_orders(io, (2, 21), (3, 30))
    io.run("upsert")
    assert rows(io, "latest") == [(1, 11), (2, 21), (3, 30)]


def test_complete_output_replaces_the_table(io: FlowIO) -> None:
    send_orders(io, (1, 10), (2, 20))
    io.run("sum_up")
    send_orders(io, (1, 5))
    io.run("sum_up")
    assert rows(io, "totals") == [(1, 15), (2, 20)]


def test_plain_tables_are_folders_of_files(io: FlowIO) -> None:
    send_orders(io, (1, 10))
    io.run("land")
    found = io.spark.read.parquet(str(io.folder / "tables" / "plain")).collect()
    assert [tuple(row) for row in found] == [(1, 10)]


def test_a_flow_may_route_to_a_table_and_a_topic(io: FlowIO) -> None:
    send_orders(io, (1, 10), (2, 20), (None, 0))
    assert written(io.run("split")) == [3]
    topics = [
        f"{io.pipeline.name}.deadletters",
        io.reader("split").topic(DatasetName("odd")).kafka_name,
    ]
    dead, odd = (topic_contents(io.connection.bootstrap, name) for name in topics)
    assert rows(io, "even") == [(2, 20)]
    assert [item.value for item in odd] == [b'{"id":1}']
    assert [dict(item.headers)["penstock.reason"] for item in dead] == [b"unknown route `nowhere`"]
    forget_commit(io, "split")
    io.run("split")
    assert rows(io, "even") == [(2, 20)]


def test_a_batch_of_another_checkpoint_is_not_taken_for_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table(name=DatasetName("t"), origin=ORIGIN)
    path = str(tmp_path / "t")
    for query_id, batch_id in (("a", 0), ("a", 0), ("a", 1), ("b", 0)):
        identity = BatchIdentity(query_id=query_id, batch_id=batch_id)
        frame = spark.sql(f"SELECT '{query_id}' AS q, {batch_id} AS b")
        write_rows(frame, table, path, mode=OutputMode.APPEND, identity=identity)
    found = spark.read.format("delta").load(path).collect()
    assert sorted(tuple(row) for row in found) == [("a", 0), ("a", 1), ("b", 0)]


def test_a_table_that_flows_read_is_there_from_the_first_start(io: FlowIO) -> None:
    reader = io.reader("append")
    assert reader.stream(DatasetName("history")).columns == ["id", "n", "half"]  # type: ignore[union-attr]
    with pytest.raises(TableMissingError) as caught:
        reader.stream(DatasetName("latest"))
    assert caught.value.code == "PEN-319"
