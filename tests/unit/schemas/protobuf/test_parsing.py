"""What protoc accepts is a schema; what it refuses is told with its place."""

import base64

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from penstock.schemas import InvalidSchemaError, Resolved, SchemaType
from penstock.schemas import parse as parse_any
from penstock.schemas.protobuf import ProtobufSchema, parse

ORDER = 'syntax = "proto3"; package shop; message Order { string id = 1; }'

REFUSED = {
    "no text": (" \n", "the schema is empty", ""),
    "no .proto file": ("hello", 'expected top-level statement (e.g. "message")', "1:1"),
    "base64 of no descriptor": ("aGVsbG8=", 'expected top-level statement (e.g. "message")', "1:1"),
    "a syntax error": ("message A {\n  optional int32 = 1;\n}", "expected field name", "2:18"),
    "an unknown type": ("message A {\n  optional B b = 1;\n}", '"B" is not defined', "2:12"),
    "a number twice": (
        'syntax = "proto3";\nmessage A { int32 a = 1; int32 b = 1; }',
        'field number 1 has already been used in "A" by field "a". '
        "Next available field number is 2",
        "2:36",
    ),
    "a reserved number": (
        "message A { reserved 1 to 3; optional int32 a = 2; }",
        'field "a" uses reserved number 2',
        "1:22",
    ),
    "an import that is not given": (
        'import "x.proto";\nmessage A {}',
        'import "x.proto" was not found or had errors',
        "1:1",
    ),
    "a file of the machine": (
        'import "/etc/passwd";',
        'import "/etc/passwd" was not found or had errors',
        "1:1",
    ),
    "a file above": (
        'import "../../etc/passwd";',
        'import "../../etc/passwd" was not found or had errors',
        "1:1",
    ),
    "an edition": (
        'edition = "2023"; message A { int32 a = 1; }',
        'the schema is written in an edition; `syntax` has to be "proto2" or "proto3"',
        "",
    ),
    "half a surrogate pair": (
        "message A { // \ud800\n}",
        "`default` has half of a surrogate pair at character 16",
        "",
    ),
    "a zero byte": ("\0", "invalid control characters encountered in text", "1:1"),
}


