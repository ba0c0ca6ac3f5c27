"""Avro schemas, written short."""

import json
from collections.abc import Sequence

from penstock.schemas.avro import AvroSchema, parse
from penstock.schemas.schema import Resolved

Json = object


def avro(schema: Json, references: Sequence[Resolved] = (), *, stored: bool = False) -> AvroSchema:
    """Return the parsed schema; a string that begins with a brace or bracket is taken as text."""
    text = schema if isinstance(schema, str) and schema[:1] in "{[" else json.dumps(schema)
    return parse(text, references, stored=stored)


def record(*fields: Json, name: str = "R", **more: Json) -> Json:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Json, **more: Json) -> Json:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, name: str = "E", **more: Json) -> Json:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "F", **more: Json) -> Json:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def mapping(values: Json) -> Json:
    return {"type": "map", "values": values}


def kinds(reader: Json, writer: Json) -> list[str]:
    """Return what keeps `reader` from reading data of `writer`, as `KIND path`."""
    return [f"{one.kind} {one.path}" for one in avro(reader).can_read(avro(writer))]
