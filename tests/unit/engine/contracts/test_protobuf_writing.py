"""Rows of Arrow become messages of Protobuf, and schemas follow from columns; without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from penstock.engine.contracts.protobuf.descriptors import message_type, parsed
from penstock.engine.contracts.protobuf.errors import NoProtobufTypeError
from penstock.engine.contracts.protobuf.inferring import inferred
from penstock.engine.contracts.protobuf.shapes import fields_of, struct_type
from penstock.engine.contracts.protobuf.writing import RecordWriter
from penstock.pipeline import WriterSchema

PERSON = """
syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";

message Person {
  string name = 1; optional int32 age = 2; uint64 big = 3; Color color = 4;
  enum Color { RED = 0; GREEN = 1; }
  repeated Point points = 5; message Point { double x = 1; }
  map<string, Point> places = 6; google.protobuf.Timestamp at = 7;
  google.protobuf.Duration took = 8; google.protobuf.BytesValue wrapped = 9;
  google.protobuf.Struct json = 10; google.protobuf.Any any = 11; google.protobuf.Empty mark = 12;
  confluent.type.Decimal price = 13 [(confluent.field_meta) = {
    params: [{ key: "precision", value: "10" }, { key: "scale", value: "2" }] }];
  Point point = 14; repeated Color colors = 15;
}
"""


def writer(text: str, indexes: bytes = b"\x00") -> RecordWriter:
    message = message_type(parsed(WriterSchema(id=1, text=text)), None)
    return RecordWriter(message=message, indexes=indexes)


def rows(records: RecordWriter, *values: object) -> pa.Array:
    kind = struct_type(fields_of(records.message.descriptor()))
    return pa.array(values, to_arrow_type(kind, timezone="UTC"))


def message(records: RecordWriter, **values: object) -> Any:  # noqa: ANN401 - of any class
    return GetMessageClass(records.message.descriptor())(**values)


def test_every_type_is_written() -> None:
    person = writer(PERSON, b"\x04\x02\x00")
    row = {
        "name": "é",
        "age": 0,
        "big": Decimal(2**64 - 1),
        "color": "GREEN",
        "points": [{"x": 1.0}, {"x": None}],
        "places": {"b": {"x": 2.0}, "a": {"x": 3.0}},
        "at": datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
        "took": timedelta(seconds=-1, microseconds=-500_000),
        "wrapped": b"",
        "json": '{"a": [1]}',
        "any": '{"@type": "t/Person.Point", "x": 1.0}',
        "mark": True,
        "price": Decimal("-12.30"),
        "point": {"x": None},
        "colors": ["RED", "7"],
    }

    [written, nothing, empty] = person.write(rows(person, row, None, {})).to_pylist()

    expected = message(
        person,
        name="é",
        age=0,
        big=2**64 - 1,
        color=1,
        wrapped={},
        mark={},
        points=[{"x": 1.0}, {}],
        places={"b": {"x": 2.0}, "a": {"x": 3.0}},
        at={"seconds": -1, "nanos": 1000},
        took={"seconds": -1, "nanos": -500_000_000},
        json={"a": [1]},
        any={
            "type_url": "t/Person.Point",
            "value": message(person, points=[{"x": 1.0}]).points[0].SerializeToString(),
        },
        price={"value": (-1230).to_bytes(2, "big", signed=True), "precision": 4, "scale": 2},
        colors=[0, 7],
    )
    for name in ("wrapped", "mark", "point"):
        getattr(expected, name).SetInParent()
    assert written[:3] == b"\x04\x02\x00"
    assert type(expected).FromString(written[3:]) == expected
    assert written[3:] == expected.SerializeToString(deterministic=True)
    assert nothing is None
    assert empty == b"\x04\x02\x00"


def test_rows_of_a_slice_are_written_as_they_are() -> None:
    """Arrow's slices share the buffers of the whole, with an offset."""
    person = writer(PERSON)
    some = [
        {"name": f"{n}", "points": [{"x": float(n)}] * n, "places": {f"{n}": {"x": 1.0}}}
        for n in range(6)
    ]
    whole = rows(person, *some)

    assert person.write(whole.slice(2, 3)).to_pylist() == person.write(whole).to_pylist()[2:5]


