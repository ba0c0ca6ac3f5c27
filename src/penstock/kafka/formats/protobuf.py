"""Protobuf with a schema id and message indexes before it: JSON in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.schema_registry import dual_schema_id_deserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.serde import SchemaId

from penstock.kafka.formats.errors import NoSchemaNumberError, UnknownSchemaIdError
from penstock.kafka.formats.lookup import client_for
from penstock.kafka.formats.place import READING, WRITING, decoding
from penstock.kafka.formats.protobuf_values import message_of, message_type, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.message import Message

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.kafka.formats.place import Place
    from penstock.kafka.records import Header
    from penstock.schemas import RegisteredSchema

_FIRST_MESSAGE = (0,)


class ProtobufEncoder:
    """Writes JSON objects as the first message of one schema."""

    def __init__(self, source: SchemaSource, place: Place, writer: RegisteredSchema) -> None:
        assert writer.version is not None  # noqa: S101 - it was asked for by its subject
        serialized = source.version(place.subject, writer.version, serialized=True)
        self._place = place
        self._kind = message_type(source, serialized, _FIRST_MESSAGE)
        client = client_for(source, writer)
        self._serializer = ProtobufSerializer(self._kind, client, conf=dict(WRITING))

    def encode(self, document: object) -> bytes | None:
        """Return the bytes for `document`; raises `UnfitRecordError` with the field."""
        message = message_of(self._kind, document)
        return self._serializer(message, self._place.context())


class ProtobufDecoder:
    """Reads messages of any schema of the registry."""

    def __init__(self, source: SchemaSource, place: Place) -> None:
        self._source = source
        self._place = place
        self._deserializers: dict[tuple[int, tuple[int, ...]], ProtobufDeserializer] = {}

    def decode(self, data: bytes, headers: Sequence[Header]) -> object:
        """Return the message as JSON; raises `UndecodableRecordError`."""
        with decoding(self._place, data, headers):
            context = self._place.context(headers)
            named = SchemaId("PROTOBUF")
            dual_schema_id_deserializer(data, context, named)
            if named.id is None:
                raise NoSchemaNumberError(str(named.guid))
            deserializer = self._deserializer(named.id, tuple(named.message_indexes or ()))
            message: Message = deserializer(data, context)
            return readable(message)

    def _deserializer(self, schema_id: int, indexes: tuple[int, ...]) -> ProtobufDeserializer:
        known = self._deserializers.get((schema_id, indexes))
        if known is None:
            schema = self._source.find_by_id(schema_id, serialized=True)
            if schema is None:
                raise UnknownSchemaIdError(schema_id)
            kind = message_type(self._source, schema, indexes)
            known = ProtobufDeserializer(kind, dict(READING), client_for(self._source))
            self._deserializers[schema_id, indexes] = known
        return known
