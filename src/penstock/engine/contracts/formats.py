"""Which module reads and writes which registry format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.contracts import avro, avro_inferring, wire
from penstock.engine.contracts.sources import FoundSchema
from penstock.pipeline import Avro, Framing, JsonSchema, Protobuf, schema_type
from penstock.schemas import parse

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructType

    from penstock.engine.contracts.sources import Side
    from penstock.engine.decoding import Decoder
    from penstock.pipeline import Contract, RegistryFormat
    from penstock.schemas import Schema


def columns(schema: Schema, spark: SparkSession, format_: RegistryFormat) -> StructType:
    """Return what records of this schema decode into.

    Raises:
        UnreadableSchemaError: Spark has no type for something in it.
    """
    match format_:
        case Avro():
            return avro.columns(schema, spark, format_)
        case JsonSchema():
            from penstock.engine.contracts import json_schema

            return json_schema.columns(schema, spark, format_)
        case Protobuf():
            from penstock.engine.contracts import protobuf

            return protobuf.columns(schema, spark, format_)


def decoder(contract: Contract) -> Decoder:
    """Return how records are read."""
    match contract.format:
        case Avro():
            return avro.AvroDecoder(contract)
        case JsonSchema():
            from penstock.engine.contracts import json_schema

            return json_schema.JsonSchemaDecoder(contract)
        case Protobuf():
            from penstock.engine.contracts import protobuf

            return protobuf.ProtobufDecoder(contract)


def encoded(contract: Contract, payload: Column) -> Column:
    """Return the bytes of a record: `payload` is a struct with the columns of the contract."""
    written = contract.written
    assert written is not None  # noqa: S101 - bound for writing
    match contract.format:
        case Avro(framing=Framing.BARE):
            return avro.encoded(contract, payload)
        case Avro(framing=Framing.SINGLE_OBJECT):
            before = F.lit(avro.single_object_prefix(written))
            return F.concat(before, avro.encoded(contract, payload))
        case Avro():
            return wire.framed(written.id, avro.encoded(contract, payload))
        case JsonSchema():
            from penstock.engine.contracts import json_schema

            return wire.framed(written.id, json_schema.encoded(contract, payload))
        case Protobuf():
            from penstock.engine.contracts import protobuf

            return wire.framed(written.id, protobuf.encoded(contract, payload))


def unwritable(contract: Contract, payload: Column) -> Column:
    """Return why a row cannot be a record of the contract, null if it can."""
    match contract.format:
        case Avro():
            return avro.unwritable(contract, payload)
        case JsonSchema():
            from penstock.engine.contracts import json_schema

            return json_schema.unwritable(contract, payload)
        case Protobuf():
            from penstock.engine.contracts import protobuf

            return protobuf.unwritable(contract, payload)


def inferred(side: Side, chosen: StructType) -> FoundSchema:
    """Return a schema for the columns that a flow writes into a topic that has none.

    Raises:
        UninferrableSchemaError: the format has no such type.
    """
    name = record_name(side)
    match side.format:
        case Avro() if side.is_key and len(chosen) == 1:
            text = avro_inferring.inferred_alone(name, chosen[0].dataType)
        case Avro():
            text = avro_inferring.inferred(name, chosen)
        case JsonSchema():
            from penstock.engine.contracts import json_schema

            text = json_schema.inferred(name, chosen)
        case Protobuf():
            from penstock.engine.contracts import protobuf

            text = protobuf.inferred(name, chosen)
    return FoundSchema(schema=parse(schema_type(side.format), text))


def record_name(side: Side) -> str:
    """Return a name for the record of a topic: `web-orders` has `WebOrders`, or `WebOrdersKey`."""
    words = re.findall(r"[A-Za-z0-9]+", side.topic.name)
    name = "".join(word[0].upper() + word[1:] for word in words)
    name = name if name[:1].isalpha() else f"Record{name}"
    return f"{name}Key" if side.is_key else name
