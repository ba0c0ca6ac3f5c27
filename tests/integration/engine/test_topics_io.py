"""Flows between topics: what arrives, where, and what becomes of records that cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psutil
import pytest

from penstock.engine.dead_letters import write_dead_letters
from penstock.kafka import TopicPartition, partition_for_key
from penstock.names import DatasetName, FlowName, Offset, Partition, PipelineName
from penstock.pipeline import InvalidPipelineError, load_pipeline
from support.flow_io import FlowIO
from support.projects import project
from support.raw_records import RawRecord, send_raw
from support.topic_contents import topic_contents
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

JSON_HEADERS = ((("trace"), b"\x00\xff"), ("trace", None), ("trace", b""))


@pytest.fixture
def shop(kafka: KafkaCluster) -> PipelineName:
    """A pipeline nobody else has, whose dead-letter topic is there."""
    name = f"shop{uuid4().hex}"
    kafka.create_topic(f"{name}.deadletters", partition_count=3)
    return PipelineName(name)


def io_of(
    folder: Path, declarations: str, *, name: PipelineName, spark: SparkSession, at: Connection
) -> FlowIO:
    project(folder, declarations)
    pipeline = load_pipeline(folder, name=name, files=["flows.py"])
    return FlowIO(spark=spark, pipeline=pipeline, connection=at, folder=folder)


def test_undecodable_records_are_counted_left_out_and_kept_byte_for_byte(
    spark: SparkSession,
    kafka: KafkaCluster,
    topic: TopicName,
    shop: PipelineName,
    tmp_path: Path,
) -> None:
    output = kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)
    send_raw(
        kafka.connection,
        topic,
        [
            RawRecord(value=b'{"n":1}', key=b"good", partition=0),
            RawRecord(value=b'{"n":"x"}', key=b"\xfe", headers=JSON_HEADERS, partition=0),
            RawRecord(value=b"\xff\x00", partition=1),
            RawRecord(value=None, key=b"gone", partition=1),
            RawRecord(value=b"later", partition=2),
        ],
    )
    io = io_of(
        tmp_path,
        f"""
ps.topic("orders", value=ps.json("n int"), key_format=ps.bytes(), kafka_name="{topic}")
ps.topic("copies", value=ps.json("n int"), kafka_name="{output}")

@ps.flow(into="copies")
def copy(orders):
    return orders
""",
        name=shop,
        spark=spark,
        at=kafka.connection,
    )

    query = io.run("copy")
    ranges = {
        TopicPartition(topic, Partition(number)): (Offset(0), Offset(end))
        for number, end in ((0, 2), (1, 2), (2, 0))
    }
    flow = io.pipeline.flow("copy")
    count = write_dead_letters(io.reader("copy"), flow, DatasetName("orders"), ranges)

    observed = [item["observedMetrics"] for item in query.recentProgress if item["numInputRows"]]
    counts = [item["penstock_orders"] for item in observed]
    assert [
        (item.undecodable, sum(partition["y"] for partition in item.partitions)) for item in counts
    ] == [(4, 5)]
    assert [record.value for record in topic_contents(kafka.bootstrap, output)] == [b'{"n":1}']
    assert count == 3
    reason = b"value is not a JSON object of `n int`"
    letters = topic_contents(kafka.bootstrap, f"{shop}.deadletters")
    found = {(item.key, item.value, item.headers) for item in letters}
    assert found == {
        (b"\xfe", b'{"n":"x"}', JSON_HEADERS + envelope(topic, b"0", b"1", reason)),
        (None, b"\xff\x00", envelope(topic, b"1", b"0", b"value is not valid UTF-8")),
        (b"gone", None, envelope(topic, b"1", b"1", b"value is null")),
    }


def test_reading_dead_letters_again_and_again_opens_no_more_consumers(
    spark: SparkSession,
    kafka: KafkaCluster,
    topic: TopicName,
    shop: PipelineName,
    tmp_path: Path,
) -> None:
    """Each would keep megabytes of records for minutes: a heap is soon full of them."""
    records = [RawRecord(value=b"broken", partition=0) for _ in range(6)]
    send_raw(kafka.connection, topic, records)
    declarations = f"""
ps.topic("orders", value=ps.json("n int"), kafka_name="{topic}")
ps.topic("copies", value=ps.json("n int"))

@ps.flow(into="copies")
def copy(orders):
    return orders
"""
    io = io_of(tmp_path, declarations, name=shop, spark=spark, at=kafka.connection)
    reader, flow = io.reader("copy"), io.pipeline.flow(FlowName("copy"))

    def fetch(offset: int) -> int:
        bounds = (Offset(offset), Offset(offset + 1))
        ranges = {TopicPartition(topic, Partition(0)): bounds}
        return write_dead_letters(reader, flow, DatasetName("orders"), ranges)

    assert fetch(0) == 1
    before = connections(spark, kafka)
    assert [fetch(offset) for offset in range(1, 6)] == [1] * 5
    eventually(lambda: connections(spark, kafka) <= before, within_seconds=60)


def connections(spark: SparkSession, kafka: KafkaCluster) -> int:
    """Return how many connections to the broker Spark's JVM has."""
    java: Any = spark._jvm  # noqa: SLF001 - PySpark has no other way
    process = psutil.Process(java.java.lang.ProcessHandle.current().pid())
    port = int(kafka.bootstrap.rpartition(":")[2])
    return sum(
        1 for item in process.net_connections("tcp") if item.raddr and item.raddr.port == port
    )


