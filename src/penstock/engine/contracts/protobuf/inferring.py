"""A Protobuf schema for the columns of a flow, for topics that have none yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from penstock.engine.contracts.protobuf.errors import NoProtobufTypeError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")

_TIMESTAMP, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_DECIMAL = "confluent.type.Decimal"
_IMPORTS = {
    _TIMESTAMP: ("google/protobuf/timestamp.proto",),
    _DURATION: ("google/protobuf/duration.proto",),
    _DECIMAL: ("confluent/meta.proto", "confluent/type/decimal.proto"),
}

_PLAIN: dict[type[DataType], str] = {
    BooleanType: "bool",
    ByteType: "int32",
    ShortType: "int32",
    IntegerType: "int32",
    LongType: "int64",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    TimestampType: _TIMESTAMP,
    DayTimeIntervalType: _DURATION,
    DecimalType: _DECIMAL,
}
_KEYS = (BooleanType, ByteType, ShortType, IntegerType, LongType, StringType)


def inferred(name: str, columns: StructType) -> str:
    """Return the text of a proto3 schema whose first message has these columns.

    A column that can be null is `optional`; arrays and maps cannot be, and are empty instead.

    Args:
        name: of the message, with its package before it; what no name may hold becomes `_`.
        columns: numbered in their order.

    Raises:
        NoProtobufTypeError: Protobuf has no such type, or a column no name that it allows.
    """
    package, _, own = name.rpartition(".")
    text = _Text()
    lines = text.message(_identifier(own), columns, "", "")
    head = ['syntax = "proto3";']
    if package:
        head.append(f"package {'.'.join(_identifier(part) for part in package.split('.'))};")
    head += [f'import "{path}";' for path in sorted(text.imports)]
    return "\n".join([*head, *lines, ""])


class _Text:
    def __init__(self) -> None:
        self.imports: set[str] = set()

    def message(self, name: str, columns: StructType, path: str, indent: str) -> list[str]:
        """Return the lines of a message; those of structs stand inside it."""
        lines = [f"{indent}message {name} {{"]
        for number, column in enumerate(columns, start=1):
            where = f"{path}{column.name}"
            if not _NAME.fullmatch(column.name):
                raise NoProtobufTypeError(where, reason="names are of letters, digits and `_`")
            lines += self._inside(column, where, f"{indent}  ")
            lines.append(f"{indent}  {self._field(column, where)} = {number}{_options(column)};")
        return [*lines, f"{indent}}}"]

    def _inside(self, column: StructField, path: str, indent: str) -> list[str]:
        struct = _element(column.dataType)
        if not isinstance(struct, StructType):
            return []
        return self.message(_message_name(column.name), struct, f"{path}.", indent)

    def _field(self, column: StructField, path: str) -> str:
        match column.dataType:
            case ArrayType(elementType=element):
                return f"repeated {self._type(element, column.name, path)} {column.name}"
            case MapType(keyType=key, valueType=value):
                if not isinstance(key, _KEYS) or isinstance(value, DecimalType):
                    reason = f"there is no `{column.dataType.simpleString()}`"
                    raise NoProtobufTypeError(path, reason=reason)
                key_type = self._type(key, column.name, path)
                value_type = self._type(value, column.name, path)
                return f"map<{key_type}, {value_type}> {column.name}"
            case kind:
                optional = "optional " if column.nullable else ""
                return f"{optional}{self._type(kind, column.name, path)} {column.name}"

    def _type(self, kind: DataType, name: str, path: str) -> str:
        if isinstance(kind, StructType):
            return _message_name(name)
        found = _PLAIN.get(type(kind))
        if found is None:
            reason = f"there is no type for `{kind.simpleString()}` here"
            raise NoProtobufTypeError(path, reason=reason)
        self.imports |= set(_IMPORTS.get(found, ()))
        return found


def _element(kind: DataType) -> DataType:
    match kind:
        case ArrayType(elementType=element):
            return element
        case MapType(valueType=value):
            return value
        case _:
            return kind


def _options(column: StructField) -> str:
    """Return the precision and scale of a decimal, as Confluent's clients look for them."""
    kind = (
        column.dataType.elementType if isinstance(column.dataType, ArrayType) else column.dataType
    )
    if not isinstance(kind, DecimalType):
        return ""
    size = {"precision": kind.precision, "scale": kind.scale}
    params = ", ".join(f'{{ key: "{key}", value: "{value}" }}' for key, value in size.items())
    return f" [(confluent.field_meta) = {{ params: [{params}] }}]"


def _message_name(column: str) -> str:
    """Return the name of the message for a struct."""
    return f"{column[:1].upper()}{column[1:]}Struct"


def _identifier(text: str) -> str:
    found = _NOT_IN_NAMES.sub("_", text) or "_"
    return f"_{found}" if found[0].isdecimal() else found
