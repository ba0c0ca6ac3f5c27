"""What the Avro specification refuses is refused, and the error says where."""

import json

import pytest

from penstock.schemas import InvalidSchemaError, Resolved
from support.avro import Json, array, avro, enum, field, fixed, mapping, record

ACCEPTED: dict[str, Json] = {
    "a primitive type": "string",
    "a primitive type as an object": {"type": "int"},
    "an unknown logical type": {"type": "int", "logicalType": "color"},
    "an invalid logical type": {"type": "string", "logicalType": "decimal", "precision": -1},
    "a record without fields": record(),
    "an error": {"type": "error", "name": "Failed", "fields": []},
    "a recursive record": record(field("next", ["null", "R"])),
    "a name given as an object": record(field("next", ["null", {"type": "R"}])),
    "a full name with a namespace beside it": record(name="a.b.R", namespace="not used"),
    "an empty namespace": record(namespace=""),
    "a null for a doc": record(doc=None),
    "a name used by its full name": record(
        field("a", fixed(2, namespace="x.y")), field("b", "x.y.F"), namespace="z"
    ),
    "a name of the namespace around it": record(
        field("a", fixed(2)), field("b", "F"), namespace="z"
    ),
    "an enum without symbols": enum(),
    "a type named like a complex type": record(field("a", enum("A", name="record"))),
    "a fixed without bytes": fixed(0),
    "an empty union": record(field("a", [])),
    "a union with two named types": [fixed(1, name="A"), fixed(1, name="B"), enum(), record()],
    "a default of the first branch": record(field("a", ["null", "int"], default=None)),
    "a default of another branch": record(field("a", ["null", "int"], default=3)),
    "a whole number for a double": record(field("a", "double", default=3)),
    "bytes in a default": record(field("a", "bytes", default="\u00ff")),
    "a record that leaves out what has a default": record(
        field("a", record(field("x", "int", default=1), name="Q"), default={})
    ),
    "a default for an array": record(field("a", array(["null", "int"]), default=[1, None])),
    "a default for a map": record(field("a", mapping("int"), default={"x": 1})),
    "a recursive default that ends": record(
        field("a", ["null", "R"], default={"a": None}),
    ),
    "aliases": record(field("a", "int", aliases=["b"]), aliases=["Old", "other.Old"]),
    "aliases that are no names": record(field("a", "int", aliases=["b-c"]), aliases=["d e"]),
    "an alias that is the name itself": record(field("a", "int", aliases=["a"]), aliases=["R"]),
    "each order": record(
        field("a", "int", order="ascending"),
        field("b", "int", order="descending"),
        field("c", "int", order="ignore"),
    ),
}