@pytest.mark.parametrize(("text", "reason", "place"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_is_told_with_its_place(text: str, reason: str, place: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        parse(text)
    assert (caught.value.reason, caught.value.path) == (reason, place)


def test_schemas_of_this_type_are_parsed_here() -> None:
    schema = parse_any(SchemaType.PROTOBUF, ORDER)
    assert isinstance(schema, ProtobufSchema)
    assert (schema.type, schema.text) == (SchemaType.PROTOBUF, ORDER)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (ORDER, "shop.Order"),
        ("message B { message A {} } message A {}", "B"),
        ("package a.b; enum E { X = 0; }", "a.b.E"),
        ('import "google/protobuf/empty.proto";', None),
    ],
    ids=["with a package", "without one", "only an enum", "nothing"],
)
def test_the_name_is_that_of_the_first_message(text: str, name: str | None) -> None:
    assert parse(text).name == name


def test_imports_are_found_among_references_of_references() -> None:
    item = Resolved(name="shop/item.proto", text="package shop; message Item {}")
    order = Resolved(
        name="shop/order.proto",
        text='package shop; import "shop/item.proto"; message Order { repeated Item items = 1; }',
        references=(item,),
    )
    text = 'import "shop/order.proto"; message Cart { optional shop.Order order = 1; }'
    schema = parse(text, [order])
    assert [file.name for file in schema.imported] == ["shop/item.proto", "shop/order.proto"]


def test_a_mistake_in_a_reference_is_told_with_its_name() -> None:
    broken = Resolved(name="shop/item.proto", text="message Item {\n  int32 }")
    with pytest.raises(InvalidSchemaError) as caught:
        parse('import "shop/item.proto";', [broken])
    assert caught.value.reason.startswith("in reference `shop/item.proto`: expected")
    assert caught.value.path.startswith("2:")


@pytest.mark.parametrize(
    "imported",
    [
        "google/protobuf/timestamp.proto",
        "google/type/money.proto",
        "confluent/meta.proto",
        "confluent/type/decimal.proto",
        "confluent/types/decimal.proto",
    ],
)
def test_well_known_files_need_no_reference(imported: str) -> None:
    assert parse(f'import "{imported}"; message A {{}}').file.dependency == [imported]


def test_a_reference_cannot_replace_a_well_known_file() -> None:
    name = "google/protobuf/timestamp.proto"
    other = Resolved(name=name, text="package google.protobuf; message Other {}")
    text = f'import "{name}"; message A {{ optional google.protobuf.Timestamp at = 1; }}'
    assert parse(text, [other]).name == "A"


@pytest.mark.parametrize(
    "name", ["/etc/a.proto", "../a.proto", "a//b.proto", "a\\b.proto", "a\nb", "a" * 201, ""]
)
def test_a_reference_has_to_be_named_like_an_import(name: str) -> None:
    with pytest.raises(InvalidSchemaError, match="is not the path of an import"):
        parse("message A {}", [Resolved(name=name, text="message B {}")])


def test_a_reference_may_have_the_name_that_schemas_have_among_their_imports() -> None:
    text = 'import "default"; message A { optional B b = 1; }'
    assert parse(text, [Resolved(name="default", text="message B {}")]).name == "A"


def test_a_reference_in_the_place_of_a_folder_is_refused() -> None:
    references = [Resolved(name="a", text="message B {}"), Resolved(name="a/b", text="")]
    with pytest.raises(InvalidSchemaError, match="cannot be a file beside the other references"):
        parse("message A {}", references)


def test_a_serialized_descriptor_is_the_same_schema() -> None:
    schema = parse(ORDER)
    serialized = parse(schema.serialized())
    assert serialized.text == schema.serialized()
    assert serialized.canonical() == schema.canonical()
    assert serialized.file == schema.file
    assert schema.formatted("serialized") == schema.serialized()
    assert schema.formatted("resolved") == schema.canonical()


def test_references_can_be_serialized_too() -> None:
    order = Resolved(name="order.proto", text=parse(ORDER).serialized())
    text = 'import "order.proto"; message Cart { optional shop.Order order = 1; }'
    cart = parse(text, [order])
    assert parse(cart.serialized(), [order]).canonical() == cart.canonical()


PRINTED_BY_JAVA_CLIENTS = """
syntax = "proto3";
package shop;
message Order {
  repeated .shop.Order.TagsEntry tags = 1 [json_name = "tags"];
  message Item {
  }
  message TagsEntry {
    option map_entry = true;
    string key = 1;
    .shop.Order.Item value = 2;
  }
}
"""


def test_a_map_may_have_its_entry_written_out() -> None:
    message = "message Order { message Item {} map<string, Item> tags = 1; }"
    expected = parse(f'syntax = "proto3"; package shop; {message}')
    assert parse(PRINTED_BY_JAVA_CLIENTS).file == expected.file


def test_maps_of_references_may_have_their_entries_written_out() -> None:
    order = Resolved(name="order.proto", text=PRINTED_BY_JAVA_CLIENTS)
    schema = parse('import "order.proto"; message A { optional shop.Order o = 1; }', [order])
    [imported] = schema.imported
    assert imported.message_type == parse(PRINTED_BY_JAVA_CLIENTS).file.message_type
    assert schema.can_read(schema) == []


def test_an_entry_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidSchemaError):
        parse("message A { message B { option map_entry = true; optional int32 key = 3; } }")


def test_a_descriptor_that_no_text_could_have_is_refused() -> None:
    file = FileDescriptorProto(name="a.proto")
    file.message_type.add(name="A").field.add(
        name="1st",
        number=1,
        type=FieldDescriptorProto.TYPE_INT32,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
    )
    with pytest.raises(InvalidSchemaError):
        parse(base64.b64encode(file.SerializeToString()).decode())


def test_a_descriptor_with_a_mistake_is_refused() -> None:
    file = FileDescriptorProto(name="a.proto")
    file.message_type.add(name="A")
    file.message_type.add(name="A")
    with pytest.raises(InvalidSchemaError, match='symbol name "A" conflicts'):
        parse(base64.b64encode(file.SerializeToString()).decode())


def test_a_schema_in_another_language_is_told_apart() -> None:
    avro = parse_any(SchemaType.AVRO, '"string"')
    assert [one.kind for one in parse(ORDER).can_read(avro)] == ["SCHEMA_TYPE_MISMATCH"]
