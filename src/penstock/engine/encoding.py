"""Encoding: the columns of a flow become the key, value and headers of a record.

What is written reads back equal: times are ISO 8601 in UTC with microseconds. JSON objects name
every field, null ones too: readers elsewhere tell an absent field from a null one, and keys of
several columns must be the same bytes for the same columns.

In a compacted topic a row whose columns beside the key are all null is a tombstone. It deletes the
key, and it is what reading a tombstone gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    BinaryType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from penstock.engine.contracts import formats
from penstock.engine.flow_errors import (
    ExtraOutputColumnError,
    MissingOutputColumnError,
    MissingOutputKeyError,
    OutputTypeError,
)
from penstock.engine.schemas import fits, named, same_type, struct_of
from penstock.pipeline import (
    HEADERS_COLUMN,
    RESERVED_COLUMNS,
    ROUTE_COLUMN,
    Avro,
    Bytes,
    Contract,
    Csv,
    Json,
    JsonSchema,
    Protobuf,
    Table,
    Text,
    Topic,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame

    from penstock.errors import PenstockError
    from penstock.pipeline import Flow, RecordFormat

HEADERS_TYPE = "array<struct<key:string,value:binary>>"

_TIME_OPTIONS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}
_JSON_OPTIONS = _TIME_OPTIONS | {"ignoreNullFields": "false"}


def encode(frame: DataFrame, topic: Topic) -> DataFrame:
    """Return the columns key, value and, if the frame has `_headers`, headers.

    The frame's columns fit the topic: see `column_problems`.
    """
    columns = [
        key_column(frame.schema, topic).alias("key"),
        value_column(frame.schema, topic).alias("value"),
    ]
    if HEADERS_COLUMN in frame.columns:
        columns.append(headers_column(frame.schema).alias("headers"))
    return frame.select(*columns)


def value_column(schema: StructType, topic: Topic) -> Column:
    """Return the expression of the value: text, bytes, or null for a tombstone."""
    value = _encoded(schema, topic.value)
    others = [field.name for field in _declared(topic.value) if field.name not in topic.key]
    if topic.compacted and others and isinstance(topic.value, Json | Csv | Contract):
        return F.when(F.coalesce(*(_is_there(name) for name in others)).isNotNull(), value)
    return value


def key_column(schema: StructType, topic: Topic) -> Column:
    """Return the expression of the key, null when the topic has none or its columns are null."""
    if not topic.key:
        return F.lit(None).cast("binary")
    if isinstance(topic.key_format, Text):
        return named(topic.key[0]).cast("string")
    if isinstance(topic.key_format, Bytes):
        return named(topic.key[0]).cast("binary")
    if isinstance(topic.key_format, Contract):
        key = formats.encoded(topic.key_format, _key_payload(schema, topic))
    else:
        key = _encoded(schema, topic.key_format)
    return F.when(F.coalesce(*(_is_there(name) for name in topic.key)).isNotNull(), key)


def unwritable(schema: StructType, topic: Topic) -> Column | None:
    """Return why a row cannot be a record of `topic`, null if it can; None: every row can."""
    reasons = []
    if isinstance(topic.value, Contract):
        payload = F.struct(*fitted(schema, _declared(topic.value)))
        reasons.append(formats.unwritable(topic.value, payload))
    if isinstance(topic.key_format, Contract) and topic.key:
        reasons.append(formats.unwritable(topic.key_format, _key_payload(schema, topic)))
    return F.coalesce(*reasons) if reasons else None


def headers_column(schema: StructType) -> Column:
    """Return the expression of the headers, of an array of structs or of a map."""
    headers = named(HEADERS_COLUMN)
    if not isinstance(schema[HEADERS_COLUMN].dataType, MapType):
        return headers.cast(HEADERS_TYPE)
    return F.transform(
        F.map_entries(headers),
        lambda entry: F.struct(
            entry["key"].alias("key"), entry["value"].cast("binary").alias("value")
        ),
    )


def fitted(schema: StructType, declared: Sequence[StructField]) -> list[Column]:
    """Return the declared columns in order, widened to their declared types."""
    return [
        (
            named(field.name)
            if same_type(schema[field.name].dataType, field.dataType)
            else named(field.name).cast(field.dataType)
        ).alias(field.name)
        for field in declared
    ]


def column_problems(schema: StructType, target: Topic | Table, flow: Flow) -> list[PenstockError]:
    """Return what is wrong with a flow's result of this `schema` as what `target` is to hold.

    A flow that routes its rows may have columns that only another of its targets takes.
    """
    return [
        *_value_problems(schema, target, flow),
        *_key_problems(schema, target, flow),
        *(_headers_problems(schema, target, flow) if isinstance(target, Topic) else ()),
        *_route_problems(schema, target, flow),
    ]


def declared_columns(target: Topic | Table) -> list[StructField] | None:
    """Return the columns that `target` holds, None for one that takes what comes."""
    if isinstance(target, Topic):
        inferred = isinstance(target.value, Avro | JsonSchema | Protobuf)
        return None if inferred else list(_declared(target.value))
    return None if target.schema is None else struct_of(target.schema).fields


def _encoded(schema: StructType, format_: RecordFormat) -> Column:
    match format_:
        case Text() | Bytes():
            return fitted(schema, _declared(format_))[0]
        case Json():
            return F.to_json(F.struct(*fitted(schema, _declared(format_))), _JSON_OPTIONS)
        case Csv():
            return F.to_csv(F.struct(*fitted(schema, _declared(format_))), _csv_options(format_))
        case Contract():
            return formats.encoded(format_, F.struct(*fitted(schema, _declared(format_))))
        case Avro() | JsonSchema() | Protobuf():
            raise AssertionError(format_)  # contracts take their place before anything is written
        case _:
            assert_never(format_)


def _key_payload(schema: StructType, topic: Topic) -> Column:
    """Return the columns of the key; a key that is no record takes the one column it has."""
    declared = _declared(topic.key_format)
    if topic.has_plain_key:
        return F.struct(named(topic.key[0]).cast(declared[0].dataType).alias(declared[0].name))
    return F.struct(*fitted(schema, declared))


def _declared(format_: RecordFormat) -> list[StructField]:
    match format_:
        case Text():
            return [StructField("value", StringType())]
        case Bytes():
            return [StructField("value", BinaryType())]
        case Json(schema=schema) | Csv(schema=schema) | Contract(columns=schema):
            return struct_of(schema).fields
        case Avro() | JsonSchema() | Protobuf():
            return []
        case _:
            assert_never(format_)


def _csv_options(format_: Csv) -> dict[str, str]:
    return _TIME_OPTIONS | {
        "sep": format_.separator,
        "nullValue": format_.null_value,
        "escape": '"',
        # Spark strips the blanks of texts when it writes, and not when it reads.
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    }


def _is_there(name: str) -> Column:
    return F.when(named(name).isNotNull(), F.lit(True))  # noqa: FBT003 - a literal of Spark


def _value_problems(
    schema: StructType, target: Topic | Table, flow: Flow
) -> Iterator[PenstockError]:
    declared = declared_columns(target)
    if declared is None:
        return
    found = [name for name in schema.names if name not in RESERVED_COLUMNS]
    for field in declared:
        if field.name not in schema.names:
            yield MissingOutputColumnError(
                field.name, flow=flow.name, target=_who(target), found=found, origin=flow.origin
            )
        elif not fits(schema[field.name].dataType, field.dataType):
            yield _wrong_type(field.name, schema, field.dataType.simpleString(), target, flow)
    if flow.is_routed:
        return
    names = [field.name for field in declared]
    for name in found:
        if name not in names and not (isinstance(target, Topic) and name in target.key):
            yield ExtraOutputColumnError(
                name, flow=flow.name, target=_who(target), declared=names, origin=flow.origin
            )


def _key_problems(schema: StructType, target: Topic | Table, flow: Flow) -> Iterator[PenstockError]:
    declared = {field.name for field in declared_columns(target) or ()}
    missing = [name for name in target.key if name not in schema.names and name not in declared]
    for name in missing:
        found = [column for column in schema.names if column not in RESERVED_COLUMNS]
        yield MissingOutputKeyError(
            name, flow=flow.name, target=_who(target), found=found, origin=flow.origin
        )
    if isinstance(target, Topic) and all(name in schema.names for name in target.key):
        yield from _key_type_problems(schema, target, flow)


def _key_type_problems(schema: StructType, topic: Topic, flow: Flow) -> Iterator[PenstockError]:
    match topic.key_format:
        case Text():
            for name in topic.key:
                if not isinstance(schema[name].dataType, AtomicType):
                    yield _wrong_type(name, schema, "string", topic, flow)
        case Bytes():
            for name in topic.key:
                if not isinstance(schema[name].dataType, BinaryType | StringType):
                    yield _wrong_type(name, schema, "binary", topic, flow)
        case Json() | Csv() | Contract():
            for field in _declared(topic.key_format) if topic.key else ():
                name = topic.key[0] if topic.has_plain_key else field.name
                if not fits(schema[name].dataType, field.dataType):
                    yield _wrong_type(name, schema, field.dataType.simpleString(), topic, flow)
        case Avro() | JsonSchema() | Protobuf():
            return


def _headers_problems(schema: StructType, topic: Topic, flow: Flow) -> Iterator[PenstockError]:
    if HEADERS_COLUMN not in schema.names:
        return
    match schema[HEADERS_COLUMN].dataType:
        case MapType(keyType=StringType(), valueType=StringType() | BinaryType()):
            return
        case ArrayType(elementType=StructType() as entry) if entry.names == ["key", "value"]:
            if all(isinstance(field.dataType, StringType | BinaryType) for field in entry):
                return
        case _:
            pass
    yield _wrong_type(HEADERS_COLUMN, schema, "map<string,string>", topic, flow)


def _route_problems(
    schema: StructType, target: Topic | Table, flow: Flow
) -> Iterator[PenstockError]:
    if not flow.is_routed:
        return
    if ROUTE_COLUMN not in schema.names:
        yield MissingOutputColumnError(
            ROUTE_COLUMN,
            flow=flow.name,
            target=_who(target),
            found=schema.names,
            origin=flow.origin,
        )
    elif not isinstance(schema[ROUTE_COLUMN].dataType, StringType):
        yield _wrong_type(ROUTE_COLUMN, schema, "string", target, flow)


def _wrong_type(
    column: str, schema: StructType, expected: str, target: Topic | Table, flow: Flow
) -> OutputTypeError:
    return OutputTypeError(
        column,
        flow=flow.name,
        target=_who(target),
        found=schema[column].dataType.simpleString(),
        expected=expected,
        origin=flow.origin,
    )


def _who(target: Topic | Table) -> str:
    return f"{kind_of(target)} `{target.name}`"
