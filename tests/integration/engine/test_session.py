"""The session that pipelines get: it speaks Kafka and Delta."""

import os
import sys
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from penstock.engine.exactly_once.warming import warm_up_lanes
from penstock.kafka import Connection
from penstock.names import TopicName


def test_records_go_to_kafka_and_come_back(
    spark: SparkSession, connection: Connection, topic: TopicName
) -> None:
    options = {"kafka.bootstrap.servers": connection.bootstrap}
    rows = spark.range(3).selectExpr("cast(id as string) as key", "concat('v', id) as value")
    rows.write.format("kafka").options(**options, topic=topic).save()

    read = spark.read.format("kafka").options(**options, subscribe=topic).load()

    values = read.selectExpr("cast(key as string)", "cast(value as string)").collect()
    assert sorted(tuple(row) for row in values) == [("0", "v0"), ("1", "v1"), ("2", "v2")]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_tables_are_delta_tables_that_can_be_merged_into(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "table")
    spark.range(3).selectExpr("id", "'old' as state").write.format("delta").save(path)
    spark.range(2, 4).selectExpr("id", "'new' as state").createOrReplaceTempView("changes")

    spark.sql(
        f"MERGE INTO delta.`{path}` t USING changes c ON t.id = c.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )

    rows = spark.read.format("delta").load(path).orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(0, "old"), (1, "old"), (2, "new"), (3, "new")]


def test_python_workers_are_forked_with_their_imports_done_from_a_process_of_one_thread(
    spark: SparkSession,
) -> None:
    def look(_: int) -> tuple[bool, int]:
        imported = "penstock.engine.exactly_once.tasks" in sys.modules
        return imported, psutil.Process(os.getppid()).num_threads()

    warm_up_lanes(spark)

    assert spark.sparkContext.parallelize([0], 1).map(look).collect() == [(True, 1)]
