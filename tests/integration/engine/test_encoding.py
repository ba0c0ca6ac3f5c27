"""Rows become records that read back as the same rows; keys, headers and tombstones."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from penstock.engine.decoding import BAD_COLUMN, decode
from penstock.engine.encoding import column_problems, encode
from penstock.engine.schemas import struct_of
from penstock.pipeline import Table, Topic, bytes_, csv, json, text
from support.declared import ORIGIN, declared_flow, declared_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.pipeline import RecordFormat

SIMPLE = (
    "s string, i int, l bigint, h smallint, t tinyint, d double, f float, n decimal(38,18),"
    " b boolean, da date, ts timestamp, nz timestamp_ntz"
)
NESTED = (
    "bi binary, a array<int>, st struct<x:int,y:string>, m map<string,bigint>,"
    " ast array<struct<q:timestamp>>"
)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)
SIMPLE_ROWS: list[tuple[Any, ...]] = [
    (
        'a"b,\n\u00e9\U0001f600',
        2**31 - 1,
        -(2**63),
        -(2**15),
        127,
        1e308,
        1.5,
        Decimal("12345678901234567890.123456789012345678"),
        True,
        date(1, 1, 1),
        datetime(2030, 1, 1, 1, 2, 3, 123456, UTC),
        datetime(2030, 1, 1, 1, 2, 3, 1, UTC).replace(tzinfo=None),
    ),
    (
        " x ",
        0,
        0,
        0,
        0,
        float("inf"),
        float("-inf"),
        Decimal("-1E-18"),
        False,
        date(9999, 12, 31),
        LAST,
        datetime(1, 1, 1, tzinfo=UTC).replace(tzinfo=None),
    ),
    (
        "'\\t",
        -1,
        2**63 - 1,
        1,
        1,
        5e-324,
        -0.0,
        Decimal(0),
        False,
        date(1582, 10, 4),
        datetime(1, 1, 2, tzinfo=UTC),
        LAST.replace(tzinfo=None),
    ),
    (None,) * 12,
]
NESTED_ROWS: list[tuple[Any, ...]] = [
    (b"\x00\xff", [1, None], (1, None), {"k": None, "z": 1}, [(LAST,)]),
    (b"", [], (None, None), {}, []),
    (b"x", [0], (None, ""), {"": 1}, [(None,), (datetime(1969, 1, 1, tzinfo=UTC),)]),
    (None,) * 5,
]


def topic_of(value: RecordFormat, **settings: Any) -> Topic:  # noqa: ANN401 - of many types
    return replace(declared_topic("t"), value=value, **settings)


def read_back(records: DataFrame, topic: Topic) -> DataFrame:
    """Return what a reader sees of encoded records, in a column of their order."""
    raw = records.select(
        F.col("key").cast("binary"),
        F.col("value").cast("binary"),
        F.lit("t").alias("topic"),
        F.lit(0).alias("partition"),
        F.monotonically_increasing_id().alias("offset"),
        F.current_timestamp().alias("timestamp"),
        F.lit(None).cast("array<struct<key:string,value:binary>>").alias("headers"),
    )
    return decode(raw, topic)


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (
            json(f"{SIMPLE}, {NESTED}"),
            [a + b for a, b in zip(SIMPLE_ROWS, NESTED_ROWS, strict=True)],
        ),
        (csv(SIMPLE, null_value="\\N"), [*SIMPLE_ROWS, ("", *SIMPLE_ROWS[0][1:])]),
        (csv(SIMPLE, separator="|"), SIMPLE_ROWS),
        (text(), [("",), ("a\n\u00e9",), (None,)]),
        (bytes_(), [(b"",), (b"\xff\x00",), (None,)]),
    ],
    ids=["json", "csv", "csv with bars", "text", "bytes"],
)
def test_what_is_written_reads_back_equal(
    spark: SparkSession, value: RecordFormat, rows: list[tuple[Any, ...]]
) -> None:
    topic = topic_of(value)
    schema = getattr(value, "schema", "value string" if value == text() else "value binary")
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    found = read_back(encode(frame, topic), topic).collect()
    assert [row[BAD_COLUMN] for row in found] == [None] * len(rows)
    assert [tuple(row)[:-2] for row in found] == [tuple(row) for row in frame.collect()]


def test_not_a_number_stays_not_a_number(spark: SparkSession) -> None:
    """It equals nothing, not even itself, hence a test of its own."""
    for value in (json("d double"), csv("d double")):
        frame = spark.createDataFrame([(float("nan"),)], "d double")
        (row,) = read_back(encode(frame, topic_of(value)), topic_of(value)).collect()
        assert str(row["d"]) == "nan"


def test_json_says_null_and_times_in_utc_whatever_the_zone_of_the_session(
    spark: SparkSession,
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = spark.createDataFrame(
        [(None, datetime(2030, 1, 1, 12, tzinfo=UTC))], "n int, at timestamp"
    )
    (row,) = encode(frame, topic_of(json("n int, at timestamp"))).collect()
    assert row["value"] == '{"n":null,"at":"2030-01-01T12:00:00.000000Z"}'


def test_keys_have_the_bytes_of_their_format(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("h", 7), (None, None)], "host string, n bigint").coalesce(1)
    keyed = {
        "text": topic_of(json("n bigint"), key=("host",)),
        "number as text": topic_of(json("host string"), key=("n",)),
        "bytes": topic_of(json("n bigint"), key=("host",), key_format=bytes_()),
        "json": topic_of(
            json("n bigint"), key=("n", "host"), key_format=json("host string, n int")
        ),
        "csv": topic_of(
            json("n bigint"), key=("host", "n"), key_format=csv("n bigint, host string")
        ),
        "none": topic_of(json("n bigint")),
    }
    narrow = frame.withColumn("n", F.col("n").cast("int"))
    found = {
        name: [row["key"] for row in encode(narrow, topic).collect()]
        for name, topic in keyed.items()
    }
    assert found == {
        "text": ["h", None],
        "number as text": ["7", None],
        "bytes": [b"h", None],
        "json": ['{"host":"h","n":7}', None],
        "csv": ["7,h", None],
        "none": [None, None],
    }


def test_a_row_of_nulls_beside_its_key_deletes_the_key_in_a_compacted_topic(
    spark: SparkSession,
) -> None:
    topic = topic_of(json("host string, n int"), key=("host",), compacted=True)
    frame = spark.createDataFrame([("h", None), ("h", 1)], "host string, n int").coalesce(1)
    compacted = [row["value"] for row in encode(frame, topic).collect()]
    kept = [row["value"] for row in encode(frame, replace(topic, compacted=False)).collect()]
    assert compacted == [None, '{"host":"h","n":1}']
    assert kept == ['{"host":"h","n":null}', '{"host":"h","n":1}']


def test_headers_come_from_a_map_or_an_array(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("v",)], "value string")
    as_map = frame.select("value", F.expr("map('a', 'x', 'b', null) AS _headers"))
    array = "array(struct('a' AS key, x'ff' AS value), struct('a' AS key, null AS value))"
    as_array = frame.select("value", F.expr(f"{array} AS _headers"))
    found = [
        [tuple(header) for header in encode(headed, topic_of(text())).first()["headers"]]  # type: ignore[index]
        for headed in (as_map, as_array)
    ]
    assert found == [[("a", b"x"), ("b", None)], [("a", b"\xff"), ("a", None)]]


def codes(columns: str, target: Topic | Table) -> list[tuple[str, str]]:
    flow = declared_flow("f", reads="t", into=target.name)
    problems = column_problems(struct_of(columns), target, flow)
    return [(problem.code, problem.message) for problem in problems]


def test_every_column_that_does_not_fit_is_told(spark: SparkSession) -> None:  # noqa: ARG001 - types need a session
    topic = topic_of(json("host string, n bigint"), key=("ip",))
    assert codes("hots string, n string, _headers int, _record int", topic) == [
        ("PEN-311", "flow `f` writes topic `t` without its column `host`"),
        ("PEN-313", "flow `f` produces `n` as `string`, topic `t` has it as `bigint`"),
        ("PEN-312", "flow `f` produces the column `hots`, which topic `t` does not have"),
        ("PEN-314", "flow `f` writes topic `t` without its key column `ip`"),
        (
            "PEN-313",
            "flow `f` produces `_headers` as `int`, topic `t` has it as `map<string,string>`",
        ),
    ]


def test_types_may_widen_and_nothing_else(spark: SparkSession) -> None:  # noqa: ARG001 - types need a session
    wide = topic_of(json("n bigint, a array<bigint>, s struct<x:double>, d decimal(20,2)"))
    assert codes("n int, a array<int>, s struct<x:float>, d decimal(10,2)", wide) == []
    narrow = topic_of(json("n int, s string, b boolean"))
    found = codes("n bigint, s int, b string", narrow)
    assert [code for code, _ in found] == ["PEN-313"] * 3


def test_a_key_column_need_not_be_in_the_value(spark: SparkSession) -> None:  # noqa: ARG001 - types need a session
    assert codes("ip string, n int", topic_of(json("n int"), key=("ip",))) == []
    assert codes("ip array<int>, n int", topic_of(json("n int"), key=("ip",)))[0][0] == "PEN-313"


def test_a_table_without_declared_columns_takes_any_that_have_its_key(spark: SparkSession) -> None:  # noqa: ARG001 - types need a session
    table = Table(name=declared_topic("t").name, origin=ORIGIN, key=("id",))
    assert codes("id int, x string", table) == []
    assert [code for code, _ in codes("x string", table)] == ["PEN-314"]
