"""Avro schemas: parsed by the rules of the specification, printed as Confluent's registry does."""

from penstock.schemas.avro.schema import AvroSchema, parse

__all__ = ["AvroSchema", "parse"]
