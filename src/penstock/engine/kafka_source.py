"""Records as Kafka holds them: a topic as a stream, or a range of its offsets as a batch.

What the bytes mean is `decoding.py`. Only committed records are read, headers come along, and
records that are gone before they were read make the query fail instead of being passed over.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.engine.kafka_options import SOURCE_TUNING
from penstock.engine.named_sources import stream_reader
from penstock.kafka import milliseconds_of
from penstock.pipeline import RealTime, StartAt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.kafka import TopicPartition
    from penstock.names import Offset, PipelineName, TopicName
    from penstock.pipeline import Flow, Topic

_ALWAYS = {
    "kafka.isolation.level": "read_committed",
    "includeHeaders": "true",
    "failOnDataLoss": "true",
}

_GROUP_OF_RANGES = {
    # Spark keeps consumers by group and partition, each with megabytes that it has fetched ahead,
    # and would otherwise invent a group for every batch: soon a heap of them. Nothing is committed.
    "kafka.group.id": "penstock.ranges",
}

RAW_SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int, headers array<struct<key:string,value:binary>>"
)
"""The columns of a record before it is decoded."""


def raw_stream(
    spark: SparkSession,
    topic: Topic,
    kafka: Mapping[str, str],
    *,
    flow: Flow,
    pipeline: PipelineName,
) -> DataFrame:
    """Return the records of `topic` as a stream of `flow`, named after the dataset."""
    options = {
        **kafka,
        **SOURCE_TUNING,
        **_ALWAYS,
        **_start(topic.start),
        "subscribe": topic.kafka_name,
        "groupIdPrefix": f"penstock.{pipeline}.{flow.name}",
    }
    if not isinstance(flow.trigger, RealTime):  # which refuses limits
        options |= _limits(topic)
    return stream_reader(spark, topic.name).format("kafka").options(**options).load()


def raw_range(
    spark: SparkSession,
    topic: Topic,
    kafka: Mapping[str, str],
    ranges: Mapping[TopicPartition, tuple[Offset, Offset]] | None = None,
) -> DataFrame:
    """Return the records of `topic` as a batch.

    Args:
        spark: the session.
        topic: which topic.
        kafka: options of the connection.
        ranges: first offset and the one after the last, by partition; None: all there is now.
    """
    options = {**kafka, **SOURCE_TUNING, **_ALWAYS, **_GROUP_OF_RANGES}
    if ranges is None:
        options |= {"subscribe": topic.kafka_name}
    else:
        options |= _bounds(topic.kafka_name, ranges)
    return spark.read.format("kafka").options(**options).load()


def _start(start: StartAt | datetime) -> dict[str, str]:
    if isinstance(start, StartAt):
        return {"startingOffsets": start.value}
    return {
        "startingTimestamp": str(milliseconds_of(start.astimezone(UTC))),
        # A moment after the last record: begin with the next one instead of failing.
        "startingOffsetsByTimestampStrategy": "latest",
    }


def _limits(topic: Topic) -> dict[str, str]:
    limits = {
        "maxOffsetsPerTrigger": topic.most_per_trigger,
        "minPartitions": topic.min_partitions,
    }
    return {name: str(value) for name, value in limits.items() if value is not None}


def _bounds(
    topic: TopicName, ranges: Mapping[TopicPartition, tuple[Offset, Offset]]
) -> dict[str, str]:
    numbers = sorted(where.partition for where in ranges)
    first = {str(where.partition): bounds[0] for where, bounds in ranges.items()}
    after = {str(where.partition): bounds[1] for where, bounds in ranges.items()}
    return {
        "assign": json.dumps({topic: numbers}),
        "startingOffsets": json.dumps({topic: first}),
        "endingOffsets": json.dumps({topic: after}),
    }
