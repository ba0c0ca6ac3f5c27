"""Avro in Spark's own expressions: a branch for each schema that records are written with.

Spark resolves the writer's schema to the reader's inside its generated code. It gives nulls both
for a broken record and for one that is full of nulls. A field that is never null tells them apart.
A reader without one, and one that is no record, is handed over in a record of our own, which takes
no bytes and has a field beside the data that no writer has, with a default. That takes Spark twice
as long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, assert_never

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import StructField, StructType

from penstock.engine.contracts import wire
from penstock.engine.contracts.avro_times import read_times, written_times
from penstock.engine.contracts.avro_values import misfit
from penstock.engine.contracts.errors import UnreadableSchemaError
from penstock.engine.schemas import struct_of
from penstock.engine.user_code import spark_sentence
from penstock.pipeline import Avro, Framing
from penstock.schemas import SchemaType, parse
from penstock.schemas.avro import AvroSchema
from penstock.schemas.avro.fingerprints import fingerprint
from penstock.schemas.avro.types import Enum, Kind, Primitive, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from penstock.pipeline import Contract, WriterSchema
    from penstock.schemas import Schema
    from penstock.schemas.avro.types import Type

RECURSION_DEPTH = 5
"""How often a type may occur within itself; what is deeper is left out."""

_DATA, _OK = "data", "ok"
_VALUE = "value"
_SINGLE_OBJECT = b"\xc3\x01"
_FINGERPRINT_LENGTH = 8


def columns(schema: Schema, spark: SparkSession, format_: Avro) -> StructType:  # noqa: ARG001 - as for other formats
    """Return the columns that Avro of this schema has in Spark.

    Raises:
        UnreadableSchemaError: Spark has no type for something in it.
    """
    assert isinstance(schema, AvroSchema)  # noqa: S101 - the binding chose it
    text = _self_contained(schema)
    nothing = from_avro(F.lit(b""), _as_written(text), _options(_as_read(text)))
    try:
        data = read_times(schema.graph, nothing.getField(_DATA))
        (found,) = spark.range(0).select(data).schema
    except PySparkException as err:
        raise UnreadableSchemaError(schema.name, reason=spark_sentence(str(err))) from err
    if isinstance(found.dataType, StructType) and is_record(schema):
        return found.dataType
    return StructType([StructField(_VALUE, found.dataType)])


def is_record(schema: Schema) -> bool:
    """Tell whether the fields of `schema` are columns, not one column of some other type."""
    assert isinstance(schema, AvroSchema)  # noqa: S101 - the binding chose it
    return isinstance(schema.graph.resolved(schema.graph.root), Record)


class AvroDecoder:
    """How Avro is read; see `engine.decoding.Decoder`."""

    def __init__(self, contract: Contract) -> None:
        assert isinstance(contract.format, Avro)  # noqa: S101 - that is who calls
        self._contract, self._framing = contract, contract.format.framing
        self._names = struct_of(contract.columns).names
        self._schema = _parsed(contract.reader)
        self._is_record = is_record(self._schema)
        self._sure_field = _sure_field(self._schema)
        text = _self_contained(self._schema)
        self._reader = text if self._sure_field else _as_read(text)

    def parsed(self, source: Column) -> Column:
        """Return the data, in a record of our own perhaps; null or of nulls where it is broken."""
        match self._framing:
            case Framing.PREFIX:
                return self._by_id(_prefix(source), wire.data(source))
            case Framing.HEADER:
                header = self._header()
                data = F.when(header.isNull(), wire.data(source)).otherwise(source)
                return self._by_id(F.coalesce(header, _prefix(source)), data)
            case Framing.SINGLE_OBJECT:
                return self._by_fingerprint(source)
            case Framing.BARE:
                return self._decoded(source, self._contract.reader)
            case _:
                assert_never(self._framing)

    def columns(self, parsed: Column) -> list[Column]:
        """Return the columns of the reader's schema."""
        data = self._data(parsed)
        if not self._is_record:
            return [data.alias(_VALUE)]
        return [data.getField(name).alias(name) for name in self._names]

    def whole(self, parsed: Column) -> Column:
        """Return them as one struct."""
        data = self._data(parsed)
        return data if self._is_record else F.when(parsed.isNotNull(), F.struct(data.alias(_VALUE)))

    def reason(self, source: Column, parsed: Column, what: str) -> Column:
        """Return why `what` could not be decoded, null if it was."""
        sure = parsed.getField(self._sure_field or _OK)
        return F.when(sure.isNull(), self._why(source, what))

    def _data(self, parsed: Column) -> Column:
        data = parsed if self._sure_field else parsed.getField(_DATA)
        return read_times(self._schema.graph, data)

    def _why(self, source: Column, what: str) -> Column:
        match self._framing:
            case Framing.BARE:
                return F.lit(f"{what} is not Avro of {self._named()}")
            case Framing.SINGLE_OBJECT:
                known = F.substring(source, 1, 10).isin(list(self._fingerprints()))
                bad = F.lit(f"{what} is not Avro of the schema that its fingerprint names")
                unknown = f"{what} is not Avro with the fingerprint of a schema of the project"
                return F.when(known, bad).otherwise(F.lit(unknown))
            case Framing.PREFIX | Framing.HEADER:
                return self._why_by_id(source, what)
            case _:
                assert_never(self._framing)

    def _why_by_id(self, source: Column, what: str) -> Column:
        named = _prefix(source)
        if self._framing is Framing.HEADER:
            named = F.coalesce(self._header(), named)
        reason = F.when(~_is_reference(named), wire.foreign_reason(what))
        for mark, why in self._refused().items():
            reason = reason.when(named == F.lit(mark), F.lit(f"{what}: {why}"))
        bad = F.concat(F.lit(f"{what} is not Avro of schema id "), _readable(named))
        return reason.otherwise(bad)

    def _by_id(self, named: Column, data: Column) -> Column:
        """Return the data, by the schema that `named` says: a prefix, or the same in a header."""
        branches = []
        for writer in self._contract.writers:
            decoded = self._decoded(data, writer)
            branches.append((named == F.lit(wire.prefix_of(writer.id)), decoded))
            if writer.guid is not None and self._framing is Framing.HEADER:
                branches.append((named == F.lit(wire.guid_header(writer.guid)), decoded))
        nothing = self._nothing()
        if refused := list(self._refused()):
            branches.append((named.isin(refused), nothing))
        unknown = wire.unknown_id(self._contract, _readable(named))
        return _first_of([*branches, (_is_reference(named), unknown)], nothing)

    def _refused(self) -> dict[bytes, str]:
        by_id = {wire.prefix_of(key): why for key, why in self._contract.refused.items()}
        by_guid = {wire.guid_header(key): why for key, why in self._contract.refused_guids.items()}
        return by_id | by_guid

    def _by_fingerprint(self, source: Column) -> Column:
        data = F.substring(source, len(_SINGLE_OBJECT) + _FINGERPRINT_LENGTH + 1, 2**31 - 1)
        named = F.substring(source, 1, len(_SINGLE_OBJECT) + _FINGERPRINT_LENGTH)
        branches = [
            (named == F.lit(mark), self._decoded(data, writer))
            for mark, writer in self._fingerprints().items()
        ]
        return _first_of(branches, self._nothing())

    def _fingerprints(self) -> dict[bytes, WriterSchema]:
        return {single_object_prefix(writer): writer for writer in self._contract.writers}

    def _decoded(self, data: Column, writer: WriterSchema) -> Column:
        text = _text(writer)
        written = text if self._sure_field else _as_written(text)
        return from_avro(data, written, _options(self._reader))

    def _nothing(self) -> Column:
        """Return a null of the type that decoded data has."""
        return self._decoded(F.lit(None).cast("binary"), self._contract.reader)

    def _header(self) -> Column:
        name = "__key_schema_id" if self._contract.is_key else "__value_schema_id"
        named = F.filter(F.col("headers"), lambda header: header["key"] == name)
        return F.try_element_at(named, F.lit(-1)).getField("value")

    def _named(self) -> str:
        name = self._schema.name
        return f"`{name}`" if name else "its schema"


