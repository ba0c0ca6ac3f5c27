"""Avro schemas made to exhaust a server end within a second, with an error or a verdict."""

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.schemas import InvalidSchemaError, Resolved, SchemaType, parse
from support.avro import Json, array, avro, enum, field, record

# In processor time: waiting for other work on the same machine does not count.
LIMIT_SECONDS = 1.0


@contextmanager
def within_a_second() -> Iterator[None]:
    before = time.process_time()
    yield
    assert time.process_time() - before < LIMIT_SECONDS


def default_of_depth(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"f": value}
    return value


def records_of_each_other() -> Json:
    """Return records whose unions of each other take a checker of defaults down all ways."""
    inner = [
        record(field("f", ["null", *(f"S{number}" for number in range(index))]), field("x", "int"),
               name=f"S{index}")
        for index in range(30)
    ]  # fmt: skip
    fields = [field(f"s{index}", one) for index, one in enumerate(inner)]
    union = ["null", *(f"S{number}" for number in range(30))]
    return record(*fields, field("all", union, default=default_of_depth(20)))


HOSTILE: dict[str, str] = {
    "brackets": "[" * 500_000,
    "nested arrays": '{"type":"array","items":' * 10_000 + '"int"' + "}" * 10_000,
    "nested objects without meaning": '{"type":"int","x":' * 300 + "1" + "}" * 300,
    "a huge enum": json.dumps(enum(*(f"S{number}" for number in range(100_000)))),
    "a text beyond the limit": json.dumps(record(doc="x" * 1024 * 1024)),
    "a deep default": json.dumps(record(field("a", ["null", "R"], default=default_of_depth(60)))),
    "a default with many ways to fit": json.dumps(records_of_each_other()),
    "a huge number": json.dumps({"type": "fixed", "name": "F"})[:-1]
    + ',"size":'
    + "9" * 9000
    + "}",
    "an unknown name among many": json.dumps(
        [*({"type": "fixed", "name": f"F{number}", "size": 1} for number in range(9000)), "F_"]
    ),
    "an endless string": '"' + "a" * 1_000_000,
    "half a character": '{"type": "record", "name": "R", "fields": [], "doc": "\\ud800"}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_schema_is_refused_within_a_second(text: str) -> None:
    with within_a_second(), pytest.raises(InvalidSchemaError):
        parse(SchemaType.AVRO, text)


def test_references_that_lead_to_each_other_end_in_an_error() -> None:
    """Names would have to be known before they are defined, whichever comes first."""

    def half(name: str, other: str, *references: Resolved) -> Resolved:
        text = json.dumps(record(field("other", other), name=name))
        return Resolved(name=name, text=text, references=references)

    circle = half("A", "B", half("B", "A", half("A", "B")))
    with within_a_second(), pytest.raises(InvalidSchemaError):
        parse(SchemaType.AVRO, '"A"', [circle])


def test_a_long_chain_of_references_ends_in_an_error() -> None:
    chain: tuple[Resolved, ...] = ()
    for number in range(5000):
        chain = (Resolved(name=f"R{number}", text="{}", references=chain),)
    with within_a_second(), pytest.raises(InvalidSchemaError):
        parse(SchemaType.AVRO, '"int"', chain)


def test_the_deepest_schema_that_is_accepted_can_be_compared_and_printed() -> None:
    schema: Json = "int"
    for _ in range(99):
        schema = array(["null", schema])
    parsed = avro(schema)
    assert parsed.can_read(parsed) == []
    assert avro(json.loads(parsed.canonical())).normalized() == parsed.normalized()


def test_long_chains_of_named_records_are_compared_without_recursion() -> None:
    names = [f"R{number}" for number in range(2000)]
    chain = [record(field("x", "int"), name=names[0])]
    chain += [
        record(field("before", before), name=name) for before, name in itertools.pairwise(names)
    ]
    schema = record(*(field(f"f{index}", one) for index, one in enumerate(chain)), name="All")
    parsed = avro(schema)
    with within_a_second():
        assert parsed.can_read(parsed) == []


def circle(length: int) -> Json:
    """Return a union of records called `R` in as many namespaces, each with the one before it."""
    records = [
        record(field("f", ["null", f"n{number - 1}.R"] if number else "null"), name=f"n{number}.R")
        for number in range(length)
    ]
    return [*records, "null"]


def test_schemas_that_need_too_many_comparisons_are_incompatible() -> None:
    with within_a_second():
        [found] = avro(circle(500)).can_read(avro(circle(499)))
    assert found.kind == "SCHEMA_TOO_COMPLEX"
