"""Avro with a schema id before it: plain JSON in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer

from penstock.kafka.formats.avro_values import AvroValues, readable
from penstock.kafka.formats.errors import UnfitRecordError
from penstock.kafka.formats.lookup import client_for
from penstock.kafka.formats.place import READING, WRITING, decoding
from penstock.schemas import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.kafka.formats.place import Place
    from penstock.kafka.records import Header
    from penstock.schemas import RegisteredSchema


class AvroEncoder:
    """Writes JSON values with one schema."""

    def __init__(self, source: SchemaSource, place: Place, writer: RegisteredSchema) -> None:
        self._place = place
        self._values = AvroValues(source.parsed(writer))
        self._serializer = AvroSerializer(
            client_for(source, SchemaType.AVRO, writer), conf=dict(WRITING)
        )

    def encode(self, document: object) -> bytes | None:
        """Return the bytes for `document`; raises `UnfitRecordError` with the field."""
        value = self._values.value_of(document)
        if self._values.are_bytes and not isinstance(value, bytes):
            # confluent-kafka takes values that are nothing but bytes as they are.
            reason = "is a decimal alone, which cannot be written: put it into a record"
            raise UnfitRecordError(path="", reason=reason)
        data: bytes | None = self._serializer(value, self._place.context())
        return data


class AvroDecoder:
    """Reads what was written with any schema of the registry."""

    def __init__(self, source: SchemaSource, place: Place) -> None:
        self._place = place
        self._deserializer = AvroDeserializer(
            client_for(source, SchemaType.AVRO), conf=dict(READING)
        )

    def decode(self, data: bytes, headers: Sequence[Header]) -> object:
        """Return the value as JSON; raises `UndecodableRecordError`."""
        with decoding(self._place, data, headers):
            return readable(self._deserializer(data, self._place.context(headers)))
