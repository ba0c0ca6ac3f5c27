"""What bytes stand for when nobody has named a format: a schema id, JSON, text or bytes."""

from __future__ import annotations

from uuid import UUID

import pytest

from penstock.kafka import Header
from penstock.kafka.formats import (
    Decoded,
    Place,
    Recognizer,
    RegistryFormat,
    Side,
    Undecoded,
)
from penstock.names import TopicName
from support.schema_shelf import GUID, a_shelf

VALUES = Place(topic=TopicName("orders"), side=Side.VALUE)


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b'{"id": 1.5}', Decoded(document={"id": 1.5})),
        (b"12", Decoded(document=12)),
        (b"hello", Undecoded()),
        (b"", Undecoded()),
        (b"\xff\xfe", Undecoded()),
        (b"NaN", Undecoded()),
        (b"[1e999]", Undecoded()),
        (b"[" * 100_000, Undecoded()),
        (
            b"\x00\x00\x00\x00\x01\x02",
            Decoded(document={"id": 1}, registry_format=RegistryFormat.AVRO, schema_id=1),
        ),
        (
            b'\x00\x00\x00\x00\x02{"a": 1}',
            Decoded(document={"a": 1}, registry_format=RegistryFormat.JSON_SCHEMA, schema_id=2),
        ),
        (
            b"\x00\x00\x00\x00\x07abc",
            Undecoded(reason="schema id 7 is not in the registry", schema_id=7),
        ),
    ],
)
def test_bytes_are_recognized_by_what_they_begin_with(
    data: bytes, content: Decoded | Undecoded
) -> None:
    assert Recognizer(a_shelf()).content(VALUES, data, ()) == content


def test_a_header_may_name_the_schema() -> None:
    header = Header("__value_schema_id", b"\x01" + UUID(GUID).bytes)

    # The client refuses fewer than six bytes, though the id is not among them.
    found = Recognizer(a_shelf()).content(VALUES, b"\x80\x80\x80\x80\x80\x01", [header])

    assert found == Decoded(
        document={"id": 1 << 34}, registry_format=RegistryFormat.AVRO, schema_id=1
    )


def test_data_that_does_not_fit_its_schema_comes_with_the_reason() -> None:
    found = Recognizer(a_shelf()).content(VALUES, b"\x00\x00\x00\x00\x01", ())

    assert isinstance(found, Undecoded)
    assert found.schema_id == 1
    assert found.reason


def test_a_registry_that_is_down_is_the_reason_and_is_asked_once() -> None:
    shelf = a_shelf()
    shelf.is_down = True
    recognizer = Recognizer(shelf)

    first = recognizer.content(VALUES, b"\x00\x00\x00\x00\x01\x02", ())
    shelf.is_down = False
    second = recognizer.content(VALUES, b"\x00\x00\x00\x00\x02{}", ())

    assert first == Undecoded(reason="down", schema_id=1)
    assert second == Undecoded(reason="down", schema_id=2)


def test_without_a_registry_the_reason_says_so() -> None:
    found = Recognizer(None).content(VALUES, b"\x00\x00\x00\x00\x01\x02", ())

    assert found == Undecoded(
        reason="there is no schema registry to ask for its schema", schema_id=1
    )


def test_bytes_that_only_look_like_ids_do_not_flood_the_registry() -> None:
    shelf = a_shelf()
    recognizer = Recognizer(shelf)

    for number in range(1000):
        recognizer.content(VALUES, b"\x00" + (number + 100).to_bytes(4, "big") + b"x", ())

    assert len(shelf.asked) == 50
