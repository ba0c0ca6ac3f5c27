"""Documents are checked before they are produced, and the field that is wrong is named."""

import json

import pytest

from penstock.schemas.json_schema import Problem, parse, problems
from support.json_schemas import DRAFTS, Json, json_schema, reference
from unit.schemas.json_schema.test_parsing import PERSON


def test_the_person_of_the_course_accepts_an_empty_object() -> None:
    assert problems(parse(PERSON), {}) == []


def test_the_field_that_is_wrong_is_named() -> None:
    person = {"UserId": "7", "UserName": "Ann", "Phone": "1"}
    assert sorted(problems(parse(PERSON), person), key=lambda one: one.path) == [
        Problem(path="/Phone", message="'Phone' is not a property that the schema allows"),
        Problem(path="/UserId", message="'7' is not of type 'integer'"),
    ]


@pytest.mark.parametrize("draft", DRAFTS)
def test_paths_lead_into_the_document(draft: str) -> None:
    schema = json_schema({"properties": {"a/b": {"items": {"required": ["c"]}}}}, draft=draft)
    assert problems(schema, {"a/b": [{"c": 1}, {}]}) == [
        Problem(path="/a~1b/1/c", message="'c' is missing, and the schema requires it")
    ]


def test_a_schema_may_be_a_boolean() -> None:
    assert problems(parse("true"), {"a": 1}) == []
    assert [one.path for one in problems(parse("false"), {"a": 1})] == [""]


def test_only_the_first_problems_are_told() -> None:
    schema = json_schema({"items": {"type": "string"}})
    assert [one.path for one in problems(schema, [1, 2, 3], limit=2)] == ["/0", "/1"]


def test_a_message_is_short_even_if_the_document_is_long() -> None:
    (problem,) = problems(json_schema({"type": "string"}), list(range(10_000)))
    assert len(problem.message) < 310


def test_of_alternatives_the_closest_one_is_told() -> None:
    schema = json_schema(
        {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"type": "string"}}}]}
    )
    assert problems(schema, {"a": 1}) == [Problem(path="/a", message="1 is not of type 'string'")]


def test_references_are_followed_each_in_its_own_draft() -> None:
    pair = {"$schema": DRAFTS["draft-07"], "items": [{"type": "string"}], "additionalItems": False}
    schema = json_schema(
        {"properties": {"pair": {"$ref": "pair.json"}}},
        reference("pair.json", pair),
        draft="2020-12",
    )
    assert problems(schema, {"pair": ["a"]}) == []
    assert len(problems(schema, {"pair": ["a", "b"]})) == 1


def test_a_dialect_named_inside_of_a_schema_does_not_upset_the_library() -> None:
    inside = {"$schema": DRAFTS["2019-09"], "$defs": {"a": [1]}, "type": "string"}
    schema = json_schema({"allOf": [inside], "items": {"$ref": "#/allOf/0"}}, draft="draft-07")
    assert problems(schema, "a") == []
    assert len(problems(schema, ["a"])) == 1


def test_lists_and_schemas_may_stand_side_by_side_in_dependencies() -> None:
    schema = json_schema({"dependencies": {"a": {"minProperties": 2}, "b": ["c"]}})
    assert problems(schema, {"a": 1, "b": 2, "c": 3}) == []
    assert [one.path for one in problems(schema, {"a": 1, "b": 2})] == ["/c"]


def test_a_recursive_schema_keeps_its_rules_below() -> None:
    """Whoever follows `$ref` must not fall back to another reading of patterns."""
    schema = json_schema(
        {"properties": {"next": {"$ref": "#"}, "name": {"pattern": "^\\d$"}}}, draft="draft-07"
    )
    assert [one.path for one in problems(schema, {"next": {"next": {"name": "٣"}}})] == [
        "/next/next/name"
    ]


VALID: list[tuple[Json, str]] = [
    ({"type": "integer"}, "1.0"),
    ({"multipleOf": 0.1}, "0.3"),
    ({"multipleOf": 0.01}, "1e15"),
    ({"uniqueItems": True}, "[1, true, [1], {}, null, [true]]"),
    ({"enum": [1.0]}, "1"),
    ({"format": "date"}, '"not a date"'),
]
INVALID: list[tuple[Json, str]] = [
    ({"multipleOf": 2}, "3"),
    ({"uniqueItems": True}, '["a", {"b": 1}, {"b": 1.0}]'),
    ({"enum": [1]}, "true"),
    ({"pattern": "^[a-z]+$"}, '"a\\n"'),
    ({"pattern": "(a)\\1"}, '"aa"'),
    ({"patternProperties": {"^a": {"type": "string"}}}, '{"ab": 1}'),
    ({"patternProperties": {"^a": {}}, "additionalProperties": False}, '{"ba": 1}'),
]


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(("schema", "text"), VALID)
def test_a_document_fits(schema: Json, text: str, draft: str) -> None:
    assert problems(json_schema(schema, draft=draft), json.loads(text)) == []


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(("schema", "text"), INVALID)
def test_a_document_does_not_fit(schema: Json, text: str, draft: str) -> None:
    assert len(problems(json_schema(schema, draft=draft), json.loads(text))) == 1


@pytest.mark.parametrize("items", [True, False])
def test_boolean_items_of_2019_09_do_not_upset_the_library(items: bool) -> None:  # noqa: FBT001
    schema = json_schema({"items": items, "unevaluatedItems": False}, draft="2019-09")
    assert bool(problems(schema, [1])) is not items


def test_a_document_that_is_wrong_as_a_whole_has_an_empty_path() -> None:
    assert [one.path for one in problems(json_schema({"type": "object"}), 3)] == [""]


def test_patterns_that_the_library_would_match_itself_must_be_harmless() -> None:
    def schema(pattern: str) -> Json:
        return {"patternProperties": {pattern: True}, "unevaluatedProperties": False}

    assert problems(json_schema(schema("^a+$"), draft="2020-12"), {"aa": 1}) == []
    for pattern in ("^(a+)+$", "^a*b*a*$", "^\\p{L}$", "(a)\\1"):
        (problem,) = problems(json_schema(schema(pattern), draft="2020-12"), {"a" * 100: 1})
        assert problem.message.startswith("documents cannot be checked")


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
def test_additional_properties_leave_nothing_unevaluated(draft: str) -> None:
    others = {"additionalProperties": {"type": "string"}}
    schema = {"allOf": [others], "unevaluatedProperties": False}
    assert problems(json_schema(schema, draft=draft), {"a": "b"}) == []
    assert problems(json_schema(schema, draft=draft), {"a": 1})[0].path == "/a"


def test_nothing_fits_a_stored_schema_that_has_faults() -> None:
    assert problems(parse('{"type": "string"}', stored=True), "a") == []
    (problem,) = problems(parse('{"maxLength": "ten"}', stored=True), "a")
    assert problem.message.startswith("the schema is not valid: `maxLength` is")
