"""Shapes: which column a field of a message has in Spark.

| field | column |
|---|---|
| `int32`, `sint32`, `sfixed32` | `int` |
| `uint32`, `fixed32`, all signed ones of 64 bits | `bigint` |
| `uint64`, `fixed64` | `decimal(20,0)` |
| an enum | `string`: the name, or the number of a value that has none |
| `repeated`, `map` | `array`, `map`; never null |
| another message | `struct`; `boolean` if it has no fields: true, or null |
| `Timestamp`, `Duration` | `timestamp`, `interval day to second`; nanoseconds are cut off |
| `StringValue` and the other wrappers | the wrapped value, or null |
| `Struct`, `Value`, `ListValue`, `Any` | `string`: JSON |
| Confluent's `Decimal` | `decimal`, if the field says its precision and scale |

A field that can be unset is null then, or has the default that proto2 gives it. A message within
itself is a struct five times, and JSON below.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.engine.contracts.protobuf.errors import UnreadableMessageError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor

RECURSION_DEPTH = 5
"""How often a message may be a struct within itself."""

MAX_COLUMNS = 5_000
"""Of a message with all inside it: messages that contain each other multiply."""

FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Of a `Timestamp`: the years 1 to 9999."""

LONGEST_SECONDS = 315_576_000_000
"""Of a `Duration`: 10,000 years."""

DECIMAL = "confluent.type.Decimal"
FIELD_META = "confluent.field_meta"


class OutOfRangeError(ValueError):
    """A time or a length of time is none that Protobuf allows."""

    def __init__(self, path: str) -> None:
        super().__init__(f"`{path}` is out of range")


class Form(Enum):
    """What a single value is."""

    INTEGER = auto()
    BOOLEAN = auto()
    FLOAT = auto()
    TEXT = auto()
    BYTES = auto()
    ENUM = auto()
    TIMESTAMP = auto()
    DURATION = auto()
    WRAPPER = auto()
    DECIMAL = auto()
    JSON = auto()
    MARK = auto()
    """A message without fields, of which there is nothing to know but that it is there."""

    STRUCT = auto()


class Many(Enum):
    """How many values a field has."""

    ONE = auto()
    LIST = auto()
    MAP = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A single value: of a field, of an element, or of a key or value of a map."""

    field: FieldDescriptor
    form: Form
    type: DataType
    wrapped: Value | None = None
    fields: tuple[Field, ...] = ()
    """Of a struct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a message, and its column."""

    field: FieldDescriptor
    many: Many
    value: Value
    type: DataType
    key: Value | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return str(self.field.name)


def fields_of(message: Descriptor) -> tuple[Field, ...]:
    """Return the columns of a message.

    Raises:
        UnreadableMessageError: it has none, too many, or two that Spark takes for the same.
    """
    fields = _Shaping(message.full_name).fields(message, ())
    if not fields:
        raise UnreadableMessageError(message.full_name, reason="it has no fields")
    return fields


def struct_type(fields: tuple[Field, ...]) -> StructType:
    """Return the type of a struct of `fields`; all can be null, as the struct itself can be."""
    return StructType([StructField(field.name, field.type) for field in fields])


def has_json(fields: tuple[Field, ...]) -> bool:
    """Tell whether any text within is JSON."""
    return any(field.value.form is Form.JSON or has_json(field.value.fields) for field in fields)


def many_of(field: FieldDescriptor) -> Many:
    """Return how many values a field has."""
    if not field.is_repeated:
        return Many.ONE
    return Many.MAP if _is_map(field) else Many.LIST


def form_of(field: FieldDescriptor) -> Form:
    """Return what a single value of `field` is, however deep inside."""
    if field.enum_type is not None:
        return Form.ENUM
    message = field.message_type
    if message is None:
        return _PLAIN[field.type][0]
    if message.full_name == DECIMAL:
        return Form.DECIMAL if decimal_type(field) else Form.STRUCT
    if message.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[message.full_name][0]
    return Form.STRUCT if message.fields else Form.MARK


def oneofs_of(message: Descriptor) -> dict[str, list[str]]:
    """Return the fields of which one at most can be set; not those of a single one."""
    found = {one.name: [field.name for field in one.fields] for one in message.oneofs}
    return {name: fields for name, fields in found.items() if len(fields) > 1}


def missing_of(field: FieldDescriptor) -> object:
    """Return what a reader has for a single value that is not there: its default, or null."""
    if field.message_type is not None:
        return None
    if field.has_presence and (not field.has_default_value or field.containing_oneof):
        return None
    if field.enum_type is not None:
        return enum_names(field).get(field.default_value, str(field.default_value))
    default: object = field.default_value
    return default


def message_of(field: FieldDescriptor) -> Descriptor:
    """Return the message of a field that has one, or the entry of a map."""
    assert field.message_type is not None  # noqa: S101 - the caller has looked
    return field.message_type


def enum_of(field: FieldDescriptor) -> EnumDescriptor:
    """Return the enum of a field that has one."""
    assert field.enum_type is not None  # noqa: S101 - the caller has looked
    return field.enum_type


def enum_names(field: FieldDescriptor) -> dict[int, str]:
    """Return the names of an enum by number: of two for one number, the first."""
    return {value.number: value.name for value in reversed(enum_of(field).values)}


def decimal_type(field: FieldDescriptor) -> DecimalType | None:
    """Return the type of Confluent's `Decimal` if the field gives precision and scale."""
    pool = message_of(field).file.pool
    try:
        meta: Any = pool.FindExtensionByName(FIELD_META)
    except KeyError:
        return None
    kind = GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FieldOptions"))
    options = kind.FromString(field.GetOptions().SerializeToString())
    params = options.Extensions[meta].params
    precision, scale = params.get("precision", ""), params.get("scale", "0")
    if not (precision.isdecimal() and scale.isdecimal()):
        return None
    fits = int(scale) <= int(precision) and 0 < int(precision) <= _MAX_PRECISION
    return DecimalType(int(precision), int(scale)) if fits else None


