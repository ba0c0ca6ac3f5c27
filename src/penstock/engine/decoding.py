"""Decoding: the bytes of a record become columns, and what cannot is told apart with a reason.

Everything here is one expression of Spark's own functions per key and value: no Python runs per
record, and nothing throws for a wrong one. Whoever reads counts the rows with a reason, and drops
them; `dead_letters.py` finds them again.

JSON is read strictly: text after the object, a second object, a wrong type or single quotes make a
record undecodable, which `from_json` alone would let pass. It sees the record in an array of our
own with a mark behind it: what does not end where it should never reaches the mark. Three things
stay lenient: a string column takes any JSON value as its text, of a field given twice the last
counts, and a number for a timestamp is seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Protocol, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from penstock.engine.schemas import struct_of
from penstock.pipeline import (
    RECORD_COLUMN,
    Avro,
    Bytes,
    Contract,
    Csv,
    Json,
    JsonSchema,
    Protobuf,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from penstock.names import DatasetName
    from penstock.pipeline import RecordFormat, Topic

BAD_COLUMN = "__bad"
"""Why a record cannot be decoded, null for those that can."""

CORRUPT_COLUMN = "__corrupt"
"""The text that Spark's own parsers could not read."""

METRIC_PREFIX = "penstock_"
"""Before the name of a dataset: what a batch observed of it.

These are `undecodable`; `partitions`: how many were read of each; `first` and `last`: the oldest
and the newest timestamp in microseconds since 1970; `sampled`: timestamps by `SAMPLED_SHARES`.
"""

SAMPLED_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
"""A batch tells before which moments these shares of its records were stamped."""

MOST_PARTITIONS = 4096
"""Of a topic whose records are counted by partition. A histogram is exact while it has no more
values than bars, and costs the same for any number; an aggregate for each partition would not."""

_SAMPLED = "__sampled"
_SAMPLE_MASK = 63
"""Of so many and one records, one is looked at for percentiles: by its offset, which is free."""

_PERCENTILE_ACCURACY = 1000

_VALUE, _KEY = "__value", "__key"
_PLACE = ("partition", "offset", "timestamp", "headers")
_BODY, _MARK = "penstock_body", "penstock_mark"


class Decoder(Protocol):
    """How one format is read; `parsed` is evaluated once per record, the rest looks into it."""

    def parsed(self, source: Column) -> Column:
        """Return the expression that does the work on the bytes or text in `source`."""

    def columns(self, parsed: Column) -> list[Column]:
        """Return the named columns of the format."""

    def whole(self, parsed: Column) -> Column:
        """Return what the format holds as one column: a value, or a struct."""

    def reason(self, source: Column, parsed: Column, what: str) -> Column:
        """Return why `what` cannot be decoded, null if it can; the source is not null."""


def decode(raw: DataFrame, topic: Topic) -> DataFrame:
    """Return the columns of the value, `_record` and `__bad` of records as Kafka's source has them.

    A null value is a record of null columns for text and bytes, and in compacted topics, where it
    deletes its key; elsewhere it is undecodable. So is a record without its event time.
    """
    return _finished(_judged(raw, topic), topic, BAD_COLUMN)


def good_records(raw: DataFrame, topic: Topic) -> DataFrame:
    """Return the columns of the value and `_record` of what can be decoded, and count the rest.

    Counting is a wall for Spark's optimizer: whatever is computed below it is computed for every
    record. So `_record`, which few flows look into, is put together above.
    """
    return _finished(counted(_judged(raw, topic), topic.name), topic)


def _judged(raw: DataFrame, topic: Topic) -> DataFrame:
    """Return the parsed value and key, the place of the record, and `__bad`."""
    value, key = decoder_of(topic.value), decoder_of(topic.key_format)
    parsed = raw.select(
        "*",
        value.parsed(F.col("value")).alias(_VALUE),
        key.parsed(F.col("key")).alias(_KEY),
    )
    return parsed.select(_VALUE, _KEY, *_PLACE, _reason(topic, value, key).alias(BAD_COLUMN))


def _finished(judged: DataFrame, topic: Topic, *more: str) -> DataFrame:
    value, key = decoder_of(topic.value), decoder_of(topic.key_format)
    record = F.struct(
        key.whole(F.col(_KEY)).alias("key"), F.lit(topic.kafka_name).alias("topic"), *_PLACE
    )
    return judged.select(*value.columns(F.col(_VALUE)), record.alias(RECORD_COLUMN), *more)


