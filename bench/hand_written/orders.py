"""Orders in Avro, in four generations of their schema: what the programs on Avro read."""

import io
import random
from typing import Any

import fastavro

_FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "country", "type": "string"},
    {"name": "amount", "type": "double"},
    {"name": "items", "type": "int"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
]
_LATER = ("coupon", "channel", "note")
_COUNTRIES = ("AT", "BE", "CH", "CZ", "DE", "DK", "ES", "FI", "FR", "GB", "IE", "IT", "NL", "PL")


def generation(number: int) -> dict[str, Any]:
    """Return the schema of a generation, from 1 to 4: each has one more optional field."""
    added = [
        {"name": name, "type": ["null", "string"], "default": None} for name in _LATER[: number - 1]
    ]
    return {"type": "record", "name": "Order", "fields": [*_FIELDS, *added]}


def encoded(number: int, count: int, seed: int) -> list[bytes]:
    """Return the Avro of `count` orders of a generation."""
    dice, schema = random.Random(seed), fastavro.parse_schema(generation(number))  # noqa: S311 - not secret
    found = []
    for order in range(count):
        row: dict[str, Any] = {
            "id": order,
            "customer": f"customer-{dice.randrange(100_000)}",
            "country": dice.choice(_COUNTRIES),
            "amount": round(dice.uniform(1, 500), 2),
            "items": dice.randrange(1, 9),
            "at": 1_790_000_000_000 + order,
        }
        row |= {name: f"{name}-{order % 97}" for name in _LATER[: number - 1]}
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, row)
        found.append(out.getvalue())
    return found
