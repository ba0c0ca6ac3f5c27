"""What a schema is: Avro, JSON Schema and Protobuf; which data another version can read."""

from penstock.schemas.changes import Change, ChangeKind
from penstock.schemas.compatibility import Level, incompatibilities
from penstock.schemas.diff import differences
from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_text import pretty_text
from penstock.schemas.parsing import parse
from penstock.schemas.registered import RegisteredSchema, SchemaText
from penstock.schemas.schema import (
    MAX_REFERENCES,
    MAX_SCHEMA_CHARS,
    Incompatibility,
    Reference,
    Resolved,
    Schema,
    SchemaType,
)

__all__ = [
    "MAX_REFERENCES",
    "MAX_SCHEMA_CHARS",
    "Change",
    "ChangeKind",
    "Incompatibility",
    "InvalidSchemaError",
    "Level",
    "Reference",
    "RegisteredSchema",
    "Resolved",
    "Schema",
    "SchemaText",
    "SchemaType",
    "differences",
    "incompatibilities",
    "parse",
    "pretty_text",
]
