"""How the JSON Schema that is made for a flow's columns may change with them."""

from __future__ import annotations

from pyspark.sql.types import LongType, StringType, StructField, StructType

from penstock.engine.contracts.json_schema.inferring import inferred
from penstock.schemas.json_schema import parse

BEFORE = StructType([StructField("id", LongType(), nullable=False)])


def test_a_column_may_be_added_that_may_be_null() -> None:
    after = StructType([*BEFORE, StructField("note", StringType())])

    assert parse(inferred("Sale", after)).can_read(parse(inferred("Sale", BEFORE))) == []


def test_a_column_that_is_never_null_cannot_be_added() -> None:
    after = StructType([*BEFORE, StructField("note", StringType(), nullable=False)])

    (problem,) = parse(inferred("Sale", after)).can_read(parse(inferred("Sale", BEFORE)))

    assert problem.kind == "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"
