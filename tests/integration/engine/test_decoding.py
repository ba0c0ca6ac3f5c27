"""What becomes of every kind of bytes, format by format; one Spark job per format."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.engine.decoding import BAD_COLUMN, decode
from penstock.engine.kafka_source import RAW_SCHEMA
from penstock.engine.reading import readable
from penstock.pipeline import Topic, bytes_, csv, json, text
from support.declared import declared_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.pipeline import RecordFormat

MOMENT = datetime(2030, 1, 1, 12, tzinfo=UTC)
SCHEMA = "n int, word string, at timestamp, deep struct<x:bigint,list:array<int>>"
NOT_JSON = f"value is not a JSON object of `{SCHEMA}`"
NO_ROW = (None, None, None, None)

GOOD_JSON: dict[bytes | None, Any] = {
    b'{"n":1,"word":"w","at":"2030-01-01T12:00:00.000001Z","deep":{"x":2,"list":[3,null]}}': (
        1,
        "w",
        MOMENT.replace(microsecond=1),
        (2, [3, None]),
    ),
    b"{}": NO_ROW,
    b' {"n" : 1 } \n': (1, None, None, None),
    b'{"n":null}': NO_ROW,
    b'{"n":1,"unknown":[{"y":"}"}]}': (1, None, None, None),
    b'{"N":1}': NO_ROW,
    b'{"n":1,"n":2}': (2, None, None, None),
    b'{"word":5}': (None, "5", None, None),
    '{"word":"\u00e9\U0001f600"}'.encode(): (None, "\u00e9\U0001f600", None, None),
    b'{"at":1893499200}': (None, None, MOMENT, None),
    b'{"at":"2030-01-01T14:00:00+02:00"}': (None, None, MOMENT, None),
}
BAD_JSON: dict[bytes | None, Any] = {
    b"": NOT_JSON,
    b"  ": NOT_JSON,
    b"null": NOT_JSON,
    b"5": NOT_JSON,
    b'"text"': NOT_JSON,
    b"[]": NOT_JSON,
    b'[{"n":1}]': NOT_JSON,
    b'{"n":1': NOT_JSON,
    b'{"n":1}}': NOT_JSON,
    b'{"n":1}} x': NOT_JSON,
    b'{"n":1} x': NOT_JSON,
    b'{"n":1} // x': NOT_JSON,
    b'{"n":1}{"n":2}': NOT_JSON,
    b'{"n":1},{"n":2}': NOT_JSON,
    b'{"n":1}\n{"n":2}': NOT_JSON,
    b'{"n":1},': NOT_JSON,
    b'{"n":1},"word":"w"': NOT_JSON,
    b'{"n":1}\x00': NOT_JSON,
    b"{'n':1}": NOT_JSON,
    b"{n:1}": NOT_JSON,
    b'{"n":"1"}': NOT_JSON,
    b'{"n":1.0}': NOT_JSON,
    b'{"n":4294967296}': NOT_JSON,
    b'{"n":true}': NOT_JSON,
    b'{"at":"yesterday"}': NOT_JSON,
    b'{"deep":{"x":"y"}}': NOT_JSON,
    b'{"deep":{"list":[1,"y"]}}': NOT_JSON,
    b'{"deep":[]}': NOT_JSON,
    b'{"word":"\xff"}': "value is not valid UTF-8",
    b"\xff": "value is not valid UTF-8",
    None: "value is null",
}
CSV_SCHEMA = "word string, n int"
NOT_CSV = f"value is not CSV of `{CSV_SCHEMA}`"
GOOD_CSV: dict[bytes | None, Any] = {
    b"w,1": ("w", 1),
    b",": (None, None),
    b'"a,b",1': ("a,b", 1),
    b'"a""b",1': ('a"b', 1),
    b'"a\nb",1': ("a\nb", 1),
    b" w ,1": (" w ", 1),
    b"\xc3\xa9,1": ("\u00e9", 1),
}
BAD_CSV: dict[bytes | None, Any] = {
    b"": NOT_CSV,
    b"w": NOT_CSV,
    b"w,1,2": NOT_CSV,
    b"w,x": NOT_CSV,
    b"w,1.5": NOT_CSV,
    b"w,1\nv,2": NOT_CSV,
    b'"w': NOT_CSV,
    b"\xff,1": "value is not valid UTF-8",
    None: "value is null",
}


def topic_of(value: RecordFormat, **settings: Any) -> Topic:  # noqa: ANN401 - of many types
    return replace(declared_topic("t"), value=value, **settings)


def raw(
    spark: SparkSession, values: Sequence[bytes | None], keys: Sequence[bytes | None] = ()
) -> DataFrame:
    rows = [
        (keys[number] if keys else None, value, "t", 2, number, MOMENT, 0, None)
        for number, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, RAW_SCHEMA).coalesce(1)


def outcomes(frame: DataFrame) -> list[Any]:
    """Return the reason of each record, or its columns when there is none."""
    return [
        row[BAD_COLUMN] or tuple(_in_utc(row[name]) for name in frame.columns[:-2])
        for row in frame.orderBy("_record.offset").collect()
    ]


def _in_utc(value: Any) -> Any:  # noqa: ANN401 - of many types
    """Return times as they are told; PySpark gives them without a zone, in that of the process."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def test_json_is_either_an_object_of_the_schema_or_undecodable(spark: SparkSession) -> None:
    cases = {**GOOD_JSON, **BAD_JSON}
    found = outcomes(decode(raw(spark, list(cases)), topic_of(json(SCHEMA))))
    assert dict(zip(cases, found, strict=True)) == cases


