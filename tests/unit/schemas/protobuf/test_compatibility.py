"""Each rule of compatibility, by the name and the path that Confluent's registry gives it."""

import pytest

from penstock.schemas import Level, Resolved, incompatibilities
from penstock.schemas.protobuf import parse

Change = tuple[str, str]

COMPATIBLE: dict[str, Change] = {
    "nothing changed": ("message A { int32 a = 1; }", "message A { int32 a = 1; }"),
    "a field added": ("message A {}", "message A { int32 a = 1; }"),
    "a field removed": ("message A { int32 a = 1; string b = 2; }", "message A { string b = 2; }"),
    "a field renamed": ("message A { int32 a = 1; }", "message A { int32 z = 1; }"),
    "a removed number reserved": ("message A { int32 a = 1; }", "message A { reserved 1; }"),
    "a reserved number used": ("message A { reserved 1; }", "message A { int32 a = 1; }"),
    "a varint for another": (
        "message A { int32 a = 1; uint32 b = 2; bool c = 3; int64 d = 4; uint64 e = 5; }",
        "message A { int64 a = 1; bool b = 2; uint64 c = 3; uint32 d = 4; int32 e = 5; }",
    ),
    "a zig-zag varint for another": ("message A { sint32 a = 1; }", "message A { sint64 a = 1; }"),
    "text for bytes": ("message A { string a = 1; }", "message A { bytes a = 1; }"),
    "four bytes for four": ("message A { fixed32 a = 1; }", "message A { sfixed32 a = 1; }"),
    "eight bytes for eight": ("message A { sfixed64 a = 1; }", "message A { fixed64 a = 1; }"),
    "a number for an enum": (
        "message A { E a = 1; } enum E { X = 0; }",
        "message A { int32 a = 1; }",
    ),
    "an enum for a number": (
        "message A { int32 a = 1; }",
        "message A { E a = 1; } enum E { X = 0; }",
    ),
    "an enum for another": (
        "message A { E a = 1; } enum E { X = 0; Y = 1; }",
        "message A { F a = 1; } enum F { Z = 0; }",
    ),
    "a presence": ("message A { int32 a = 1; }", "message A { optional int32 a = 1; }"),
    "many texts for one": ("message A { string a = 1; }", "message A { repeated string a = 1; }"),
    "many messages for one": (
        "message A { B a = 1; } message B {}",
        "message A { repeated B a = 1; } message B {}",
    ),
    "a message added": ("message A {}", "message A { message C {} } message B {}"),
    "messages in another order": ("message A {} message B {}", "message B {} message A {}"),
    "one field into a new oneof": (
        "message A { int32 a = 1; }",
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
    ),
    "a field added to a oneof": (
        "message A { oneof o { int32 a = 1; } }",
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
    ),
    "a oneof removed": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { int32 c = 3; }",
    ),
    "a oneof renamed": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { oneof p { int32 a = 1; int32 b = 2; } }",
    ),
    "a oneof dissolved": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { int32 a = 1; int32 b = 2; }",
    ),
    "a field that leaves a oneof": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { oneof o { int32 a = 1; } int32 b = 2; }",
    ),
    "a map with another varint": (
        "message A { map<int32, int32> a = 1; }",
        "message A { map<int64, bool> a = 1; }",
    ),
    "a map removed": ("message A { map<int32, int32> a = 1; }", "message A {}"),
    "a name written in full": (
        "message A { B b = 1; message B {} }",
        "message A { .A.B b = 1; message B {} }",
    ),
    "a message in itself": ("message A { A a = 1; }", "message A { A a = 1; int32 b = 2; }"),
}

