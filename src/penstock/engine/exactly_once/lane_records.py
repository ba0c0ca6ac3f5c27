"""What lanes are given: records in bytes, each with a fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.exactly_once.tasks import FINGERPRINT_COLUMN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lane_records(records: DataFrame) -> DataFrame:
    """Return `records` as lanes take them; key and value may be texts.

    Of a stream it is computed with the rest of the flow; of a batch it is planned once more, which
    takes some 30 ms.
    """
    columns = [
        records[name].cast("binary").alias(name) if name in ("key", "value") else records[name]
        for name in records.columns
    ]
    return records.select(*columns).withColumn(FINGERPRINT_COLUMN, F.xxhash64("key", "value"))
