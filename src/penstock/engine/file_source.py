"""Watched folders: files that are moved into one are read once, by lines or by their own format.

Lines of text, JSON and CSV are read as text and decoded by our own decoder, so that a broken line
is found and not turned into nulls. CSV files of which the first line names the columns are read by
Spark's own reader, because nobody else knows which line is the first; it puts U+FFFD in the place
of bytes that are not UTF-8. Blank lines of JSON and CSV files are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.engine.decoding import (
    BAD_COLUMN,
    CORRUPT_COLUMN,
    counted,
    csv_reading_options,
    decode_lines,
    lines_with_reason,
)
from penstock.engine.named_sources import stream_reader
from penstock.engine.schemas import named, struct_of
from penstock.engine.tables import absolute
from penstock.pipeline import Csv, Json, Orc, Parquet, Text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from penstock.pipeline import Files

LINE_COLUMN, PATH_COLUMN = "__line", "__path"


def file_stream(spark: SparkSession, files: Files, folder: Path) -> DataFrame:
    """Return the good rows of a watched folder; relative paths start at `folder`."""
    source = stream_reader(spark, files.name)
    if files.most_files_per_trigger is not None:
        source = source.option("maxFilesPerTrigger", files.most_files_per_trigger)
    return _good_rows(source, files, folder)


def file_batch(spark: SparkSession, files: Files, folder: Path) -> DataFrame:
    """Return the good rows of all files that are in the folder, as a batch."""
    return _good_rows(spark.read, files, folder)


def _good_rows(source: DataFrameReader | DataStreamReader, files: Files, folder: Path) -> DataFrame:
    path = absolute(files.path, folder)
    match files.value:
        case Parquet(schema=schema):
            return source.schema(schema).parquet(path)
        case Orc(schema=schema):
            return source.schema(schema).orc(path)
        case Csv(header=True):
            options = source.schema(_with_corrupt(files.value)).options(**_header(files.value))
            return counted(_judged(options.csv(path), files.value), files.name).drop(CORRUPT_COLUMN)
        case Text() | Json() | Csv():
            lines = _not_blank(source.text(path), files.value)
            return counted(decode_lines(lines, files.value), files.name)
        case _:
            assert_never(files.value)


def broken_lines(spark: SparkSession, files: Files, paths: Sequence[str]) -> DataFrame:
    """Return the lines of these files that cannot be decoded: `__line`, `__path`, `__bad`.

    Files of Parquet and ORC have no lines: one that is broken makes the query fail.
    """
    path = F.col("_metadata.file_path").alias(PATH_COLUMN)
    match files.value:
        case Csv(header=True):
            options = spark.read.schema(_with_corrupt(files.value)).options(**_header(files.value))
            rows = _judged(options.csv(list(paths)).select("*", path), files.value)
            line = F.col(CORRUPT_COLUMN)
        case Text() | Json() | Csv():
            lines = spark.read.text(list(paths)).select("value", path)
            rows = lines_with_reason(_not_blank(lines, files.value), files.value)
            line = F.col("value")
        case Parquet() | Orc():
            raise AssertionError(files.value)
        case _:
            assert_never(files.value)
    broken = rows.where(F.col(BAD_COLUMN).isNotNull())
    return broken.select(line.cast("binary").alias(LINE_COLUMN), PATH_COLUMN, BAD_COLUMN)


def _not_blank(lines: DataFrame, format_: Text | Json | Csv) -> DataFrame:
    return lines if isinstance(format_, Text) else lines.where(F.trim("value") != "")


def _judged(rows: DataFrame, format_: Csv) -> DataFrame:
    # Spark's reader looks only at the columns that a plan reads: a flow that takes one column would
    # not be told of faults in the others. So the reason reads all of them, and keeps nothing.
    names = struct_of(format_.schema).names
    nothing = (F.left(named(name).cast("string"), F.lit(0)) for name in names)
    reason = F.concat_ws("", F.lit(f"line is not CSV of `{format_.schema}`"), *nothing)
    return rows.withColumn(BAD_COLUMN, F.when(F.col(CORRUPT_COLUMN).isNotNull(), reason))


def _with_corrupt(format_: Csv) -> StructType:
    fields = struct_of(format_.schema).fields
    return StructType([*fields, StructField(CORRUPT_COLUMN, StringType())])


def _header(format_: Csv) -> dict[str, str]:
    return {**csv_reading_options(format_), "header": "true"}
