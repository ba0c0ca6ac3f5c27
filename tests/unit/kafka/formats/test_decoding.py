"""What a decoder makes of bytes, of schema ids, and of a registry that does not answer."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID

import pytest

from penstock.kafka import Header
from penstock.kafka.formats import (
    Decoder,
    Place,
    RegistryFormat,
    Side,
    UndecodableRecordError,
    UnfitRecordError,
    WrongSchemaTypeError,
    decoder,
    encoder,
)
from penstock.names import Subject, TopicName
from support.schema_shelf import GUID, DownError, a_shelf

VALUES = Place(topic=TopicName("orders"), side=Side.VALUE)


def refusal(decode: Decoder, data: bytes, *headers: Header) -> str:
    with pytest.raises(UndecodableRecordError) as caught:
        decode.decode(data, headers)
    return caught.value.reason


def test_what_was_encoded_is_decoded_with_one_question_for_many_records() -> None:
    shelf = a_shelf()
    write = encoder(RegistryFormat.AVRO, shelf, VALUES, shelf.schemas[1])
    read = decoder(RegistryFormat.AVRO, shelf, VALUES)

    written = [write.encode({"id": number}) for number in range(3)]

    assert written[0] == b"\x00\x00\x00\x00\x01\x00"
    assert [read.decode(data or b"", ()) for data in written] == [{"id": n} for n in range(3)]
    assert shelf.asked == [1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it has 0 bytes, and a schema id alone takes 5"),
        (b"\x00\x00", "it has 2 bytes, and a schema id alone takes 5"),
        (b'{"id": 1}', "it does not begin with a schema id"),
        (b"\x00\x00\x00\x00\x07abc", "schema id 7 is not in the registry"),
        (b"\x00\x00\x00\x00\x02{}", "schema id 2 is of type JSON, not AVRO"),
    ],
    ids=["empty", "short", "text", "unknown", "another type"],
)
def test_bytes_that_are_no_record_of_the_format_say_why(data: bytes, reason: str) -> None:
    assert refusal(decoder(RegistryFormat.AVRO, a_shelf(), VALUES), data) == reason


def test_an_unknown_id_is_asked_for_once() -> None:
    shelf = a_shelf()
    read = decoder(RegistryFormat.AVRO, shelf, VALUES)

    reasons = {refusal(read, b"\x00\x00\x00\x00\x07abc") for _ in range(3)}

    assert reasons == {"schema id 7 is not in the registry"}
    assert shelf.asked == [7]


def test_a_registry_that_is_down_is_no_fault_of_the_record_and_is_asked_again() -> None:
    shelf = a_shelf()
    read = decoder(RegistryFormat.AVRO, shelf, VALUES)
    shelf.is_down = True
    with pytest.raises(DownError):
        read.decode(b"\x00\x00\x00\x00\x01\x02", ())

    shelf.is_down = False

    assert read.decode(b"\x00\x00\x00\x00\x01\x02", ()) == {"id": 1}


def test_a_schema_may_be_named_in_a_header() -> None:
    read = decoder(RegistryFormat.AVRO, a_shelf(), VALUES)
    known, unknown = (
        Header("__value_schema_id", b"\x01" + UUID(guid).bytes)
        for guid in (GUID, GUID.replace("0f", "1f", 1))
    )

    # confluent-kafka refuses less than six bytes, also when the header has the schema.
    assert read.decode(b"\x02" + bytes(5), (known,)) == {"id": 1}
    assert "is not in the registry" in refusal(read, b"\x02" + bytes(5), unknown)


def test_a_writer_schema_of_another_type_is_refused() -> None:
    shelf = a_shelf()

    with pytest.raises(WrongSchemaTypeError):
        encoder(RegistryFormat.PROTOBUF, shelf, VALUES, shelf.schemas[1])


def test_a_value_that_does_not_fit_names_field_side_and_schema() -> None:
    shelf = a_shelf()
    keys = Place(topic=TopicName("orders"), side=Side.KEY)
    write = encoder(RegistryFormat.AVRO, shelf, keys, shelf.schemas[1])

    with pytest.raises(UnfitRecordError) as caught:
        write.encode({"id": "x"})

    assert caught.value.message == (
        'field `/id` of the key is a text ("x"), not a value of type long'
    )
    assert "`penstock schemas show orders-key 1`" in caught.value.hint


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ('"string"', "ann"),
        ('"bytes"', "a\u00ff"),
        ('["null","string"]', "ann"),
        ('["null","string"]', None),
        ('{"type":"array","items":["int","string"]}', [1, "a"]),
        ('{"type":"fixed","name":"F","size":2}', "ab"),
    ],
    ids=["text", "bytes", "union", "null", "array", "fixed"],
)
def test_values_need_not_be_records(schema: str, value: object) -> None:
    shelf = a_shelf()
    shelf.schemas[1] = replace(shelf.schemas[1], text=schema)

    written = encoder(RegistryFormat.AVRO, shelf, VALUES, shelf.schemas[1]).encode(value)

    assert decoder(RegistryFormat.AVRO, shelf, VALUES).decode(written or b"", ()) == value


def test_a_decimal_alone_is_refused_as_the_client_would_write_other_bytes() -> None:
    shelf = a_shelf()
    decimal = '{"type":"bytes","logicalType":"decimal","precision":4,"scale":1}'
    shelf.schemas[1] = replace(shelf.schemas[1], text=decimal)

    with pytest.raises(UnfitRecordError, match="put it into a record"):
        encoder(RegistryFormat.AVRO, shelf, VALUES, shelf.schemas[1]).encode("12.5")


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    shelf = a_shelf()
    nested = '{"type":"record","name":"N","fields":[{"name":"n","type":["null","N"]}]}'
    shelf.schemas[1] = replace(shelf.schemas[1], text=nested)
    document: object = None
    for _ in range(900):
        document = {"n": document}

    with pytest.raises(UnfitRecordError, match="nested too deep"):
        encoder(RegistryFormat.AVRO, shelf, VALUES, shelf.schemas[1]).encode(document)


def test_integers_of_json_schema_have_no_limit() -> None:
    shelf = a_shelf()
    writer = replace(shelf.schemas[2], subject=Subject("orders-value"), version=1)
    shelf.schemas[1] = writer

    written = encoder(RegistryFormat.JSON_SCHEMA, shelf, VALUES, writer).encode({"a": 2**80})

    assert written == b'\x00\x00\x00\x00\x02{"a":1208925819614629174706176}'


def test_json_behind_a_schema_id_is_read_whether_or_not_it_fits() -> None:
    data = b"\x00\x00\x00\x00\x02" + json.dumps([1]).encode()

    assert decoder(RegistryFormat.JSON_SCHEMA, a_shelf(), VALUES).decode(data, ()) == [1]