class _Shaping:
    def __init__(self, root: str) -> None:
        self._root = root
        self._count = 0

    def fields(self, message: Descriptor, around: tuple[str, ...]) -> tuple[Field, ...]:
        self._check_names(message)
        inside = (*around, str(message.full_name))
        return tuple(self._field(field, inside) for field in message.fields)

    def _check_names(self, message: Descriptor) -> None:
        """Refuse what Spark could not tell apart, or not hold."""
        names = Counter(field.name.lower() for field in message.fields)
        for field in message.fields:
            if names[field.name.lower()] > 1:
                reason = f"`{message.full_name}` has `{field.name}` twice but for its case"
                raise UnreadableMessageError(self._root, reason=reason)
        self._count += len(message.fields)
        if self._count > MAX_COLUMNS:
            reason = f"it has more than {MAX_COLUMNS:,} columns with all that is inside it"
            raise UnreadableMessageError(self._root, reason=reason)

    def _field(self, field: FieldDescriptor, around: tuple[str, ...]) -> Field:
        many = many_of(field)
        if many is Many.MAP:
            entry = message_of(field).fields_by_name
            key, value = (self._value(entry[part], around) for part in ("key", "value"))
            kind: DataType = MapType(key.type, value.type)
            return Field(field=field, many=many, key=key, value=value, type=kind)
        value = self._value(field, around)
        kind = value.type if many is Many.ONE else ArrayType(value.type)
        return Field(field=field, many=many, value=value, type=kind)

    def _value(self, field: FieldDescriptor, around: tuple[str, ...]) -> Value:
        form, message = form_of(field), field.message_type
        if form is Form.ENUM:
            return Value(field=field, form=form, type=StringType())
        if form is Form.DECIMAL:
            return Value(field=field, form=form, type=decimal_type(field) or StringType())
        if message is None:
            return Value(field=field, form=form, type=_PLAIN[field.type][1])
        if form is Form.WRAPPER:
            wrapped = self._value(message.fields_by_name["value"], around)
            return Value(field=field, form=form, type=wrapped.type, wrapped=wrapped)
        if form is Form.STRUCT:
            return self._struct(field, message, around)
        kind = BooleanType() if form is Form.MARK else _WELL_KNOWN[message.full_name][1]
        return Value(field=field, form=form, type=kind)

    def _struct(
        self, field: FieldDescriptor, message: Descriptor, around: tuple[str, ...]
    ) -> Value:
        if around.count(message.full_name) >= RECURSION_DEPTH:
            return Value(field=field, form=Form.JSON, type=StringType())
        fields = self.fields(message, around)
        return Value(field=field, form=Form.STRUCT, type=struct_type(fields), fields=fields)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


_MAX_PRECISION = 38

_INT, _LONG, _ULONG = IntegerType(), LongType(), DecimalType(20, 0)

_PLAIN: dict[int, tuple[Form, DataType]] = {
    FieldDescriptor.TYPE_INT32: (Form.INTEGER, _INT),
    FieldDescriptor.TYPE_SINT32: (Form.INTEGER, _INT),
    FieldDescriptor.TYPE_SFIXED32: (Form.INTEGER, _INT),
    FieldDescriptor.TYPE_UINT32: (Form.INTEGER, _LONG),
    FieldDescriptor.TYPE_FIXED32: (Form.INTEGER, _LONG),
    FieldDescriptor.TYPE_INT64: (Form.INTEGER, _LONG),
    FieldDescriptor.TYPE_SINT64: (Form.INTEGER, _LONG),
    FieldDescriptor.TYPE_SFIXED64: (Form.INTEGER, _LONG),
    FieldDescriptor.TYPE_UINT64: (Form.INTEGER, _ULONG),
    FieldDescriptor.TYPE_FIXED64: (Form.INTEGER, _ULONG),
    FieldDescriptor.TYPE_FLOAT: (Form.FLOAT, FloatType()),
    FieldDescriptor.TYPE_DOUBLE: (Form.FLOAT, DoubleType()),
    FieldDescriptor.TYPE_BOOL: (Form.BOOLEAN, BooleanType()),
    FieldDescriptor.TYPE_STRING: (Form.TEXT, StringType()),
    FieldDescriptor.TYPE_BYTES: (Form.BYTES, BinaryType()),
}

_WRAPPERS = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")

_WELL_KNOWN: dict[str, tuple[Form, DataType]] = {
    "google.protobuf.Timestamp": (Form.TIMESTAMP, TimestampType()),
    "google.protobuf.Duration": (Form.DURATION, DayTimeIntervalType()),
    "google.protobuf.Struct": (Form.JSON, StringType()),
    "google.protobuf.Value": (Form.JSON, StringType()),
    "google.protobuf.ListValue": (Form.JSON, StringType()),
    "google.protobuf.Any": (Form.JSON, StringType()),
    **{f"google.protobuf.{name}Value": (Form.WRAPPER, StringType()) for name in _WRAPPERS},
}
