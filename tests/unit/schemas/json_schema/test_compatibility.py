"""Which changes of a JSON Schema break it, in Confluent's words: one rule after the other."""

import pytest

from penstock.schemas import Level, SchemaType, incompatibilities, parse
from support.json_schemas import DRAFTS, Json, breaks, json_schema, reference

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}


def fields(rest: Json = None, required: Json = None, **properties: Json) -> Json:
    """Return an object schema; `rest` is for `additionalProperties`."""
    schema: Json = {"type": "object", "properties": properties}
    if rest is not None:
        schema["additionalProperties"] = rest
    if required is not None:
        schema["required"] = required
    return schema


def closed(required: Json = None, **properties: Json) -> Json:
    """Return a schema of objects that have no other properties."""
    return fields(rest=False, required=required, **properties)


def pair(*first: Json, rest: Json = None) -> Json:
    """Return a schema of tuples; `rest` is for `additionalItems`."""
    schema: Json = {"type": "array", "items": list(first)}
    return schema if rest is None else schema | {"additionalItems": rest}


def limited(keyword: str, value: Json, kind: str = "string") -> Json:
    return {"type": kind, keyword: value}


COMPATIBLE: dict[str, tuple[Json, Json]] = {
    "anything instead of an object": (fields(a=STRING), {}),
    "something instead of nothing": (fields(a=False), fields(a=STRING)),
    "another title": ({"title": "a"}, {"title": "b"}),
    "another description and default": (STRING, STRING | {"description": "d", "default": "x"}),
    "a longer maxLength": (limited("maxLength", 10), limited("maxLength", 12)),
    "a shorter minLength": (limited("minLength", 11), limited("minLength", 10)),
    "no pattern any more": (limited("pattern", "^a"), STRING),
    "a greater maximum": (limited("maximum", 1, "number"), limited("maximum", 2, "number")),
    "a smaller exclusiveMinimum": (
        limited("exclusiveMinimum", 1, "number"),
        limited("exclusiveMinimum", 0.5, "number"),
    ),
    "a divisor of multipleOf": (
        limited("multipleOf", 10, "number"), limited("multipleOf", 2, "number")
    ),
    "a fraction of multipleOf": (
        limited("multipleOf", 1, "number"), limited("multipleOf", 0.1, "number")
    ),
    "numbers instead of integers": (INTEGER, NUMBER),
    "a type more": (STRING, {"type": ["string", "null"]}),
    "a type instead of a list of one": ({"type": ["string"]}, STRING),
    "no type any more": (limited("maxLength", 1), {"maxLength": 1}),
    "a value more in an enum": ({"enum": ["a"]}, {"enum": ["b", "a"]}),
    "the same values in other words": ({"enum": [1, {"a": 1.0}]}, {"enum": [{"a": 1}, 1.0]}),
    "no enum beside the type": (STRING | {"enum": ["a"]}, STRING),
    "an optional property in a closed model": (closed(a=STRING), closed(a=STRING, b=NUMBER)),
    "a required property with a default in a closed model": (
        closed(), closed(required=["b"], b=NUMBER | {"default": 1})
    ),
    "a property that may be anything in an open model": (fields(), fields(b={})),
    "a property like all others in a partially open model": (
        fields(STRING), fields(STRING, b=STRING)
    ),
    "a property less in an open model": (fields(a=STRING), fields()),
    "a property less that the rest covers": (closed(a=INTEGER), fields(NUMBER)),
    "a property less that a pattern covers": (
        closed(I_1=INTEGER),
        closed() | {"patternProperties": {"^I_": NUMBER, "^S_": STRING}},
    ),
    "a property less that could not be there": (closed(a=False), closed()),
    "an open model": (closed(a=STRING), fields(a=STRING)),
    "not required any more": (fields(required=["a"], a=STRING), fields(a=STRING)),
    "required with a default": (
        fields(a=STRING), fields(required=["a"], a=STRING | {"default": ""})
    ),
    "a pattern for names that could not be there": (
        closed() | {"patternProperties": {"^S_": STRING}},
        closed() | {"patternProperties": {"^S_": STRING, "^I_": INTEGER}},
    ),
    "a dependency less": (
        {"dependencies": {"a": ["b", "c"], "d": STRING}}, {"dependencies": {"a": ["b"]}}
    ),
    "any items": ({"type": "array", "items": STRING}, {"type": "array"}),
    "wider items": ({"type": "array", "items": INTEGER}, {"type": "array", "items": NUMBER}),
    "an item more in a closed tuple": (pair(STRING, rest=False), pair(STRING, NUMBER, rest=False)),
    "an item less in an open tuple": (pair(STRING, NUMBER), pair(STRING)),
    "an item less that the rest covers": (
        pair(STRING, INTEGER, rest=False), pair(STRING, rest=NUMBER)
    ),
    "an item more that the rest covers": (
        pair(STRING, rest=INTEGER), pair(STRING, NUMBER, rest=NUMBER)
    ),
    "items need not be unique": ({"type": "array", "uniqueItems": True}, {"type": "array"}),
    "an alternative more": ({"oneOf": [STRING]}, {"oneOf": [NUMBER, STRING]}),
    "an alternative beside what was alone": (STRING, {"anyOf": [NULL, STRING]}),
    "anyOf instead of oneOf": ({"oneOf": [STRING, NULL]}, {"anyOf": [NULL, STRING]}),
    "a member less in allOf": ({"allOf": [{"enum": ["a"]}, STRING]}, {"allOf": [STRING]}),
    "repetitions in allOf": ({"allOf": [STRING]}, {"allOf": [STRING, STRING]}),
    "a narrower not": ({"not": NUMBER}, {"not": INTEGER}),
    "wider branches of a condition": (
        {"if": STRING, "then": {"minLength": 2}, "else": INTEGER}, {"if": STRING, "else": NUMBER}
    ),
    "a definition moved": (
        STRING, {"$ref": "#/definitions/s", "definitions": {"s": STRING}}
    ),
}  # fmt: skip

