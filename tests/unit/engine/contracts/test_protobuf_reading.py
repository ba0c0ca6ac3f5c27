"""Records of Protobuf become arrays of Arrow, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass

from penstock.engine.contracts.protobuf.decoder import record_reader
from penstock.engine.contracts.protobuf.descriptors import message_type, parsed
from penstock.engine.contracts.protobuf.errors import UnreadableMessageError
from penstock.engine.contracts.protobuf.shapes import fields_of, struct_type
from penstock.engine.contracts.wire import prefix_of
from penstock.names import Subject
from penstock.pipeline import Contract, Protobuf, WriterSchema
from penstock.schemas.protobuf.indexes import encode_indexes
from penstock.schemas.protobuf.messages import message_indexes

if TYPE_CHECKING:
    from collections.abc import Mapping

EVERYTHING = """
syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/money.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";

message Everything {
  int32 i32 = 1; sint32 s32 = 2; sfixed32 sf32 = 3; uint32 u32 = 4; fixed32 f32 = 5;
  int64 i64 = 6; sint64 s64 = 7; sfixed64 sf64 = 8; uint64 u64 = 9; fixed64 f64 = 10;
  float single = 11; double twice = 12; bool yes = 13; string text = 14; bytes raw = 15;
  enum Color { RED = 0; GREEN = 1; }
  Color color = 16;
  optional int32 maybe = 17;
  oneof choice { string left = 18; Point right = 19; google.protobuf.Empty none = 20; }
  message Point { double x = 1; double y = 2; }
  repeated int32 numbers = 21; repeated Point points = 22; repeated Color colors = 23;
  map<string, int64> counts = 24; map<int32, Point> places = 25;
  google.protobuf.Timestamp at = 26; google.protobuf.Duration took = 27;
  google.protobuf.StringValue wrapped = 28; repeated google.protobuf.Int64Value wraps = 29;
  google.protobuf.Struct json = 30; google.protobuf.Value value = 31;
  google.protobuf.ListValue list = 32; google.protobuf.Any any = 33;
  google.type.Money money = 34;
  confluent.type.Decimal price = 35 [(confluent.field_meta) = {
    params: [{ key: "precision", value: "10" }, { key: "scale", value: "2" }] }];
  confluent.type.Decimal unsized = 36;
  repeated google.protobuf.Timestamp times = 37;
}
"""


def schema(number: int, text: str) -> WriterSchema:
    return WriterSchema(id=number, text=text)


def proto3(number: int, body: str) -> WriterSchema:
    return schema(number, f'syntax = "proto3"; {body}')


def contract(reader: WriterSchema, *writers: WriterSchema, message: str | None = None) -> Contract:
    return Contract(
        format=Protobuf(message=message),
        subject=Subject("orders-value"),
        is_key=False,
        reader=reader,
        columns="",
        writers=writers or (reader,),
    )


def kind_of(writer: WriterSchema, name: str | None = None) -> Any:  # noqa: ANN401 - a class of messages
    return GetMessageClass(message_type(parsed(writer), name).descriptor())


def record(writer: WriterSchema, name: str | None = None, /, **values: object) -> bytes:
    indexes = encode_indexes(message_indexes(parsed(writer), name))
    message: bytes = kind_of(writer, name)(**values).SerializePartialToString()
    return prefix_of(writer.id) + indexes + message


def read(bound: Contract, *values: bytes | None) -> list[dict[str, Any]]:
    records, _ = record_reader(bound)
    found: list[dict[str, Any]] = records.read(pa.array(values, pa.binary())).to_pylist()
    return found


def messages(bound: Contract, *values: bytes | None) -> list[Any]:
    found = read(bound, *values)
    assert [row["problem"] for row in found] == [None] * len(values)
    return [row["message"] for row in found]


def problems(bound: Contract, *values: bytes | None) -> list[str | None]:
    return [row["problem"] for row in read(bound, *values)]


def test_every_type_has_its_column() -> None:
    fields = fields_of(message_type(parsed(schema(1, EVERYTHING)), None).descriptor())

    point = "struct<x:double,y:double>"
    assert [f"{field.name} {field.dataType.simpleString()}" for field in struct_type(fields)] == [
        *("i32 int", "s32 int", "sf32 int", "u32 bigint", "f32 bigint"),
        *("i64 bigint", "s64 bigint", "sf64 bigint", "u64 decimal(20,0)", "f64 decimal(20,0)"),
        *("single float", "twice double", "yes boolean", "text string", "raw binary"),
        *("color string", "maybe int", "left string", f"right {point}", "none boolean"),
        *("numbers array<int>", f"points array<{point}>", "colors array<string>"),
        *("counts map<string,bigint>", f"places map<int,{point}>"),
        *("at timestamp", "took interval day to second"),
        *("wrapped string", "wraps array<bigint>"),
        *("json string", "value string", "list string", "any string"),
        "money struct<currency_code:string,units:bigint,nanos:int>",
        "price decimal(10,2)",
        "unsized struct<value:binary,precision:bigint,scale:int>",
        "times array<timestamp>",
    ]


def test_every_type_is_read() -> None:
    everything = schema(7, EVERYTHING)
    [found] = messages(
        contract(everything),
        record(
            everything,
            **dict.fromkeys(("i32", "s32", "sf32", "i64", "s64", "sf64"), -5),
            u32=2**32 - 1,
            f32=2**32 - 1,
            u64=2**64 - 1,
            f64=2**64 - 1,
            single=0.5,
            twice=0.1,
            yes=True,
            text="é",
            raw=b"\xff",
            color=1,
            maybe=0,
            right={"x": 1.5},
            numbers=[1, 2],
            points=[{"x": 1.0}, {"y": 2.0}],
            colors=[0, 1, 9],
            counts={"a": 1},
            places={3: {"x": 3.0}},
            at={"seconds": 1_700_000_000, "nanos": 123_456_789},
            took={"seconds": -1, "nanos": -500_000_999},
            wrapped={"value": ""},
            wraps=[{"value": 4}, {}],
            json={"a": [1, None]},
            value={"string_value": "v"},
            list=[1, 2],
            any={"type_url": "type.googleapis.com/Everything.Point", "value": b"\x09" + bytes(8)},
            money={"currency_code": "EUR", "units": 3},
            price={"value": (-1234).to_bytes(2, "big", signed=True), "scale": 2, "precision": 4},
            unsized={"value": b"\x01", "scale": 1},
            times=[{"seconds": -1, "nanos": 1000}],
        ),
    )

    assert found == {
        **dict.fromkeys(("i32", "s32", "sf32", "i64", "s64", "sf64"), -5),
        "u32": 2**32 - 1,
        "f32": 2**32 - 1,
        "u64": Decimal(2**64 - 1),
        "f64": Decimal(2**64 - 1),
        "single": 0.5,
        "twice": 0.1,
        "yes": True,
        "text": "é",
        "raw": b"\xff",
        "color": "GREEN",
        "maybe": 0,
        "left": None,
        "right": {"x": 1.5, "y": 0.0},
        "none": None,
        "numbers": [1, 2],
        "points": [{"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 2.0}],
        "colors": ["RED", "GREEN", "9"],
        "counts": [("a", 1)],
        "places": [(3, {"x": 3.0, "y": 0.0})],
        "at": datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC),
        "took": timedelta(seconds=-1, microseconds=-500_000),
        "wrapped": "",
        "wraps": [4, 0],
        "json": '{"a": [1.0, null]}',
        "value": '"v"',
        "list": "[1.0, 2.0]",
        "any": '{"@type": "type.googleapis.com/Everything.Point", "x": 0.0, "y": 0.0}',
        "money": {"currency_code": "EUR", "units": 3, "nanos": 0},
        "price": Decimal("-12.34"),
        "unsized": {"value": b"\x01", "precision": 0, "scale": 1},
        "times": [datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)],
    }


def test_what_is_not_set_has_its_default_or_is_null() -> None:
    everything = schema(7, EVERYTHING)
    [found, chosen] = messages(
        contract(everything), record(everything), record(everything, none={})
    )

    null = {name for name, value in found.items() if value is None}
    assert null == {
        *("maybe", "left", "right", "none", "at", "took", "wrapped"),
        *("json", "value", "list", "any", "money", "price", "unsized"),
    }
    assert [found[name] for name in ("i32", "u64", "yes", "text", "raw", "color")] == [
        *(0, Decimal(0), False, "", b"", "RED")
    ]
    assert [found[name] for name in ("numbers", "points", "counts", "wraps")] == [[], [], [], []]
    assert chosen["none"] is True


def test_proto2_has_defaults_nulls_and_required_fields() -> None:
    order = schema(
        1,
        """syntax = "proto2"; message Order {
        required int64 id = 1; optional int32 size = 2; optional int32 count = 3 [default = 7];
        optional Kind kind = 4 [default = B]; enum Kind { A = 1; B = 2; }
        repeated group Line = 5 { optional string text = 6; } optional Order next = 8; }""",
    )
    bound = contract(order)

    [found] = messages(bound, record(order, id=1, line=[{"text": "x"}]))
    lacking = problems(bound, record(order, size=1), record(order, id=1, next={}))

    assert {name: found[name] for name in ("id", "size", "count", "kind", "line")} == {
        "id": 1,
        "size": None,
        "count": 7,
        "kind": "B",
        "line": [{"text": "x"}],
    }
    assert lacking == [
        "is not a `Order` of schema id 1: `id` is required and missing",
        "is not a `Order` of schema id 1: `next.id` is required and missing",
    ]


def test_fields_meet_by_number_whatever_they_are_called_and_whatever_the_writer_has() -> None:
    reader = proto3(
        3,
        "message Order { string client = 1; int64 amount = 2; optional int32 note = 3; "
        "Kind kind = 4; enum Kind { OLD = 0; PAID = 1; } repeated string tags = 5; bool ok = 6; "
        "bytes raw = 7; Sub sub = 8; message Sub { int32 a = 1; string b = 2; } int32 rank = 10; }",
    )
    old = proto3(1, "message Order { string customer = 1; sint32 total = 2; }")
    new = proto3(
        2,
        "message Order { string who = 1; optional int64 amount = 2; Kind kind = 4; "
        "enum Kind { NEW = 0; PAID = 1; SENT = 2; } string tags = 5; int32 ok = 6; "
        "string raw = 7; Sub sub = 8; message Sub { int64 a = 1; } "
        "int32 more = 9; Kind rank = 10; }",
    )
    bound = contract(reader, reader, new, old)

    found = messages(
        bound,
        record(old, customer="ann", total=-2),
        record(
            new,
            who="bob",
            kind=2,
            tags="x",
            ok=5,
            raw="é",
            more=1,
            rank=2,
            sub={"a": 9},
        ),
        record(reader, client="eve", amount=1, note=2, kind=1, tags=["a", "b"]),
        None,
        record(new, amount=4),
    )

    empty = {
        "client": "",
        "amount": 0,
        "note": None,
        "kind": "OLD",
        "tags": [],
        "ok": False,
        "raw": b"",
        "sub": None,
        "rank": 0,
    }
    assert found == [
        empty | {"client": "ann", "amount": -2},
        empty
        | {"client": "bob", "kind": "SENT", "tags": ["x"], "ok": True, "raw": "é".encode()}
        | {"sub": {"a": 9, "b": ""}, "rank": 2},
        empty | {"client": "eve", "amount": 1, "note": 2, "kind": "PAID", "tags": ["a", "b"]},
        None,
        empty | {"amount": 4},
    ]


def test_a_value_too_large_for_its_column_spoils_its_record_alone() -> None:
    reader = proto3(
        1,
        'import "google/protobuf/timestamp.proto"; '
        "message A { int32 n = 1; google.protobuf.Timestamp at = 2; string t = 3; }",
    )
    writer = proto3(
        2,
        'import "google/protobuf/timestamp.proto"; '
        "message A { int64 n = 1; google.protobuf.Timestamp at = 2; bytes t = 3; }",
    )

    rows: list[Mapping[str, Any]] = [{"n": number} for number in range(20)]
    rows[3] = {"n": 2**40}
    rows[11] = {"at": {"seconds": 2**60}}
    rows[17] = {"t": b"\xff"}
    found = read(contract(reader, writer), *(record(writer, **row) for row in rows))

    good = [row["message"]["n"] for row in found if row["message"]]
    assert good == [number for number in range(20) if number not in (3, 11, 17)]
    bad = {at: row["problem"] for at, row in enumerate(found) if row["problem"]}
    assert list(bad) == [3, 11, 17]
    assert bad[11] == "is not a `A` of schema id 2: `at` is out of range"
    assert "not in range" in bad[3] or "too large" in bad[3]
    assert "utf-8" in bad[17]


def test_malformed_bytes_are_told_from_good_ones() -> None:
    order = proto3(7, "message Order { string id = 1; } message Other { int32 x = 1; }")
    bound = contract(order)
    good = record(order, id="a")

    found = read(
        bound,
        good,
        good[:-1],
        prefix_of(7),
        prefix_of(7) + b"\x01",
        prefix_of(7) + b"\x02\x02\x08\x01",
        prefix_of(7) + b"\x02\x00\x0a\x01b",
        prefix_of(8) + b"\x00",
        b"\x00",
        b"",
        None,
    )

    assert [row["message"] and row["message"]["id"] for row in found] == [
        *("a", None, None, None, None, "b", None, None, None, None)
    ]
    assert [row["problem"] for row in found] == [
        None,
        "is not a `Order` of schema id 7: wire format was corrupt",
        "has no message indexes after schema id 7",
        "has no message indexes after schema id 7",
        "holds message [1] of schema id 7, which is not `Order`",
        *(None, None, None, None, None),
    ]


def test_the_message_is_the_one_that_is_declared_wherever_it_stands() -> None:
    first = proto3(1, "package shop; message Order { message Line { string sku = 1; } }")
    moved = proto3(
        2,
        "package shop; message New { int32 x = 1; } "
        "message Order { message Note { int32 y = 1; } message Line { string sku = 1; } }",
    )
    bound = contract(moved, first, moved, message="shop.Order.Line")

    assert messages(
        bound,
        record(first, "shop.Order.Line", sku="a"),
        record(moved, "shop.Order.Line", sku="b"),
    ) == [{"sku": "a"}, {"sku": "b"}]
    assert problems(bound, record(moved, "shop.New", x=1)) == [
        "holds message [0] of schema id 2, which is not `shop.Order.Line`"
    ]


def test_writers_that_cannot_be_read_are_refused_with_the_field() -> None:
    reader = proto3(1, "message A { message B { int32 n = 1; } B b = 1; string s = 2; }")
    text = proto3(2, "message A { message B { string n = 1; } B b = 1; }")
    many = proto3(3, "message A { map<string, string> s = 2; }")
    other = proto3(4, "message Z { int32 n = 1; }")
    wrong = schema(5, "message {")

    records, refused = record_reader(contract(reader, reader, text, many, other, wrong))

    assert [writer.id for writer in records.writers] == [1]
    assert refused[2] == (
        "schema id 2 cannot be read as `A`: "
        "field 1, `b.n`, was written as string, which is no int32"
    )
    assert refused[3].endswith("field 2, `s`, was written as map, which is no string")
    assert refused[4].endswith("the schema has no message `A`; it has `Z`")
    assert refused[5].startswith("schema id 5 cannot be read as `A`: ")


def test_a_message_within_itself_ends_in_json() -> None:
    tree = proto3(1, "message Node { int32 n = 1; Node next = 2; }")
    nested: dict[str, Any] = {"n": 7}
    for number in range(6, 0, -1):
        nested = {"n": number, "next": nested}

    [found] = messages(contract(tree), record(tree, **nested))

    depth = 1
    while isinstance(found["next"], dict):
        found, depth = found["next"], depth + 1
    assert depth == 5
    assert found == {"n": 5, "next": '{"n": 6, "next": {"n": 7}}'}


def test_an_any_of_a_message_that_nobody_knows_keeps_its_bytes() -> None:
    holder = proto3(
        1, 'import "google/protobuf/any.proto"; message H { google.protobuf.Any a = 1; }'
    )

    [found] = messages(contract(holder), record(holder, a={"type_url": "x.y/Z", "value": b"\x01"}))

    assert found == {"a": '{"@type": "x.y/Z", "value": "AQ=="}'}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("message A {}", "it has no fields"),
        ("message A { int32 user = 1; int32 User = 2; }", "`A` has `user` twice but for its case"),
        (
            "message A { " + " ".join(f"A a{n} = {n + 1};" for n in range(20)) + " }",
            "it has more than 5,000 columns with all that is inside it",
        ),
    ],
    ids=["no fields", "names that differ in case", "too many columns"],
)
def test_messages_that_have_no_columns_are_refused(body: str, reason: str) -> None:
    with pytest.raises(UnreadableMessageError) as caught:
        fields_of(message_type(parsed(proto3(1, body)), None).descriptor())

    assert caught.value.message == f"the message `A` cannot be read into columns: {reason}"
