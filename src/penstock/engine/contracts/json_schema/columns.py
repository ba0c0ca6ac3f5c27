"""The columns of a JSON Schema: their types, and their values out of a parsed document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.engine.contracts.json_schema.checking import date_in, timestamp_in
from penstock.engine.contracts.json_schema.fields import Kind
from penstock.engine.schemas import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from penstock.engine.contracts.json_schema.fields import Field
    from penstock.engine.contracts.json_schema.places import Place

VALUE = "value"
"""The only column of documents that are no objects, or objects with any names."""

_TYPES: dict[Kind, DataType] = {
    Kind.TEXT: StringType(),
    Kind.DATE: DateType(),
    Kind.TIMESTAMP: TimestampType(),
    Kind.INTEGER: LongType(),
    Kind.NUMBER: DoubleType(),
    Kind.BOOLEAN: BooleanType(),
    Kind.JSON: StringType(),
}
_TEXTS = (Kind.DATE, Kind.TIMESTAMP)


def struct_for(root: Field) -> StructType:
    """Return the columns of documents that `root` describes."""
    if root.kind is not Kind.STRUCT:
        return StructType([StructField(VALUE, _type(root))])
    return StructType([StructField(one.name, _type(one.field)) for one in root.members])


def values(root: Field, place: Place) -> list[Column]:
    """Return the named columns of the document at `place`."""
    if root.kind is not Kind.STRUCT:
        return [_value(root, place).alias(VALUE)]
    return [_value(one.field, place.child(one.name)).alias(one.name) for one in root.members]


def _type(field: Field) -> DataType:
    match field.kind:
        case Kind.STRUCT:
            return struct_for(field)
        case Kind.ARRAY:
            return ArrayType(_element_type(field))
        case Kind.MAP:
            return MapType(StringType(), _element_type(field))
        case _:
            return _TYPES[field.kind]


def _element_type(field: Field) -> DataType:
    assert field.element is not None  # noqa: S101 - arrays and maps have one
    return _type(field.element)


def _value(field: Field, place: Place) -> Column:
    return _finished(field, place.as_type(_taken(field)))


def _taken(field: Field) -> str:
    """Return the type that a value is taken out of the variant as; `_finished` does the rest."""
    match field.kind:
        case Kind.STRUCT:
            members = (f"{quoted(one.name)}: {_taken(one.field)}" for one in field.members)
            return f"struct<{', '.join(members)}>"
        case Kind.ARRAY:
            return f"array<{_taken_element(field)}>"
        case Kind.MAP:
            return f"map<string, {_taken_element(field)}>"
        case Kind.JSON:
            return "variant"
        case Kind.DATE | Kind.TIMESTAMP:
            return "string"
        case _:
            return str(field.kind)


def _taken_element(field: Field) -> str:
    assert field.element is not None  # noqa: S101 - arrays and maps have one
    return _taken(field.element)


def _finished(field: Field, taken: Column) -> Column:
    """Return the value of a column; JSON's `null` is null also in a column of JSON text."""
    if not _needs_finishing(field):
        return taken
    match field.kind:
        case Kind.DATE:
            return date_in(taken)
        case Kind.TIMESTAMP:
            return timestamp_in(taken)
        case Kind.JSON:
            return F.when(~F.is_variant_null(taken), F.to_json(taken))
        case Kind.STRUCT:
            members = (
                _finished(one.field, taken.getField(one.name)).alias(one.name)
                for one in field.members
            )
            return F.when(taken.isNotNull(), F.struct(*members))
        case _:
            return _finished_elements(field, taken)


def _finished_elements(field: Field, taken: Column) -> Column:
    element = field.element
    assert element is not None  # noqa: S101 - arrays and maps have one
    if field.kind is Kind.ARRAY:
        return F.transform(taken, lambda one: _finished(element, one))
    return F.transform_values(taken, lambda _, one: _finished(element, one))


def _needs_finishing(field: Field) -> bool:
    if field.kind in (Kind.JSON, *_TEXTS):
        return True
    return any(map(_needs_finishing, field.inner))
