"""What is not a JSON Schema is refused, and the error says where; what is one has its texts."""

import json

import pytest

from penstock.schemas import InvalidSchemaError, SchemaType, parse
from support.json_schemas import DRAFTS, Json, json_schema, reference

PERSON = """
{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "$id": "http://example.com/myURI.schema.json",
  "title": "Person", "description": "Person schema.",
  "type": "object", "additionalProperties": false,
  "properties": {
    "UserId": {"type": "integer", "description": "User id."},
    "UserName": {"type": "string", "description": "User name."},
    "Email": {"type": "string", "description": "Email address."}
  }
}
"""

REFUSED: dict[str, tuple[Json, str, str]] = {
    "an unknown type": (
        {"properties": {"a/b": {"type": "text"}}},
        '`type` is `"text"`, expected one of '
        '`["array","boolean","integer","null","number","object","string"]`',
        "#/properties/a~1b/type",
    ),
    "a negative length": (
        {"maxLength": -1}, "`maxLength` is `-1`, expected at least 0", "#/maxLength"
    ),
    "a length in words": (
        {"minLength": "ten"}, '`minLength` is `"ten"`, expected an integer', "#/minLength"
    ),
    "a name required twice": (
        {"required": ["a", "a"]},
        '`required` is `["a","a"]`, expected each entry once',
        "#/required",
    ),
    "an empty allOf": ({"allOf": []}, "`allOf` is `[]`, expected at least 1 entry", "#/allOf"),
    "a divisor of zero": (
        {"multipleOf": 0}, "`multipleOf` is `0`, expected more than 0", "#/multipleOf"
    ),
    "a pattern that is none": (
        {"pattern": "[a"},
        '`"[a"` is not a regular expression: a `[` without its `]` at position 0',
        "#/pattern",
    ),
    "a pattern of names that is none": (
        {"patternProperties": {"(": {}}},
        '`"("` is not a regular expression: a `(` without its `)` at position 0',
        "#/patternProperties",
    ),
    "a reference to nothing": (
        {"items": {"$ref": "#/definitions/a"}},
        "`$ref` leads to `#/definitions/a`, and there is no schema",
        "#/items",
    ),
    "a reference to what is no schema": (
        {"items": {"$ref": "#/title"}, "title": "a"},
        "`$ref` leads to `#/title`, and there is no schema",
        "#/items",
    ),
    "a schema that is only itself": (
        {"anyOf": [{"$ref": "#"}]},
        "the schema leads back to `#/` for the same value, without an end",
        "#/anyOf/0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(("schema", "reason", "path"), REFUSED.values(), ids=REFUSED.keys())
def test_a_schema_must_not_have(schema: Json, reason: str, path: str, draft: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        json_schema(schema, draft=draft)
    assert (caught.value.reason, caught.value.path) == (reason, path)


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_property_that_is_no_schema_is_told_by_its_place(draft: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        json_schema({"properties": {"a": 3}}, draft=draft)
    assert caught.value.path == "#/properties/a"


@pytest.mark.parametrize("text", ["3", '"string"', "null", "[]"])
def test_only_objects_and_booleans_are_schemas(text: str) -> None:
    with pytest.raises(InvalidSchemaError, match="is not a schema, an object or a boolean is"):
        parse(SchemaType.JSON, text)


def test_a_text_that_is_not_json_is_told_by_line_and_column() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        parse(SchemaType.JSON, '{"type":\n "string",}')
    assert caught.value.path == "2:11"


def test_keywords_count_from_the_draft_on_that_has_them() -> None:
    json_schema({"const": 1, "if": 3, "contains": 4}, draft="draft-04")
    with pytest.raises(InvalidSchemaError):
        json_schema({"if": 3}, draft="draft-07")


def test_draft_04_has_no_boolean_schemas_and_no_limit_that_is_only_exclusive() -> None:
    json_schema({"additionalProperties": False, "additionalItems": True}, draft="draft-04")
    for wrong in ({"properties": {"a": True}}, {"not": True}, {"exclusiveMinimum": True}):
        with pytest.raises(InvalidSchemaError):
            json_schema(wrong, draft="draft-04")


def test_what_is_no_keyword_may_be_anything() -> None:
    schema = {"title": "a", "x-owner": 3, "examples": [{"type": 4}], "default": {"$ref": "#/no"}}
    assert json_schema({"enum": [{"$ref": "#/no"}]} | schema).name == "a"


def test_a_schema_without_a_known_draft_is_read_as_draft_07() -> None:
    for address in ({}, {"$schema": "http://json-schema.org/schema#"}):
        with pytest.raises(InvalidSchemaError):
            json_schema({"if": 3} | address)


def test_the_canonical_text_has_no_whitespace_and_keeps_its_order() -> None:
    schema = parse(SchemaType.JSON, '{ "type": "object",\n "properties": {"é": {}, "a": true} }')
    assert schema.canonical() == '{"type":"object","properties":{"é":{},"a":true}}'
    assert schema.normalized() == '{"properties":{"a":true,"é":{}},"type":"object"}'


def test_the_normal_form_is_the_same_for_any_order_of_keys() -> None:
    one = json_schema({"type": "object", "required": ["b", "a"]})
    other = json_schema({"required": ["b", "a"], "type": "object"})
    assert one.normalized() == other.normalized()
    assert one.canonical() != other.canonical()


def test_the_name_of_a_schema_is_its_title() -> None:
    assert parse(SchemaType.JSON, PERSON).name == "Person"
    assert json_schema({}).name is None
    assert parse(SchemaType.JSON, "true").name is None


def test_a_reference_leads_to_a_schema_that_was_handed_over() -> None:
    name = "https://example.com/address.json"
    schema = json_schema({"$ref": f"{name}#/definitions/city"}, reference(name, CITIES))
    assert schema.can_read(json_schema({"type": "string"})) == []


def test_a_relative_name_is_found_from_the_address_of_the_schema() -> None:
    schema = {"$id": "https://example.com/schemas/person.json", "items": {"$ref": "city.json"}}
    json_schema(schema, reference("city.json", {"type": "string"}))


def test_references_may_refer_to_each_other() -> None:
    first = reference("a.json", {"items": {"$ref": "b.json"}})
    second = reference("b.json", {"items": {"$ref": "a.json#"}})
    json_schema({"$ref": "a.json"}, first, second)


def test_a_schema_is_found_by_its_own_address_and_anchor() -> None:
    inside = {"$id": "https://example.com/inner", "$anchor": "here", "type": "string"}
    for target in ("https://example.com/inner", "https://example.com/inner#here", "inner#here"):
        schema = {"$id": "https://example.com/outer", "$defs": {"x": inside}, "$ref": target}
        found = json_schema({"type": "integer"}).can_read(json_schema(schema, draft="2020-12"))
        assert [one.message for one in found] == ["an integer instead of a string"]


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_meta_schema_is_known_without_fetching_it(draft: str) -> None:
    json_schema({"properties": {"schema": {"$ref": DRAFTS[draft]}}}, draft=draft)


def test_a_reference_that_was_not_handed_over_is_named_and_not_fetched() -> None:
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:1/evil.json#/x"}}}
    with pytest.raises(InvalidSchemaError) as caught:
        json_schema(schema, reference("city.json", {}))
    assert caught.value.reason == (
        "`$ref` leads to `http://127.0.0.1:1/evil.json#/x`, which is neither in this schema nor "
        "among its references (`city.json`); nothing is fetched"
    )
    assert caught.value.path == "#/properties/a"


@pytest.mark.parametrize("keyword", ["$ref", "$id"])
def test_an_address_that_is_none_is_told_by_its_place(keyword: str) -> None:
    with pytest.raises(InvalidSchemaError, match='`"http://\\["` is not an address') as caught:
        json_schema({"items": {keyword: "http://["}})
    assert caught.value.path == f"#/items/{keyword}"


def test_the_name_of_a_reference_must_be_an_address() -> None:
    with pytest.raises(InvalidSchemaError, match="the reference's name `http://\\[` is not"):
        json_schema({}, reference("http://[", {}))


@pytest.mark.parametrize("draft", DRAFTS)
def test_what_a_property_depends_on_are_names(draft: str) -> None:
    keyword = "dependentRequired" if draft in ("2019-09", "2020-12") else "dependencies"
    with pytest.raises(InvalidSchemaError) as caught:
        json_schema({keyword: {"a": ["b", 3]}}, draft=draft)
    assert caught.value.path.startswith(f"#/{keyword}/a")


def test_keywords_that_2020_12_gave_up_are_still_checked() -> None:
    with pytest.raises(InvalidSchemaError, match="`\\$recursiveRef` is `0`, expected a string"):
        json_schema({"$recursiveRef": 0}, draft="2020-12")


def test_a_fault_in_a_reference_is_told_with_its_name() -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        json_schema({"$ref": "city.json"}, reference("city.json", {"items": {"type": 3}}))
    assert caught.value.path == "city.json#/items/type"


def test_what_another_registry_has_let_in_does_not_stop_a_subject() -> None:
    text = json.dumps(
        {
            "$schema": DRAFTS["draft-04"],
            "required": [],
            "properties": {
                "a": {"$ref": "https://example.com/gone.json"},
                "b": {"type": "string", "maxLength": "ten"},
            },
        }
    )
    with pytest.raises(InvalidSchemaError):
        parse(SchemaType.JSON, text)
    schema = parse(SchemaType.JSON, text, stored=True)
    assert json.loads(schema.canonical()) == json.loads(text)
    new = json_schema({"properties": {"a": {}, "b": {"type": "number"}}})
    assert [one.path for one in new.can_read(schema)] == ["#/properties/b"]


def test_the_person_of_the_course_is_closed() -> None:
    person = json.loads(PERSON)
    phone = person["properties"] | {"Phone": {"type": "string"}}
    more = json_schema(person | {"properties": phone})
    assert more.can_read(json_schema(person)) == []
    assert [one.kind for one in json_schema(person).can_read(more)] == [
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"
    ]


CITIES = {"definitions": {"city": {"type": "string"}}}