def envelope(
    topic: str, partition: bytes, offset: bytes, reason: bytes
) -> tuple[tuple[str, bytes | None], ...]:
    return (
        ("__connect.errors.topic", topic.encode()),
        ("__connect.errors.partition", partition),
        ("__connect.errors.offset", offset),
        ("penstock.flow", b"copy"),
        ("penstock.class", b"undecodable"),
        ("penstock.reason", reason),
    )


def test_rows_go_where_their_route_says_and_unknown_routes_are_dead_letters(
    spark: SparkSession,
    kafka: KafkaCluster,
    topic: TopicName,
    shop: PipelineName,
    tmp_path: Path,
) -> None:
    """Two flows write `rest`; keys land where every client puts them."""
    hits, rest = (
        kafka.create_topic(f"test-{uuid4().hex}", partition_count=count) for count in (7, 1)
    )
    hosts = [f"host-{number}" for number in range(20)]
    lines = [*hosts, "rest", "lost", "null"]
    send_raw(kafka.connection, topic, [RawRecord(value=x.encode(), partition=1) for x in lines])
    io = io_of(
        tmp_path,
        f"""
ps.topic("lines", kafka_name="{topic}")
ps.topic("hits", value=ps.json("line string"), key="host", kafka_name="{hits}")
ps.topic("rest", kafka_name="{rest}")

@ps.flow(into={{"hit": "hits", "rest": "rest"}})
def split(lines):
    route = F.expr(
        "CASE WHEN value LIKE 'host%' THEN 'hit' WHEN value = 'null' THEN NULL ELSE value END"
    )
    return lines.select(
        "value", F.col("value").alias("line"), F.col("value").alias("host"), "_record",
        route.alias("_route"), F.create_map(F.lit("h"), "value").alias("_headers"),
    )

@ps.flow(into="rest")
def again(lines):
    return lines.where("value = 'rest'")
""",
        name=shop,
        spark=spark,
        at=kafka.connection,
    )

    io.run("split")
    io.run("again")

    stored = topic_contents(kafka.bootstrap, hits)
    assert {(item.partition, item.key, item.value, item.headers) for item in stored} == {
        (
            partition_for_key(host.encode(), 7),
            host.encode(),
            f'{{"line":"{host}"}}'.encode(),
            (("h", host.encode()),),
        )
        for host in hosts
    }
    written = topic_contents(kafka.bootstrap, rest)
    assert [(item.value, item.headers) for item in written] == [
        (b"rest", (("h", b"rest"),)),
        (b"rest", ()),
    ]
    letters = topic_contents(kafka.bootstrap, f"{shop}.deadletters")
    told = {dict(item.headers)["penstock.reason"]: dict(item.headers) for item in letters}
    assert set(told) == {b"unknown route `lost`", b"unknown route `null`"}
    assert told[b"unknown route `lost`"] == {
        "h": b"lost",
        "__connect.errors.topic": topic.encode(),
        "__connect.errors.partition": b"1",
        "__connect.errors.offset": b"21",
        "penstock.flow": b"split",
        "penstock.class": b"code",
        "penstock.reason": b"unknown route `lost`",
    }
    assert all(b'"line":' in (item.value or b"") for item in letters)


def test_null_keys_and_tombstones_pass_through_a_flow(
    spark: SparkSession,
    kafka: KafkaCluster,
    topic: TopicName,
    shop: PipelineName,
    tmp_path: Path,
) -> None:
    output = kafka.create_topic(f"test-{uuid4().hex}", partition_count=1)
    records = [
        RawRecord(value=b"v", key=None, partition=0),
        RawRecord(value=None, key=b"k", partition=0),
        RawRecord(value=b"", key=b"", partition=0),
    ]
    send_raw(kafka.connection, topic, records)
    io = io_of(
        tmp_path,
        f"""
ps.topic("lines", kafka_name="{topic}")
ps.topic("copies", key="key", kafka_name="{output}")

@ps.view
def keyed(lines):
    return lines.select("value", "_record.key")

@ps.flow(into="copies")
def copy(keyed, lines):
    return keyed
""",
        name=shop,
        spark=spark,
        at=kafka.connection,
    )

    io.run("copy")

    stored = topic_contents(kafka.bootstrap, output)
    assert [(item.key, item.value) for item in stored] == [
        (record.key, record.value) for record in records
    ]


def test_a_flow_whose_columns_do_not_fit_is_not_started(
    spark: SparkSession, connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    io = io_of(
        tmp_path,
        f"""
ps.topic("lines", kafka_name="{topic}")
ps.topic("numbers", value=ps.json("n int"), kafka_name="{topic}-numbers")

@ps.flow(into="numbers")
def count(lines):
    return lines
""",
        name=PipelineName("shop"),
        spark=spark,
        at=connection,
    )
    with pytest.raises(InvalidPipelineError) as caught:
        io.run("count")
    assert [problem.code for problem in caught.value.problems] == ["PEN-311", "PEN-312"]
    assert not (tmp_path / "checkpoints").exists()
