"""What is printed compiles to the same descriptor again, however it was written."""

from collections.abc import Iterable

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto
from hypothesis import given, settings

from penstock.schemas import Resolved
from penstock.schemas.protobuf import ProtobufSchema, parse
from support.protobuf_schemas import schema_pairs

WRITTEN = """
// Comments and layout are not kept.
syntax = "proto3";
import public "m.proto";
package shop; import "google/protobuf/timestamp.proto";
option java_package = "shop.\\"x\\"";
message Order {
  message Item { double price = 1; }
  google.protobuf.Timestamp at = 3;   string id = 1 [deprecated = true];
  map<string, Item> items = 2;
  optional int32 count = 4 [json_name = "n"];
  oneof paid { string cash = 6; int64 card_number = 5 [json_name = "cardNumber"]; }
  reserved "old", "older"; reserved 9, 20 to 29, 100 to max;
  Color color = 7;
}
enum Color { option allow_alias = true; RED = 0; BLUE = 2; GREEN = 1; SCARLET = 0; reserved 7; }
service Orders { rpc Get(Order) returns (stream Order); rpc Put(stream Order) returns (Order)
  { option deprecated = true; } }
"""

CANONICAL = """\
syntax = "proto3";
package shop;

import public "m.proto";
import "google/protobuf/timestamp.proto";

option java_package = "shop.\\"x\\"";

message Order {
  reserved 9, 20 to 29, 100 to max;
  reserved "old", "older";
  .google.protobuf.Timestamp at = 3;
  string id = 1 [deprecated = true];
  message Item {
    double price = 1;
  }
  map<string, .shop.Order.Item> items = 2;
  optional int32 count = 4 [json_name = "n"];
  oneof paid {
    string cash = 6;
    int64 card_number = 5;
  }
  .shop.Color color = 7;
}

enum Color {
  option allow_alias = true;
  RED = 0;
  BLUE = 2;
  GREEN = 1;
  SCARLET = 0;
  reserved 7;
}

service Orders {
  rpc Get (.shop.Order) returns (stream .shop.Order);
  rpc Put (stream .shop.Order) returns (.shop.Order) {
    option deprecated = true;
  }
}
"""

NORMAL = """\
syntax = "proto3";
package shop;

import "google/protobuf/timestamp.proto";
import public "m.proto";

option java_package = "shop.\\"x\\"";

message Order {
  reserved 9, 20 to 29, 100 to max;
  reserved "old", "older";
  string id = 1 [deprecated = true];
  message Item {
    double price = 1;
  }
  map<string, .shop.Order.Item> items = 2;
  .google.protobuf.Timestamp at = 3;
  optional int32 count = 4 [json_name = "n"];
  oneof paid {
    int64 card_number = 5;
    string cash = 6;
  }
  .shop.Color color = 7;
}

enum Color {
  option allow_alias = true;
  RED = 0;
  SCARLET = 0;
  GREEN = 1;
  BLUE = 2;
  reserved 7;
}

service Orders {
  rpc Get (.shop.Order) returns (stream .shop.Order);
  rpc Put (stream .shop.Order) returns (.shop.Order) {
    option deprecated = true;
  }
}
"""

REFERENCES = [
    Resolved(name="m.proto", text="package m; message M {}"),
    Resolved(
        name="rules.proto",
        text="""
        syntax = "proto2"; package rules; import "google/protobuf/descriptor.proto";
        enum Level { LOW = 1; HIGH = 2; }
        message Rule {
          optional string text = 1; repeated int32 numbers = 2; map<string, int32> limits = 3;
          optional Rule inner = 4; optional bytes raw = 5; extensions 100 to 200;
        }
        extend Rule { optional string more = 100; }
        extend google.protobuf.FileOptions { optional Rule file = 50000; }
        extend google.protobuf.MessageOptions { optional Rule message = 50000; }
        extend google.protobuf.FieldOptions {
          optional Rule rule = 50000; repeated string tags = 50001; optional double limit = 50002;
          optional Level level = 50003; optional bytes raw = 50004; optional bool strict = 50005;
          optional group Note = 50006 { optional string by = 1; }
        }
        extend google.protobuf.EnumValueOptions { optional string label = 50000; }
        extend google.protobuf.OneofOptions { optional string title = 50000; }
        """,
    ),
]

