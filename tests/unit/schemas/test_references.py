"""What a schema refers to: in which order it is read, and how much of it there may be."""

import pytest

from penstock.schemas import MAX_REFERENCES, MAX_SCHEMA_CHARS, InvalidSchemaError, Resolved
from penstock.schemas.schema import check_size, in_order


def resolved(name: str, *references: Resolved, text: str = "") -> Resolved:
    return Resolved(name=name, text=text, references=references)


def test_dependencies_come_first_and_each_name_once() -> None:
    shared = resolved("shared")
    one, other = resolved("one", resolved("deep", shared), shared), resolved("other", shared)
    names = [reference.name for reference in in_order([one, other, shared])]
    assert names == ["shared", "deep", "one", "other"]


def test_a_name_with_two_texts_keeps_the_first() -> None:
    found = list(in_order([resolved("a", text="1"), resolved("a", text="2")]))
    assert [reference.text for reference in found] == ["1"]


def test_a_schema_counts_with_all_that_it_refers_to() -> None:
    half = "x" * (MAX_SCHEMA_CHARS // 2)
    check_size(half, [resolved("a", text=half)])
    with pytest.raises(InvalidSchemaError):
        check_size(half, [resolved("a", resolved("b", text="x"), text=half)])


def test_there_is_a_limit_to_references() -> None:
    many = [resolved(f"r{number}") for number in range(MAX_REFERENCES)]
    check_size("", many)
    with pytest.raises(InvalidSchemaError):
        check_size("", [*many, resolved("one more")])
