"""Tables that several flows write, or one flow on several checkpoints."""

from __future__ import annotations

import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from pyspark.sql import functions as F

from penstock.engine.plain_tables import FolderNotFreshError
from penstock.names import DatasetName, PipelineName
from penstock.pipeline import Table, TableFormat, load_pipeline
from support.declared import ORIGIN
from support.flow_io import FlowIO
from support.projects import project
from support.raw_records import RawRecord, send_raw
from support.spark_crashes import uncommit

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName
    from support.flow_runs import FlowLab

DECLARATIONS = """
ps.topic("orders", value=ps.json("id int, n int"), kafka_name="{topic}")
ps.table("history", schema="id int, n int, by string")
ps.table("latest", key="id", schema="id int, n int")

@ps.flow(into="history")
def first(orders):
    return orders.withColumn("by", F.lit("first"))

@ps.flow(into="history")
def second(orders):
    return orders.withColumn("by", F.lit("second"))

@ps.flow(into={{"even": "history", "odd": "history"}})
def routed(orders):
    route = F.when(F.col("id") % 2 == 0, "even").otherwise("odd")
    return orders.withColumns({{"by": F.lit("routed"), "_route": route}})

@ps.flow(into="latest")
def upsert(orders):
    return orders

@ps.flow(into="latest")
def upsert_more(orders):
    return orders.withColumn("n", F.col("n") * 100)
"""
APPENDING = ("first", "second", "routed")

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def io(spark: SparkSession, kafka: KafkaCluster, topic: TopicName, tmp_path: Path) -> FlowIO:
    project(tmp_path, DECLARATIONS.format(topic=topic))
    name = PipelineName(f"shop{uuid4().hex}")
    pipeline = load_pipeline(tmp_path, name=name, files=["flows.py"])
    io = FlowIO(spark=spark, pipeline=pipeline, connection=kafka.connection, folder=tmp_path)
    send_orders(io, range(10))
    return io


def send_orders(io: FlowIO, ids: range) -> None:
    topic = io.reader("first").topic(DatasetName("orders")).kafka_name
    records = [RawRecord(value=f'{{"id":{n},"n":{n}}}'.encode(), partition=0) for n in ids]
    send_raw(io.connection, topic, records)


def counted(io: FlowIO) -> dict[str, int]:
    """Return how many rows each flow has written, and that none of them is there twice."""
    rows = [tuple(row) for row in io.table("history").collect()]
    assert max(Counter(rows).values(), default=1) == 1
    return Counter(by for _, _, by in rows)


def test_flows_that_append_to_one_table_write_each_row_once(io: FlowIO) -> None:
    """Each dies between the commit of Delta and that of Spark, then they run at the same time."""
    for flow in APPENDING:
        io.run(flow)
    once = counted(io)
    for flow in APPENDING:
        uncommit(io.folder / "checkpoints" / flow)
    send_orders(io, range(10, 20))
    with ThreadPoolExecutor(len(APPENDING)) as pool:
        list(pool.map(io.run, APPENDING))

    assert once == dict.fromkeys(APPENDING, 10)
    assert counted(io) == dict.fromkeys(APPENDING, 20)


@pytest.mark.parametrize("flow", ["first", "routed"])
def test_a_new_checkpoint_of_a_flow_is_a_new_beginning(io: FlowIO, flow: str) -> None:
    """Its batches have the numbers of those before, and are written all the same, once."""
    io.run(flow)
    shutil.rmtree(io.folder / "checkpoints" / flow)
    io.run(flow)
    uncommit(io.folder / "checkpoints" / flow)
    io.run(flow)

    rows = Counter(row.id for row in io.table("history").collect())
    assert rows == dict.fromkeys(range(10), 2)


def test_a_batch_run_again_does_not_undo_what_another_flow_wrote_since(io: FlowIO) -> None:
    io.run("upsert")
    io.run("upsert_more")
    uncommit(io.folder / "checkpoints" / "upsert")
    io.run("upsert")
    replayed = {row.id: row.n for row in io.table("latest").collect()}
    send_orders(io, range(5, 6))
    io.run("upsert")

    assert replayed == {n: n * 100 for n in range(10)}
    assert {row.id: row.n for row in io.table("latest").collect()} == {**replayed, 5: 5}


def copy(lines: DataFrame) -> DataFrame:
    return lines.select(F.col("value").alias("word"))


@pytest.mark.parametrize("format_", [TableFormat.PARQUET, TableFormat.ORC])
def test_a_plain_table_takes_one_checkpoint_and_a_fresh_folder(
    lab: FlowLab, format_: TableFormat
) -> None:
    lines = lab.topic("lines", partition_count=1)
    plain = Table(name=DatasetName("plain"), origin=ORIGIN, format=format_)
    folder = lab.folder / "tables" / "plain"

    def words() -> list[str]:
        found = lab.spark.read.format(format_.value).load(str(folder)).collect()
        return sorted(row.word for row in found)

    for word in ("a", "b"):
        lab.send(lines, [word])
        lab.run(copy, lines, into=plain)
    uncommit(lab.checkpoint)
    lab.run(copy, lines, into=plain)
    assert words() == ["a", "b"]

    lab.root.rename(lab.folder / "first")
    with pytest.raises(FolderNotFreshError) as refused:
        lab.query(copy, lines, into=plain).start()
    assert "checkpoint is new" in refused.value.message
    folder.rename(lab.folder / "written")
    lab.run(copy, lines, into=plain)
    assert words() == ["a", "b"]
    shutil.rmtree(folder)
    (lab.folder / "written").rename(folder)
    with pytest.raises(FolderNotFreshError) as refused:
        lab.query(copy, lines, into=plain).start()
    assert "last batch is 0, and there is batch 1" in refused.value.message

    shutil.rmtree(lab.root)
    shutil.rmtree(folder / "_spark_metadata")
    with pytest.raises(FolderNotFreshError):
        lab.query(copy, lines, into=plain).start()
