"""Avro's types as immutable data: what a parsed schema consists of.

A named type stands where it is defined; all other uses of it are a `Named` with its full name. So
a schema is a tree, however recursive the data is, and is as deep as its text.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

FullName = NewType("FullName", str)
"""Of a record, enum or fixed: its namespace, a dot, its name; just the name without namespace."""

Attributes = tuple[tuple[str, object], ...]
"""What a schema says beyond the specification, and logical types, in the order of its text."""


class Kind(StrEnum):
    """The types without parts."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"


class Order(StrEnum):
    """How a field takes part when records are sorted."""

    ASCENDING = "ascending"
    DESCENDING = "descending"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Primitive:
    """A type without parts, with a logical type among its attributes perhaps."""

    kind: Kind
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """Any number of items of one type."""

    items: "Type"
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Values of one type under strings."""

    values: "Type"
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """One of several types; never directly another union."""

    branches: tuple["Type", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The use of a type that is defined elsewhere."""

    name: FullName


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """What a field is worth to readers of data that lacks it; JSON, and `null` is a value."""

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a record."""

    name: str
    type: "Type"
    doc: str | None = None
    default: Default | None = None
    order: Order = Order.ASCENDING
    aliases: tuple[str, ...] = ()
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Fields under names. An error is a record that protocols throw."""

    name: FullName
    fields: tuple[Field, ...]
    doc: str | None = None
    aliases: tuple[FullName, ...] = ()
    is_error: bool = False
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Enum:
    """One of several symbols; `default` is what readers take for symbols they do not know."""

    name: FullName
    symbols: tuple[str, ...]
    default: str | None = None
    doc: str | None = None
    aliases: tuple[FullName, ...] = ()
    attributes: Attributes = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A number of bytes."""

    name: FullName
    size: int
    doc: str | None = None
    aliases: tuple[FullName, ...] = ()
    attributes: Attributes = ()


Definition = Record | Enum | Fixed
Type = Primitive | Array | Map | Union | Named | Definition


def are_alike(one: Definition, other: Definition) -> bool:
    """Whether both are records, both enums or both fixed."""
    return type(one) is type(other)


def simple_name(name: FullName) -> str:
    """Return the name without its namespace."""
    return name.rpartition(".")[2]


def namespace_of(name: FullName) -> str:
    """Return the namespace, which is empty for names without one."""
    return name.rpartition(".")[0]


def type_word(some: Type) -> str:
    """Return what to call a type in a message: `array`, `string` or the name of a named type."""
    match some:
        case Primitive(kind=kind):
            return kind.value
        case Array():
            return "array"
        case Map():
            return "map"
        case Union():
            return "union"
        case Named(name=name) | Record(name=name) | Enum(name=name) | Fixed(name=name):
            return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Decimal:
    """The logical type `decimal`: numbers with so many digits, some of them after the point."""

    precision: int
    scale: int


# A fixed of n bytes holds the decimals below 2 ** (8 * n - 1).
_DIGITS_PER_BIT = math.log10(2)


def decimal_of(some: Primitive | Fixed) -> Decimal | None:
    """Return the decimal that a type stands for; an invalid one counts for nothing.

    The specification has readers ignore a logical type that does not fit its type.
    """
    attributes = dict(some.attributes)
    precision, scale = attributes.get("precision"), attributes.get("scale", 0)
    if attributes.get("logicalType") != "decimal" or not _takes_decimals(some):
        return None
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision:
        return None
    digits = int((8 * some.size - 1) * _DIGITS_PER_BIT) if isinstance(some, Fixed) else precision
    return Decimal(precision=precision, scale=scale) if 0 < precision <= digits else None


def _takes_decimals(some: Primitive | Fixed) -> bool:
    return isinstance(some, Fixed) or some.kind is Kind.BYTES