def test_rows_that_are_no_messages_are_null_and_have_a_reason() -> None:
    person = writer(PERSON)
    good = {"name": "a"}
    bad: list[dict[str, object]] = [
        {"big": Decimal(-1)},
        {"color": "BLUE"},
        {"points": [None]},
        {"json": "[1]"},
        {"json": "{"},
        {"any": '{"@type": "x/Unknown", "a": 1}'},
    ]

    array = rows(person, good, *bad, good)
    written, problems = person.write(array).to_pylist(), person.problems(array).to_pylist()

    assert [one is None for one in written] == [False, *[True] * len(bad), False]
    assert [one is None for one in problems] == [True, *[False] * len(bad), True]
    assert [one.split(":")[0] for one in problems[4:7]] == [
        "`json` is not JSON of `google.protobuf.Struct`",
        "`json` is not JSON of `google.protobuf.Struct`",
        "`any` is not JSON of `google.protobuf.Any`",
    ]


def test_a_row_without_a_required_field_is_no_message() -> None:
    order = writer('syntax = "proto2"; message Order { required int32 id = 1; }')

    assert order.write(rows(order, {"id": None}, {"id": 0})).to_pylist() == [None, b"\x00\x08\x00"]


def test_an_any_that_nobody_knows_is_written_as_it_was_read() -> None:
    person = writer(PERSON)

    [written] = person.write(rows(person, {"any": '{"@type": "x/Y", "value": "AQ=="}'})).to_pylist()

    found = type(message(person)).FromString(written[1:]).any
    assert (found.type_url, found.value) == ("x/Y", b"\x01")


def column(name: str, kind: DataType, *, nullable: bool = True) -> StructField:
    return StructField(name, kind, nullable)


def test_a_schema_follows_from_columns_and_gives_the_same_columns() -> None:
    inner = StructType(
        [column("x", DoubleType()), column("deep", StructType([column("y", LongType())]))]
    )
    columns = StructType(
        [
            *(column("id", LongType(), nullable=False), column("n", IntegerType())),
            *(column("f", FloatType()), column("b", BooleanType()), column("s", StringType())),
            *(column("raw", BinaryType()), column("at", TimestampType())),
            *(column("took", DayTimeIntervalType()), column("price", DecimalType(10, 2))),
            *(column("tags", ArrayType(StringType())), column("point", inner)),
            *(column("points", ArrayType(inner)), column("places", MapType(StringType(), inner))),
            column("prices", ArrayType(DecimalType(5, 1))),
        ]
    )

    text = inferred("my.shop-1.orders-value", columns)

    schema = parsed(WriterSchema(id=1, text=text))
    assert schema.name == "my.shop_1.orders_value"
    found = struct_type(fields_of(message_type(schema, None).descriptor()))
    assert found.simpleString() == columns.simpleString()
    assert "  int64 id = 1;" in text
    assert "  optional int32 n = 2;" in text


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (DateType(), "there is no type for `date` here"),
        (VariantType(), "there is no type for `variant` here"),
        (ArrayType(ArrayType(LongType())), "there is no type for `array<bigint>` here"),
        (MapType(DoubleType(), LongType()), "there is no `map<double,bigint>`"),
        (MapType(LongType(), DecimalType(4, 1)), "there is no `map<bigint,decimal(4,1)>`"),
        (StructType([column("a b", LongType())]), "names are of letters, digits and `_`"),
    ],
    ids=["date", "variant", "array of arrays", "key of a map", "decimals in a map", "name"],
)
def test_columns_that_are_no_fields_are_refused(kind: DataType, reason: str) -> None:
    with pytest.raises(NoProtobufTypeError) as caught:
        inferred("orders", StructType([column("c", kind)]))

    assert caught.value.message.endswith(reason)


def test_small_integers_become_the_smallest_type_there_is() -> None:
    assert "optional int32 c = 1;" in inferred("o", StructType([column("c", ShortType())]))
