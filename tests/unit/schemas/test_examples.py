"""Schemas from books and courses, and what they say of them."""

import json

import pytest

from penstock.schemas import Level, Schema, SchemaType, incompatibilities, parse
from support.avro import Json, avro, field, record


def customer(*fields: Json) -> Schema:
    common = [field("id", "int"), field("name", "string")]
    return avro(record(*common, *fields, name="Customer", namespace="customerManagement.avro"))


OPTIONAL_TEXT = ["null", "string"]
FAX = customer(field("faxNumber", OPTIONAL_TEXT, default=None))
EMAIL = customer(field("email", OPTIONAL_TEXT, default=None))


@pytest.mark.parametrize("level", Level)
def test_a_customer_gets_an_email_address_instead_of_a_fax_at_every_level(level: Level) -> None:
    assert incompatibilities(EMAIL, [FAX], level) == []


def test_without_defaults_neither_customer_reads_the_other() -> None:
    fax, email = (customer(field(name, OPTIONAL_TEXT)) for name in ("faxNumber", "email"))
    found = incompatibilities(email, [fax], Level.FULL)
    assert [one.kind for one in found] == ["READER_FIELD_MISSING_DEFAULT_VALUE"] * 2


def user_registration(*more: Json) -> Schema:
    names = ("FirstName", "LastName", "Email")
    fields = [field(name, "string") for name in names]
    namespace = "LearnSchemaRegistry"
    return avro(record(*fields, *more, name="UserRegistration", namespace=namespace))


def test_a_plain_string_added_to_the_user_registration_is_backward_incompatible() -> None:
    new = user_registration(field("Phone", "string"))
    [found] = incompatibilities(new, [user_registration()], Level.BACKWARD)
    assert (found.kind, found.path) == ("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/3")
    assert incompatibilities(new, [user_registration()], Level.FORWARD) == []


def test_an_order_gains_a_return_code_that_old_and_new_programs_live_with() -> None:
    old = avro(record(field("id", "long"), name="Order"))
    new = avro(record(field("id", "long"), field("return_code", "int", default=0), name="Order"))
    assert incompatibilities(new, [old], Level.FULL) == []


AVRO_PERSON = record(
    field("UserId", "int", doc="This is the user id."),
    field("Name", "string", doc="First name."),
    field("Email", "string", doc="Email address."),
    name="Person",
    namespace="com.mycorp.mynamespace",
    doc="Person schema.",
)
JSON_PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "http://example.com/myURI.schema.json",
    "title": "Person",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "UserId": {"type": "integer"},
        "UserName": {"type": "string"},
        "Email": {"type": "string"},
    },
}
PROTOBUF_PERSON = """
message Person { required int32 id = 1; required string name = 2; optional string email = 3; }
"""


def test_the_three_persons_are_not_equivalent() -> None:
    persons = [
        avro(AVRO_PERSON),
        parse(SchemaType.JSON, json.dumps(JSON_PERSON)),
        parse(SchemaType.PROTOBUF, PROTOBUF_PERSON),
    ]
    readable = [
        (reader.type, writer.type)
        for reader in persons
        for writer in persons
        if not reader.can_read(writer)
    ]
    assert readable == [(kind, kind) for kind in SchemaType]
    assert [person.name for person in persons] == [
        "com.mycorp.mynamespace.Person",
        "Person",
        "Person",
    ]