def encoded(contract: Contract, payload: Column) -> Column:
    """Return the Avro of `payload`, a struct with the columns of the contract."""
    assert contract.written is not None  # noqa: S101 - bound for writing
    schema = _parsed(contract.written)
    data = payload if is_record(schema) else payload.getField(_VALUE)
    text = _self_contained(schema)
    return to_avro(written_times(schema.graph, data).cast(_written_type(text)), text)


def _written_type(text: str) -> DataType:
    """Return the type that Spark writes as this schema: it calls members of unions by number."""
    options = {"mode": "PERMISSIVE", "recursiveFieldMaxDepth": str(RECURSION_DEPTH)}
    plain = from_avro(F.lit(b""), text, options)
    (found,) = SparkSession.active().range(0).select(plain).schema
    return found.dataType


def unwritable(contract: Contract, payload: Column) -> Column:
    """Return why a row has no Avro of the schema it is written with, null if it has."""
    assert contract.written is not None  # noqa: S101 - bound for writing
    schema = _parsed(contract.written)
    data = payload if is_record(schema) else payload.getField(_VALUE)
    whole = struct_of(contract.columns)
    return misfit(schema.graph, data, whole if is_record(schema) else whole[_VALUE].dataType)


def single_object_prefix(schema: WriterSchema) -> bytes:
    """Return what stands before Avro's single-object encoding of data of this schema."""
    return _SINGLE_OBJECT + fingerprint(_text(schema))