SAME_AGAIN = {
    "defaults of proto2": r"""
        message A {
          required int32 a = 1 [default = -5]; optional string b = 2 [default = "\"\\\n\303\251'"];
          optional bytes c = 3 [default = "\"\377\000x"]; optional float d = 4 [default = nan];
          optional double e = 5 [default = -inf]; optional bool f = 6 [default = true];
          optional E g = 7 [default = Y]; optional uint64 h = 8 [default = 18446744073709551615];
          repeated int32 i = 9 [packed = true]; optional float j = 10 [default = 1.5e10];
        }
        enum E { X = 0; Y = -1; reserved -9 to -5, 7 to max; reserved "Z"; }""",
    "groups among messages": """
        message A {
          message X {} optional group G = 1 { optional int32 g = 1; message Inner {} }
          map<string, X> m = 2; message Y {} repeated group H = 3 {}
          oneof o { group I = 4 {} int32 k = 5; group J = 6 {} }
          message Z {}
        }""",
    "groups among messages, out of order": """
        message A {
          map<string, int32> m = 9; message X {} optional group G = 2 {} message Y {}
          map<string, int32> a = 1;
        }""",
    "extensions": """
        package p; message A { extensions 100 to 199, 300; extensions 1000 to max; }
        extend A { optional int32 x = 100; } message B { extend A { repeated A a = 101; } }
        extend A { optional group G = 102 { optional int32 y = 1; } } message C {}""",
    "declared extensions": """
        message A { extensions 4 to 9 [verification = DECLARATION,
          declaration = { number: 4, full_name: ".a.b", type: "int32" }]; }""",
    "messages like packages": """
        package a.b; message a { message b { optional .a.b.a c = 1; } optional b d = 2; }""",
    "custom options": r"""
        syntax = "proto3"; import "rules.proto"; import "confluent/meta.proto";
        option (rules.file).text = "é\n\"'"; option (confluent.file_meta) = { doc: "x", tags: "y" };
        message A {
          option (rules.message) = { numbers: [1, 2], inner { [rules.more]: "z" } };
          int32 rule = 1 [(rules.rule) = { limits { key: "a" } limits { key: "b" value: 2 } },
            (rules.tags) = "one", (rules.tags) = "two", (rules.limit) = -inf,
            (.rules.level) = HIGH, (rules.raw) = "\001\377\"", (rules.strict) = true,
            (rules.note) = { by: "me" }, (confluent.field_meta).params = { key: "k" value: "v" }];
          oneof rules { option (rules.title) = "t"; string s = 2 [(.rules.limit) = 1e300]; }
        }
        enum E { X = 0 [(rules.label) = "none", deprecated = true]; }""",
}


def test_the_canonical_form_has_full_names_and_the_order_of_the_text() -> None:
    assert parse(WRITTEN, REFERENCES).canonical() == CANONICAL


def test_the_normal_form_is_sorted_by_numbers_and_names() -> None:
    assert parse(WRITTEN, REFERENCES).normalized() == NORMAL


@pytest.mark.parametrize("text", [WRITTEN, *SAME_AGAIN.values()], ids=["all", *SAME_AGAIN])
def test_what_is_printed_is_the_same_schema_again(text: str) -> None:
    schema = parse(text, REFERENCES)
    again = parse(schema.canonical(), REFERENCES)
    assert again.file == schema.file
    assert again.canonical() == schema.canonical()
    assert parse(schema.serialized(), REFERENCES).file == schema.file


@pytest.mark.parametrize("text", [WRITTEN, *SAME_AGAIN.values()], ids=["all", *SAME_AGAIN])
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    normalized = parse(text, REFERENCES).normalized()
    assert parse(normalized, REFERENCES).normalized() == normalized


@pytest.mark.parametrize("text", [WRITTEN, *SAME_AGAIN.values()], ids=["all", *SAME_AGAIN])
def test_no_message_changes_its_index_when_fields_are_sorted(text: str) -> None:
    schema = parse(text, REFERENCES)
    normal = parse(schema.normalized(), REFERENCES)
    defined = [_at_their_index(one.file.message_type) for one in (schema, normal)]
    assert defined[0] == defined[1]


@settings(max_examples=10)
@given(schema_pairs())
def test_random_schemas_are_the_same_again(pair: tuple[ProtobufSchema, ProtobufSchema]) -> None:
    for schema in pair:
        assert parse(schema.canonical()).canonical() == schema.canonical()
        assert parse(schema.serialized()).normalized() == schema.normalized()


def test_files_that_mean_the_same_have_one_normal_form() -> None:
    one = """
        syntax = "proto3"; package p; import "google/type/date.proto"; import "m.proto";
        message A { B b = 2; reserved 5, 4; int32 a = 1; m.M m = 3; google.type.Date d = 6; }
        message B { }"""
    other = """
        syntax = "proto3"; package p; import "m.proto"; import "google/type/date.proto";
        message A { reserved 4; reserved 5; int32 a = 1; .p.B b = 2; .m.M m = 3;
          .google.type.Date d = 6; }
        message B { }"""
    first, second = (parse(text, REFERENCES) for text in (one, other))
    assert first.normalized() == second.normalized()
    assert first.canonical() != second.canonical()


def test_a_file_without_a_syntax_is_proto2() -> None:
    assert parse("message A {}").canonical() == parse('syntax = "proto2"; message A {}').canonical()


def _at_their_index(messages: Iterable[DescriptorProto], around: str = "") -> dict[str, int]:
    found: dict[str, int] = {}
    for index, message in enumerate(messages):
        if not message.options.map_entry:
            name = f"{around}.{message.name}"
            found[name] = index
            found |= _at_their_index(message.nested_type, name)
    return found
