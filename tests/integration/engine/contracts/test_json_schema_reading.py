"""JSON under a schema in Spark: what is read, what is refused, and with which sentence."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from penstock.engine.contracts import wire
from penstock.schemas import Resolved
from penstock.schemas.json_schema import parse, problems
from support.json_contracts import contract, decoded, framed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDER: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "definitions": {"money": {"type": "number", "multipleOf": 0.01, "minimum": 0}},
    "properties": {
        "id": {"type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[A-Z]{2}-(a|b)\\d+$"},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "price": {"$ref": "#/definitions/money"},
        "state": {"enum": ["NEW", "OLD", None]},
        "at": {"type": "string", "format": "date-time"},
        "day": {"type": ["string", "null"], "format": "date"},
        "paid": {"type": "boolean"},
        "lines": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {
                "type": "object",
                "required": ["sku"],
                "properties": {
                    "sku": {"type": "string"},
                    "quantity": {"type": "integer", "multipleOf": 2},
                    "it's a ?": {"type": "boolean"},
                },
            },
        },
        "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "anything": {},
        "either": {"type": ["integer", "string"]},
        "next": {
            "anyOf": [
                {"type": "null"},
                {"type": "object", "properties": {"kind": {"const": "k"}}, "required": ["kind"]},
            ]
        },
    },
}

BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"id": 5}, "`/id` is a number, not a string"),
    ({"id": None}, "`/id` is null, not a string"),
    ({"id": "A"}, "`/id` is shorter than 2 characters"),
    ({"id": "AB-a123456"}, "`/id` is longer than 8 characters"),
    ({"id": "AB-c1"}, "`/id` does not match `^[A-Z]{2}-(a|b)\\d+$`"),
    ({"id": "AB-a1\n"}, "`/id` does not match `^[A-Z]{2}-(a|b)\\d+$`"),
    ({"age": -1}, "`/age` is less than 0"),
    ({"age": 150}, "`/age` is not less than 150"),
    ({"age": "1"}, "`/age` is a string, not an integer"),
    ({"age": 1.5}, "`/age` is a number, not an integer"),
    ({"age": 2**70}, "`/age` does not fit into 64 bits"),
    ({"price": 0.295}, "`/price` is not a multiple of 0.01"),
    ({"price": 1e-30}, "`/price` is not a multiple of 0.01"),
    ({"price": True}, "`/price` is a boolean, not a number"),
    ({"state": "LOST"}, "`/state` is none of `NEW`, `OLD`"),
    ({"at": "2020"}, "`/at` is not a date and time"),
    ({"at": "2020-13-01T00:00:00Z"}, "`/at` is not a date and time"),
    ({"day": "2021-02-29"}, "`/day` is not a date"),
    ({"paid": "true"}, "`/paid` is a string, not a boolean"),
    ({"lines": []}, "`/lines` has fewer than 1 item"),
    ({"lines": [{"sku": ""}] * 3}, "`/lines` has more than 2 items"),
    ({"lines": {}}, "`/lines` is an object, not an array"),
    ({"lines": [None]}, "`/lines/0` is null, not an object"),
    ({"lines": [{"sku": "a"}, {}]}, "`/lines/1/sku` is missing"),
    ({"lines": [{"sku": "a", "quantity": 3}]}, "`/lines/0/quantity` is not a multiple of 2"),
    ({"lines": [{"sku": "a", "it's a ?": 1}]}, "`/lines/0/it's a ?` is a number, not a boolean"),
    ({"counts": {"a": 1, "b": 0}}, "`/counts/b` is less than 1"),
    ({"either": 5.5}, "`/either` is a number, not integer or string"),
    ({"next": {}}, "`/next/kind` is missing"),
    ({"next": {"kind": "j"}}, "`/next/kind` is not `k`"),
    ({"extra": 1}, "`/extra` is not a property that the schema allows"),
]  # fmt: skip
GOOD: list[dict[str, Any]] = [
    {},
    {"age": 1.0},
    {"age": 1e2},
    {"price": 0.29},
    {"price": 1e30},
    {"state": None},
    {"day": None},
    {"next": None},
    {"next": {"kind": "k", "more": 1}},
    {"either": 5.0},
    {"anything": None},
]
NO_VALUE = "value is not one JSON value in which each name occurs once"
NOT_JSON: list[tuple[bytes | None, str]] = [
    (framed(""), NO_VALUE),
    (framed('{"id":"AB-a1"} x'), NO_VALUE),
    (framed('{"id":"AB-a1"},{}'), NO_VALUE),
    (framed('{"id":"AB-a1"}]'), NO_VALUE),
    (framed("{'id':'AB-a1'}"), NO_VALUE),
    (framed('{"id":"AB-a1","price":NaN}'), NO_VALUE),
    (framed('{"id":"AB-a1","id":"AB-a1"}'), NO_VALUE),
    (framed('{"id":"AB-a1","price":1E400}'), "`/price` does not fit into 64 bits"),
    (framed("[]"), "the document is an array, not an object"),
    (framed("null"), "the document is null, not an object"),
    (framed("{}"), "`/id` is missing"),
    (framed(b'{"id":"\xff"}'), "value is not valid UTF-8"),
    (wire.prefix_of(8) + b"{}", "value: schema id 8 is of another subject"),
    (b'{"id":"AB-a1"}', "value is not in a registry's wire format"),
    (b"\x00\x00", "value is not in a registry's wire format"),
    (b"", "value is not in a registry's wire format"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(300)
def test_what_breaks_a_rule_is_refused_with_the_field_and_the_rule(spark: SparkSession) -> None:
    known = contract(spark, ORDER, refused={8: "schema id 8 is of another subject"})
    records = [order(changes) for changes, _ in BROKEN] + [order(one) for one in GOOD]

    found = decoded(spark, known, [*records, *(record for record, _ in NOT_JSON)])

    reasons = [row.bad for row in found.select("bad").collect()]
    expected = [reason for _, reason in BROKEN] + [None] * len(GOOD)
    assert reasons == expected + [reason for _, reason in NOT_JSON]
    assert not runs_python(found)


def test_values_reach_their_columns(spark: SparkSession) -> None:
    line = {"sku": "a", "quantity": 2, "it's a ?": True}
    full = {
        "age": 41,
        "price": 0.5,
        "state": "NEW",
        "at": "2020-01-01T10:00:00.123456+02:00",
        "day": "2020-02-29",
        "paid": True,
        "lines": [line],
        "counts": {"a": 1},
        "anything": [1, {"z": None}],
        "either": "x",
        "next": {"kind": "k"},
    }
    local = {"at": "2020-01-01t10:00:00", "anything": None, "either": 5}

    first, second, nothing = decoded(
        spark, contract(spark, ORDER), [order(full), order(local), None]
    ).collect()

    assert first.asDict(recursive=True) == full | {
        "bad": None,
        "id": "AB-a1",
        "at": datetime(2020, 1, 1, 8, 0, 0, 123456, tzinfo=UTC).astimezone().replace(tzinfo=None),
        "day": date(2020, 2, 29),
        "anything": '[1,{"z":null}]',
        "either": '"x"',
    }
    assert second.at == datetime(2020, 1, 1, 10, tzinfo=UTC).astimezone().replace(tzinfo=None)
    assert (second.anything, second.either, second.lines) == (None, "5", None)
    assert set(nothing.asDict()) - {"bad"} == set(ORDER["properties"])
    assert all(value is None for name, value in nothing.asDict().items() if name != "bad")


def test_an_id_that_nobody_knows_makes_the_batch_fail(spark: SparkSession) -> None:
    known = contract(spark, {"type": "string"})
    found = decoded(spark, known, [wire.prefix_of(9) + b"{}"])

    with pytest.raises(PySparkException) as failure:
        found.collect()

    unknown = wire.unknown_in(str(failure.value))
    assert unknown == wire.UnknownId(subject="orders-value", id="9")


def test_other_rules_are_checked_in_batches(spark: SparkSession) -> None:
    address = {"type": "object", "properties": {"zip": {"type": "string", "pattern": "\\bD"}}}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
            "card": {"type": "string"},
            "address": {"$ref": "address.json"},
            "size": {"type": "integer", "minimum": 1},
        },
        "dependentRequired": {"card": ["address"]},
    }
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({"tags": ["a", "b"]}, None),
        ({"tags": ["a", "a"]}, "`/tags` 'a' is there more than once"),
        ({"card": "1"}, "'address' is a dependency of 'card'"),
        ({"address": {"zip": "1D"}}, "`/address/zip` '1D' does not match '\\\\bD'"),
        ({"address": {"zip": "1 D"}}, None),
        ({"size": 0, "tags": ["a", "a"]}, "`/size` is less than 1"),
    ]
    resolved = Resolved(name="address.json", text=json.dumps(address))
    known = contract(spark, schema, references=(resolved,))

    found = decoded(spark, known, [framed(json.dumps(one)) for one, _ in cases] + [b"x", None])

    assert [row.bad for row in found.collect()][: len(cases)] == [reason for _, reason in cases]
    assert runs_python(found)


RULES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 3},
    "dots": {"type": "string", "pattern": "^a.c$"},
    "part": {"type": "string", "pattern": "[0-9]{2}|x|[^ -~]"},
    "word": {"type": "string", "pattern": "^[\\w.-]{2,4}$"},
    "small": {"type": "integer", "minimum": -3, "maximum": 3},
    "between": {"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 2},
    "huge": {"type": "integer", "minimum": -(10**25), "exclusiveMaximum": 10**25},
    "third": {"type": "integer", "multipleOf": 1.5},
    "cents": {"type": "number", "multipleOf": 0.01, "exclusiveMinimum": 0},
    "ratio": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "number": {"enum": [1, 2.5, 3.0]},
    "flag": {"const": True},
    "typed_enum": {"type": "integer", "enum": [1, "1", None, 2**70]},
    "nothing": {"type": "null"},
    "never": False,
    "list": {"type": "array", "items": {"type": ["integer", "null"], "maximum": 2}, "maxItems": 2},
    "lists": {"type": "array", "items": {"type": "array", "items": {"const": "a"}}},
    "both": {"allOf": [{"type": "number"}, {"minimum": 1}, {"type": "integer"}]},
    "maybe": {"oneOf": [{"type": "null"}, {"type": "string", "enum": ["a"]}]},
    "mixed": {"type": ["boolean", "integer", "array"]},
    "closed": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": False,
    },
    "open": {
        "type": ["object", "null"],
        "properties": {"a": {"type": "integer", "minimum": 1}},
        "required": ["b"],
    },
    "map": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "boolean"}},
    },
}  # fmt: skip
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 4, 1.0, 1.5, 2.5, -3, 2**63 - 1, -(2**63)),
    *(0.01, 0.015, 0.1, 1e2, 1e-20),
    *("", "a", "ab", "abc", "abcd", "x", "12", "1", "a.-b"),
    *("a\nc", "a\u0085c", "a\u2028c", "a\U0001f600c", "abc\n", "\u00e9"),
    *([], [1], [1, None], [3], [1, 1, 1], ["a"], [["a"], []], [["a", ""]], [[1]]),
    *({}, {"a": 1}, {"a": "1"}, {"b": 1}, {"a": None, "b": 1}, {"a": 1, "b": 2}),
    *({"a": [True]}, {"a": [1]}, {"~/": []}),
]


def test_rules_in_spark_agree_with_the_validator(spark: SparkSession) -> None:
    """Each value for each rule; dates, which only columns need to be right, are left out."""
    schema = {"type": "object", "properties": RULES}
    documents = [{name: value} for name in RULES for value in VALUES]
    known, validator = contract(spark, schema), parse(json.dumps(schema))

    found = decoded(spark, known, [framed(json.dumps(one)) for one in documents])

    reasons = [row.bad for row in found.select("bad").collect()]
    wrong = [
        (document, reason)
        for document, reason in zip(documents, reasons, strict=True)
        if (reason is None) == bool(problems(validator, document))
    ]
    assert wrong == []
    assert not runs_python(found)
    assert 100 < reasons.count(None) < len(reasons) - 100


def order(changes: dict[str, Any]) -> bytes:
    return framed(json.dumps({"id": "AB-a1"} | changes))


def runs_python(frame: DataFrame) -> bool:
    plan = frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - no other way
    return "ArrowEvalPython" in plan
