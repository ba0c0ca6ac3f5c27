"""Where the serializers of confluent-kafka get their schemas: from Penstock's own client.

They ask a client of theirs by a few methods only. Giving them ours keeps one way to reach a
registry, with one set of errors: those of a source pass through the serializers as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from penstock.kafka.formats.errors import (
    OtherSchemaTypeError,
    UndecodableRecordError,
    UnknownSchemaGuidError,
    UnknownSchemaIdError,
)
from penstock.names import Subject

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import (
        RegisteredSchema as TheirVersion,
    )
    from confluent_kafka.schema_registry import (
        Schema as TheirSchema,
    )
    from confluent_kafka.schema_registry import (
        SchemaRegistryClient,
    )

    from penstock.schemas import RegisteredSchema, Schema, SchemaType


class SchemaSource(Protocol):
    """What keeps the schemas; `penstock.registry.RegistryClient` is one."""

    def find_by_id(self, schema_id: int, *, serialized: bool = False) -> RegisteredSchema | None:
        """Return the schema of an id; None says for certain that there is none.

        Raises:
            PenstockError: nothing is known, because nobody answers.
        """
        ...

    def id_of_guid(self, guid: str) -> int | None:
        """Return the id of a schema that is named by its GUID; None as for `find_by_id`."""
        ...

    def version(
        self,
        subject: Subject,
        version: int,
        *,
        deleted: bool = False,
        serialized: bool = False,
    ) -> RegisteredSchema:
        """Return one version of a subject."""
        ...

    def parsed(self, schema: RegisteredSchema) -> Schema:
        """Return a registered schema with what it refers to."""
        ...


def schema_of_id(source: SchemaSource, schema_id: int, kind: SchemaType) -> RegisteredSchema:
    """Return the schema that a record names.

    Raises:
        UndecodableRecordError: there is none, or it is not of this type.
        PenstockError: nothing is known, because nobody answers.
    """
    found = source.find_by_id(schema_id)
    if found is None:
        raise UnknownSchemaIdError(schema_id)
    if found.type is not kind:
        raise OtherSchemaTypeError(schema_id, found=found.type, wanted=kind)
    return found


class _Client:
    """Answers what serializers ask, each question once; `writer` is what they write with."""

    def __init__(
        self, source: SchemaSource, kind: SchemaType, writer: RegisteredSchema | None
    ) -> None:
        self._source = source
        self._kind = kind
        self._writer = writer
        self._found: dict[tuple[int, str | None], TheirSchema | UndecodableRecordError] = {}
        self._ids: dict[str, int | None] = {}
        self._latest: dict[str | None, TheirVersion] = {}

    def config(self) -> dict[str, object]:
        """Return no settings: rules that would need them are not run."""
        return {}

    def get_latest_version(self, subject_name: str, fmt: str | None = None) -> TheirVersion:
        """Return the version to write with."""
        if fmt not in self._latest:
            assert self._writer is not None  # noqa: S101 - only serializers ask this
            assert self._writer.version is not None  # noqa: S101 - it was asked for by subject
            self._latest[fmt] = self.get_version(subject_name, self._writer.version, fmt=fmt)
        return self._latest[fmt]

    def get_schema(
        self,
        schema_id: int,
        subject_name: str | None = None,  # noqa: ARG002 - their signature
        fmt: str | None = None,
    ) -> TheirSchema:
        """Return the schema of an id that a record has."""
        if (schema_id, fmt) not in self._found:
            self._found[schema_id, fmt] = self._asked(schema_id, fmt)
        found = self._found[schema_id, fmt]
        if isinstance(found, UndecodableRecordError):
            raise found
        return found

    def _asked(self, schema_id: int, fmt: str | None) -> TheirSchema | UndecodableRecordError:
        """Return a schema, or what is kept from then on for all records of its id."""
        try:
            found = schema_of_id(self._source, schema_id, self._kind)
        except UndecodableRecordError as err:
            return err
        if fmt == "serialized":
            found = self._source.find_by_id(schema_id, serialized=True) or found
        return _as_theirs(found)

    def get_schema_by_guid(self, guid: str, fmt: str | None = None) -> TheirSchema:
        """Return the schema that a record's header names."""
        if guid not in self._ids:
            self._ids[guid] = self._source.id_of_guid(guid)
        schema_id = self._ids[guid]
        if schema_id is None:
            raise UnknownSchemaGuidError(guid)
        return self.get_schema(schema_id, fmt=fmt)

    def get_version(
        self,
        subject_name: str,
        version: int,
        deleted: bool = False,  # noqa: FBT001, FBT002 - their signature
        fmt: str | None = None,
    ) -> TheirVersion:
        """Return what a schema refers to."""
        from confluent_kafka.schema_registry import RegisteredSchema as TheirVersion

        found = self._source.version(
            Subject(subject_name), version, deleted=deleted, serialized=fmt == "serialized"
        )
        return TheirVersion(subject_name, version, found.id, None, _as_theirs(found))


def client_for(
    source: SchemaSource, kind: SchemaType, writer: RegisteredSchema | None = None
) -> SchemaRegistryClient:
    """Return what a serializer asks; with a `writer`, that is the latest version of its subject."""
    return cast("SchemaRegistryClient", _Client(source, kind, writer))


def _as_theirs(schema: RegisteredSchema) -> TheirSchema:
    from confluent_kafka.schema_registry import Schema as TheirSchema
    from confluent_kafka.schema_registry import SchemaReference

    references = [
        SchemaReference(item.name, item.subject, item.version) for item in schema.references
    ]
    return TheirSchema(schema.text, schema.type.value, references)
