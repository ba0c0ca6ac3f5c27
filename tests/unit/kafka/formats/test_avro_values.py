"""JSON as people write it becomes Avro's values, and what does not fit is named by its field."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from penstock.kafka.formats import UnfitRecordError
from penstock.kafka.formats.avro_values import AvroValues, readable
from penstock.schemas import Resolved, SchemaType, parse

CUSTOMER = {
    "type": "record",
    "name": "Customer",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {
            "name": "level",
            "type": {"type": "enum", "name": "Level", "symbols": ["GOLD", "SILVER"]},
            "default": "SILVER",
        },
        {"name": "friends", "type": {"type": "array", "items": "Customer"}, "default": []},
    ],
}


def there_and_back(schema: object, document: object) -> object:
    """Write `document` with Avro and return what a reader is shown."""
    text = json.dumps(schema)
    value = AvroValues(parse(SchemaType.AVRO, text)).value_of(document)
    parsed, data = fastavro.parse_schema(json.loads(text)), io.BytesIO()
    fastavro.schemaless_writer(data, parsed, value)
    data.seek(0)
    return readable(fastavro.schemaless_reader(data, parsed, None))


def refusal(schema: object, document: object) -> UnfitRecordError:
    with pytest.raises(UnfitRecordError) as caught:
        AvroValues(parse(SchemaType.AVRO, json.dumps(schema))).value_of(document)
    return caught.value


def logical(kind: str, name: str, **attributes: int) -> dict[str, object]:
    return {"type": kind, "logicalType": name, **attributes}


def test_plain_values_and_defaults_are_enough() -> None:
    document = {"id": 7, "name": "ann", "friends": [{"id": 8}]}

    assert there_and_back(CUSTOMER, document) == {
        "id": 7,
        "name": "ann",
        "level": "SILVER",
        "friends": [{"id": 8, "name": None, "level": "SILVER", "friends": []}],
    }


@pytest.mark.parametrize("name", ["ann", {"string": "ann"}])
def test_a_union_takes_a_value_as_it_is_or_tagged_as_in_avros_own_json(name: object) -> None:
    found = there_and_back(CUSTOMER, {"id": 7, "name": name})

    assert isinstance(found, dict)
    assert found["name"] == "ann"


def test_an_object_that_looks_like_a_tag_is_taken_as_it_is_when_the_tag_does_not_fit() -> None:
    schema = ["null", {"type": "map", "values": "int"}]

    assert there_and_back(schema, {"map": 5}) == {"map": 5}
    assert there_and_back(schema, {"map": {"a": 5}}) == {"a": 5}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (logical("int", "date"), "2026-05-01"),
        (logical("int", "time-millis"), "12:30:00.250000"),
        (logical("long", "time-micros"), "12:30:00.000001"),
        (logical("long", "timestamp-millis"), "2026-05-01T12:30:00.250000+00:00"),
        (logical("long", "timestamp-micros"), "2026-05-01T12:30:00.000001+00:00"),
        (logical("long", "local-timestamp-millis"), "2026-05-01T12:30:00"),
        (logical("long", "local-timestamp-micros"), "2026-05-01T12:30:00.000001"),
        (logical("bytes", "decimal", precision=40, scale=2), "-12345678901234567890123456789.50"),
        (logical("string", "uuid"), "8c3c2a0e-6a4b-4f0e-9d5e-3a1f7b0c9d2e"),
        ("bytes", "a\u0000\u00ff"),
        ("double", "NaN"),
        ("float", "-Infinity"),
    ],
    ids=lambda item: item if isinstance(item, str) else item["logicalType"],
)
def test_what_json_has_no_type_for_is_a_text_in_both_directions(schema: object, text: str) -> None:
    assert there_and_back(schema, text) == text


def test_moments_may_have_other_offsets_and_decimals_may_be_numbers() -> None:
    stamp, price = (
        logical("long", "timestamp-millis"),
        logical("bytes", "decimal", precision=6, scale=2),
    )

    assert there_and_back(stamp, "2026-05-01T14:30:00+02:00") == "2026-05-01T12:30:00+00:00"
    assert there_and_back(stamp, "2026-05-01T12:30:00Z") == "2026-05-01T12:30:00+00:00"
    assert there_and_back(price, 12.5) == "12.50"
    assert there_and_back(price, 12) == "12.00"


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        ({}, "/id", "is missing, and `shop.Customer` has no default for it"),
        ({"id": "7"}, "/id", 'is a text ("7"), not a value of type long'),
        ({"id": True}, "/id", "is a boolean (true), not a value of type long"),
        ({"id": 2**63}, "/id", "is 9223372036854775808, which does not fit into type long"),
        ({"id": 1, "name": 5}, "/name", "is a number (5), not a value of type string"),
        (
            {"id": 1, "friends": [{"id": 2}, {"id": None}]},
            "/friends/1/id",
            "is null, not a value of type long",
        ),
        (None, "", "is null, not a value of type record"),
    ],
    ids=["missing", "text", "boolean", "too large", "union", "nested", "whole"],
)
def test_a_value_that_does_not_fit_is_named_with_what_was_expected(
    document: object, path: str, message: str
) -> None:
    error = refusal(CUSTOMER, document)

    assert (error.path, error.reason) == (path, message)


def test_misspelled_fields_and_symbols_come_with_the_one_that_was_meant() -> None:
    field, symbol = (
        refusal(CUSTOMER, {"id": 1, "nane": "x"}),
        refusal(CUSTOMER, {"id": 1, "level": "GOLT"}),
    )

    assert (field.path, field.hint) == ("/nane", "did you mean `name`?")
    assert (symbol.path, symbol.hint) == ("/level", "did you mean `GOLD`?")


def test_the_branch_that_was_meant_is_the_one_whose_fault_is_told() -> None:
    card = {"type": "record", "name": "Card", "fields": [{"name": "number", "type": "string"}]}
    schema = ["null", "int", card]

    assert refusal(schema, {"number": 5}).path == "/number"
    assert refusal(schema, {"Card": {"number": 5}}).path == "/Card/number"
    assert refusal(schema, "x").reason == 'is a text ("x"), not one of null, int, Card'


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        (logical("bytes", "decimal", precision=6, scale=2), "1.234"),
        (logical("bytes", "decimal", precision=6, scale=2), 12345),
        (logical("bytes", "decimal", precision=6, scale=2), "NaN"),
        (logical("int", "date"), "yesterday"),
        (logical("int", "date"), 2**31),
        (logical("long", "local-timestamp-millis"), "2026-05-01T12:30:00Z"),
        (logical("string", "uuid"), "8c3c"),
        ("bytes", "€"),
        ("float", 1e300),
        ({"type": "fixed", "name": "Two", "size": 2}, "abc"),
    ],
    ids=str,
)
def test_values_outside_of_a_type_are_refused(schema: object, wrong: object) -> None:
    assert refusal(schema, wrong).path == ""


def test_types_of_other_schemas_are_known() -> None:
    address = json.dumps(
        {"type": "record", "name": "shop.Address", "fields": [{"name": "city", "type": "string"}]}
    )
    order: dict[str, Any] = {
        "type": "record",
        "name": "shop.Order",
        "fields": [{"name": "to", "type": "Address"}],
    }
    references = [Resolved(name="shop.Address", text=address)]
    values = AvroValues(parse(SchemaType.AVRO, json.dumps(order), references))

    assert values.value_of({"to": {"city": "Ulm"}}) == {"to": {"city": "Ulm"}}
    with pytest.raises(UnfitRecordError, match="`/to/city` of the value is a number"):
        values.value_of({"to": {"city": 1}})