def decode_lines(lines: DataFrame, format_: Text | Json | Csv) -> DataFrame:
    """Return the columns of lines of text in the column `value`, with `__bad`."""
    decoder = decoder_of(format_)
    parsed = lines.select("*", decoder.parsed(F.col("value")).alias(_VALUE))
    return parsed.select(
        *decoder.columns(F.col(_VALUE)),
        decoder.reason(F.col("value"), F.col(_VALUE), "line").alias(BAD_COLUMN),
    )


def with_reason(raw: DataFrame, topic: Topic) -> DataFrame:
    """Return the records as they are, with `__bad` beside their bytes."""
    value, key = decoder_of(topic.value), decoder_of(topic.key_format)
    parsed = raw.select(
        "*",
        value.parsed(F.col("value")).alias(_VALUE),
        key.parsed(F.col("key")).alias(_KEY),
    )
    return parsed.select(*raw.columns, _reason(topic, value, key).alias(BAD_COLUMN))


def lines_with_reason(lines: DataFrame, format_: Text | Json | Csv) -> DataFrame:
    """Return the lines as they are, with `__bad` beside them."""
    decoder = decoder_of(format_)
    parsed = lines.select("*", decoder.parsed(F.col("value")).alias(_VALUE))
    reason = decoder.reason(F.col("value"), F.col(_VALUE), "line")
    return parsed.select(*lines.columns, reason.alias(BAD_COLUMN))


def counted(decoded: DataFrame, name: DatasetName) -> DataFrame:
    """Return the good rows of `decoded`; each batch tells what `METRIC_PREFIX` lists."""
    counts = [F.count(BAD_COLUMN).alias("undecodable")]
    if "partition" in decoded.columns:  # lines of files have none
        bars = F.histogram_numeric("partition", F.lit(MOST_PARTITIONS))
        counts += [bars.alias("partitions"), *_times()]
        decoded = decoded.withColumn(_SAMPLED, _sampled())
    observed = decoded.observe(f"{METRIC_PREFIX}{name}", *counts)
    return observed.where(F.col(BAD_COLUMN).isNull()).drop(BAD_COLUMN, _SAMPLED)


def _sampled() -> Column:
    """Return the timestamp of a few records, null for most.

    A column, because Spark compiles columns; what `observe` computes, it interprets per record.
    """
    is_chosen = F.col("offset").bitwiseAND(F.lit(_SAMPLE_MASK)) == 0
    return F.when(is_chosen, F.unix_micros("timestamp"))


def _times() -> list[Column]:
    shares = F.percentile_approx(_SAMPLED, list(SAMPLED_SHARES), _PERCENTILE_ACCURACY)
    return [
        F.unix_micros(F.min("timestamp")).alias("first"),
        F.unix_micros(F.max("timestamp")).alias("last"),
        shares.alias("sampled"),
    ]


def decoder_of(format_: RecordFormat) -> Decoder:
    """Return how `format_` is read."""
    match format_:
        case Text():
            return _TextDecoder()
        case Bytes():
            return _BytesDecoder()
        case Json(schema=schema):
            return _JsonDecoder(schema)
        case Csv():
            return _CsvDecoder(format_)
        case Contract():
            from penstock.engine.contracts.formats import decoder

            return decoder(format_)
        case Avro() | JsonSchema() | Protobuf():
            raise AssertionError(format_)  # contracts take their place before anything is read
        case _:
            assert_never(format_)


def _reason(topic: Topic, value: Decoder, key: Decoder) -> Column:
    reason = F.when(
        F.col("value").isNotNull(), value.reason(F.col("value"), F.col(_VALUE), "value")
    )
    if isinstance(topic.value, Json | Csv | Contract) and not topic.compacted:
        reason = reason.otherwise(F.lit("value is null"))
    reasons = [reason]
    # A text key is taken as it is, binary ones too: its bytes stay the same on the way through, few
    # flows look at it, and checking it costs a filter as much as checking its value.
    if isinstance(topic.key_format, Json | Csv | Contract):
        key_reason = key.reason(F.col("key"), F.col(_KEY), "key")
        reasons.append(F.when(F.col("key").isNotNull(), key_reason))
    if topic.event_time is not None:
        event_time = value.whole(F.col(_VALUE)).getField(topic.event_time)
        without = F.col("value").isNotNull() & event_time.isNull()
        reasons.append(F.when(without, F.lit(f"event time `{topic.event_time}` is null")))
    return F.coalesce(*reasons)


def _valid_text(source: Column) -> Column:
    """Return the text of `source`, null when it is not valid UTF-8."""
    return F.try_validate_utf8(source.cast("string"))


