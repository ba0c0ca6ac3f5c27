"""Getting workers ready to write, while flows are still being checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.exactly_once.lane_records import lane_records
from penstock.engine.exactly_once.tasks import record_batches
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession


def warm_up_lanes(session: SparkSession) -> None:
    """Start a Python worker and load what the first batch of lanes needs.

    That takes a second or two, which the first batch would take otherwise.
    """
    # One worker, for flows of few records: their lanes then stay where they are open.
    rows = session.range(0, 1, 1, 1)
    records = lane_records(rows.selectExpr("cast(null as binary) AS key", "'' AS value"))
    records.mapInArrow(_read, records.schema).collect()


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        list(record_batches(batch, TopicName("none")))
        yield batch
