"""Which earlier schemas a level compares with, and in which direction."""

import pytest

from penstock.schemas import Level, Schema, SchemaType, incompatibilities, parse
from support.avro import avro, field, record

EMPTY = avro(record())
OPTIONAL = avro(record(field("a", "int", default=0)))
REQUIRED = avro(record(field("a", "int")))
ADDED = "the new schema cannot read old data"
DROPPED = "the old schema cannot read new data"

BACKWARD = {Level.BACKWARD, Level.BACKWARD_TRANSITIVE}
FORWARD = {Level.FORWARD, Level.FORWARD_TRANSITIVE}
FULL = {Level.FULL, Level.FULL_TRANSITIVE}
TRANSITIVE = {Level.BACKWARD_TRANSITIVE, Level.FORWARD_TRANSITIVE, Level.FULL_TRANSITIVE}


def refusing(new: Schema, *earlier: Schema) -> set[Level]:
    return {level for level in Level if incompatibilities(new, earlier, level)}


def test_the_first_schema_of_a_subject_always_fits() -> None:
    assert refusing(REQUIRED) == set()


def test_a_field_without_default_is_refused_where_old_data_must_be_read() -> None:
    assert refusing(REQUIRED, EMPTY) == BACKWARD | FULL


def test_a_dropped_field_is_refused_where_old_readers_must_read_new_data() -> None:
    assert refusing(EMPTY, REQUIRED) == FORWARD | FULL


def test_only_transitive_levels_look_behind_the_last_schema() -> None:
    assert refusing(REQUIRED, EMPTY, OPTIONAL) == TRANSITIVE - FORWARD


def test_all_that_is_told_is_about_the_newest_schema_that_does_not_fit() -> None:
    other = avro(record(field("b", "int")))
    found = incompatibilities(REQUIRED, [other, EMPTY, OPTIONAL], Level.FULL_TRANSITIVE)
    assert [one.message for one in found] == [
        f"{ADDED}: the field `a` is not in the data and has no default"
    ]


def test_each_direction_is_told_apart() -> None:
    other = avro(record(field("b", "int")))
    found = incompatibilities(REQUIRED, [other], Level.FULL)
    assert [one.message for one in found] == [
        f"{ADDED}: the field `a` is not in the data and has no default",
        f"{DROPPED}: the field `b` is not in the data and has no default",
    ]


@pytest.mark.parametrize("level", [level for level in Level if level is not Level.NONE])
def test_another_type_of_schema_is_incompatible(level: Level) -> None:
    proto = parse(SchemaType.PROTOBUF, 'syntax = "proto3"; message R { int32 a = 1; }')
    assert {one.kind for one in incompatibilities(proto, [EMPTY], level)} == {
        "SCHEMA_TYPE_MISMATCH"
    }


def test_without_a_level_another_type_fits_too() -> None:
    proto = parse(SchemaType.PROTOBUF, 'syntax = "proto3"; message R { int32 a = 1; }')
    assert incompatibilities(proto, [EMPTY], Level.NONE) == []
