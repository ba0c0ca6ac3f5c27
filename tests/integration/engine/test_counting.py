"""What a batch counts of itself: read by partition, returned by the flow, written by target."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from penstock.engine.decoding import SAMPLED_SHARES
from penstock.kafka import TopicPartition
from penstock.names import Partition
from penstock.pipeline import Delivery, Json
from support.producing import send_aborted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from support.flow_runs import FlowLab

WORDS = Json("word string")

pytestmark = pytest.mark.timeout(240)


def long_words(lines: DataFrame, more: DataFrame) -> DataFrame:
    both = lines.select("value").union(more.select("value"))
    return both.where(F.length("value") > 2).select(F.col("value").alias("word"))


@pytest.mark.parametrize("delivery", [Delivery.AT_LEAST_ONCE, Delivery.EXACTLY_ONCE])
def test_records_are_counted_by_partition_whatever_their_offsets(
    lab: FlowLab, delivery: Delivery
) -> None:
    """Markers of transactions take offsets too; so do records that were taken back."""
    lab.dead_letters()
    began = datetime.now(UTC) - timedelta(milliseconds=1)  # Kafka cuts moments down to those
    lines, more = lab.topic("lines"), lab.topic("more", partition_count=1)
    words = lab.topic("words", value=WORDS)
    lab.send(lines, ["a", "long"], partition=0)
    send_aborted(lab.kafka.connection, lines.kafka_name, ["aborted"], partition=0)
    lab.send(lines, ["longer", "b", b"\xff"], partition=1)
    lab.send(more, ["longest"])
    lab.run(long_words, lines, more, into=words, delivery=delivery)

    (batch,) = lab.batches()
    rows = {
        where: count for source in batch.sources for where, count in (source.rows or {}).items()
    }
    assert rows == {
        TopicPartition(lines.kafka_name, Partition(0)): 2,
        TopicPartition(lines.kafka_name, Partition(1)): 3,
        TopicPartition(more.kafka_name, Partition(0)): 1,
    }
    assert batch.undecodable == {"lines": 1, "more": 0}
    for source in batch.sources:
        assert source.times is not None
        assert began <= source.times.first <= source.times.last <= batch.at
        # Offset 0 is in the sample.
        assert set(source.times.shares) == set(SAMPLED_SHARES)
    assert batch.produced == batch.output_rows == 3
    assert batch.written == {words.kafka_name: 3}
    assert not batch.is_stateful
