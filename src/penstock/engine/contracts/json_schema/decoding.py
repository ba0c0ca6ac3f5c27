"""Reading JSON under a schema: the prefix, one parse by Spark, columns and rules from its result.

Spark parses a record once, into a variant, which tells `null` from what is missing and `"1"` from
1. Columns and rules are looked up in it, in generated code; only a schema with rules that Spark has
no expression for is checked in Python as well, whole batches at a time.

It is stricter than JSON itself in one point: an object that has a name twice cannot be decoded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.contracts import wire
from penstock.engine.contracts.json_schema.batches import broken_in_batches
from penstock.engine.contracts.json_schema.checking import broken
from penstock.engine.contracts.json_schema.columns import struct_for, values
from penstock.engine.contracts.json_schema.deriving import derived
from penstock.engine.contracts.json_schema.places import document, is_whole, root_of
from penstock.schemas.json_schema import JsonSchema, parse

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructType

    from penstock import pipeline
    from penstock.engine.contracts.json_schema.fields import Derived
    from penstock.pipeline import Contract, WriterSchema
    from penstock.schemas import Schema


def columns(schema: Schema, spark: SparkSession, format_: pipeline.JsonSchema) -> StructType:  # noqa: ARG001 - as for other formats
    """Return the columns of JSON under this schema: one for each property of its documents.

    An integer is a `bigint`, a number a `double`, a text a `string`; if its format says so and no
    other rule is about the text, a `date` or a `timestamp`. Objects are structs, or maps if only
    `additionalProperties` says what is in them; arrays are arrays. `null` beside one of these
    types changes nothing. What has several types, none, or is too deep within itself, is a `string`
    with its JSON. Documents that are no objects, or objects without names, have a column `value`.

    Raises:
        UnreadableSchemaError: it has too many fields, or names that Spark cannot tell apart.
    """
    assert isinstance(schema, JsonSchema)  # noqa: S101 - the binding chose it
    return struct_for(derived(schema).root)


@lru_cache(maxsize=64)
def derived_from(schema: WriterSchema) -> Derived:
    """Return the fields of a schema that a registry has accepted, or a file of the project has."""
    return derived(parse(schema.text, schema.references, stored=True))


class JsonSchemaDecoder:
    """How JSON under a schema is read; see `engine.decoding.Decoder`."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._derived = derived_from(contract.reader)

    def parsed(self, source: Column) -> Column:
        """Return the variant of what follows the prefix; null where there is none."""
        return document(self._text(source))

    def columns(self, parsed: Column) -> list[Column]:
        """Return the columns of the reader's schema."""
        return values(self._derived.root, root_of(parsed))

    def whole(self, parsed: Column) -> Column:
        """Return them as one struct."""
        return F.when(parsed.isNotNull(), F.struct(*self.columns(parsed)))

    def reason(self, source: Column, parsed: Column, what: str) -> Column:
        """Return why `what` could not be decoded, or the first rule of the schema it breaks."""
        found = F.when(~is_whole(parsed), self._why(source, what))
        found = found.otherwise(broken(self._derived.root, root_of(parsed)))
        if self._derived.complete:
            return found
        in_batches = broken_in_batches(self._contract.reader, self._text(source))
        return F.coalesce(found, in_batches)

    def _text(self, source: Column) -> Column:
        """Return the text behind a known prefix; an unknown one makes the batch fail."""
        prefix = F.substring(source, 1, wire.PREFIX_LENGTH)
        text = F.try_validate_utf8(wire.data(source).cast("string"))
        known = [wire.prefix_of(writer.id) for writer in self._contract.writers]
        refused = [wire.prefix_of(one) for one in self._contract.refused]
        unknown = wire.unknown_id(self._contract, wire.schema_id(source)).cast("string")
        return F.when(prefix.isin(known), text).when(
            wire.is_framed(source) & ~prefix.isin(refused), unknown
        )

    def _why(self, source: Column, what: str) -> Column:
        prefix = F.substring(source, 1, wire.PREFIX_LENGTH)
        reason = F.when(~wire.is_framed(source), wire.foreign_reason(what))
        for schema_id, why in self._contract.refused.items():
            is_it = prefix == F.lit(wire.prefix_of(schema_id))
            reason = reason.when(is_it, F.lit(f"{what}: {why}"))
        not_text = ~F.is_valid_utf8(wire.data(source).cast("string"))
        reason = reason.when(not_text, F.lit(f"{what} is not valid UTF-8"))
        return reason.otherwise(
            F.lit(f"{what} is not one JSON value in which each name occurs once")
        )
