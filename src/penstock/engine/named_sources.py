"""Streams that checkpoints know by name, where a session has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"


def stream_reader(spark: SparkSession, name: str) -> DataStreamReader:
    """Return a reader of the stream `name`.

    Functions of Spark Declarative Pipelines open sources themselves, which have no names; Spark
    wants names for all sources of a session or for none.
    """
    if spark.conf.get(SOURCE_EVOLUTION) == "true":
        return spark.readStream.name(name)
    return spark.readStream
