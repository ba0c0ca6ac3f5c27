"""Guids are those that Confluent's registry gives to the same schemas."""

import json
from uuid import UUID

from penstock.registry.entries import Content, JsonText
from penstock.registry.guids import guid_of
from penstock.registry.rules import Metadata, Rule, RuleSet, kept_text
from penstock.schemas import Reference

TEXT = json.dumps(
    {
        "type": "record",
        "name": "myrecord",
        "fields": [{"type": "string", "default": None, "name": "f"}],
    },
    separators=(",", ":"),
)


def signed(*numbers: int) -> str:
    return str(UUID(bytes=bytes(number % 256 for number in numbers)))


def test_a_schema_alone_has_the_guid_of_its_text() -> None:
    expected = signed(29, 32, -53, -71, -27, -29, 94, -105, 84, -25, -38, 23, 11, 110, 93, -37)

    assert guid_of(Content(text=TEXT)) == expected


def test_metadata_and_rules_are_part_of_the_guid() -> None:
    content = Content(
        text=TEXT,
        metadata=kept_text(Metadata()),
        rule_set=kept_text(RuleSet(migrationRules=[Rule(kind="TRANSFORM", mode="WRITEREAD")])),
    )

    assert guid_of(content) == signed(
        22, -15, -20, -91, -21, -7, 34, -77, -38, -128, 33, 47, -113, -89, 52, 46
    )


def test_references_are_part_of_the_guid() -> None:
    def content(version: int) -> Content:
        reference = Reference(name="a", subject="a", version=version)
        return Content(text=TEXT, references=(reference,))

    assert len({guid_of(content(1)), guid_of(content(2)), guid_of(Content(text=TEXT))}) == 3


def test_properties_are_part_of_the_guid_whatever_their_order() -> None:
    one = kept_text(Metadata(properties={"a": "1", "b": "2"}))
    other = kept_text(Metadata(properties={"b": "2", "a": "1"}))

    assert guid_of(Content(text=TEXT, metadata=one)) == guid_of(Content(text=TEXT, metadata=other))
    assert one == JsonText('{"properties":{"a":"1","b":"2"}}')
