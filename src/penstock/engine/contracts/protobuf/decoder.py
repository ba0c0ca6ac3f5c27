"""Protobuf in flows: Python in batches of Arrow, until Spark's own module for it can be had.

The columns are those of the reader's message. Records are parsed with the schema they name, and
hold the message of the reader's name in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from penstock.engine.contracts import wire
from penstock.engine.contracts.protobuf.batches import in_batches
from penstock.engine.contracts.protobuf.descriptors import message_type, parsed
from penstock.engine.contracts.protobuf.reading import StructReader, UnlikeFieldsError
from penstock.engine.contracts.protobuf.records import (
    MESSAGE,
    PROBLEM,
    RecordReader,
    WrittenBy,
)
from penstock.engine.contracts.protobuf.shapes import fields_of, struct_type
from penstock.pipeline import Protobuf
from penstock.schemas import InvalidSchemaError
from penstock.schemas.protobuf import ProtobufSchema
from penstock.schemas.protobuf.errors import UnknownMessageError
from penstock.schemas.protobuf.indexes import encode_indexes
from penstock.schemas.protobuf.messages import message_indexes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, SparkSession

    from penstock.engine.contracts.protobuf.descriptors import MessageType
    from penstock.engine.contracts.protobuf.shapes import Field
    from penstock.pipeline import Contract, WriterSchema
    from penstock.schemas import Schema

_FIRST = ((0,), (b"\x00", b"\x02\x00"))
"""The indexes of the first message, and how they are written: in short, and by some in full."""


def columns(schema: Schema, spark: SparkSession, format_: Protobuf) -> StructType:  # noqa: ARG001 - as for other formats
    """Return the columns that messages of this schema have in Spark.

    Raises:
        UnreadableMessageError: Spark has no columns for the message.
        UnknownMessageError: the schema has no message of the name that is declared.
    """
    assert isinstance(schema, ProtobufSchema)  # noqa: S101 - the binding chose it
    return struct_type(fields_of(message_type(schema, format_.message).descriptor()))


class ProtobufDecoder:
    """How Protobuf is read; see `engine.decoding.Decoder`."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._records, self._refused = record_reader(contract)
        self._fields = fields_of(self._records.reader.descriptor())

    def parsed(self, source: Column) -> Column:
        """Return a struct of the message and of what is wrong with it."""
        kind = self._kind()
        read = in_batches(self._records.read, kind)
        unknown = wire.unknown_id(self._contract, wire.schema_id(source), kind)
        known = [*(writer.id for writer in self._records.writers), *self._refused]
        is_known = wire.schema_id(source).isin(known)
        return F.when(wire.is_framed(source) & ~is_known, unknown).otherwise(read(source))

    def columns(self, parsed: Column) -> list[Column]:
        """Return the fields of the message."""
        message = parsed.getField(MESSAGE)
        return [message.getField(field.name).alias(field.name) for field in self._fields]

    def whole(self, parsed: Column) -> Column:
        """Return the message."""
        return parsed.getField(MESSAGE)

    def reason(self, source: Column, parsed: Column, what: str) -> Column:
        """Return what is wrong with the record."""
        reason = F.when(~wire.is_framed(source), wire.foreign_reason(what))
        for schema_id, why in self._refused.items():
            reason = reason.when(wire.schema_id(source) == schema_id, F.lit(f"{what}: {why}"))
        told = F.concat(F.lit(f"{what} "), parsed.getField(PROBLEM))
        return F.when(parsed.getField(MESSAGE).isNull(), reason.otherwise(told))

    def _kind(self) -> StructType:
        message = StructField(MESSAGE, struct_type(self._fields))
        return StructType([message, StructField(PROBLEM, StringType())])


def record_reader(contract: Contract) -> tuple[RecordReader, Mapping[int, str]]:
    """Return what reads the records of a contract, and why it cannot read those of other ids."""
    assert isinstance(contract.format, Protobuf)  # noqa: S101 - that is who calls
    reader = message_type(parsed(contract.reader), contract.format.message)
    fields = fields_of(reader.descriptor())
    writers, refused = [], dict(contract.refused)
    for writer in contract.writers:
        found = _written_by(writer, reader, fields)
        if isinstance(found, WrittenBy):
            writers.append(found)
        else:
            refused[writer.id] = found
    return RecordReader(reader=reader, writers=tuple(writers)), refused


def _written_by(
    writer: WriterSchema, reader: MessageType, fields: tuple[Field, ...]
) -> WrittenBy | str:
    """Return how records of `writer` are recognized, or why they cannot be read."""
    try:
        schema = parsed(writer)
        message = message_type(schema, reader.name)
        StructReader(fields, message.descriptor())
    except (InvalidSchemaError, UnknownMessageError, UnlikeFieldsError) as error:
        return f"schema id {writer.id} cannot be read as `{reader.name}`: {error}"
    indexes = message_indexes(schema, reader.name)
    first, written = _FIRST
    return WrittenBy(
        id=writer.id,
        prefix=wire.prefix_of(writer.id),
        message=message,
        indexes=written if indexes == first else (encode_indexes(indexes),),
    )
