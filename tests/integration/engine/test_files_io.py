"""Watched folders: each file is read once, broken lines are dead letters, headers are neither."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.engine.dead_letters import write_file_dead_letters
from penstock.kafka import Connection
from penstock.names import DatasetName, PipelineName
from penstock.pipeline import load_pipeline
from support.flow_io import FlowIO
from support.projects import project
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster

FORMATS: dict[str, tuple[str, bytes, list[str | None], set[tuple[bytes, bytes]]]] = {
    "text": ("ps.text()", b"a\n\xff\n\n", ["a", ""], {(b"\xff", b"line is not valid UTF-8")}),
    "json": (
        'ps.json("value string")',
        b'{"value":"a"}\n\n{"value":"b"} x\n{}\n',
        ["a", None],
        {(b'{"value":"b"} x', b"line is not a JSON object of `value string`")},
    ),
    "csv": (
        'ps.csv("value string, n int")',
        b"a,1\n\nb\nvalue,n\n",
        ["a"],
        {
            (b"b", b"line is not CSV of `value string, n int`"),
            (b"value,n", b"line is not CSV of `value string, n int`"),
        },
    ),
    "csv with a header": (
        'ps.csv("value string, n int", header=True)',
        b"Value,N\na,1\n\nb\nc,x\n",
        ["a"],
        {
            (b"b", b"line is not CSV of `value string, n int`"),
            (b"c,x", b"line is not CSV of `value string, n int`"),
        },
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_good_lines_reach_the_flow_and_broken_ones_the_dead_letters(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path, name: str
) -> None:
    declared, content, good, bad = FORMATS[name]
    shop = PipelineName(f"shop{uuid4().hex}")
    kafka.create_topic(f"{shop}.deadletters", partition_count=1)
    project(
        tmp_path,
        f"""
ps.files("lines", "incoming", value={declared})
ps.table("landed")

@ps.flow(into="landed")
def land(lines):
    return lines.select("value")
""",
    )
    (tmp_path / "incoming").mkdir()
    file = tmp_path / "incoming" / "one.txt"
    file.write_bytes(content)
    pipeline = load_pipeline(tmp_path, name=shop, files=["flows.py"])
    io = FlowIO(spark=spark, pipeline=pipeline, connection=kafka.connection, folder=tmp_path)

    query = io.run("land")
    flow = io.pipeline.flow("land")
    count = write_file_dead_letters(io.reader("land"), flow, DatasetName("lines"), [str(file)])

    observed = [item["observedMetrics"]["penstock_lines"] for item in query.recentProgress]
    assert sum(item.undecodable for item in observed) == count == len(bad)
    assert sorted(row[0] or "" for row in io.table("landed").collect()) == sorted(
        value or "" for value in good
    )
    letters = topic_contents(kafka.bootstrap, f"{shop}.deadletters")
    assert {(item.value, dict(item.headers)["penstock.reason"]) for item in letters} == bad
    assert {dict(item.headers)["penstock.file"] for item in letters} == {f"file:{file}".encode()}


def test_parquet_and_orc_files_are_read_by_their_schema(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql("SELECT 1 AS n, 'x' AS more")
    frame.write.parquet(str(tmp_path / "parquet"))
    frame.write.orc(str(tmp_path / "orc"))
    project(
        tmp_path,
        """
ps.files("rows_of_parquet", "parquet", value=ps.parquet("n int"))
ps.files("rows_of_orc", "orc", value=ps.orc("n int"))
ps.table("landed")

@ps.flow(into="landed")
def land(rows_of_parquet, rows_of_orc):
    return rows_of_parquet.unionByName(rows_of_orc)
""",
    )
    pipeline = load_pipeline(tmp_path, name=PipelineName("shop"), files=["flows.py"])
    nowhere = Connection(bootstrap="127.0.0.1:1")
    io = FlowIO(spark=spark, pipeline=pipeline, connection=nowhere, folder=tmp_path)
    io.run("land")
    assert [tuple(row) for row in io.table("landed").collect()] == [(1,), (1,)]
