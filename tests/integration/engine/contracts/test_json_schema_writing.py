"""JSON under a schema in Spark: what is written, what is refused, and which schema is inferred."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.engine.contracts import json_schema
from penstock.engine.contracts.errors import UninferrableSchemaError
from penstock.engine.schemas import struct_of
from penstock.schemas.json_schema import parse
from support.json_contracts import contract, decoded, encoded, framed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime(2020, 1, 1, 8, 0, 0, 123456, tzinfo=UTC)

CUSTOMER: dict[str, Any] = {
    "type": "object",
    "required": ["id", "note"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "note": {"type": ["string", "null"]},
        "name": {"type": "string", "maxLength": 5},
        "since": {"type": ["string", "null"], "format": "date-time"},
        "address": {
            "type": ["object", "null"],
            "properties": {"zip": {"type": "string"}, "day": {"type": "string", "format": "date"}},
        },
        "scores": {"type": "array", "items": {"type": ["number", "null"]}, "uniqueItems": True},
        "labels": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "extra": {"type": ["integer", "object"]},
    },
}


@pytest.mark.long
@pytest.mark.timeout(300)
def test_rows_are_written_as_the_schema_has_them(spark: SparkSession) -> None:
    """Also read back; nulls that are neither allowed nor required are left out."""
    known = contract(spark, CUSTOMER)
    address = ("1", date(2020, 2, 29))
    rows: list[tuple[Any, ...]] = [
        (1, "n", "Ada", AT, address, [0.5, None], {"a": "b", "c": None}, '{"k": [1, null]}'),
        (2, None, None, None, None, None, None, None),
        (3, None, None, None, (None, None), [], {}, "4"),
        (0, "", "Ada", None, None, None, None, None),
        (4, "", "Augusta", None, None, None, None, None),
        (5, "", None, None, None, [1.0, 1.0], None, None),
        (6, "", None, None, None, [float("nan")], None, None),
        (7, "", None, None, None, None, None, "{} x"),
        (8, "", None, None, None, None, None, '"text"'),
        (None, "", None, None, None, None, None, None),
    ]

    found = encoded(spark, known, rows, struct_of(known.columns)).collect()

    assert [row.bad for row in found] == [
        None,
        None,
        None,
        "`/id` is less than 1",
        "`/name` is longer than 5 characters",
        "`/scores` 1.0 is there more than once",
        "`/scores/0` is a string, not a number",
        "`/extra` is not JSON",
        "`/extra` is a string, not integer or object",
        "`/id` is missing",
    ]
    assert [json.loads(row.json) for row in found[:3]] == [
        {
            "id": 1,
            "note": "n",
            "name": "Ada",
            "since": "2020-01-01T08:00:00.123456Z",
            "address": {"zip": "1", "day": "2020-02-29"},
            "scores": [0.5, None],
            "labels": {"a": "b", "c": None},
            "extra": {"k": [1, None]},
        },
        {"id": 2, "note": None, "since": None, "address": None},
        {"id": 3, "note": None, "since": None, "address": {}}
        | {"scores": [], "labels": {}, "extra": 4},
    ]
    read = decoded(spark, known, [framed(row.json) for row in found[:3]]).collect()
    assert [row.bad for row in read] == [None] * 3
    assert [tuple(row)[1:] for row in read] == [
        (*rows[0][:3], AT.astimezone().replace(tzinfo=None), *rows[0][4:7], '{"k":[1,null]}'),
        *rows[1:3],
    ]


def test_a_document_that_is_no_object_is_written_from_its_only_column(spark: SparkSession) -> None:
    known = contract(spark, {"type": ["string", "null"], "minLength": 2})

    found = encoded(spark, known, [('a"b',), ("c",), (None,)], "value string").collect()

    assert [tuple(row) for row in found] == [
        (None, '"a\\"b"'),
        ("the document is shorter than 2 characters", '"c"'),
        (None, "null"),
    ]


def test_a_schema_is_made_for_columns_and_their_rows_fit_it(spark: SparkSession) -> None:
    inner = StructType([StructField("n", IntegerType(), nullable=False)])
    columns = StructType(
        [
            StructField("id", LongType(), nullable=False),
            StructField("name", StringType()),
            StructField("price", DoubleType()),
            StructField("day", DateType()),
            StructField("at", TimestampType(), nullable=False),
            StructField("inner", inner),
            StructField("list", ArrayType(StringType(), containsNull=False)),
            StructField("map", MapType(StringType(), inner)),
        ]
    )
    text = json_schema.inferred("Sale", columns)
    known = contract(spark, json.loads(text))
    rows: list[tuple[Any, ...]] = [
        (1, "a", 0.5, date(2020, 1, 1), AT, (1,), ["x"], {"k": (2,), "l": None}),
        (2, None, None, None, AT, None, None, None),
    ]

    found = encoded(spark, known, rows, columns).collect()

    assert parse(text).name == "Sale"
    assert [row.bad for row in found] == [None, None]
    assert json.loads(found[1].json) == {
        "id": 2,
        "name": None,
        "price": None,
        "day": None,
        "at": "2020-01-01T08:00:00.123456Z",
        "inner": None,
        "list": None,
        "map": None,
    }
    assert json.loads(text)["properties"]["map"] == {
        "type": ["object", "null"],
        "additionalProperties": {
            "type": ["object", "null"],
            "properties": {"n": {"type": "integer"}},
            "required": ["n"],
            "additionalProperties": False,
        },
        "default": None,
    }
    assert json.loads(text)["required"] == ["id", "at"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (BinaryType(), "JSON has no `binary`"),
        (DecimalType(10, 2), "JSON Schema has doubles only; cast it to `double` or `string`"),
        (MapType(IntegerType(), StringType()), "JSON has no `map<int,string>`"),
    ],
)
def test_columns_that_json_has_no_type_for_are_refused(kind: DataType, reason: str) -> None:
    columns = StructType([StructField("a", StructType([StructField("b", kind)]))])

    with pytest.raises(UninferrableSchemaError) as refusal:
        json_schema.inferred("Sale", columns)

    assert refusal.value.message == f"no schema can be made for the column `a.b`: {reason}"
