"""What changed between two schemas, as lines that people read."""

import json

import pytest

from penstock.schemas import Schema, SchemaType, differences, parse
from support.avro import Json, array, avro, enum, field, fixed, mapping, record

TIMESTAMP = {"type": "long", "logicalType": "timestamp-millis"}

AVRO: dict[str, tuple[Json, Json, list[str]]] = {
    "nothing": (record(field("a", "int")), record(field("a", {"type": "int"})), []),
    "a field more": (
        record(),
        record(field("a", ["null", "string"], default=None)),
        ["+ R.a: null | string, default null"],
    ),
    "a field less": (record(field("a", "int")), record(), ["- R.a: int, no default"]),
    "another type": (
        record(field("a", "int")),
        record(field("a", TIMESTAMP)),
        ["~ R.a: type int became long (timestamp-millis)"],
    ),
    "another type of items": (
        record(field("a", array("int"))),
        record(field("a", array("long"))),
        ["~ R.a[]: type int became long"],
    ),
    "another type of values": (
        record(field("a", mapping("int"))),
        record(field("a", mapping(array("int")))),
        ["~ R.a{}: type int became array<int>"],
    ),
    "a nullable record that changes within": (
        record(field("a", record(field("x", "int"), name="Inner"))),
        record(field("a", ["null", record(name="Inner")])),
        ["~ R.a: type Inner became null | Inner", "- R.a.x: int, no default"],
    ),
    "branches": (
        ["null", "int", record(field("x", "int"))],
        ["null", "string", record()],
        ["~ union: type null | int | R became null | string | R", "- union.x: int, no default"],
    ),
    "the order of branches": (
        record(field("a", ["null", "int"])),
        record(field("a", ["int", "null"])),
        ["~ R.a: the order of branches, null | int, became int | null"],
    ),
    "defaults": (
        record(field("a", "int"), field("b", "int", default=1), field("c", "int", default=1)),
        record(field("a", "int", default=1), field("b", "int"), field("c", "int", default=2)),
        ["+ R.a: default 1", "- R.b: default 1", "~ R.c: default 1 became 2"],
    ),
    "a field renamed with an alias": (
        record(field("old", "int")),
        record(field("new", "int", aliases=["old"])),
        ["~ R.new: name `old` became `new`", "+ R.new: alias `old`"],
    ),
    "the order of fields": (
        record(field("a", "int"), field("b", "int")),
        record(field("b", "int"), field("a", "int")),
        ["~ R: the order of fields"],
    ),
    "symbols": (
        enum("A", "B", default="A"),
        enum("B", "C"),
        ["- E: symbol `A`", "+ E: symbol `C`", '~ E: default "A" became null'],
    ),
    "the order of symbols": (enum("A", "B"), enum("B", "A"), ["~ E: the order of symbols"]),
    "size and name": (
        fixed(4, name="a.Old"),
        fixed(8, name="a.New"),
        ["~ New: name `a.Old` became `a.New`", "~ New: 4 bytes became 8"],
    ),
    "documentation and attributes": (
        record(field("a", "int", doc="old", owner="x", order="ignore"), team="t"),
        record(field("a", "int", doc="new", owner="y"), doc="all", pii=True),
        [
            '~ R: documentation null became "all"',
            '- R: `team` "t"',
            "+ R: `pii` true",
            "~ R.a: order ignore became ascending",
            '~ R.a: documentation "old" became "new"',
            '~ R.a: `owner` "x" became "y"',
        ],
    ),
    "a logical type": ("long", TIMESTAMP, ['+ long: `logicalType` "timestamp-millis"']),
    "a recursive type once": (
        record(field("a", "int"), field("next", ["null", "R"])),
        record(field("a", "long"), field("next", ["null", "R"])),
        ["~ R.a: type int became long"],
    ),
    "a whole schema": ("int", array("int"), ["~ array: type int became array<int>"]),
}


@pytest.mark.parametrize(("old", "new", "lines"), AVRO.values(), ids=AVRO.keys())
def test_changes_of_avro_schemas(old: Json, new: Json, lines: list[str]) -> None:
    found = [str(change) for change in differences(avro(old), avro(new))]
    assert found == lines


def test_long_chains_of_records_are_compared_without_recursion() -> None:
    def chain(kind: str) -> Schema:
        inner = [record(field("x", kind), name="R0")]
        inner += [
            record(field("x", f"R{number - 1}"), name=f"R{number}") for number in range(1, 1500)
        ]
        return avro(record(*(field(f"f{index}", one) for index, one in enumerate(inner))))

    found = differences(chain("int"), chain("long"))
    assert [str(change) for change in found] == ["~ R.f0.x: type int became long"]


def json_schema(schema: Json) -> Schema:
    return parse(SchemaType.JSON, json.dumps(schema))


def test_changes_of_json_schemas_are_told_by_pointer() -> None:
    old = json_schema(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"minimum": 1}},
            "required": ["a", "b"],
            "allOf": [{"minProperties": 1}],
        }
    )
    new = json_schema(
        {
            "properties": {"a": {"type": "integer"}, "c/d": {}},
            "required": ["b", "c/d"],
            "type": "object",
            "allOf": [{"minProperties": 2}, {"maxProperties": 5}],
        }
    )
    assert [str(change) for change in differences(old, new)] == [
        '~ /properties/a/type: "string" became "integer"',
        '- /properties/b: {"minimum":1}',
        "+ /properties/c~1d: {}",
        '- /required: "a"',
        '+ /required: "c/d"',
        "~ /allOf/0/minProperties: 1 became 2",
        '+ /allOf/1: {"maxProperties":5}',
    ]


def test_changes_of_protobuf_schemas_are_told_by_declaration() -> None:
    old = parse(
        SchemaType.PROTOBUF,
        'syntax = "proto3"; message A { int32 id = 1; string name = 2; message B { bool x = 1; } }',
    )
    new = parse(
        SchemaType.PROTOBUF,
        'syntax = "proto3"; message A { int64 id = 1; string email = 3; message B {} } enum E {'
        " ZERO = 0; }",
    )
    assert [str(change) for change in differences(old, new)] == [
        "~ A: `int32 id = 1` became `int64 id = 1`",
        "- A: `string name = 2`",
        "- A.B: `bool x = 1`",
        "+ A: `string email = 3`",
        "+ /: `enum E`",
        "+ E: `ZERO = 0`",
    ]


def test_schemas_of_two_types_have_one_difference() -> None:
    found = differences(avro("string"), json_schema({"type": "string"}))
    assert [str(change) for change in found] == ["~ /: the type of the schema, AVRO, became JSON"]


def test_long_values_are_cut() -> None:
    found = differences(avro(record(doc="x" * 500)), avro(record()))
    assert [len(str(change)) < 150 for change in found] == [True]