INCOMPATIBLE: dict[str, tuple[str, str, list[str]]] = {
    "another package": (
        "package a; message A { A a = 1; }",
        "package b; message A { A a = 1; }",
        ["PACKAGE_CHANGED #/"],
    ),
    "a message removed": (
        "message A { message C {} } message B {}",
        "message A {}",
        ["MESSAGE_REMOVED #/A/C", "MESSAGE_REMOVED #/B"],
    ),
    "another kind of number": (
        "message A { int32 a = 1; sint32 b = 2; fixed32 c = 3; float d = 4; double e = 5; }",
        "message A { sint32 a = 1; int32 b = 2; float c = 3; fixed32 d = 4; float e = 5; }",
        [f"FIELD_SCALAR_KIND_CHANGED #/A/{number}" for number in range(1, 6)],
    ),
    "text for a number, in a message inside": (
        "message A { message B { int32 a = 7; } }",
        "message A { message B { string a = 7; } }",
        ["FIELD_SCALAR_KIND_CHANGED #/A/B/7"],
    ),
    "a message for a number": (
        "message A { int32 a = 1; }",
        "message A { A a = 1; }",
        ["FIELD_KIND_CHANGED #/A/1"],
    ),
    "a map for messages": (
        "message A { repeated A a = 1; }",
        "message A { map<string, A> a = 1; }",
        ["FIELD_KIND_CHANGED #/A/1"],
    ),
    "a map of another type": (
        "message A { map<string, int32> a = 1; }",
        "message A { map<int32, string> a = 1; }",
        ["FIELD_SCALAR_KIND_CHANGED #/A/1", "FIELD_SCALAR_KIND_CHANGED #/A/1"],
    ),
    "a message of another name": (
        "message A { B b = 1; } message B {} message C {}",
        "message A { C b = 1; } message B {} message C {}",
        ["FIELD_NAMED_TYPE_CHANGED #/A/1"],
    ),
    "many numbers for one": (
        "message A { int32 a = 1; optional int32 b = 2; double c = 3; E d = 4; } enum E { X = 0; }",
        "message A { repeated int32 a = 1; repeated int32 b = 2; repeated double c = 3; "
        "repeated E d = 4; } enum E { X = 0; }",
        [f"FIELD_NUMERIC_LABEL_CHANGED #/A/{number}" for number in range(1, 5)],
    ),
    "one number for many": (
        "message A { repeated sint64 a = 1; }",
        "message A { sint64 a = 1; }",
        ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"],
    ),
    "two fields into a oneof": (
        "message A { int32 a = 1; string b = 2; }",
        "message A { oneof o { int32 a = 1; string b = 2; } }",
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o"],
    ),
    "a field into a oneof that exists": (
        "message A { int32 a = 1; oneof o { string b = 2; } }",
        "message A { oneof o { int32 a = 1; string b = 2; } }",
        ["FIELD_MOVED_TO_EXISTING_ONEOF #/A/o"],
    ),
    "two oneofs into one": (
        "message A { oneof o { int32 a = 1; } oneof p { int32 b = 2; } }",
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o"],
    ),
    "a field removed from a oneof": (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { oneof o { int32 a = 1; } }",
        ["ONEOF_FIELD_REMOVED #/A/o/2"],
    ),
    "another type in a oneof": (
        "message A { oneof o { int32 a = 1; } }",
        "message A { oneof o { string a = 1; } }",
        ["FIELD_SCALAR_KIND_CHANGED #/A/o/1"],
    ),
    "another type in a oneof of another name": (
        "message A { oneof o { int32 a = 1; } }",
        "message A { oneof p { string a = 1; } }",
        ["FIELD_SCALAR_KIND_CHANGED #/A/1"],
    ),
    "a type that becomes an enum inside of it": (
        "message A { S a = 1; message S {} }",
        "message A { S a = 1; enum S { X = 0; } }",
        ["FIELD_KIND_CHANGED #/A/1", "MESSAGE_REMOVED #/A/S"],
    ),
}

WITH_LABELS: dict[str, tuple[str, str, list[str]]] = {
    "a required field added": (
        "message A {}",
        "message A { required string a = 1; }",
        ["REQUIRED_FIELD_ADDED #/A/1"],
    ),
    "a required field removed": (
        "message A { required string a = 1; }",
        "message A {}",
        ["REQUIRED_FIELD_REMOVED #/A/1"],
    ),
    "a number that becomes required": (
        "message A { optional int32 a = 1; }",
        "message A { required int32 a = 1; }",
        ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"],
    ),
    "a text that becomes required": (
        "message A { optional string a = 1; }",
        "message A { required string a = 1; }",
        ["REQUIRED_FIELD_ADDED #/A/1"],
    ),
    "a message that becomes required": (
        "message A { repeated B a = 1; } message B {}",
        "message A { required B a = 1; } message B {}",
        ["REQUIRED_FIELD_ADDED #/A/1"],
    ),
    "a text that is required no more": (
        "message A { required string a = 1; }",
        "message A { optional string a = 1; }",
        [],
    ),
    "a group removed": ("message A { optional group G = 1 {} }", "message A {}", []),
    "a message for a group": (
        "message A { optional group G = 1 {} }",
        "message A { optional G g = 1; message G {} }",
        ["FIELD_KIND_CHANGED #/A/1"],
    ),
    "a group with another field": (
        "message A { optional group G = 1 { optional int32 a = 1; } }",
        "message A { optional group G = 1 { optional string a = 1; } }",
        ["FIELD_NAMED_TYPE_CHANGED #/A/1", "FIELD_SCALAR_KIND_CHANGED #/A/G/1"],
    ),
}


