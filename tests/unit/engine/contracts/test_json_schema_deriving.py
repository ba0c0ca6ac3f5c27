"""Which fields a JSON Schema has in Spark, and which rules are left to the validator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.engine.contracts.errors import UnreadableSchemaError
from penstock.engine.contracts.json_schema.columns import struct_for
from penstock.engine.contracts.json_schema.deriving import derived
from penstock.engine.contracts.json_schema.fields import Field, Kind
from penstock.schemas.json_schema import parse


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "uuid"}, "string"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": ["null", "string"], "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "date", "pattern": "^2"}, "string"),
        ({"type": "integer"}, "bigint"),
        ({"type": "number"}, "double"),
        ({"type": ["integer", "number"]}, "double"),
        ({"type": "boolean"}, "boolean"),
        ({"enum": ["a", "b", None]}, "string"),
        ({"enum": [1, 2.0]}, "bigint"),
        ({"const": True}, "boolean"),
        ({"minLength": 1}, "string"),
        ({"properties": {"a": {"type": "string"}}}, "struct<a:string>"),
        ({"items": {"type": "integer"}}, "array<bigint>"),
        ({"type": "array"}, "array<string>"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string,double>"),
        ({"$ref": "#/definitions/money"}, "double"),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, "bigint"),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, "string"),
        (
            {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {"type": "integer"}}}]},
            "struct<a:string,b:bigint>",
        ),
        # JSON text:
        ({}, "string"),
        ({"type": "object"}, "string"),
        ({"type": ["integer", "string"]}, "string"),
        ({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, "string"),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}, "string"),
    ],
)
def test_each_schema_has_a_type_of_spark(schema: dict[str, Any], kind: str) -> None:
    assert columns({"properties": {"x": schema}}) == f"struct<x:{kind}>"


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"type": "string"}, "struct<value:string>"),
        ({"additionalProperties": {"type": "integer"}}, "struct<value:map<string,bigint>>"),
        (True, "struct<value:string>"),
    ],
)
def test_documents_that_are_no_objects_with_names_have_one_column(
    schema: object, found: str
) -> None:
    assert columns(schema) == found


@pytest.mark.parametrize(
    ("draft", "keywords", "exclusive"),
    [
        ("http://json-schema.org/draft-04/schema#", {"minimum": 3, "exclusiveMinimum": True}, 3),
        ("http://json-schema.org/draft-07/schema#", {"exclusiveMinimum": 3}, 3),
        ("https://json-schema.org/draft/2020-12/schema", {"minimum": 3}, None),
    ],
)
def test_each_draft_reads_its_own_keywords(
    draft: str, keywords: dict[str, Any], exclusive: int | None
) -> None:
    schema = {"$schema": draft, "properties": {"x": {"type": "integer", **keywords}}}

    (member,) = field(schema).members

    assert [one.above for one in member.field.numbers] == [exclusive]


@pytest.mark.parametrize(
    "keywords",
    [
        {"minLength": 1, "maxLength": 2, "pattern": "^a", "enum": ["a"], "const": "a"},
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 5, "multipleOf": 0.5},
        {"type": "number", "multipleOf": 0.01},
        {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}, "required": ["a", "b"]},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        {"oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"title": "x", "description": "y", "default": 1, "examples": [2], "format": "email"},
    ],
)
def test_common_rules_need_no_python(keywords: dict[str, Any]) -> None:
    assert is_complete(keywords)


@pytest.mark.parametrize(
    "keywords",
    [
        {"type": "string", "pattern": r"\bx"},
        {"type": "number", "multipleOf": 1e-12},
        {"type": "array", "uniqueItems": True},
        {"type": "array", "contains": {"const": 1}},
        {"type": "array", "enum": [[1]]},
        {"type": "object", "minProperties": 1},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "patternProperties": {"^a": {"type": "string"}}},
        {"type": "object", "propertyNames": {"maxLength": 2}},
        {"type": "object", "dependencies": {"a": ["b"]}},
        {"type": "integer", "not": {"const": 1}},
        {"if": {"type": "string"}, "then": {"const": "a"}},
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        {"oneOf": [{"type": ["integer", "null"]}, {"type": "null"}]},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ],
)
def test_other_rules_are_left_to_the_validator(keywords: dict[str, Any]) -> None:
    assert not is_complete(keywords)


def test_an_object_within_itself_ends_as_json_text() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "child": {"$ref": "#"}},
    }

    found = field(tree)
    kinds = []
    while found.members:
        found = found.members[1].field
        kinds.append(found.kind)

    assert kinds == [*[Kind.STRUCT] * 4, Kind.JSON]


def test_an_object_within_itself_in_many_places_ends_sooner() -> None:
    children = {f"c{number}": {"$ref": "#"} for number in range(8)}

    found = field({"type": "object", "properties": children})

    assert {member.field.members[0].field.kind for member in found.members} == {Kind.STRUCT}
    assert len(str(found)) < 1_000_000


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"id": {}, "ID": {}}, "the properties `id` and `ID` differ only in case"),
        ({"": {}}, "a property has an empty name"),
        ({f"p{number}": {} for number in range(1_000)}, "it has more than 1,000 fields"),
    ],
)
def test_what_spark_cannot_tell_apart_is_refused(properties: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnreadableSchemaError, match=reason):
        field({"type": "object", "properties": properties})


def field(schema: object) -> Field:
    return derived(parse(json.dumps(schema))).root


def columns(schema: object) -> str:
    if isinstance(schema, dict):
        schema = schema | {"definitions": {"money": {"type": "number"}}}
    return struct_for(field(schema)).simpleString()


def is_complete(keywords: dict[str, Any]) -> bool:
    return derived(parse(json.dumps({"properties": {"x": keywords}}))).complete
