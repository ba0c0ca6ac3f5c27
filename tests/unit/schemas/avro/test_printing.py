"""The texts of Avro schemas that a registry stores and compares."""

import json

import pytest

from penstock.schemas import InvalidSchemaError, Resolved
from penstock.schemas.avro import parse
from support.avro import Json, avro, enum, field, fixed, record

CANONICAL: dict[str, tuple[str, str]] = {
    "a primitive type is just its name": ('{ "type": "string" }', '"string"'),
    "attributes stay, names without meaning go": (
        '{"logicalType": "uuid", "name": "id", "doc": "unused", "type": "string"}',
        '{"type":"string","logicalType":"uuid"}',
    ),
    "records have a fixed order of keys": (
        '{"fields": [{"default": 1, "owner": "x", "aliases": ["b"], "order": "ignore", "doc": "d",'
        ' "type": {"type": "int"}, "name": "a"}],'
        ' "aliases": ["Old", "q.Old"], "team": "t", "doc": "docs", "name": "n.s.R",'
        ' "type": "record"}',
        '{"type":"record","name":"R","namespace":"n.s","doc":"docs","fields":[{"name":"a",'
        '"type":"int","doc":"d","default":1,"order":"ignore","aliases":["b"],"owner":"x"}],'
        '"team":"t","aliases":["Old","q.Old"]}',
    ),
    "enums and fixed too": (
        '[{"default": "A", "symbols": ["A"], "name": "E", "type": "enum", "x": 1, "doc": "d"},'
        ' {"size": 2, "name": "F", "type": "fixed", "aliases": ["G"]},'
        ' {"items": "int", "type": "array"}, {"values": "int", "type": "map", "x": null}]',
        '[{"type":"enum","name":"E","doc":"d","symbols":["A"],"default":"A","x":1},'
        '{"type":"fixed","name":"F","size":2,"aliases":["G"]},'
        '{"type":"array","items":"int"},{"type":"map","values":"int","x":null}]',
    ),
    "an order that is the usual one goes": (
        '{"type": "record", "name": "R", "fields": '
        '[{"name": "a", "type": "int", "order": "ascending"}]}',
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
    ),
    "the namespace is said where it changes": (
        '{"type": "record", "name": "a.R", "fields": ['
        '{"name": "x", "type": {"type": "fixed", "name": "a.F", "size": 1}},'
        '{"name": "y", "type": {"type": "fixed", "name": "b.F", "size": 1}},'
        '{"name": "z", "type": {"type": "fixed", "name": "G", "namespace": "", "size": 1}},'
        '{"name": "u", "type": "a.F"}, {"name": "v", "type": "b.F"}]}',
        '{"type":"record","name":"R","namespace":"a","fields":['
        '{"name":"x","type":{"type":"fixed","name":"F","size":1}},'
        '{"name":"y","type":{"type":"fixed","name":"F","namespace":"b","size":1}},'
        '{"name":"z","type":{"type":"fixed","name":"G","namespace":"","size":1}},'
        '{"name":"u","type":"F"},{"name":"v","type":"b.F"}]}',
    ),
    "letters stay letters": (
        '{"type": "record", "name": "R", "doc": "Gr\\u00f6\\u00dfe", "fields": []}',
        '{"type":"record","name":"R","doc":"Größe","fields":[]}',
    ),
}


@pytest.mark.parametrize(("text", "expected"), CANONICAL.values(), ids=CANONICAL.keys())
def test_the_canonical_text_is_the_one_that_confluent_stores(text: str, expected: str) -> None:
    assert parse(text).canonical() == expected


SAME: dict[str, tuple[Json, Json]] = {
    "the order of attributes": (record(b=1, a={"y": 1, "x": 2}), record(a={"x": 2, "y": 1}, b=1)),
    "the order of aliases": (
        record(field("a", "int", aliases=["c", "b"]), aliases=["Z", "Y"]),
        record(field("a", "int", aliases=["b", "c"]), aliases=["Y", "Z"]),
    ),
    "an empty documentation of a type": (enum("A", doc=""), enum("A")),
    "a whole number as default of a double": (
        record(field("a", "double", default=1)),
        record(field("a", "double", default=1.0)),
    ),
    "the order of keys in a default": (
        record(field("a", {"type": "map", "values": "int"}, default={"y": 1, "x": 2})),
        record(field("a", {"type": "map", "values": "int"}, default={"x": 2, "y": 1})),
    ),
    "the order of a decimal's parameters": (
        fixed(9, scale=2, precision=9, logicalType="decimal"),
        fixed(9, logicalType="decimal", precision=9, scale=2),
    ),
    "how a name is written": (record(name="a.R"), record(namespace="a")),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_schemas_that_mean_the_same_have_one_normal_text(one: Json, other: Json) -> None:
    assert avro(one).normalized() == avro(other).normalized()


DIFFERENT: dict[str, tuple[Json, Json]] = {
    "the order of fields": (
        record(field("a", "int"), field("b", "int")),
        record(field("b", "int"), field("a", "int")),
    ),
    "the order of symbols": (enum("A", "B"), enum("B", "A")),
    "documentation": (record(doc="a"), record(doc="b")),
    "the order of branches": (["null", "int"], ["int", "null"]),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_schemas_that_differ_have_different_normal_texts(one: Json, other: Json) -> None:
    assert avro(one).normalized() != avro(other).normalized()


@pytest.mark.parametrize("text", [text for text, _ in CANONICAL.values()], ids=CANONICAL.keys())
def test_both_texts_are_schemas_with_the_same_texts(text: str) -> None:
    schema = parse(text)
    assert parse(schema.canonical()).canonical() == schema.canonical()
    assert parse(schema.normalized()).normalized() == schema.normalized()


CITY = Resolved(
    name="City", text=json.dumps(record(field("zip", fixed(5, name="Zip")), name="City"))
)
STREET = Resolved(
    name="Street", text=json.dumps(record(field("in", "City"), name="Street")), references=(CITY,)
)


def test_the_resolved_form_defines_each_type_of_the_references_once() -> None:
    schema = avro(record(field("z", "Zip"), field("s", "Street"), field("c", "City")), [STREET])
    assert avro(schema.formatted("resolved")).canonical() == (
        '{"type":"record","name":"R","fields":['
        '{"name":"z","type":{"type":"fixed","name":"Zip","size":5}},'
        '{"name":"s","type":{"type":"record","name":"Street","fields":['
        '{"name":"in","type":{"type":"record","name":"City","fields":['
        '{"name":"zip","type":"Zip"}]}}]}},'
        '{"name":"c","type":"City"}]}'
    )


def test_other_forms_are_the_canonical_one() -> None:
    schema = avro(record(field("s", "Street")), [STREET])
    assert schema.formatted("serialized") == schema.canonical()


def test_references_that_lead_far_down_cannot_be_resolved_in_one_text() -> None:
    chain: tuple[Resolved, ...] = ()
    for number in range(300):
        kind = f"R{number - 1}" if number else "int"
        text = json.dumps(record(field("a", kind), name=f"R{number}"))
        chain = (Resolved(name=f"R{number}", text=text, references=chain),)
    schema = avro(record(field("a", "R299")), chain)
    with pytest.raises(InvalidSchemaError):
        schema.formatted("resolved")
