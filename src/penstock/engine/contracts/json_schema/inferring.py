"""A JSON Schema for the columns of a flow, for topics that have none yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DateType,
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

from penstock.engine.contracts.errors import UninferrableSchemaError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_DRAFT = "http://json-schema.org/draft-07/schema#"
_PLAIN: dict[type[DataType], dict[str, Any]] = {
    StringType: {"type": "string"},
    BooleanType: {"type": "boolean"},
    ByteType: {"type": "integer"},
    ShortType: {"type": "integer"},
    IntegerType: {"type": "integer"},
    LongType: {"type": "integer"},
    FloatType: {"type": "number"},
    DoubleType: {"type": "number"},
    DateType: {"type": "string", "format": "date"},
    TimestampType: {"type": "string", "format": "date-time"},
}


def inferred(name: str, columns: StructType) -> str:
    """Return the text of a schema in draft-07 for objects with these columns.

    A column that may be null is optional, with null as its default. Other properties than these are
    not allowed: so later versions may add some, by the rules of registries for backward
    compatibility, which take any addition to an open object for a break.

    Raises:
        UninferrableSchemaError: JSON has no such type.
    """
    return json.dumps({"$schema": _DRAFT, "title": name} | _object(columns, ""))


def _object(columns: StructType, path: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            one.name: _property(one.dataType, path + one.name, nullable=one.nullable)
            for one in columns
        },
    }
    required = [one.name for one in columns if not one.nullable]
    if required:
        # Draft-04 tools, which are still around, refuse an empty list.
        schema["required"] = required
    return schema | {"additionalProperties": False}


def _property(kind: DataType, path: str, *, nullable: bool) -> dict[str, Any]:
    schema = _value(kind, path, nullable=nullable)
    return schema | {"default": None} if nullable else schema


def _value(kind: DataType, path: str, *, nullable: bool) -> dict[str, Any]:
    schema = _typed(kind, path)
    return schema | {"type": [schema["type"], "null"]} if nullable else schema


def _typed(kind: DataType, path: str) -> dict[str, Any]:
    match kind:
        case StructType():
            return _object(kind, f"{path}.")
        case ArrayType(elementType=element, containsNull=nullable):
            return {"type": "array", "items": _value(element, path, nullable=nullable)}
        case MapType(keyType=StringType(), valueType=value, valueContainsNull=nullable):
            values = _value(value, path, nullable=nullable)
            return {"type": "object", "additionalProperties": values}
        case DecimalType():
            reason = "JSON Schema has doubles only; cast it to `double` or `string`"
        case _ if type(kind) in _PLAIN:
            return dict(_PLAIN[type(kind)])
        case _:
            reason = f"JSON has no `{kind.simpleString()}`"
    raise UninferrableSchemaError(path, reason=reason)
