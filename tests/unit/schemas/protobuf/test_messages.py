"""Messages come from JSON and go back to it; what does not fit is named by its path."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schemas.protobuf import ProtobufSchema, parse
from penstock.schemas.protobuf.errors import (
    MessageIndexesError,
    MessageMismatchError,
    UndecodableMessageError,
    UnknownMessageError,
)
from penstock.schemas.protobuf.indexes import decode_indexes, encode_indexes
from penstock.schemas.protobuf.messages import (
    decode_message,
    message_from_json,
    message_indexes,
    message_name,
    message_to_json,
)

ORDER = """
syntax = "proto3"; package shop;
import "google/protobuf/any.proto"; import "google/protobuf/timestamp.proto";
message Order {
  string id = 1; repeated Item items = 2; map<string, int32> tags = 3; Color color = 4;
  google.protobuf.Timestamp at = 5; oneof paid { int64 card = 6; string cash = 7; }
  map<string, Item> gifts = 8; google.protobuf.Any other = 9; Order part_of = 10;
  message Item { double price = 1; int32 piece_count = 2; }
  enum Color { RED = 0; BLUE = 1; }
  message Note {}
}
message Cart { Order order = 1; }
"""

UNFIT = {
    "an unknown field": ('{"idd": 1}', "idd", "`shop.Order` has no such field; did you mean `id`?"),
    "another type": ('{"id": 3}', "id", "found `3`, expected `string`"),
    "no list": ('{"items": 5}', "items", "found `5`, expected a list of `shop.Order.Item`"),
    "a field of a field": (
        '{"items": [{"price": 1}, {"price": "x"}]}',
        "items[1].price",
        'found `"x"`, expected `double`',
    ),
    "an unknown field of a field": (
        '{"items": [{}, {"weight": 3}]}',
        "items[1].weight",
        "`shop.Order.Item` has no such field",
    ),
    "a value of a map": (
        '{"tags": {"a": 1, "b": "c"}}',
        'tags["b"]',
        'found `"c"`, expected `int32`',
    ),
    "no map": ('{"tags": [1]}', "tags", "found `[1]`, expected an object from `string` to `int32`"),
    "a message in a map": (
        '{"gifts": {"a": {"piece_count": 1.5}}}',
        'gifts["a"].piece_count',
        "found `1.5`, expected `int32`",
    ),
    "a number out of range": (
        '{"items": [{"pieceCount": 3000000000}]}',
        "items[0].pieceCount",
        "found `3000000000`, expected `int32`",
    ),
    "an unknown value of an enum": (
        '{"color": "PINK"}',
        "color",
        'found `"PINK"`, expected `shop.Order.Color` (RED, BLUE)',
    ),
    "no time": (
        '{"at": "yesterday"}',
        "at",
        'found `"yesterday"`, expected `google.protobuf.Timestamp`',
    ),
    "two of one": (
        '{"card": 1, "cash": "x"}',
        "cash",
        "of `card` and `cash` one at most can be set",
    ),
    "a null in a list": (
        '{"items": [null]}',
        "items[0]",
        "found `null`, expected an object with fields of `shop.Order.Item`",
    ),
    "an unknown message in any": (
        '{"other": {"@type": "x/shop.Nope"}}',
        "other",
        'found `{"@type": "x/shop.Nope"}`, expected `google.protobuf.Any`',
    ),
    "no object": ("[]", "", "found `[]`, expected an object"),
    "no JSON": ("{", "", "not JSON: Expecting property name enclosed in double quotes at 1:2"),
    "JSON without an end in sight": ("[" * 100_000, "", "the JSON is nested too deep"),
}


@pytest.fixture(scope="module")
def order() -> ProtobufSchema:
    return parse(ORDER)


def test_a_message_survives_the_way_to_bytes_and_back(order: ProtobufSchema) -> None:
    value = {
        "id": "é",
        "items": [{"price": 1.5, "piece_count": 2}],
        "tags": {"a": 1},
        "color": "BLUE",
        "at": "2026-05-01T12:00:00Z",
        "card": "7",
        "gifts": {"x": {"price": 0.5, "piece_count": 0}},
        "other": {"@type": "x/shop.Order.Item", "price": 3.0, "piece_count": 0},
        "part_of": {"id": "b", "items": [], "tags": {}, "color": "RED", "gifts": {}},
    }
    message = message_from_json(order, json.dumps(value))
    decoded = decode_message(order, message.SerializeToString())
    assert decoded == message
    assert json.loads(message_to_json(order, decoded)) == value


def test_names_are_accepted_in_camel_case(order: ProtobufSchema) -> None:
    message = message_from_json(order, '{"pieceCount": 3}', "shop.Order.Item")
    assert json.loads(message_to_json(order, message)) == {"price": 0.0, "piece_count": 3}


@pytest.mark.parametrize(("text", "field", "reason"), UNFIT.values(), ids=UNFIT.keys())
def test_what_does_not_fit_is_named_by_its_path(
    order: ProtobufSchema, text: str, field: str, reason: str
) -> None:
    with pytest.raises(MessageMismatchError) as caught:
        message_from_json(order, text)
    assert (caught.value.field, caught.value.reason) == (field, reason)


def test_values_nested_too_deep_are_refused(order: ProtobufSchema) -> None:
    text = '{"part_of": ' * 150 + "{}" + "}" * 150
    with pytest.raises(MessageMismatchError, match="nested deeper than 100 levels"):
        message_from_json(order, text)


def test_a_required_field_is_asked_for() -> None:
    schema = parse("message A { optional B b = 1; } message B { required int32 id = 1; }")
    with pytest.raises(MessageMismatchError) as caught:
        message_from_json(schema, '{"b": {}}')
    assert caught.value.field == "b.id"
    with pytest.raises(UndecodableMessageError, match=r"`b\.id` is required and missing"):
        decode_message(schema, b"\x0a\x00")


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\x01\xff", b"\xff" * 20])
def test_bytes_of_something_else_are_told_apart(order: ProtobufSchema, data: bytes) -> None:
    with pytest.raises(UndecodableMessageError, match=r"these bytes are not a `shop\.Order`"):
        decode_message(order, data)


def test_what_json_cannot_say_is_told(order: ProtobufSchema) -> None:
    message = message_from_json(order, "{}")
    message.at.seconds = 2**60  # type: ignore[attr-defined]  # the class is made at run time
    with pytest.raises(UndecodableMessageError, match="it has no JSON form"):
        message_to_json(order, message)


@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        (None, (0,)),
        ("shop.Order", (0,)),
        ("shop.Cart", (1,)),
        # `tags` and `gifts` have entries, which are messages before these.
        ("shop.Order.Item", (0, 2)),
        ("shop.Order.Note", (0, 3)),
    ],
)
def test_a_message_is_found_by_its_index(
    order: ProtobufSchema, name: str | None, indexes: tuple[int, ...]
) -> None:
    assert message_indexes(order, name) == indexes
    assert message_name(order, indexes) == (name or "shop.Order")


def test_a_message_that_is_not_there_is_told_with_those_that_are(order: ProtobufSchema) -> None:
    known = "`shop.Order`, `shop.Order.Item`, `shop.Order.Note`, `shop.Cart`"
    with pytest.raises(UnknownMessageError) as caught:
        message_from_json(order, "{}", "Order")
    assert caught.value.message == f"the schema has no message `Order`; it has {known}"
    with pytest.raises(UnknownMessageError) as caught:
        message_name(order, (0, 0))
    assert caught.value.message == f"the schema has no message at index [0, 0]; it has {known}"
    with pytest.raises(UnknownMessageError) as caught:
        message_from_json(parse("enum E { X = 0; }"), "{}")
    assert caught.value.message == "the schema has no message; it has no message"


@pytest.mark.parametrize(
    ("indexes", "encoded"),
    [((0,), "00"), ((1,), "0202"), ((0, 2), "040004"), ((100, 0), "04c80100")],
    ids=["the first", "the second", "one inside", "a large one"],
)
def test_indexes_are_encoded_as_in_records(indexes: tuple[int, ...], encoded: str) -> None:
    assert encode_indexes(indexes).hex() == encoded
    assert decode_indexes(bytes.fromhex(encoded) + b"message") == (indexes, len(encoded) // 2)


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"\x01", b"\x04\x02", b"\xfe\xff\x03", b"\xfe" * 10]
)
def test_what_are_no_indexes_is_refused(data: bytes) -> None:
    with pytest.raises(MessageIndexesError):
        decode_indexes(data)


@settings(max_examples=50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "items", "tags", "at", "other", "partOf", "price", "@type"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_is_a_message_or_names_what_is_wrong(order: ProtobufSchema, value: object) -> None:
    try:
        message = message_from_json(order, json.dumps(value))
    except MessageMismatchError as error:
        found = error
    else:
        assert message_from_json(order, message_to_json(order, message)) == message
        return
    assert found.field or not isinstance(value, dict)