@pytest.mark.parametrize("schema", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_the_specification_allows_is_accepted(schema: Json) -> None:
    assert avro(schema).canonical()


REFUSED: dict[str, tuple[Json, str]] = {
    "a number": (5, ""),
    "null": (None, ""),
    "a name that is not defined": ("unknown", ""),
    "a name defined later": (record(field("a", "F"), field("b", fixed(1))), "/fields/0/type"),
    "an object without type": ({"name": "x"}, ""),
    "an object as the type of an object": (
        record(field("a", {"type": {"type": "int"}})),
        "/fields/0/type/type",
    ),
    "a complex type without its parts": (record(field("a", "record")), "/fields/0/type"),
    "a record without name": ({"type": "record", "fields": []}, ""),
    "a record without fields": ({"type": "record", "name": "R"}, ""),
    "fields that are no array": ({"type": "record", "name": "R", "fields": {}}, "/fields"),
    "a field that is no object": (record("a"), "/fields/0"),
    "a field without type": (record({"name": "a"}), "/fields/0"),
    "a field without name": (record({"type": "int"}), "/fields/0"),
    "a field twice": (record(field("a", "int"), field("a", "int")), "/fields/1/name"),
    "a name with a dash": (record(field("a-b", "int")), "/fields/0/name"),
    "a name that begins with a digit": (record(field("1a", "int")), "/fields/0/name"),
    "a name with other letters": (record(field("größe", "int")), "/fields/0/name"),
    "an empty name": (record(name=""), "/name"),
    "a name that is a number": ({"type": "record", "name": 5, "fields": []}, "/name"),
    "a namespace with a dash": (record(namespace="a-b"), "/name"),
    "a namespace with an empty part": (record(namespace="a..b"), "/name"),
    "a name that begins with a dot": (record(name=".R"), "/name"),
    "the name of a primitive type": (record(name="int"), "/name"),
    "the name of a primitive type in a namespace": (record(name="a.b.int"), "/name"),
    "a name defined twice": (record(field("a", record())), "/fields/0/type/name"),
    "a name without namespace used in one": (
        record(field("a", fixed(1, namespace="")), field("b", "F"), namespace="x"),
        "/fields/1/type",
    ),
    "a doc that is no string": (record(doc=5), "/doc"),
    "aliases that are no array": (record(aliases="x"), "/aliases"),
    "an alias that is no string": (record(aliases=[5]), "/aliases/0"),
    "an alias that is the name of another field": (
        record(field("a", "int"), field("b", "int", aliases=["c", "a"])),
        "/fields/1/aliases/1",
    ),
    "an alias of two fields": (
        record(field("a", "int", aliases=["c"]), field("b", "int", aliases=["c"])),
        "/fields/1/aliases/0",
    ),
    "an alias that is the name of another type": (
        record(field("a", enum()), aliases=["E"]),
        "/aliases/0",
    ),
    "an alias of two types": ([enum(aliases=["X"]), fixed(1, aliases=["X"])], "/1/aliases/0"),
    "a name that is an alias of another type": ([enum(aliases=["F"]), fixed(1)], "/1/name"),
    "an unknown order": (record(field("a", "int", order="up")), "/fields/0/order"),
    "an order that is an object": (record(field("a", "int", order={})), "/fields/0/order"),
    "an array without items": ({"type": "array"}, ""),
    "a map without values": ({"type": "map"}, ""),
    "items that are no schema": (array(5), "/items"),
    "an enum without symbols": ({"type": "enum", "name": "E"}, ""),
    "a symbol twice": (enum("A", "B", "A"), "/symbols/2"),
    "a symbol that is no name": (enum("A", "B-C"), "/symbols/1"),
    "a symbol that is no string": ({"type": "enum", "name": "E", "symbols": [1]}, "/symbols/0"),
    "an enum's default that is no symbol": (enum("A", default="B"), "/default"),
    "an enum's default that is no string": (enum("A", default=None), "/default"),
    "a fixed without size": ({"type": "fixed", "name": "F"}, ""),
    "a negative size": (fixed(-1), "/size"),
    "a size that is no number": ({"type": "fixed", "name": "F", "size": "4"}, "/size"),
    "a size that is true": ({"type": "fixed", "name": "F", "size": True}, "/size"),
    "a size beyond Java's arrays": (fixed(2**31), "/size"),
    "a union in a union": (["null", ["int", "string"]], "/1"),
    "a primitive type twice in a union": (["null", "int", "null"], "/2"),
    "two logical types of a type in a union": (["int", {"type": "int", "logicalType": "d"}], "/1"),
    "two arrays in a union": ([array("int"), array("string")], "/1"),
    "two maps in a union": ([mapping("int"), mapping("string")], "/1"),
    "a named type twice in a union": ([record(), "R"], "/1"),
}


@pytest.mark.parametrize(("schema", "path"), REFUSED.values(), ids=REFUSED.keys())
def test_what_the_specification_refuses_is_refused_at_its_place(schema: Json, path: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro(schema)
    assert caught.value.path == path


WRONG_DEFAULTS: list[tuple[Json, Json, str]] = [
    ("null", "null", ""),
    ("boolean", 1, ""),
    ("int", "1", ""),
    ("int", 1.0, ""),
    ("int", True, ""),
    ("int", 2**31, ""),
    ("long", 2**63, ""),
    ("float", "0", ""),
    ("double", None, ""),
    ("string", 5, ""),
    ("bytes", "\u0100", ""),
    (["null", "int"], "null", ""),
    ([], None, ""),
    (fixed(2), "abc", ""),
    (enum("A"), "B", ""),
    (array("int"), {}, ""),
    (array("int"), [1, "2"], "/1"),
    (mapping("int"), [], ""),
    (mapping("int"), {"a/b~": None}, "/a~1b~0"),
    (record(field("x", "int"), name="Q"), {}, ""),
    (record(field("x", "int"), name="Q"), {"x": "1"}, "/x"),
    (record(field("x", "int"), name="Q"), [], ""),
]


@pytest.mark.parametrize(("kind", "default", "path"), WRONG_DEFAULTS)
def test_a_default_must_fit_its_type(kind: Json, default: Json, path: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro(record(field("a", kind, default=default)))
    assert caught.value.path == f"/fields/0/default{path}"


def test_a_default_that_contains_itself_is_refused() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro(record(field("next", "R", default={})))
    assert caught.value.path == "/fields/0/default"


def test_text_that_is_not_json_is_refused_with_line_and_column() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro('{"type": "record",\n  name: "R"}')
    assert caught.value.path == "2:3"


def test_a_misspelled_type_is_told_with_the_likely_one() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro(record(field("a", "String")))
    assert caught.value.message == (
        "`String` is not the name of a type that is defined before its use; "
        "did you mean `string`?, at `/fields/0/type`"
    )


def test_only_records_give_a_schema_a_name() -> None:
    named = [avro(record(namespace="a.b")), avro(enum("A")), avro("string")]
    assert [schema.name for schema in named] == ["a.b.R", None, None]


ADDRESS = Resolved(
    name="a.Address", text=json.dumps(record(field("city", "string"), name="a.Address"))
)


def test_types_of_references_can_be_used() -> None:
    schema = avro(record(field("home", "a.Address"), name="Customer"), [ADDRESS])
    assert schema.canonical() == (
        '{"type":"record","name":"Customer","fields":[{"name":"home","type":"a.Address"}]}'
    )


def test_a_schema_may_be_nothing_but_a_reference() -> None:
    assert avro("a.Address", [ADDRESS]).name == "a.Address"


def test_references_bring_their_own_references_along() -> None:
    person = Resolved(
        name="a.Person",
        text=json.dumps(record(field("home", "Address"), name="a.Person")),
        references=(ADDRESS,),
    )
    assert avro(record(field("who", "a.Person"), field("at", "a.Address")), [person, ADDRESS])


def test_a_type_of_a_reference_is_not_defined_again() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro(record(field("home", record(name="a.Address"))), [ADDRESS])
    assert caught.value.path == "/fields/0/type/name"


def test_a_fault_in_a_reference_is_told_with_its_name() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        avro("int", [Resolved(name="broken", text='["int", "int"]')])
    assert caught.value.message == "in the reference `broken`: the union has `int` twice, at `/1`"


STORED: dict[str, Json] = {
    "a default that does not fit": record(field("a", ["null", "int"], default="null")),
    "a name with other letters": record(field("größe", "int")),
    "a namespace with a dash": record(namespace="a-b"),
    "an alias of two fields": record(
        field("a", "int", aliases=["c"]), field("b", "int", aliases=["c"])
    ),
    "an order in capitals": record(field("a", "int", order="DESCENDING")),
    "a name without namespace used in one": record(
        field("a", fixed(1, namespace="")), field("b", "F"), namespace="x"
    ),
}


@pytest.mark.parametrize("schema", STORED.values(), ids=STORED.keys())
def test_what_other_registries_let_in_is_read_if_stored_and_refused_if_new(
    schema: Json,
) -> None:
    assert avro(schema, stored=True).canonical()
    with pytest.raises(InvalidSchemaError):
        avro(schema)
