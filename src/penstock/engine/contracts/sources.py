"""Where the schema of a topic comes from: a file of the project, or the registry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.engine.contracts.errors import UnknownSchemaError
from penstock.errors import Origin
from penstock.names import Subject
from penstock.pipeline import SubjectNames, WriterSchema, schema_type
from penstock.registry.client import NotRegisteredError
from penstock.registry.project import SUFFIXES, FileGraph, graph_of, load_files, text_with_versions
from penstock.schemas import InvalidSchemaError, SchemaText, parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.pipeline import RegistryFormat, Topic
    from penstock.registry.client import RegistryClient
    from penstock.registry.project import SchemaFile
    from penstock.schemas import RegisteredSchema, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The value or the key of a topic."""

    topic: Topic
    format: RegistryFormat
    is_key: bool

    def __str__(self) -> str:
        """Return what messages call it."""
        return f"the {'key' if self.is_key else 'value'} of topic `{self.topic.name}`"

    @property
    def own_subject(self) -> Subject:
        """The subject that belongs to the topic, as the default strategy names it."""
        return Subject(f"{self.topic.kafka_name}-{'key' if self.is_key else 'value'}")

    def subject(self, record: str | None) -> Subject:
        """Return the subject of the records, whose schema has this name.

        Raises:
            UnknownSchemaError: the strategy needs a name, and there is none.
        """
        if self.format.subject_names is SubjectNames.TOPIC:
            return self.own_subject
        if record is None:
            raise UnknownSchemaError(
                str(self),
                looked_for=f"`subject_names` is `{self.format.subject_names}`, "
                "and its schema has no name",
                hint="name the record, or leave out `subject_names`",
                origin=self.topic.origin,
            )
        alone = self.format.subject_names is SubjectNames.RECORD
        return Subject(record if alone else f"{self.topic.kafka_name}-{record}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSchema:
    """A schema, and the file or the version of a subject that it is."""

    schema: Schema
    file: SchemaFile | None = None
    registered: RegisteredSchema | None = None

    def is_declared_by(self, side: Side) -> bool:
        """Whether the project says that this is the schema; else it is what is there so far."""
        named = side.format.schema is not None or side.format.version is not None
        return named or self.file is not None

    @property
    def as_writer(self) -> WriterSchema:
        """The schema as contracts hold it."""
        schema_id = self.registered.id if self.registered else 0
        return WriterSchema(
            id=schema_id, text=self.schema.text, references=tuple(self.schema.references)
        )


class SchemaSources:
    """The files of one project and one registry; the registry is asked only when it must be."""

    def __init__(self, folder: Path, connect: Callable[[], RegistryClient]) -> None:
        self._folder, self._connect = folder, connect

    @cached_property
    def registry(self) -> RegistryClient:
        """The registry, which is looked for when it is needed first."""
        return self._connect()

    @cached_property
    def graph(self) -> FileGraph:
        """The files of the project."""
        has_files = any(path.suffix in SUFFIXES for path in self._folder.rglob("*"))
        return graph_of(load_files(self._folder) if has_files else [])

    def close(self) -> None:
        """Let the registry go, if it was asked."""
        client = self.__dict__.pop("registry", None)
        if client is not None:
            client.close()

    def find(self, side: Side) -> FoundSchema | None:
        """Return the schema that a declaration means; None: there is none yet.

        Raises:
            UnknownSchemaError: the declaration names one that does not exist.
            PenstockError: a file is wrong, or the registry does not answer.
        """
        named = Subject(side.format.schema) if side.format.schema else side.own_subject
        if side.format.version is None and (file := self._file(named, side)) is not None:
            return self.from_file(file)
        try:
            found = self.registry.version(named, side.format.version or "latest")
        except NotRegisteredError as err:
            if side.format.schema is None and side.format.version is None:
                return None
            raise UnknownSchemaError(
                str(side),
                looked_for=f"there is no file `schemas/{named}` and {err.message}",
                hint="`penstock schemas list` shows what is registered",
                origin=side.topic.origin,
            ) from err
        if found.type is not schema_type(side.format):
            raise UnknownSchemaError(
                str(side),
                looked_for=f"`{named}` is of type {found.type} in the registry",
                hint="declare the topic with the format that its records have",
                origin=side.topic.origin,
            )
        return self.from_registry(found)

    def from_registry(self, registered: RegisteredSchema) -> FoundSchema:
        """Return a schema that the registry gave out."""
        return FoundSchema(schema=self.registry.parsed(registered), registered=registered)

    def from_file(self, file: SchemaFile) -> FoundSchema:
        """Return the schema of a file of the project."""
        try:
            schema = parse(file.type, file.text, self.graph.resolved(file.subject))
        except InvalidSchemaError as err:
            err.origin = Origin(file.path)
            raise
        return FoundSchema(schema=schema, file=file)

    def all_files(self, format_: RegistryFormat) -> list[FoundSchema]:
        """Return the schemas of all files in the language of `format_`."""
        kind = schema_type(format_)
        files = [file for file in self.graph.files.values() if file.type is kind]
        return [self.from_file(file) for file in files]

    def sent(self, found: FoundSchema) -> SchemaText:
        """Return a schema as it is registered."""
        if found.file is not None:
            return text_with_versions(self.registry, self.graph, found.file)
        references = found.registered.references if found.registered else ()
        return SchemaText(type=found.schema.type, text=found.schema.text, references=references)

    def _file(self, named: Subject, side: Side) -> SchemaFile | None:
        file = self.graph.files.get(named)
        return file if file is not None and file.type is schema_type(side.format) else None
