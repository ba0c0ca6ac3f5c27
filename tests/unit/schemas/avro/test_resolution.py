"""Which data an Avro schema can read: the rules of schema resolution, one by one."""

import pytest

from penstock.schemas import Incompatibility, Resolved, SchemaType, parse
from support.avro import Json, array, avro, enum, field, fixed, kinds, mapping, record

NULLABLE_INT = ["null", "int"]

VERDICTS: dict[str, tuple[Json, Json, bool, bool]] = {
    "add field with default": (
        record(),
        record(field("a", "int", default=0)),
        True,
        True,
    ),
    "add field, no default": (record(), record(field("a", "int")), False, True),
    "drop field that had a default": (record(field("a", "int", default=0)), record(), True, True),
    "drop field, no default": (record(field("a", "int")), record(), True, False),
    "int to long": ("int", "long", True, False),
    "long to int": ("long", "int", False, True),
    "string to bytes": ("string", "bytes", True, True),
    "bytes to string": ("bytes", "string", True, True),
    "T to [null, T]": ("int", NULLABLE_INT, True, False),
    "[null, T] to T": (NULLABLE_INT, "int", False, True),
    "add enum symbol": (enum("A"), enum("A", "B"), True, False),
    "add enum symbol, enum has default": (
        enum("A", default="A"),
        enum("A", "B", default="A"),
        True,
        True,
    ),
    "rename field": (record(field("a", "int")), record(field("b", "int")), False, False),
    "rename field, alias given": (
        record(field("a", "int")),
        record(field("b", "int", aliases=["a"])),
        True,
        False,
    ),
    "rename record": (record(name="Old"), record(name="New"), False, False),
    "fixed size changed": (fixed(4), fixed(8), False, False),
}


@pytest.mark.parametrize(
    ("old", "new", "backward", "forward"), VERDICTS.values(), ids=VERDICTS.keys()
)
def test_each_change_has_its_verdicts(old: Json, new: Json, backward: bool, forward: bool) -> None:  # noqa: FBT001 - a table of verdicts
    before, after = avro(old), avro(new)
    assert (not after.can_read(before), not before.can_read(after)) == (backward, forward)


PROMOTIONS = {
    ("int", "long"), ("int", "float"), ("int", "double"), ("long", "float"), ("long", "double"),
    ("float", "double"), ("string", "bytes"), ("bytes", "string"),
}  # fmt: skip
PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]


def test_primitive_types_read_their_own_data_and_what_promotes_to_them() -> None:
    pairs = {(writer, reader) for writer in PRIMITIVES for reader in PRIMITIVES}
    readable = {(writer, reader) for writer, reader in pairs if not kinds(reader, writer)}
    assert readable == PROMOTIONS | {(same, same) for same in PRIMITIVES}


CASES: dict[str, tuple[Json, Json, list[str]]] = {
    "items are promoted": (array("long"), array("int"), []),
    "items do not match": (array("int"), array("string"), ["TYPE_MISMATCH /items"]),
    "values do not match": (mapping("int"), mapping("null"), ["TYPE_MISMATCH /values"]),
    "another type altogether": (array("int"), mapping("int"), ["TYPE_MISMATCH /"]),
    "an enum is no string": ("string", enum("A"), ["TYPE_MISMATCH /"]),
    "other namespaces do not matter": (record(namespace="a"), record(namespace="b"), []),
    "an alias is taken in full": (record(name="a.New", aliases=["Old"]), record(name="a.Old"), []),
    "an alias of another namespace": (
        record(name="a.New", aliases=["Old"]),
        record(name="b.Old"),
        ["NAME_MISMATCH /name"],
    ),
    "the writer's aliases do not count": (
        record(name="Old"),
        record(name="New", aliases=["Old"]),
        ["NAME_MISMATCH /name"],
    ),
    "an enum of another name": (enum("A", name="X"), enum("A"), ["NAME_MISMATCH /name"]),
    "an enum that lacks symbols": (
        enum("B"),
        enum("A", "B", "C"),
        ["MISSING_ENUM_SYMBOLS /symbols"],
    ),
    "an enum's default is the reader's": (
        enum("A"),
        enum("A", "B", default="A"),
        ["MISSING_ENUM_SYMBOLS /symbols"],
    ),
    "a fixed of other name and size": (
        fixed(4, name="X"),
        fixed(8),
        ["NAME_MISMATCH /name", "FIXED_SIZE_MISMATCH /size"],
    ),
    "the second field has another type": (
        record(field("a", "int"), field("b", "int")),
        record(field("b", "string"), field("a", "int")),
        ["TYPE_MISMATCH /fields/1/type"],
    ),
    "an enum's default is no field's default": (
        record(field("a", enum("A", default="A"))),
        record(),
        ["READER_FIELD_MISSING_DEFAULT_VALUE /fields/0"],
    ),
    "two fields of the data for one of the reader's": (
        record(field("a", "int", aliases=["b"])),
        record(field("a", "int"), field("b", "int")),
        ["NAME_MISMATCH /fields/0"],
    ),
    "every branch of the data has a branch": (["string", "null", "long"], ["null", "int"], []),
    "a branch of the data without one": (
        ["null", "int"],
        ["null", "string", "int"],
        ["MISSING_UNION_BRANCH /1"],
    ),
    "a type that no branch takes": (["null", "int"], "string", ["MISSING_UNION_BRANCH /"]),
    "a branch of the data that a plain type cannot take": (
        record(field("a", "int")),
        record(field("a", ["null", "int"])),
        ["TYPE_MISMATCH /fields/0/type"],
    ),
    "a branch taken by alias": ([record(name="New", aliases=["Old"])], record(name="Old"), []),
    "an alias of another namespace in a branch": (
        [record(name="New", aliases=["Old"])],
        record(name="b.Old"),
        ["MISSING_UNION_BRANCH /"],
    ),
    "a later branch fits where an earlier one of the same name does not": (
        [record(field("x", "int"), name="a.R"), record(name="b.R")],
        record(name="c.R"),
        [],
    ),
    "decimals of another scale": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1},
        ["TYPE_MISMATCH /"],
    ),
    "a decimal and plain bytes": (
        "bytes",
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1},
        [],
    ),
    "a decimal that is none, for its fixed is too small": (
        fixed(1, logicalType="decimal", precision=3),
        fixed(1, logicalType="decimal", precision=2),
        [],
    ),
    "other logical types do not count": (
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
        [],
    ),
}


