"""Dead letters of undecodable records: found again after the batch that counted them, and kept.

A batch only counts what it cannot decode. When it has counted some, exactly what it read is read
again with the same decoder, and the bad records go to the pipeline's dead-letter topic: once, by a
lane that remembers which batches are done (`exactly_once/letters.py`); without one at least once,
and whoever calls remembers (`quarantine.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.decoding import BAD_COLUMN, with_reason
from penstock.engine.envelope import DeadLetterClass, envelope, place_in_file, place_in_topic
from penstock.engine.file_source import LINE_COLUMN, PATH_COLUMN, broken_lines
from penstock.pipeline import Files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.engine.exactly_once.letters import LetterShare
    from penstock.engine.reading import Reader
    from penstock.kafka import TopicPartition
    from penstock.names import DatasetName, Offset
    from penstock.pipeline import Flow


def write_dead_letters(
    reader: Reader,
    flow: Flow,
    dataset: DatasetName,
    ranges: Mapping[TopicPartition, tuple[Offset, Offset]],
    share: LetterShare | None = None,
) -> int:
    """Write the undecodable records of these ranges of a topic, and return how many there were.

    Key, value and headers are untouched, byte for byte; more headers say where the record was.
    With a `share` they are written once, and not at all if they were before.
    """
    if share is not None and share.is_written:
        return 0
    raw = reader.raw_range(dataset, ranges)
    bad = with_reason(raw, reader.topic(dataset)).where(F.col(BAD_COLUMN).isNotNull())
    headers = envelope(
        F.col("headers"),
        origin=place_in_topic(F.col("topic"), F.col("partition"), F.col("offset")),
        flow=flow.name,
        kind=DeadLetterClass.UNDECODABLE,
        reason=F.col(BAD_COLUMN),
    )
    return _write(bad.select("key", "value", headers.alias("headers")), reader, share)


def write_file_dead_letters(
    reader: Reader,
    flow: Flow,
    dataset: DatasetName,
    paths: Sequence[str],
    share: LetterShare | None = None,
) -> int:
    """Write the undecodable lines of these files, and return how many there were.

    With a `share` they are written once, and not at all if they were before.
    """
    files = reader.options.pipeline.dataset(dataset)
    assert isinstance(files, Files)  # noqa: S101 - only watched folders have files
    if not paths or (share is not None and share.is_written):
        return 0
    headers = envelope(
        F.lit(None).cast("array<struct<key:string,value:binary>>"),
        origin=place_in_file(F.col(PATH_COLUMN)),
        flow=flow.name,
        kind=DeadLetterClass.UNDECODABLE,
        reason=F.col(BAD_COLUMN),
    )
    lines = broken_lines(reader.spark, files, paths)
    letters = lines.select(
        F.lit(None).cast("binary").alias("key"),
        F.col(LINE_COLUMN).alias("value"),
        headers.alias("headers"),
    )
    return _write(letters, reader, share)


def _write(letters: DataFrame, reader: Reader, share: LetterShare | None) -> int:
    # Kept and counted first: Spark's writer runs a plan of its own, of which an `Observation` may
    # never hear, and there are few of them.
    kept = letters.persist()
    try:
        count = kept.count()
        if count and share is not None and share.fits(count):
            return share.write(kept)
        if count:
            options = {**reader.options.kafka, "topic": reader.options.pipeline.dead_letters}
            kept.write.format("kafka").options(**options).mode("append").save()
        return count
    finally:
        kept.unpersist()
