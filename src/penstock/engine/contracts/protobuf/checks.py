"""Checks: why a row cannot be written as a message, in Spark's own expressions.

What is left for Python is JSON in texts, where `writing.py` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor
from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.engine.contracts.protobuf.shapes import (
    FIRST_SECOND,
    LAST_SECOND,
    LONGEST_SECONDS,
    Field,
    Form,
    Many,
    Value,
    enum_of,
    message_of,
    oneofs_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.descriptor import Descriptor

_UNSIGNED = {
    FieldDescriptor.TYPE_UINT32: 2**32 - 1,
    FieldDescriptor.TYPE_FIXED32: 2**32 - 1,
    FieldDescriptor.TYPE_UINT64: 2**64 - 1,
    FieldDescriptor.TYPE_FIXED64: 2**64 - 1,
}
_FIRST_MICROS, _LAST_MICROS = FIRST_SECOND * 1_000_000, LAST_SECOND * 1_000_000 + 999_999
_LONGEST = timedelta(seconds=LONGEST_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that can be wrong with a column."""

    path: str
    """Where, within the column; empty for itself."""

    reason: str
    fails: Callable[[Column], Column]
    """True for a column that is wrong; false or null for others."""

    def inside(self, name: str, look: Callable[[Column], Column]) -> Check:
        """Return the check for what holds the column: `look` tells whether any of it fails."""
        return Check(path=f"{name}{self.path}", reason=self.reason, fails=look)


def first_problem(message: Descriptor, fields: tuple[Field, ...], row: Column) -> Column:
    """Return what is wrong with a struct of `fields` as such a message; null if nothing is."""
    told = [
        F.when(check.fails(row), F.lit(f"`{check.path.lstrip('.')}` {check.reason}"))
        for check in _of_message(message, fields)
    ]
    return F.coalesce(*told, F.lit(None).cast("string"))


def _of_message(message: Descriptor, fields: tuple[Field, ...]) -> Iterator[Check]:
    for field in fields:
        for check in _of_field(field):
            yield check.inside(f".{field.name}", _in_field(field.name, check))
    for oneof, names in oneofs_of(message).items():
        members = ", ".join(f"`{name}`" for name in names)
        reason = f"is a oneof, and several of {members} are set"
        yield Check(path=f".{oneof}", reason=reason, fails=_several(names))


def _in_field(name: str, check: Check) -> Callable[[Column], Column]:
    return lambda row: row.isNotNull() & check.fails(row.getField(name))


def _several(names: list[str]) -> Callable[[Column], Column]:
    def fails(row: Column) -> Column:
        is_set = [row.getField(name).isNotNull().cast("int") for name in names]
        return reduce(add, is_set) > 1

    return fails


def _of_field(field: Field) -> Iterator[Check]:
    if field.field.is_required:
        yield Check(path="", reason="is required and null", fails=Column.isNull)
    if field.many is Many.ONE:
        yield from _of_value(field.value)
    elif field.many is Many.LIST:
        yield Check(path="", reason="has an element that is null", fails=_any(Column.isNull))
        for check in _of_value(field.value):
            yield check.inside("[]", _any(check.fails))
    else:
        yield from _of_map(field)


def _of_map(field: Field) -> Iterator[Check]:
    values, keys = F.map_values, F.map_keys
    has_null = _any(Column.isNull)
    yield Check(path="", reason="has a value that is null", fails=lambda m: has_null(values(m)))
    for check in _of_value(field.value):
        yield check.inside("[]", _any(check.fails, values))
    for check in _of_value(field.key) if field.key else ():
        yield check.inside(".key", _any(check.fails, keys))


def _any(
    fails: Callable[[Column], Column], elements: Callable[[Column], Column] = lambda column: column
) -> Callable[[Column], Column]:
    return lambda column: F.exists(elements(column), fails)


def _of_value(value: Value) -> Iterator[Check]:
    match value.form:
        case Form.INTEGER:
            yield from _of_integer(value.field)
        case Form.ENUM:
            yield _of_enum(value.field)
        case Form.TEXT:
            invalid: Callable[[Column], Column] = lambda text: ~F.is_valid_utf8(text)  # noqa: E731
            yield Check(path="", reason="is not valid UTF-8", fails=invalid)
        case Form.TIMESTAMP:
            yield Check(path="", reason="is not a time of the years 1 to 9999", fails=_other_year)
        case Form.DURATION:
            yield Check(path="", reason="is longer than 10,000 years", fails=_too_long)
        case Form.WRAPPER if value.wrapped is not None:
            yield from _of_value(value.wrapped)
        case Form.STRUCT:
            yield from _of_message(message_of(value.field), value.fields)
        case _:
            pass


def _of_integer(field: FieldDescriptor) -> Iterator[Check]:
    limit = _UNSIGNED.get(field.type)
    if limit is not None:
        yield Check(
            path="",
            reason=f"is not a number from 0 to {limit}",
            fails=lambda number: (number < 0) | (number > F.lit(Decimal(limit))),
        )


def _of_enum(field: FieldDescriptor) -> Check:
    kind = enum_of(field)
    names = [value.name for value in kind.values]
    numbers = [str(value.number) for value in kind.values]

    def fails(text: Column) -> Column:
        number = text.isin(numbers) if kind.is_closed else text.try_cast("int").isNotNull()
        return ~text.isin(names) & ~number

    return Check(path="", reason=f"is no value of the enum `{kind.full_name}`", fails=fails)


def _other_year(time: Column) -> Column:
    return ~F.unix_micros(time).between(_FIRST_MICROS, _LAST_MICROS)


def _too_long(interval: Column) -> Column:
    return (interval > F.lit(_LONGEST)) | (interval < F.lit(-_LONGEST))
