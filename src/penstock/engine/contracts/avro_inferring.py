"""An Avro schema for the columns of a flow, for topics that have none yet."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
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
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from penstock.engine.contracts.errors import UninferrableSchemaError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_PLAIN: dict[type[DataType], object] = {
    StringType: "string",
    BinaryType: "bytes",
    BooleanType: "boolean",
    ByteType: "int",
    ShortType: "int",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    DateType: {"type": "int", "logicalType": "date"},
    TimeType: {"type": "long", "logicalType": "time-micros"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros"},
    TimestampNTZType: {"type": "long", "logicalType": "local-timestamp-micros"},
}


def inferred(name: str, columns: StructType) -> str:
    """Return the text of a record called `name` with these columns.

    A column that may be null is optional, with null as its default: later versions may drop it, and
    readers that know it read data without it.

    Raises:
        UninferrableSchemaError: Avro has no such type, or a column has no name that Avro allows.
    """
    return json.dumps(_record(name, columns))


def inferred_alone(name: str, kind: DataType) -> str:
    """Return the text of a schema that is just this type, as keys of one column are.

    Raises:
        UninferrableSchemaError: Avro has no such type.
    """
    return json.dumps(_type(kind, name))


def _record(name: str, columns: StructType) -> dict[str, object]:
    fields: list[dict[str, Any]] = []
    for column in columns:
        if not _NAME.fullmatch(column.name):
            raise UninferrableSchemaError(column.name, reason="Avro's names are letters and digits")
        kind = _type(column.dataType, f"{name}_{column.name}")
        field = {"name": column.name, "type": ["null", kind] if column.nullable else kind}
        fields.append(field | ({"default": None} if column.nullable else {}))
    return {"type": "record", "name": name, "fields": fields}


def _type(kind: DataType, name: str) -> object:
    match kind:
        case StructType():
            return _record(name, kind)
        case ArrayType(elementType=inner, containsNull=nullable):
            return {"type": "array", "items": _maybe(_type(inner, name), nullable=nullable)}
        case MapType(keyType=StringType(), valueType=inner, valueContainsNull=nullable):
            return {"type": "map", "values": _maybe(_type(inner, name), nullable=nullable)}
        case DecimalType(precision=precision, scale=scale):
            size = {"precision": precision, "scale": scale}
            return {"type": "bytes", "logicalType": "decimal", **size}
        case _ if type(kind) in _PLAIN:
            return _PLAIN[type(kind)]
        case _:
            reason = f"Avro has no type for `{kind.simpleString()}`"
            raise UninferrableSchemaError(name.rpartition("_")[2], reason=reason)


def _maybe(kind: object, *, nullable: bool) -> object:
    return ["null", kind] if nullable else kind
