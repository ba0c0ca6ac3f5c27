"""JSON Schema in Spark's own expressions."""

from penstock.engine.contracts.json_schema.decoding import JsonSchemaDecoder, columns
from penstock.engine.contracts.json_schema.encoding import encoded, unwritable
from penstock.engine.contracts.json_schema.inferring import inferred

__all__ = ["JsonSchemaDecoder", "columns", "encoded", "inferred", "unwritable"]
