"""What the hand-written programs share: their arguments, a session, the Kafka source and sink.

`default` leaves every option of source and clients as Spark and Kafka have it; `tuned` sets those
that Penstock sets. The number of shuffle partitions, RocksDB and the limit per trigger are the same
for both, as they are in the comparison.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from penstock.java import JarSet, ensure_jars, find_java
from penstock.settings import load_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BLOCKED_OCTETS = (10, 11, 12, 13, 14, 15, 16, 91, 92, 112, 126, 163, 194, 198, 212, 224)
MAX_OFFSETS_PER_TRIGGER = 500_000
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Options(StrEnum):
    """Which options of the Kafka source and its clients a program sets."""

    DEFAULT = "default"
    TUNED = "tuned"


TUNED_SOURCE = {
    "kafka.max.poll.records": "20000",
    "kafka.fetch.max.bytes": str(64 * 1024 * 1024),
    "kafka.max.partition.fetch.bytes": str(8 * 1024 * 1024),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What a program is started with."""

    bootstrap: str
    source: str
    sink: str
    checkpoint: str
    options: Options
    master: str


def arguments(description: str | None) -> Arguments:
    """Return the arguments of this process."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--source", required=True, help="the topic to read")
    parser.add_argument("--sink", required=True, help="the topic to write")
    parser.add_argument("--checkpoint", required=True, help="a folder; a new one starts anew")
    parser.add_argument("--options", type=Options, default=Options.DEFAULT, choices=list(Options))
    parser.add_argument("--master", default="local[2]")
    return Arguments(**vars(parser.parse_args()))


def session(given: Arguments) -> SparkSession:
    """Return a session as the documentation of Spark's Kafka connector describes it."""
    settings = load_settings().java
    java = find_java(cache_dir=settings.cache_dir)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("JAVA_HOME", str(java.executable.parent.parent))
    jars = ",".join(map(str, ensure_jars(JarSet.SPARK, settings, java=java)))
    spark = (
        SparkSession.builder.master(given.master)
        .appName("hand-written")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "3g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def read(spark: SparkSession, given: Arguments, *, limited: bool = True) -> DataFrame:
    """Return the stream of the source topic from its beginning.

    Args:
        spark: the session.
        given: names the topic and the options.
        limited: whether a batch takes `MAX_OFFSETS_PER_TRIGGER`; real-time mode refuses limits.
    """
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given.bootstrap)
        .option("subscribe", given.source)
        .option("startingOffsets", "earliest")
    )
    if limited:
        reader = reader.option("maxOffsetsPerTrigger", MAX_OFFSETS_PER_TRIGGER)
    if given.options is Options.TUNED:
        reader = reader.options(**TUNED_SOURCE)
    return reader.load()


def write(rows: DataFrame, given: Arguments, *, output_mode: str = "append") -> DataStreamWriter:
    """Return the writer of `rows` to the sink topic; the caller adds a trigger and starts it."""
    return (
        rows.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", given.bootstrap)
        .option("topic", given.sink)
        .option("checkpointLocation", given.checkpoint)
        .outputMode(output_mode)
    )


def fraud_filter(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return the lines whose host has a blocked first octet, keyed by host."""
    values = ",".join(f"('{octet}')" for octet in BLOCKED_OCTETS)
    blocked = spark.sql(f"SELECT * FROM VALUES {values} AS blocked(octet)")  # noqa: S608 - numbers
    return (
        records.selectExpr("CAST(value AS STRING) AS line")
        .selectExpr("line", "substring_index(line, ' ', 1) AS host")
        .selectExpr("line", "host", "substring_index(host, '.', 1) AS octet")
        .join(blocked, "octet", "left_semi")
        .selectExpr("host AS key", "line AS value")
    )