BROKEN: dict[str, tuple[Json, Json, list[str]]] = {
    "another type": (fields(a=STRING), fields(a=NUMBER), ["TYPE_CHANGED #/properties/a"]),
    "something instead of anything": ({}, STRING, ["TYPE_CHANGED #/"]),
    "integers instead of numbers": (NUMBER, INTEGER, ["TYPE_NARROWED #/"]),
    "a type where there was none": (
        {"maxLength": 1}, limited("maxLength", 1), ["TYPE_NARROWED #/"]
    ),
    "a type less": ({"type": ["string", "null"]}, STRING, ["TYPE_CHANGED #/"]),
    "a maxLength": (STRING, limited("maxLength", 3), ["MAX_LENGTH_ADDED #/maxLength"]),
    "a shorter maxLength": (
        limited("maxLength", 12), limited("maxLength", 10), ["MAX_LENGTH_DECREASED #/maxLength"]
    ),
    "a longer minLength": (
        limited("minLength", 1), limited("minLength", 2), ["MIN_LENGTH_INCREASED #/minLength"]
    ),
    "a pattern": (STRING, limited("pattern", "a"), ["PATTERN_ADDED #/pattern"]),
    "another pattern": (
        limited("pattern", "a"), limited("pattern", "b"), ["PATTERN_CHANGED #/pattern"]
    ),
    "a smaller maximum": (
        limited("maximum", 2, "number"), limited("maximum", 1.5, "number"),
        ["MAXIMUM_DECREASED #/maximum"],
    ),
    "a greater minimum": (
        limited("minimum", 1, "number"), limited("minimum", 2, "number"),
        ["MINIMUM_INCREASED #/minimum"],
    ),
    "exclusive limits": (
        {"type": "number", "exclusiveMaximum": 3},
        {"type": "number", "exclusiveMaximum": 2, "exclusiveMinimum": 1},
        [
            "EXCLUSIVE_MAXIMUM_DECREASED #/exclusiveMaximum",
            "EXCLUSIVE_MINIMUM_ADDED #/exclusiveMinimum",
        ],
    ),
    "another multipleOf": (
        limited("multipleOf", 10, "number"), limited("multipleOf", 11, "number"),
        ["MULTIPLE_OF_CHANGED #/multipleOf"],
    ),
    "a multiple of multipleOf": (
        limited("multipleOf", 0.5, "number"), limited("multipleOf", 1, "number"),
        ["MULTIPLE_OF_EXPANDED #/multipleOf"],
    ),
    "a value less in an enum": (
        fields(a={"enum": ["x", "y"]}), fields(a={"enum": ["x"]}),
        ["ENUM_ARRAY_NARROWED #/properties/a/enum"],
    ),
    "other values in an enum": (
        {"enum": ["x", "y"]}, {"enum": ["x", "z"]}, ["ENUM_ARRAY_CHANGED #/enum"]
    ),
    "a boolean for a number in an enum": (
        {"enum": [1]}, {"enum": [True]}, ["ENUM_ARRAY_CHANGED #/enum"]
    ),
    "another constant": ({"const": 1}, {"const": 2}, ["ENUM_ARRAY_CHANGED #/const"]),
    "a property in an open model": (
        fields(a=STRING), fields(a=STRING, b=NUMBER),
        ["PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b"],
    ),
    "a required property in a closed model": (
        closed(), closed(required=["b"], b=NUMBER),
        ["REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b"],
    ),
    "a property unlike all others": (
        fields(STRING), fields(STRING, b=NUMBER),
        [
            "TYPE_CHANGED #/properties/b",
            "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        ],
    ),
    "a property less in a closed model": (
        closed(a=STRING, b=STRING), closed(a=STRING),
        ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"],
    ),
    "a property less that the rest does not cover": (
        closed(b=NUMBER), fields(STRING),
        [
            "TYPE_CHANGED #/properties/b",
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        ],
    ),
    "a property required": (
        fields(a=STRING), fields(required=["a"], a=STRING),
        ["REQUIRED_ATTRIBUTE_ADDED #/required/a"],
    ),
    "a name required that is not listed": (
        fields(), fields(required=["a/b"]), ["REQUIRED_ATTRIBUTE_ADDED #/required/a~1b"]
    ),
    "a closed model": (
        fields(), closed(), ["ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"]
    ),
    "a partially open model": (
        fields(), fields(STRING), ["ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties"]
    ),
    "another rest": (fields(STRING), fields(NUMBER), ["TYPE_CHANGED #/additionalProperties"]),
    "a pattern in an open model": (
        fields(), fields() | {"patternProperties": {"^a": STRING}},
        ["PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/patternProperties/^a"],
    ),
    "a pattern less in a closed model": (
        closed() | {"patternProperties": {"^a": STRING}}, closed(),
        ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/patternProperties/^a"],
    ),
    "limits to the number of properties": (
        {"minProperties": 1}, {"minProperties": 2, "maxProperties": 3},
        ["MAX_PROPERTIES_ADDED #/maxProperties", "MIN_PROPERTIES_INCREASED #/minProperties"],
    ),
    "limits to names": (
        fields(), fields() | {"propertyNames": {"maxLength": 3}}, ["SCHEMA_ADDED #/propertyNames"]
    ),
    "dependencies": (
        {"dependencies": {"a": ["b"], "c": ["d"]}},
        {"dependencies": {"a": ["b", "x"], "c": ["x"], "e": ["f"], "g": STRING}},
        [
            "DEPENDENCY_ARRAY_EXTENDED #/dependencies/a",
            "DEPENDENCY_ARRAY_CHANGED #/dependencies/c",
            "DEPENDENCY_ARRAY_ADDED #/dependencies/e",
            "DEPENDENCY_SCHEMA_ADDED #/dependencies/g",
        ],
    ),
    "a schema for items": (
        {"type": "array"}, {"type": "array", "items": STRING}, ["SCHEMA_ADDED #/items"]
    ),
    "other items": (
        {"type": "array", "items": STRING}, {"type": "array", "items": NUMBER},
        ["TYPE_CHANGED #/items"],
    ),
    "an item in an open tuple": (
        pair(STRING), pair(STRING, NUMBER), ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1"]
    ),
    "an item unlike the rest": (
        pair(STRING, rest=STRING), pair(STRING, NUMBER, rest=STRING),
        [
            "TYPE_CHANGED #/items/1",
            "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
        ],
    ),
    "an item less in a closed tuple": (
        pair(STRING, NUMBER, rest=False), pair(STRING, rest=False),
        ["ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1"],
    ),
    "an item less that the rest does not cover": (
        pair(STRING, NUMBER, rest=STRING), pair(STRING, rest=STRING),
        [
            "TYPE_CHANGED #/items/1",
            "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
        ],
    ),
    "a closed tuple": (
        pair(STRING), pair(STRING, rest=False), ["ADDITIONAL_ITEMS_REMOVED #/additionalItems"]
    ),
    "a partially open tuple": (
        pair(STRING), pair(STRING, rest=STRING), ["ADDITIONAL_ITEMS_NARROWED #/additionalItems"]
    ),
    "limits to arrays": (
        {"type": "array", "maxItems": 3},
        {"type": "array", "maxItems": 2, "minItems": 1, "uniqueItems": True, "contains": STRING},
        [
            "SCHEMA_ADDED #/contains",
            "UNIQUE_ITEMS_ADDED #/uniqueItems",
            "MAX_ITEMS_DECREASED #/maxItems",
            "MIN_ITEMS_ADDED #/minItems",
        ],
    ),
    "an alternative less": (
        {"oneOf": [NUMBER, STRING]}, {"oneOf": [STRING]}, ["SUM_TYPE_NARROWED #/"]
    ),
    "another alternative": (
        {"anyOf": [NUMBER, STRING]}, {"anyOf": [NUMBER, NULL]},
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/", "TYPE_CHANGED #/anyOf/1"],
    ),
    "a member more in allOf": (
        {"allOf": [STRING]}, {"allOf": [STRING, {"enum": ["a"]}]}, ["PRODUCT_TYPE_EXTENDED #/"]
    ),
    "oneOf instead of anyOf": (
        {"anyOf": [STRING, NULL]}, {"oneOf": [STRING, NULL]}, ["COMBINED_TYPE_CHANGED #/"]
    ),
    "allOf instead of one schema": (STRING, {"allOf": [NUMBER, STRING]}, ["TYPE_CHANGED #/"]),
    "something wrong beside a combination": (
        fields(a=STRING) | {"allOf": [{"required": ["b"]}]},
        fields(a=NUMBER) | {"allOf": [{"required": ["b"]}]},
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/", "TYPE_CHANGED #/properties/a"],
    ),
    "a wider not": ({"not": INTEGER}, {"not": NUMBER}, ["NOT_TYPE_EXTENDED #/not"]),
    "another condition": (
        {"if": STRING, "then": {"minLength": 2}},
        {"if": NUMBER, "then": {"minLength": 3}},
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/if", "MIN_LENGTH_INCREASED #/then/minLength"],
    ),
    "what is referred to": (
        {"items": {"$ref": "#/definitions/s"}, "definitions": {"s": STRING}},
        {"items": {"$ref": "#/definitions/s"}, "definitions": {"s": NUMBER}},
        ["TYPE_CHANGED #/items"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), COMPATIBLE.values(), ids=COMPATIBLE.keys())
def test_a_new_schema_may_have(old: Json, new: Json) -> None:
    assert breaks(old, new) == []


@pytest.mark.parametrize(("old", "new", "found"), BROKEN.values(), ids=BROKEN.keys())
def test_a_new_schema_may_not_have(old: Json, new: Json, found: list[str]) -> None:
    assert breaks(old, new) == found


def test_a_schema_can_read_what_is_written_with_itself() -> None:
    schemas = [old for old, _ in COMPATIBLE.values()] + [old for old, _, _ in BROKEN.values()]
    assert [schema for schema in schemas if breaks(schema, schema | {"title": "new"})] == []


def test_a_recursive_schema_is_compared_to_its_end() -> None:
    def tree(value: Json) -> Json:
        return fields(value=value, children={"type": "array", "items": {"$ref": "#"}})

    assert breaks(tree(INTEGER), tree(NUMBER)) == []
    assert breaks(tree(NUMBER), tree(STRING)) == ["TYPE_CHANGED #/properties/value"]


def test_an_assumption_about_a_recursive_schema_does_not_outlive_it() -> None:
    """`b` passes while `a` is compared, as it leads back to it; then `a` fails, and so must `b`."""

    def schema(value: Json, *others: Json) -> Json:
        first = {"$ref": "#/definitions/a"}
        return {
            "properties": {
                "p": {"anyOf": [first, *others]} if others else first,
                "q": {"$ref": "#/definitions/b"},
            },
            "definitions": {
                "a": fields(b={"$ref": "#/definitions/b"}, value=value),
                "b": fields(a=first),
            },
        }

    assert breaks(schema(STRING), schema(NUMBER, {})) == [
        "TYPE_CHANGED #/properties/q/properties/a/properties/value"
    ]


def test_draft_04_has_limits_that_are_exclusive_by_a_boolean() -> None:
    old = {"type": "number", "minimum": 1}
    new = old | {"exclusiveMinimum": True}
    assert breaks(old, new, draft="draft-04") == ["EXCLUSIVE_MINIMUM_ADDED #/exclusiveMinimum"]


def test_a_tuple_of_2020_12_has_prefix_items() -> None:
    old = {"type": "array", "prefixItems": [STRING], "items": False}
    new = {"type": "array", "prefixItems": [STRING, NUMBER], "items": False}
    assert breaks(old, new, draft="2020-12") == []
    assert breaks(new, old, draft="2020-12") == [
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/prefixItems/1"
    ]


def test_a_newer_draft_may_say_the_same_in_other_words() -> None:
    old = json_schema(pair(STRING, rest=False) | {"dependencies": {"a": ["b"]}}, draft="draft-07")
    words = {"prefixItems": [STRING], "items": False, "dependentRequired": {"a": ["b"]}}
    assert json_schema({"type": "array"} | words, draft="2020-12").can_read(old) == []


def test_unevaluated_properties_close_a_model() -> None:
    old = {"type": "object", "properties": {"a": STRING}, "unevaluatedProperties": False}
    new = {"type": "object", "properties": {"b": STRING}, "unevaluatedProperties": False}
    assert breaks(old, new, draft="2019-09") == [
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/a"
    ]


def test_unevaluated_properties_beside_a_combination_allow_no_change() -> None:
    def closed(**properties: Json) -> Json:
        return {"allOf": [{"properties": properties}], "unevaluatedProperties": False}

    found = breaks(closed(a=STRING), closed(), draft="2020-12")
    assert "UNEVALUATED_PROPERTIES_NARROWED #/unevaluatedProperties" in found


def test_references_are_compared_by_what_they_stand_for() -> None:
    schema = closed(address={"$ref": "address.json"})
    old = json_schema(schema, reference("address.json", closed(city=STRING)))
    new = json_schema(schema, reference("address.json", closed(city=STRING, zip=STRING)))

    assert new.can_read(old) == []
    assert [one.path for one in old.can_read(new)] == ["#/properties/address/properties/zip"]


@pytest.mark.parametrize("draft", DRAFTS)
def test_messages_tell_what_was_and_what_is(draft: str) -> None:
    old, new = (json_schema(limited("maxLength", most), draft=draft) for most in (10, 5))
    assert [one.message for one in new.can_read(old)] == ["`maxLength` is 5 instead of 10"]


def test_another_type_of_schema_cannot_be_read() -> None:
    avro = parse(SchemaType.AVRO, '"string"')
    assert [one.kind for one in json_schema(STRING).can_read(avro)] == ["SCHEMA_TYPE_MISMATCH"]


def test_a_level_asks_in_its_own_direction() -> None:
    old, new = json_schema(INTEGER), json_schema(NUMBER)
    assert incompatibilities(new, [old], Level.BACKWARD) == []
    assert [one.kind for one in incompatibilities(new, [old], Level.FORWARD)] == ["TYPE_NARROWED"]