def test_csv_is_either_a_line_of_the_schema_or_undecodable(spark: SparkSession) -> None:
    cases = {**GOOD_CSV, **BAD_CSV}
    found = outcomes(decode(raw(spark, list(cases)), topic_of(csv(CSV_SCHEMA))))
    assert dict(zip(cases, found, strict=True)) == cases


def test_csv_has_the_separator_and_the_null_of_its_declaration(spark: SparkSession) -> None:
    declared = csv(CSV_SCHEMA, separator=";", null_value="-")
    found = outcomes(decode(raw(spark, [b"a,b;1", b"-;-", b'"";2']), topic_of(declared)))
    assert found == [("a,b", 1), (None, None), ("", 2)]


def test_a_null_in_a_column_that_must_not_be_null_is_undecodable(spark: SparkSession) -> None:
    schema = "n int NOT NULL, word string"
    as_json = outcomes(decode(raw(spark, [b'{"n":1}', b"{}"]), topic_of(json(schema))))
    as_csv = outcomes(decode(raw(spark, [b"1,", b",w"]), topic_of(csv(schema))))
    assert as_json == [(1, None), f"value is not a JSON object of `{schema}`"]
    assert as_csv == [(1, None), f"value is not CSV of `{schema}`"]


def test_text_is_utf_8_and_bytes_are_anything(spark: SparkSession) -> None:
    values = [b"", b"w", "\u00e9".encode(), b"\xff", b"\xed\xa0\x80", None]
    wrong = "value is not valid UTF-8"
    as_text = outcomes(decode(raw(spark, values), topic_of(text())))
    as_bytes = outcomes(decode(raw(spark, values), topic_of(bytes_())))
    assert as_text == [("",), ("w",), ("\u00e9",), wrong, wrong, (None,)]
    assert as_bytes == [(value,) for value in values]


def test_tombstones_of_a_compacted_topic_are_rows_of_nulls(spark: SparkSession) -> None:
    topic = topic_of(json("n int, at timestamp"), compacted=True, event_time="at")
    assert outcomes(decode(raw(spark, [None]), topic)) == [(None, None)]


def test_a_record_without_its_event_time_is_undecodable(spark: SparkSession) -> None:
    topic = topic_of(json("n int, at timestamp"), event_time="at")
    found = outcomes(decode(raw(spark, [b'{"n":1}', b'{"at":"2030-01-01T12:00:00Z"}']), topic))
    assert found == ["event time `at` is null", (None, MOMENT)]


@pytest.mark.parametrize(
    ("key_format", "expected"),
    [
        (text(), ["7,x", '{"n":7}', "\N{REPLACEMENT CHARACTER}", None]),
        (bytes_(), [b"7,x", b'{"n":7}', b"\xff", None]),
        (
            json("n int"),
            ["key is not a JSON object of `n int`", (7,), "key is not valid UTF-8", None],
        ),
        (
            csv("n int, w string"),
            [(7, "x"), "key is not CSV of `n int, w string`", "key is not valid UTF-8", None],
        ),
    ],
    ids=["text", "bytes", "json", "csv"],
)
def test_a_key_is_typed_by_its_format_or_makes_its_record_undecodable(
    spark: SparkSession, key_format: RecordFormat, expected: list[Any]
) -> None:
    keys = [b"7,x", b'{"n":7}', b"\xff", None]
    frame = decode(raw(spark, [b"v"] * 4, keys), topic_of(text(), key_format=key_format))
    rows = frame.orderBy("_record.offset").collect()
    assert [row[BAD_COLUMN] or row["_record"]["key"] for row in rows] == expected


def test_a_text_key_that_is_no_text_keeps_its_bytes(spark: SparkSession) -> None:
    frame = readable(raw(spark, [b"v"], [b"\xff\x00\xfe"]), topic_of(text()))
    assert frame.select(F.col("_record.key").cast("binary")).collect() == [(b"\xff\x00\xfe",)]


def test_flows_see_the_good_records_and_where_they_stood(spark: SparkSession) -> None:
    frame = readable(raw(spark, [b"\xff", b"w"], [None, b"k"]), topic_of(text()))
    (row,) = frame.withColumn("_record", F.col("_record").dropFields("timestamp")).collect()
    assert row.asDict(recursive=True) == {
        "value": "w",
        "_record": {
            "key": "k",
            "topic": "t",
            "partition": 2,
            "offset": 1,
            "headers": None,
        },
    }


def test_each_record_is_parsed_once(spark: SparkSession) -> None:
    """A filter that Spark pushes below the columns would parse a second time."""
    frame = readable(raw(spark, [b"{}"]), topic_of(json(SCHEMA)))
    plan = frame.where("n > 1").select("word")._jdf.queryExecution().optimizedPlan().toString()  # noqa: SLF001
    assert plan.count("from_json") == 1
