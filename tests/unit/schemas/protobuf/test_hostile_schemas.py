"""Schemas made to exhaust a registry end in an error, soon, and the next one is parsed."""

import time
from collections.abc import Iterator

import pytest

from penstock.schemas import InvalidSchemaError, Resolved, SchemaType
from penstock.schemas import parse as parse_any
from penstock.schemas.protobuf import parse
from penstock.schemas.protobuf.compiler import Compiler, Source

RECURSIVE_OPTION = (
    'import "google/protobuf/descriptor.proto"; message R { optional R r = 1; } '
    "extend google.protobuf.FileOptions { optional R nested = 50000; } option (nested) = "
)

HOSTILE = {
    "messages in each other": "message A {" * 10_000,
    "an option that overflows the stack": RECURSIVE_OPTION + "{" + "r{" * 200_000,
    "an option that protoc cannot write": RECURSIVE_OPTION + "{" + "r{" * 150 + "}" * 151 + ";",
    "a quote without an end": 'option java_package = "' + "a" * 1_000_000,
    "many wrong lines": "}\n" * 3_000,
}


@pytest.fixture
def compiler() -> Iterator[Compiler]:
    """Give a compiler of its own, because it is about to suffer."""
    compiler = Compiler(cpu_limit_seconds=0.1)
    yield compiler
    compiler.close()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_schema_is_refused_within_a_second(text: str) -> None:
    parse("message A {}")
    started = time.process_time()
    with pytest.raises(InvalidSchemaError):
        parse(text)
    assert time.process_time() - started < 1
    assert parse("message A {}").name == "A"


def test_a_schema_that_takes_too_long_is_given_up(compiler: Compiler) -> None:
    # protoc compares each reserved number with each other one.
    numbers = ",".join(map(str, range(1, 60_000)))
    source = Source(name="default", content=f"message A {{ reserved {numbers}; }}")
    with pytest.raises(InvalidSchemaError, match=r"did not get through the schema within 0\.1"):
        compiler.compile(source, [])
    [file] = compiler.compile(Source(name="default", content="message A {}"), [])
    assert [message.name for message in file.message_type] == ["A"]


def test_imports_in_a_circle_are_refused() -> None:
    references = [
        Resolved(name="a.proto", text='import "b.proto";'),
        Resolved(name="b.proto", text='import "a.proto";'),
    ]
    with pytest.raises(InvalidSchemaError, match="file recursively imports itself"):
        parse('import "a.proto";', references)


def test_more_than_a_megabyte_is_not_looked_at() -> None:
    with pytest.raises(InvalidSchemaError, match="at most 1,048,576 are accepted"):
        parse_any(SchemaType.PROTOBUF, "message A {}" + " " * 2**20)


def test_many_messages_that_contain_each_other_are_compared_once_each() -> None:
    # Comparing each use of each message would take 2 to the power of 40 steps.
    chain = "".join(
        f"message M{i} {{ optional M{i + 1} a = 1; optional M{i + 1} b = 2; }}" for i in range(40)
    )
    old = Resolved(name="m.proto", text=f"{chain} message M40 {{ optional int32 x = 1; }}")
    new = Resolved(name="m.proto", text=f"{chain} message M40 {{ optional string x = 1; }}")
    text = 'import "m.proto"; message A { optional M0 m = 1; }'
    found = parse(text, [new]).can_read(parse(text, [old]))
    assert [one.path for one in found if one.kind == "FIELD_SCALAR_KIND_CHANGED"] == ["#/M40/1"]
    assert len([one for one in found if one.kind == "FIELD_NAMED_TYPE_CHANGED"]) == 81


def test_a_long_chain_of_messages_needs_no_deep_stack() -> None:
    chain = "".join(f"message M{i} {{ optional M{i + 1} a = 1; }}" for i in range(3000))
    imported = Resolved(name="m.proto", text=f"{chain} message M3000 {{}}")
    schema = parse('import "m.proto"; message A { optional M0 m = 1; }', [imported])
    assert schema.can_read(schema) == []
