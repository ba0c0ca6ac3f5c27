"""No schema takes longer than a second, whatever it says."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schemas import InvalidSchemaError, SchemaType, parse
from penstock.schemas.json_schema import JsonSchema, problems
from support.json_schemas import DRAFTS, Json, json_schema, reference

MODERN = DRAFTS["2020-12"]
CATASTROPHIC = "^(([a-z])+.)+[A-Z]([a-z])+$"


@contextmanager
def within_a_second() -> Iterator[None]:
    """Count the time of this process only: others may run beside it."""
    begin = time.process_time()
    yield
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("shape", ['{"not":', '{"items":[', '{"properties":{"a":'])
def test_deep_nesting_is_refused(shape: str) -> None:
    with within_a_second(), pytest.raises(InvalidSchemaError, match="nested deeper"):
        parse(SchemaType.JSON, shape * 10_000)


def test_the_deepest_nesting_that_is_read_is_also_compared() -> None:
    def deep(innermost: str) -> str:
        return '{"not":' * 198 + innermost + "}" * 198

    with within_a_second():
        old, new = (parse(SchemaType.JSON, deep(one)) for one in ('{"enum":[1]}', '{"enum":[2]}'))
        assert new.can_read(old)


def test_a_long_enumeration_of_mixed_values_is_read_and_compared() -> None:
    values = [[number] if number % 2 else f"v{number}" for number in range(10_000)]
    with within_a_second():
        old, new = (json_schema({"$schema": MODERN, "enum": values[:end]}) for end in (-1, None))
        assert new.can_read(old) == []


def test_more_subschemas_than_anybody_writes_are_refused() -> None:
    schema: Json = {"properties": {f"p{number}": {} for number in range(10_001)}}
    with within_a_second(), pytest.raises(InvalidSchemaError, match="more than 10,000 subschemas"):
        json_schema(schema)


CYCLES: dict[str, Json] = {
    "itself": {"$ref": "#"},
    "a definition": {"definitions": {"a": {"$ref": "#/definitions/a"}}},
    "two definitions": {
        "definitions": {
            "a": {"allOf": [{"$ref": "#/definitions/b"}]},
            "b": {"not": {"$ref": "#/definitions/a"}},
        }
    },
    "a condition": {"if": {"$ref": "#"}, "then": True},
    "a dependency": {"dependencies": {"a": {"$ref": "#"}}},
}


@pytest.mark.parametrize("schema", CYCLES.values(), ids=CYCLES.keys())
def test_a_cycle_without_an_end_is_refused(schema: Json) -> None:
    with within_a_second(), pytest.raises(InvalidSchemaError, match="without an end"):
        json_schema(schema)


def test_a_cycle_through_references_is_refused() -> None:
    first, second = (
        reference(f"{one}.json", {"$ref": f"{other}.json"}) for one, other in ("ab", "ba")
    )
    with pytest.raises(InvalidSchemaError, match="without an end"):
        json_schema({"$ref": "a.json"}, first, second)


def test_a_long_chain_of_references_is_read_and_not_compared() -> None:
    def chain(end: Json) -> Json:
        links = {f"a{at}": {"items": {"$ref": f"#/definitions/a{at + 1}"}} for at in range(400)}
        return {"$ref": "#/definitions/a0", "definitions": links | {"a400": end}}

    with within_a_second():
        old, new = json_schema(chain({})), json_schema(chain({"type": "string"}))
        assert [one.kind for one in new.can_read(old)] == ["COMPARISON_TOO_COMPLEX"]


def test_alternatives_that_refer_to_each_other_do_not_take_forever() -> None:
    def tangle(value: str) -> Json:
        names = range(8)
        knots = [{"properties": {"x": {"$ref": f"#/definitions/a{name}"}}} for name in names]
        knot = {"properties": {"k": {"enum": [value]}}, "anyOf": knots}
        return {
            "items": {"$ref": "#/definitions/a0"},
            "definitions": {f"a{name}": knot for name in names},
        }

    with within_a_second():
        assert json_schema(tangle("new")).can_read(json_schema(tangle("old")))


def test_a_catastrophic_pattern_is_read_compared_and_applied() -> None:
    name = "a" * 5_000
    old = {"additionalProperties": False, "properties": {name: {"type": "string"}}}
    new = {"additionalProperties": False, "patternProperties": {CATASTROPHIC: {"type": "string"}}}
    with within_a_second():
        found = json_schema(new).can_read(json_schema(old))
        assert found
        assert problems(json_schema({"pattern": CATASTROPHIC}), name)


def test_many_patterns_and_names_share_a_budget() -> None:
    names = {"a" * 500 + str(number): {"type": "string"} for number in range(100)}
    patterns = {f"((a|b)*c)*{number}$": {"type": "number"} for number in range(50)}
    with within_a_second():
        old = json_schema({"additionalProperties": False, "properties": names})
        new = json_schema({"additionalProperties": False, "patternProperties": patterns})
        assert new.can_read(old)


@pytest.mark.parametrize("pattern", ["(" * 2_000 + ")" * 2_000, "(?:" * 40 + "a" + "){999}" * 40])
def test_a_pattern_of_any_shape_is_read_without_evaluating_it(pattern: str) -> None:
    with within_a_second():
        schema = json_schema({"pattern": pattern})
        assert problems(schema, "b" * 100)


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="more than 5,000 characters"):
        json_schema({"pattern": "a" * 5_001})


def test_a_deep_document_is_a_problem_and_not_a_crash() -> None:
    document: Json = []
    for _ in range(5_000):
        document = [document]
    with within_a_second():
        found = problems(json_schema({"items": {"$ref": "#"}}), document)
    assert [one.message for one in found] == ["the document is nested too deeply to be checked"]


def test_large_schemas_in_deep_ones_are_looked_at_once() -> None:
    inner: Json = {"properties": {f"p{number}": {"enum": [number]} for number in range(1_000)}}
    for _ in range(60):
        inner = {"properties": {"a": inner}}
    with within_a_second():
        json_schema(inner)


def test_an_answer_is_short_even_if_names_are_long() -> None:
    def schema(kind: str) -> Json:
        leaves = {f"p{number}": {"type": kind} for number in range(200)}
        return {"properties": {"a" * 100_000: {"properties": leaves}}}

    with within_a_second():
        found = json_schema(schema("null")).can_read(json_schema(schema("string")))
    assert len(found) == 100
    assert max(len(one.path) + len(one.message) for one in found) <= 2_000


KEYWORDS = [
    "$ref", "$id", "$anchor", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "type",
    "enum", "const", "properties", "required", "patternProperties", "additionalProperties",
    "items", "unevaluatedProperties", "propertyNames", "dependencies", "dependentRequired",
    "prefixItems", "dependentSchemas", "additionalItems", "unevaluatedItems", "contains",
    "maxContains", "minItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
    "minLength", "pattern", "minimum", "exclusiveMinimum", "multipleOf", "title", "default",
]  # fmt: skip
WORDS = [
    "#",
    "#/definitions/a",
    "a",
    "b.json",
    "http://[",
    "urn:a:b",
    "string",
    "object",
    "(",
    "^a",
]
JUNK = st.recursive(
    st.sampled_from([0, -1, 0.5, 1e300, True, None, *WORDS]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from([*KEYWORDS, *WORDS]), inner, max_size=3),
    ),
    max_leaves=12,
)


@settings(max_examples=40)
@given(
    old=st.dictionaries(st.sampled_from(KEYWORDS), JUNK, max_size=4),
    new=st.dictionaries(st.sampled_from(KEYWORDS), JUNK, max_size=4),
    draft=st.sampled_from(list(DRAFTS)),
)
def test_whatever_a_schema_says_it_is_read_or_refused(old: Json, new: Json, draft: str) -> None:
    """Stored ones are hardly ever refused, so that the rest gets to work on them, too."""
    parsed = []
    for schema in (old, new):
        with suppress(InvalidSchemaError):
            text = json.dumps({"$schema": DRAFTS[draft]} | schema)
            parsed += [parse(SchemaType.JSON, text, stored=True), parse(SchemaType.JSON, text)]
    for one in parsed:
        assert [other.can_read(one) for other in parsed]
        assert isinstance(one, JsonSchema)
        assert len(problems(one, {"a": [1, "a"]})) <= 5