def _first_of(branches: Sequence[tuple[Column, Column]], otherwise: Column) -> Column:
    """Return the value beside the first condition that holds."""
    if not branches:
        return otherwise
    (condition, value), *rest = branches
    found = F.when(condition, value)
    for condition, value in rest:
        found = found.when(condition, value)
    return found.otherwise(otherwise)


def _prefix(source: Column) -> Column:
    return F.substring(source, 1, wire.PREFIX_LENGTH)


def _sure_field(schema: AvroSchema) -> str | None:
    """Return a field that is never null and that Spark never gives as null; None: there is none."""
    root = schema.graph.resolved(schema.graph.root)
    if not isinstance(root, Record):
        return None
    plain = (item.name for item in root.fields if _is_never_null(schema.graph.resolved(item.type)))
    return next(plain, None)


def _is_never_null(type_: Type) -> bool:
    match type_:
        case Primitive(kind=kind, attributes=attributes):
            return kind is not Kind.NULL and "logicalType" not in dict(attributes)
        case _:
            return isinstance(type_, Enum)


def _is_reference(named: Column) -> Column:
    """Tell whether these bytes name a schema: an id, or in a header a GUID."""
    first, length = F.substring(named, 1, 1), F.octet_length(named)
    by_id = (first == b"\x00") & (length == wire.PREFIX_LENGTH)
    return by_id | ((first == b"\x01") & (length == wire.GUID_LENGTH))


def _readable(named: Column) -> Column:
    """Return the id as a number, or the GUID as text."""
    digits = F.lower(F.hex(F.substring(named, 2, 16)))
    guid = F.regexp_replace(digits, "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")
    return F.when(F.octet_length(named) == wire.GUID_LENGTH, guid).otherwise(
        wire.schema_id(named).cast("string")
    )


def _parsed(schema: WriterSchema) -> AvroSchema:
    found = parse(SchemaType.AVRO, schema.text, schema.references, stored=True)
    assert isinstance(found, AvroSchema)  # noqa: S101 - of that type
    return found


def _text(schema: WriterSchema) -> str:
    return _self_contained(_parsed(schema))


def _self_contained(schema: Schema) -> str:
    return schema.formatted("resolved")


def _as_written(text: str) -> str:
    """Return a record around a schema that has the same bytes."""
    return _record({"name": _DATA, "type": json.loads(text)})


def _as_read(text: str) -> str:
    """Return the same with a field beside the data that is in nobody's bytes."""
    return _record(
        {"name": _DATA, "type": json.loads(text)},
        {"name": _OK, "type": "boolean", "default": True},
    )


def _record(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "PenstockWrapper", "fields": fields})


def _options(reader: str) -> dict[str, str]:
    return {
        "mode": "PERMISSIVE",
        "avroSchema": reader,
        "enableStableIdentifiersForUnionType": "true",
        "recursiveFieldMaxDepth": str(RECURSION_DEPTH),
    }
