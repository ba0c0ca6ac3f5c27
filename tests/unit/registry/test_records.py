"""The bytes of `_schemas`: Confluent's registry reads what is written here, and the other way."""

import json

import pytest

from penstock.names import Subject
from penstock.registry.entries import Config, Content, JsonText, Mode, SchemaVersion
from penstock.registry.log import Record
from penstock.registry.records import (
    Change,
    ConfigSet,
    ContextSet,
    IdsGiven,
    ModeSet,
    SchemaGone,
    SubjectDeleted,
    SubjectsCleared,
    UnreadableRecordError,
    decode,
    encode,
)
from penstock.schemas import Level, Reference

ORDERS = Subject("orders")

WRITTEN: list[tuple[Change, str, str | None]] = [
    (
        SchemaVersion(subject=ORDERS, version=1, id=7, content=Content(text='"string"')),
        '{"keytype":"SCHEMA","subject":"orders","version":1,"magic":1}',
        r'{"subject":"orders","version":1,"id":7,"schema":"\"string\"","deleted":false}',
    ),
    (
        SchemaVersion(
            subject=ORDERS,
            version=2,
            id=8,
            content=Content(
                type="JSON",
                text="{}",
                references=(Reference(name="a.json", subject="a", version=1),),
                metadata=JsonText('{"properties":{"owner":"me"}}'),
                rule_set=JsonText('{"domainRules":[{"name":"r","type":"CEL","disabled":false}]}'),
            ),
            deleted=True,
        ),
        '{"keytype":"SCHEMA","subject":"orders","version":2,"magic":1}',
        '{"subject":"orders","version":2,"id":8,"schemaType":"JSON",'
        '"references":[{"name":"a.json","subject":"a","version":1}],'
        '"metadata":{"properties":{"owner":"me"}},'
        '"ruleSet":{"domainRules":[{"name":"r","type":"CEL","disabled":false}]},'
        '"schema":"{}","deleted":true}',
    ),
    (
        SchemaGone(subject=ORDERS, version=1),
        '{"keytype":"SCHEMA","subject":"orders","version":1,"magic":1}',
        None,
    ),
    (
        SubjectDeleted(subject=ORDERS, version=3),
        '{"keytype":"DELETE_SUBJECT","subject":"orders","magic":0}',
        '{"subject":"orders","version":3}',
    ),
    (
        SubjectsCleared(subject=None),
        '{"keytype":"CLEAR_SUBJECT","subject":null,"magic":0}',
        "{}",
    ),
    (
        ConfigSet(subject=None, config=Config(compatibility_level=Level.FULL)),
        '{"keytype":"CONFIG","subject":null,"magic":0}',
        '{"compatibilityLevel":"FULL"}',
    ),
    (
        ConfigSet(
            subject=ORDERS,
            config=Config(
                alias="sales",
                normalize=True,
                validate_fields=False,
                compatibility_level=Level.NONE,
                compatibility_group="major",
            ),
        ),
        '{"keytype":"CONFIG","subject":"orders","magic":0}',
        '{"subject":"orders","alias":"sales","normalize":true,"validateFields":false,'
        '"compatibilityLevel":"NONE","compatibilityGroup":"major"}',
    ),
    (
        ConfigSet(subject=ORDERS, config=None),
        '{"keytype":"CONFIG","subject":"orders","magic":0}',
        None,
    ),
    (
        ModeSet(subject=ORDERS, mode=Mode.READONLY),
        '{"keytype":"MODE","subject":"orders","magic":0}',
        '{"subject":"orders","mode":"READONLY"}',
    ),
    (
        ContextSet(context=".eu", exists=True),
        '{"keytype":"CONTEXT","tenant":"default","context":".eu","magic":0}',
        '{"tenant":"default","context":".eu"}',
    ),
    (
        IdsGiven(highest=((".", 7), (".eu", 2))),
        '{"magic":0,"keytype":"NOOP"}',
        '{"maxIds":{".":7,".eu":2}}',
    ),
]


def as_record(key: str, value: str | None) -> Record:
    return Record(key=key.encode(), value=None if value is None else value.encode())


@pytest.mark.parametrize(("change", "key", "value"), WRITTEN, ids=range(len(WRITTEN)))
def test_a_change_is_written_as_confluents_registry_writes_it(
    change: Change, key: str, value: str | None
) -> None:
    assert encode(change) == as_record(key, value)


@pytest.mark.parametrize(("change", "key", "value"), WRITTEN, ids=range(len(WRITTEN)))
def test_what_is_written_is_read_back(change: Change, key: str, value: str | None) -> None:
    assert decode(as_record(key, value)) == change


@pytest.mark.parametrize(
    "key",
    [
        '{"keytype":"NOOP","magic":0}',
        '{"keytype":"ASSOCIATION","tenant":"default","magic":0}',
        '{"keytype":"DELETE_SUBJECT","subject":"orders","magic":0}',
    ],
)
def test_a_record_that_says_nothing_here_is_left_alone(key: str) -> None:
    assert decode(as_record(key, None)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("not JSON", None),
        ("[]", None),
        ('{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', "{}"),
        ('{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', "nonsense"),
        ('{"keytype":"MODE","subject":"s","magic":0}', '{"mode":"SIDEWAYS"}'),
        ('{"keytype":"CONFIG","subject":"s","magic":0}', '{"compatibilityLevel":"MOSTLY"}'),
    ],
)
def test_a_record_without_the_format_of_its_kind_is_unreadable(key: str, value: str | None) -> None:
    with pytest.raises(UnreadableRecordError):
        decode(as_record(key, value))


def test_a_schema_as_an_old_registry_wrote_it_is_read() -> None:
    """Before version 3 there was no `deleted`, and the key had magic 0."""
    record = as_record(
        '{"magic":0,"keytype":"SCHEMA","subject":"orders","version":1}',
        json.dumps({"subject": "orders", "version": 1, "id": 1, "schema": '"int"'}),
    )

    assert decode(record) == SchemaVersion(
        subject=ORDERS, version=1, id=1, content=Content(text='"int"')
    )


def test_offset_and_time_that_newer_registries_write_are_passed_over() -> None:
    value = {
        "subject": "orders",
        "version": 1,
        "id": 1,
        "md5": "pN9zRZJHtW3HYBmLHyyl0A==",
        "schema": '"int"',
        "deleted": True,
        "offset": 1,
        "ts": 123,
    }
    record = as_record(
        '{"keytype":"SCHEMA","subject":"orders","version":1,"magic":1}', json.dumps(value)
    )

    assert decode(record) == SchemaVersion(
        subject=ORDERS, version=1, id=1, content=Content(text='"int"'), deleted=True
    )
