"""Protobuf with a schema id and message indexes before it: JSON in and out."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, cast

from confluent_kafka.schema_registry import dual_schema_id_deserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.schema_registry.serde import SchemaId

from penstock.kafka.formats.errors import (
    UndecodableRecordError,
    UnfitRecordError,
    UnknownSchemaGuidError,
)
from penstock.kafka.formats.fields import below
from penstock.kafka.formats.lookup import client_for, schema_of_id
from penstock.kafka.formats.place import READING, WRITING, decoding
from penstock.schemas import SchemaType
from penstock.schemas.protobuf.errors import (
    MessageMismatchError,
    UndecodableMessageError,
    UnknownMessageError,
)
from penstock.schemas.protobuf.messages import (
    message_class,
    message_from_json,
    message_name,
    message_to_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.protobuf.message import Message

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.kafka.formats.place import Place
    from penstock.kafka.records import Header
    from penstock.schemas import RegisteredSchema
    from penstock.schemas.protobuf import ProtobufSchema

# The steps of a path such as `items[1].price` or `prices["a.b"]`.
_STEPS = re.compile(r'\[("(?:[^"\\]|\\.)*"|\d+)\]|([^.\[]+)')


class ProtobufEncoder:
    """Writes JSON objects as the first message of one schema."""

    def __init__(self, source: SchemaSource, place: Place, writer: RegisteredSchema) -> None:
        self._place = place
        self._schema = cast("ProtobufSchema", source.parsed(writer))
        self._serializer = ProtobufSerializer(
            message_class(self._schema),
            client_for(source, SchemaType.PROTOBUF, writer),
            conf=dict(WRITING),
        )

    def encode(self, document: object) -> bytes | None:
        """Return the bytes for `document`; raises `UnfitRecordError` with the field."""
        try:
            message = message_from_json(self._schema, json.dumps(document))
        except MessageMismatchError as err:
            reason = f"does not fit `{err.message_name}`: {err.reason}"
            raise UnfitRecordError(_pointer(err.field), reason) from err
        data: bytes | None = self._serializer(message, self._place.context())
        return data


class ProtobufDecoder:
    """Reads messages of any schema of the registry."""

    def __init__(self, source: SchemaSource, place: Place) -> None:
        self._source = source
        self._place = place
        self._ids: dict[str, int | None] = {}
        self._schemas: dict[int, ProtobufSchema] = {}
        self._deserializers: dict[tuple[int, tuple[int, ...]], ProtobufDeserializer] = {}

    def decode(self, data: bytes, headers: Sequence[Header]) -> object:
        """Return the message as JSON; raises `UndecodableRecordError`."""
        with decoding(self._place, data, headers), _reading_message():
            context = self._place.context(headers)
            named = SchemaId("PROTOBUF")
            dual_schema_id_deserializer(data, context, named)
            schema_id = self._id(named)
            schema = self._schema(schema_id)
            deserializer = self._deserializer(schema, schema_id, named.message_indexes or ())
            # They say it is bytes, and it is the message.
            message = cast("Message", deserializer(data, context))
            return json.loads(message_to_json(schema, message))

    def _id(self, named: SchemaId) -> int:
        if named.id is not None:
            return int(named.id)
        guid = str(named.guid)
        if guid not in self._ids:
            self._ids[guid] = self._source.id_of_guid(guid)
        schema_id = self._ids[guid]
        if schema_id is None:
            raise UnknownSchemaGuidError(guid)
        return schema_id

    def _schema(self, schema_id: int) -> ProtobufSchema:
        if schema_id not in self._schemas:
            found = schema_of_id(self._source, schema_id, SchemaType.PROTOBUF)
            self._schemas[schema_id] = cast("ProtobufSchema", self._source.parsed(found))
        return self._schemas[schema_id]

    def _deserializer(
        self, schema: ProtobufSchema, schema_id: int, indexes: Sequence[int]
    ) -> ProtobufDeserializer:
        key = (schema_id, tuple(indexes))
        if key not in self._deserializers:
            kind = message_class(schema, message_name(schema, indexes))
            client = client_for(self._source, SchemaType.PROTOBUF)
            self._deserializers[key] = ProtobufDeserializer(kind, dict(READING), client)
        return self._deserializers[key]


@contextmanager
def _reading_message() -> Iterator[None]:
    """Take what is wrong with a message for what is wrong with its record."""
    try:
        yield
    except (UndecodableMessageError, UnknownMessageError) as err:
        raise UndecodableRecordError(err.message) from err


def _pointer(field: str) -> str:
    """Return the path of a field as a JSON pointer: `items[1].price` is `/items/1/price`."""
    steps = (json.loads(inside) if inside else name for inside, name in _STEPS.findall(field))
    return reduce(below, steps, "")
