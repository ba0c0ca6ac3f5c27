"""What the values under a JSON Schema are: a tree of fields, each of the kind it has in Spark.

A field keeps the rules that Spark's own expressions can check (`checking.py`). A schema that has
others is not complete: its documents are checked in Arrow batches as well (`batches.py`).

No field is declared `NOT NULL`, required ones neither: Spark would take it for a promise, and the
columns of records that are about to be dropped, or of tombstones, are null.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.schemas.json_schema.shapes import Items, Number, Text


class JsonType(StrEnum):
    """What a JSON value is; numbers are split, so that integers are some of them."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FRACTION = "fraction"
    STRING = "string"
    ARRAY = "array"
    OBJECT = "object"


class Kind(StrEnum):
    """What a field is in Spark."""

    TEXT = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INTEGER = "bigint"
    NUMBER = "double"
    BOOLEAN = "boolean"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    JSON = "JSON text"
    """A string with the JSON of a value that has no single type."""


EVERY_TYPE = frozenset(JsonType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A value: its kind in Spark, and the rules of that kind."""

    kind: Kind
    types: frozenset[JsonType]
    texts: tuple[Text, ...] = ()
    numbers: tuple[Number, ...] = ()
    items: tuple[Items, ...] = ()
    closed: tuple[frozenset[str], ...] = ()
    """Names, beside which an object may have no others."""

    required: tuple[str, ...] = ()
    allowed: tuple[tuple[object, ...], ...] = ()
    """Lists of values of which it must be one each; `null` is a matter of `types`."""

    members: tuple[Member, ...] = ()
    element: Field | None = None
    """Of an array or a map."""

    @property
    def nullable(self) -> bool:
        """Whether `null` may stand here; a field that is not required may be missing anyway."""
        return JsonType.NULL in self.types

    @property
    def inner(self) -> tuple[Field, ...]:
        """The fields below."""
        members = tuple(one.field for one in self.members)
        return members if self.element is None else (*members, self.element)

    @property
    def unrestricted(self) -> bool:
        """Whether any value may stand here."""
        return self.kind is Kind.JSON and self.types == EVERY_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A property of an object."""

    name: str
    field: Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What a schema says of its documents."""

    root: Field
    complete: bool
    """Whether the rules of the fields are all that the schema asks for."""


def is_native_divisor(number: Number, kind: Kind) -> bool:
    """Tell whether Spark can decide exactly what is a multiple; see `checking.py`."""
    divisor = number.multiple_of
    if divisor is None:
        return True
    if kind is Kind.INTEGER:
        return divisor.numerator < 2**63
    return 10**9 % divisor.denominator == 0 and divisor < 10**9
