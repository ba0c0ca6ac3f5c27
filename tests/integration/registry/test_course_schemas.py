"""Schemas of a course, on a real registry: the registration of users, and three persons."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx2
import pytest

from penstock.schemas import SchemaType
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from penstock.local.cluster import KafkaCluster

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
USER_REGISTRATION: dict[str, Any] = {
    "type": "record",
    "namespace": "LearnSchemaRegistry",
    "name": "UserRegistration",
    "fields": [
        {"name": "FirstName", "type": "string"},
        {"name": "LastName", "type": "string"},
        {"name": "Email", "type": "string"},
    ],
}
AVRO_PERSON = {
    "type": "record",
    "namespace": "com.mycorp.mynamespace",
    "name": "Person",
    "doc": "Person schema.",
    "fields": [
        {"name": "UserId", "type": "int", "doc": "This is the user id."},
        {"name": "Name", "type": "string", "doc": "First name."},
        {"name": "Email", "type": "string", "doc": "Email address."},
    ],
}
JSON_PERSON = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "http://example.com/myURI.schema.json",
    "title": "Person",
    "description": "Person schema.",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "UserId": {"type": "integer", "description": "User id."},
        "UserName": {"type": "string", "description": "User name."},
        "Email": {"type": "string", "description": "Email address."},
    },
}
PROTOBUF_PERSON = """
message Person { required int32 id = 1; required string name = 2; optional string email = 3; }
"""
PERSONS = {
    "avro": ("person.avsc", json.dumps(AVRO_PERSON)),
    "json-schema": ("person.json", json.dumps(JSON_PERSON)),
    "protobuf": ("person.proto", PROTOBUF_PERSON),
}


@pytest.fixture
def penstock(kafka: KafkaCluster, registry_url: str, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(
        tmp_path, {"PENSTOCK_BOOTSTRAP": kafka.bootstrap, "PENSTOCK_REGISTRY_URL": registry_url}
    )


def test_a_plain_string_added_to_the_user_registration_is_refused(
    registry_url: str, penstock: PenstockInProcess
) -> None:
    """By the command and over HTTP; new programs could not read the users of before."""
    subject = f"user-registration-{uuid4().hex}-value"
    # The file of the course ends in .json, which stands for JSON Schema here.
    (penstock.folder / "user-registration.avsc").write_text(json.dumps(USER_REGISTRATION))
    first = penstock("schemas", "register", subject, "user-registration.avsc")
    assert first.status == 0, first.stderr

    phone = {"name": "Phone", "type": "string"}

    def add(field: Mapping[str, object]) -> httpx2.Response:
        changed = {**USER_REGISTRATION, "fields": [*USER_REGISTRATION["fields"], field]}
        return httpx2.post(
            f"{registry_url}/subjects/{subject}/versions",
            json={"schema": json.dumps(changed), "schemaType": SchemaType.AVRO},
            headers={"Content-Type": CONTENT_TYPE},
            timeout=60,
        )

    refused = add(phone)
    assert (refused.status_code, refused.json()["error_code"]) == (409, 409)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in refused.json()["message"]
    assert add(phone | {"default": ""}).status_code == 200
    versions = httpx2.get(f"{registry_url}/subjects/{subject}/versions", timeout=60).json()
    assert versions == [1, 2]


def test_the_three_persons_take_different_records(
    kafka: KafkaCluster, penstock: PenstockInProcess
) -> None:
    """The one of JSON Schema needs nothing at all; an address is optional in Protobuf alone."""
    records = {
        "nothing": {},
        "of Avro": {"UserId": 1, "Name": "Ann", "Email": "ann@example.com"},
        "of JSON Schema": {"UserId": 1, "UserName": "Ann", "Email": "ann@example.com"},
        "of Protobuf": {"id": 1, "name": "Ann", "email": "ann@example.com"},
        "of Avro, no address": {"UserId": 1, "Name": "Ann"},
        "of JSON Schema, no address": {"UserId": 1, "UserName": "Ann"},
        "of Protobuf, no address": {"id": 1, "name": "Ann"},
    }
    taken: dict[str, list[str]] = {}
    for kind, (file, text) in PERSONS.items():
        (penstock.folder / file).write_text(text)
        topic = kafka.create_topic(f"person-{kind}-{uuid4().hex}")
        options = ("--value-format", kind, "--value-schema", file)
        taken[kind] = [
            name
            for name, record in records.items()
            if penstock("produce", topic, *options, stdin=f"{json.dumps(record)}\n").status == 0
        ]

    assert taken == {
        "avro": ["of Avro"],
        "json-schema": ["nothing", "of JSON Schema", "of JSON Schema, no address"],
        "protobuf": ["of Protobuf", "of Protobuf, no address"],
    }