@pytest.mark.parametrize(("old", "new"), COMPATIBLE.values(), ids=COMPATIBLE.keys())
def test_new_fields_and_equal_bytes_do_no_harm(old: str, new: str) -> None:
    assert reasons('syntax = "proto3";' + old, 'syntax = "proto3";' + new) == []


@pytest.mark.parametrize(("old", "new", "found"), INCOMPATIBLE.values(), ids=INCOMPATIBLE.keys())
def test_what_cannot_be_read_is_named(old: str, new: str, found: list[str]) -> None:
    assert reasons('syntax = "proto3";' + old, 'syntax = "proto3";' + new) == found


@pytest.mark.parametrize(("old", "new", "found"), WITH_LABELS.values(), ids=WITH_LABELS.keys())
def test_labels_of_proto2_count(old: str, new: str, found: list[str]) -> None:
    assert reasons(old, new) == found


def test_each_reason_says_what_the_two_sides_have() -> None:
    old, new = (
        parse("message A { optional int32 a = 1; }"),
        parse("message A { map<int32, A> b = 1; }"),
    )
    [reason] = new.can_read(old)
    assert (
        reason.message == "the type is `map<int32, .A>` for the reader and `int32` for the writer"
    )


def test_messages_of_references_are_compared() -> None:
    old = imported("home.proto", "package a.b; message Home { optional int32 id = 1; }")
    new = imported("home2.proto", "package a.b; message Home { optional string id = 1; }")
    text = 'import "{}"; message A {{ optional a.b.Home home = 3; }}'
    found = parse(text.format(new.name), [new]).can_read(parse(text.format(old.name), [old]))
    assert [f"{one.kind} {one.path}" for one in found] == [
        "FIELD_NAMED_TYPE_CHANGED #/A/3",
        "FIELD_SCALAR_KIND_CHANGED #/Home/1",
    ]


def test_a_reference_may_change_its_package() -> None:
    old = imported("old.proto", "package a; message Outer { message Home {} }")
    new = imported("new.proto", "package b; message Outer { message Home {} }")
    written = parse('import "old.proto"; message A { optional a.Outer.Home h = 1; }', [old])
    reading = parse('import "new.proto"; message A { optional b.Outer.Home h = 1; }', [new])
    assert reading.can_read(written) == []


def test_a_message_may_move_here_from_a_reference() -> None:
    home = imported("home.proto", "package a; message Home { optional int32 id = 1; }")
    written = parse('import "home.proto"; message A { optional a.Home home = 1; }', [home])
    reading = parse("message A { optional Home home = 1; } message Home { optional bool id = 1; }")
    assert reading.can_read(written) == []
    assert [one.kind for one in written.can_read(reading)] == ["MESSAGE_REMOVED"]


def test_messages_that_contain_each_other_fail_together() -> None:
    text = "message {} {{ optional {} next = 1; optional {} x = 2; }}"
    old = imported("m.proto", text.format("P", "Q", "int32") + text.format("Q", "P", "int32"))
    new = imported("m.proto", text.format("P", "Q", "int32") + text.format("Q", "P", "bytes"))
    use = 'import "m.proto"; message A { optional P p = 1; }'
    found = parse(use, [new]).can_read(parse(use, [old]))
    assert sorted(f"{one.kind} {one.path}" for one in found) == [
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
        "FIELD_NAMED_TYPE_CHANGED #/P/1",
        "FIELD_NAMED_TYPE_CHANGED #/Q/1",
        "FIELD_SCALAR_KIND_CHANGED #/Q/2",
    ]


def test_directions_are_those_of_the_level() -> None:
    old, new = parse("message A {} message B {}"), parse("message A {}")
    assert [one.kind for one in incompatibilities(new, [old], Level.BACKWARD)] == [
        "MESSAGE_REMOVED"
    ]
    assert incompatibilities(new, [old], Level.FORWARD) == []


def imported(name: str, text: str) -> Resolved:
    return Resolved(name=name, text=text)


def reasons(old: str, new: str) -> list[str]:
    return [f"{one.kind} {one.path}" for one in parse(new).can_read(parse(old))]
