"""Spark reads and writes a cluster that asks for a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.engine.kafka_options import kafka_options
from penstock.engine.kafka_source import raw_range
from penstock.kafka import Admin, create_topic
from penstock.names import TopicName
from support.declared import declared_topic
from support.secured import SecuredKafka, User, secured_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("secured")) as kafka:
        yield kafka


def test_spark_proves_who_it_is(spark: SparkSession, secured: SecuredKafka) -> None:
    connection = secured.connection(User.ADMIN)
    with Admin(connection) as admin:
        create_topic(admin, TopicName("orders"), partition_count=1, replication_factor=1)
    options = kafka_options(connection)
    frame = spark.range(3).select(F.col("id").cast("string").alias("value"))
    frame.write.format("kafka").options(**options).option("topic", "orders").save()
    read = raw_range(spark, declared_topic("orders"), options)
    assert sorted(bytes(row["value"]) for row in read.collect()) == [b"0", b"1", b"2"]