class _TextDecoder:
    def parsed(self, source: Column) -> Column:
        return source.cast("string")

    def columns(self, parsed: Column) -> list[Column]:
        return [parsed.alias("value")]

    def whole(self, parsed: Column) -> Column:
        return parsed

    def reason(self, source: Column, parsed: Column, what: str) -> Column:  # noqa: ARG002 - the text says it
        return F.when(~F.is_valid_utf8(parsed), F.lit(f"{what} is not valid UTF-8"))


class _BytesDecoder:
    def parsed(self, source: Column) -> Column:
        return source

    def columns(self, parsed: Column) -> list[Column]:
        return [parsed.alias("value")]

    def whole(self, parsed: Column) -> Column:
        return parsed

    def reason(self, source: Column, parsed: Column, what: str) -> Column:  # noqa: ARG002 - nothing is wrong with bytes
        return F.lit(None).cast("string")


@dataclass(frozen=True, slots=True)
class _JsonDecoder:
    schema: str

    def parsed(self, source: Column) -> Column:
        before, after = F.lit(f'{{"{_BODY}":['), F.lit(f'],"{_MARK}":1}}')
        text = F.concat(before, _valid_text(source), after)
        return F.from_json(text, self._wrapper(), json_reading_options())

    def columns(self, parsed: Column) -> list[Column]:
        body = self.whole(parsed)
        return [body.getField(name).alias(name) for name in struct_of(self.schema).names]

    def whole(self, parsed: Column) -> Column:
        return F.get(parsed.getField(_BODY), F.lit(0))

    def reason(self, source: Column, parsed: Column, what: str) -> Column:
        bad = (
            parsed.getField(CORRUPT_COLUMN).isNotNull()
            | parsed.getField(_MARK).isNull()
            | self.whole(parsed).isNull()
            | F.get(parsed.getField(_BODY), F.lit(1)).isNotNull()
            | _lacks_required(self.schema, self.whole(parsed))
        )
        named = F.lit(f"{what} is not a JSON object of `{self.schema}`")
        return F.when(bad, _unless_utf8(source, what, named))

    def _wrapper(self) -> StructType:
        return StructType(
            [
                StructField(_BODY, ArrayType(struct_of(self.schema))),
                StructField(_MARK, IntegerType()),
                StructField(CORRUPT_COLUMN, StringType()),
            ]
        )


@dataclass(frozen=True, slots=True)
class _CsvDecoder:
    format: Csv

    def parsed(self, source: Column) -> Column:
        fields = [*struct_of(self.format.schema).fields, StructField(CORRUPT_COLUMN, StringType())]
        return F.from_csv(
            _valid_text(source), StructType(fields).toDDL(), csv_reading_options(self.format)
        )

    def columns(self, parsed: Column) -> list[Column]:
        return [parsed.getField(name).alias(name) for name in struct_of(self.format.schema).names]

    def whole(self, parsed: Column) -> Column:
        return F.when(parsed.isNotNull(), F.struct(*self.columns(parsed)))

    def reason(self, source: Column, parsed: Column, what: str) -> Column:
        bad = (
            parsed.isNull()
            | parsed.getField(CORRUPT_COLUMN).isNotNull()
            | _lacks_required(self.format.schema, parsed)
        )
        if len(struct_of(self.format.schema)) > 1:
            # An empty text has one empty field, but Spark gives a row of nulls and no complaint.
            bad = bad | (F.length(source) == 0)
        named = F.lit(f"{what} is not CSV of `{self.format.schema}`")
        return F.when(bad, _unless_utf8(source, what, named))


def _lacks_required(schema: str, whole: Column) -> Column:
    """Tell whether a column that is declared `NOT NULL` is null, which Spark's parsers ignore."""
    required = [field.name for field in struct_of(schema) if not field.nullable]
    nulls = (whole.getField(name).isNull() for name in required)
    return reduce(or_, nulls, F.lit(False))  # noqa: FBT003 - a literal of Spark


def _unless_utf8(source: Column, what: str, reason: Column) -> Column:
    not_text = _valid_text(source).isNull()
    return F.when(not_text, F.lit(f"{what} is not valid UTF-8")).otherwise(reason)


def json_reading_options() -> Mapping[str, str]:
    """Return the options of `from_json` that make it as strict as it can be."""
    return {
        "columnNameOfCorruptRecord": CORRUPT_COLUMN,
        "allowSingleQuotes": "false",
        "timeZone": "UTC",
    }


def csv_reading_options(format_: Csv) -> Mapping[str, str]:
    """Return the options by which lines of `format_` are read."""
    return {
        "columnNameOfCorruptRecord": CORRUPT_COLUMN,
        "sep": format_.separator,
        "nullValue": format_.null_value,
        # A quote inside quotes is doubled, as RFC 4180 has it; Spark's default is a backslash.
        "escape": '"',
        "timeZone": "UTC",
    }
