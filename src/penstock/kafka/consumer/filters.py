"""Filters on records: a text that a value contains, or a condition on a field of a JSON value.

A condition is a JSON pointer (RFC 6901) or a JSON path, an operator and a JSON literal, such as
`/amount > 100`, which is `$.amount > 100`, or `/user/name = "ann"`. It is parsed, never evaluated
as code. A value that is not JSON, or that has nothing there, does not match, whatever the operator.
"""

from __future__ import annotations

import json
import operator
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

from penstock.errors import UsageError
from penstock.kafka.json_pointer import (
    MISSING,
    PATH_PATTERN,
    Pointer,
    parse_path,
    parse_pointer,
    value_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kafka.records import Record

_CONDITION = re.compile(
    rf"\s*((?:/[^\s=!<>]*)?|{PATH_PATTERN})\s*(==|!=|>=|<=|=|>|<)\s*(\S.*?)\s*", re.DOTALL
)


def _refuse_constant(name: str) -> object:
    """NaN and Infinity are Python's, not JSON's."""
    raise ValueError(name)


# Made once: `json.loads` with an argument of its own makes a decoder for every value.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


class InvalidConditionError(UsageError):
    """A condition on records cannot be understood."""

    code = "PEN-495"

    def __init__(self, text: str, *, reason: str) -> None:
        super().__init__(
            f"`{text}` is not a condition: {reason}",
            hint="write a JSON pointer or path, an operator and a JSON literal: `/amount > 100`, "
            '`$.amount > 100` or `/user/name = "ann"`',
        )


class Comparison(StrEnum):
    """How a condition compares a field with its literal."""

    EQUAL = "="
    UNEQUAL = "!="
    MORE = ">"
    AT_LEAST = ">="
    LESS = "<"
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class ContainsText:
    """The value contains these bytes."""

    text: bytes

    def matches(self, record: Record) -> bool:
        """Say whether `record` passes."""
        return record.value is not None and self.text in record.value


@dataclass(frozen=True, slots=True)
class JsonCondition:
    """A field of the JSON value compares with a literal."""

    pointer: Pointer
    comparison: Comparison
    literal: object

    def matches(self, record: Record) -> bool:
        """Say whether `record` passes."""
        return self.holds_in(_parsed(record.value))

    def holds_in(self, document: object) -> bool:
        """Say whether it holds in a value that was decoded."""
        found = value_at(self.pointer, document)
        return found is not MISSING and _holds(found, self.comparison, self.literal)


Filter = ContainsText | JsonCondition


def parse_condition(text: str) -> JsonCondition:
    """Return the condition that `text` writes.

    Raises:
        InvalidConditionError: `text` is not a pointer, an operator and a literal.
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise InvalidConditionError(text, reason="it has no `/pointer`, operator and literal")
    place, sign, literal = match.groups()
    pointer = parse_path(place) if place.startswith("$") else parse_pointer(place)
    if place.startswith("$") and "*" in (pointer or ()):
        raise InvalidConditionError(text, reason="`*` stands for many fields, and it needs one")
    return JsonCondition(
        pointer=pointer or (),
        comparison=Comparison("=" if sign == "==" else sign),
        literal=_literal(literal, text),
    )


def _literal(written: str, text: str) -> object:
    try:
        return _DECODER.decode(written)
    except (ValueError, RecursionError):
        reason = f"`{written}` is not a JSON literal; text needs double quotes"
        raise InvalidConditionError(text, reason=reason) from None


def _parsed(value: bytes | None) -> object:
    if value is None:
        return MISSING
    try:
        return _DECODER.decode(value.decode("utf-8"))
    except (ValueError, RecursionError):
        return MISSING


def _holds(found: object, comparison: Comparison, literal: object) -> bool:
    match comparison:
        case Comparison.EQUAL:
            return _equal(found, literal)
        case Comparison.UNEQUAL:
            return not _equal(found, literal)
        case Comparison.MORE:
            return _ordered(operator.gt, found, literal)
        case Comparison.AT_LEAST:
            return _ordered(operator.ge, found, literal)
        case Comparison.LESS:
            return _ordered(operator.lt, found, literal)
        case Comparison.AT_MOST:
            return _ordered(operator.le, found, literal)
        case _:
            assert_never(comparison)


def _equal(left: object, right: object) -> bool:
    """Compare as JSON does: `true` is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return left == right


def _ordered(compare: Callable[[Any, Any], bool], left: object, right: object) -> bool:
    """Compare two numbers or two texts; nothing else has an order."""
    texts = isinstance(left, str) and isinstance(right, str)
    return (texts or (_is_number(left) and _is_number(right))) and compare(left, right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
