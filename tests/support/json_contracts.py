"""Contracts of JSON Schema, and what reading and writing by them gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from penstock.engine.contracts import json_schema, wire
from penstock.names import Subject
from penstock.pipeline import Contract, JsonSchema, WriterSchema
from penstock.schemas.json_schema import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.schemas import Resolved

SCHEMA_ID = 7


def contract(
    spark: SparkSession,
    schema: object,
    *,
    references: tuple[Resolved, ...] = (),
    refused: Mapping[int, str] | None = None,
) -> Contract:
    """Return the contract of records with the id `SCHEMA_ID`."""
    known = WriterSchema(id=SCHEMA_ID, text=json.dumps(schema), references=references)
    columns = json_schema.columns(parse(known.text, references), spark, JsonSchema())
    return Contract(
        format=JsonSchema(),
        subject=Subject("orders-value"),
        is_key=False,
        reader=known,
        columns=columns.toDDL(),
        writers=(known,),
        refused=refused or {},
        written=known,
    )


def framed(text: str | bytes) -> bytes:
    """Return the record that holds this text."""
    data = text if isinstance(text, bytes) else text.encode()
    return wire.prefix_of(SCHEMA_ID) + data


def decoded(spark: SparkSession, known: Contract, records: Sequence[bytes | None]) -> DataFrame:
    """Return the columns of `records` in order, and why each cannot be decoded as `bad`."""
    rows = [(None if one is None else bytearray(one),) for one in records]
    frame = spark.createDataFrame(rows, "source binary").coalesce(1)
    decoder = json_schema.JsonSchemaDecoder(known)
    source, parsed = F.col("source"), F.col("parsed")
    return frame.select("source", decoder.parsed(source).alias("parsed")).select(
        decoder.reason(source, parsed, "value").alias("bad"), *decoder.columns(parsed)
    )


def encoded(
    spark: SparkSession, known: Contract, rows: Sequence[tuple[Any, ...]], columns: StructType | str
) -> DataFrame:
    """Return the JSON of `rows` as `json`, and why each cannot be written as `bad`."""
    frame = spark.createDataFrame(list(rows), columns).coalesce(1)
    payload = F.struct(*(F.col(f"`{name}`") for name in frame.columns))
    return frame.select(
        json_schema.unwritable(known, payload).alias("bad"),
        json_schema.encoded(known, payload).cast("string").alias("json"),
    )