@pytest.mark.parametrize(("reader", "writer", "found"), CASES.values(), ids=CASES.keys())
def test_each_incompatibility_has_its_kind_and_path(
    reader: Json, writer: Json, found: list[str]
) -> None:
    assert kinds(reader, writer) == found


def linked(*fields: Json, name: str = "Node", link: str = "next") -> Json:
    return record(*fields, field(link, ["null", name], default=None), name=name)


def test_recursive_types_read_each_other() -> None:
    assert kinds(linked(field("value", "long")), linked(field("value", "int"))) == []


def test_a_fault_of_a_recursive_type_is_told_once_where_it_is_first_met() -> None:
    reader = record(field("head", linked(field("value", "int"))), name="List")
    writer = record(field("head", linked(field("value", "string"))), name="List")
    assert kinds(reader, writer) == [
        "TYPE_MISMATCH /fields/0/type/fields/0/type",
        "MISSING_UNION_BRANCH /fields/0/type/fields/1/type/1",
    ]


def test_a_fault_in_a_cycle_is_found_through_unions() -> None:
    """`B` fits as long as `A` does, and `A` turns out bad only after `B` was looked at."""

    def schema(kind: str) -> Json:
        inner = record(field("back", ["null", "A"]), name="B")
        return [record(field("b", ["null", inner]), field("value", kind), name="A"), "B"]

    assert kinds(schema("int"), schema("string")) == [
        "MISSING_UNION_BRANCH /0",
        "MISSING_UNION_BRANCH /0/fields/0/type/1",
        "MISSING_UNION_BRANCH /0/fields/0/type/1/fields/0/type/1",
        "TYPE_MISMATCH /0/fields/1/type",
        "MISSING_UNION_BRANCH /1",
    ]


def test_a_union_tells_what_is_wrong_in_the_branch_that_was_meant() -> None:
    reader, writer = ["null", record(field("a", "int"))], [record(), "null"]
    assert avro(reader).can_read(avro(writer)) == [
        Incompatibility(
            kind="MISSING_UNION_BRANCH",
            path="/0",
            message="no branch of the union takes data of type `R`",
        ),
        Incompatibility(
            kind="READER_FIELD_MISSING_DEFAULT_VALUE",
            path="/1/fields/0",
            message="the field `a` is not in the data and has no default",
        ),
    ]


def test_messages_name_what_is_missing() -> None:
    reader = enum(*(f"R{number}" for number in range(3)))
    writer = enum(*(f"W{number}" for number in range(12)))
    [found] = avro(reader).can_read(avro(writer))
    assert found.message == (
        "`E` lacks `W0`, `W1`, `W2`, `W3`, `W4`, `W5`, `W6`, `W7`, `W8`, `W9` and 2 more "
        "and has no default"
    )


def test_types_of_references_are_compared_too() -> None:
    address = '{"type":"record","name":"Address","fields":[{"name":"zip","type":"%s"}]}'
    old, new = (
        avro(record(field("home", "Address")), [Resolved(name="Address", text=address % kind)])
        for kind in ("string", "int")
    )
    [found] = new.can_read(old)
    assert (found.kind, found.path) == ("TYPE_MISMATCH", "/fields/0/type/fields/0/type")


def test_a_schema_of_another_type_cannot_be_read() -> None:
    [found] = avro("string").can_read(parse(SchemaType.JSON, '{"type": "string"}'))
    assert (found.kind, found.path) == ("SCHEMA_TYPE_MISMATCH", "/")
