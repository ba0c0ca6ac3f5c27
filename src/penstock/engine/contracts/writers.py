"""What records may have been written with: the versions of their subject, and ids they name.

A record may name an id that is younger than the flow's start, or that is none of the subject's. The
batch fails (`wire.py`), the id is noted here, and the next start asks for it. Then it is known, or
it is refused for good: not in the registry, of another subject, or of a schema that the reader's
cannot resolve. A registry that does not answer is an error that the flow waits for; nothing is ever
refused because of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from penstock.pipeline import Avro, Framing
from penstock.registry.client import NotRegisteredError

if TYPE_CHECKING:
    from penstock.engine.contracts.sources import SchemaSources
    from penstock.names import Subject
    from penstock.pipeline import Contract, WriterSchema
    from penstock.schemas import RegisteredSchema, Schema

MOST_VERSIONS = 24
"""Every schema is a branch of generated code; older versions are added when a record names one."""


@dataclass(slots=True)
class _Found:
    """What a contract knows of ids."""

    writers: dict[int, WriterSchema] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    refused_guids: dict[str, str] = field(default_factory=dict)


class Writers:
    """The schemas of writers, of all topics of a pipeline."""

    def __init__(self, schemas: SchemaSources) -> None:
        self._schemas = schemas
        self._asked: dict[Subject, list[str]] = defaultdict(list)
        self._guard = Lock()

    def ask_about(self, subject: Subject, named: str) -> None:
        """Let the registry be asked for an id, or a GUID, that a record named."""
        with self._guard:
            if named not in self._asked[subject]:
                self._asked[subject].append(named)

    def added_to(self, contract: Contract, reader: Schema) -> Contract:
        """Return `contract` with all that is known of what its records are written with.

        Raises:
            PenstockError: the registry does not answer, or a file is wrong.
        """
        framing = contract.format.framing if isinstance(contract.format, Avro) else Framing.PREFIX
        if framing is Framing.BARE:
            return contract
        if framing is Framing.SINGLE_OBJECT:
            files = self._schemas.all_files(contract.format)
            known = [item for item in files if not reader.can_read(item.schema)]
            return replace(contract, writers=tuple(item.as_writer for item in known))
        assert contract.subject is not None  # noqa: S101 - only framings without ids have none
        found = _Found()
        self._add_versions(found, contract.subject, reader)
        with self._guard:
            asked = list(self._asked[contract.subject])
        for named in asked:
            self._add_asked(found, contract.subject, reader, named)
        return replace(
            contract,
            writers=tuple(found.writers.values()),
            refused=found.refused,
            refused_guids=found.refused_guids,
        )

    def _add_versions(self, found: _Found, subject: Subject, reader: Schema) -> None:
        registry = self._schemas.registry
        try:
            versions = registry.versions(subject, deleted=True)
        except NotRegisteredError:
            return
        for version in sorted(versions, reverse=True)[:MOST_VERSIONS]:
            self._judge(found, registry.kept_version(subject, version), reader)

    def _add_asked(self, found: _Found, subject: Subject, reader: Schema, named: str) -> None:
        if named.isdecimal():
            self._add_id(found, subject, reader, int(named))
            return
        schema_id = self._schemas.registry.id_of_guid(named)
        if schema_id is None:
            found.refused_guids[named] = f"schema GUID {named} is not in the registry"
            return
        self._add_id(found, subject, reader, schema_id)
        if schema_id in found.writers:
            found.writers[schema_id] = replace(found.writers[schema_id], guid=named)
        else:
            found.refused_guids[named] = found.refused[schema_id]

    def _add_id(self, found: _Found, subject: Subject, reader: Schema, schema_id: int) -> None:
        if schema_id in found.writers or schema_id in found.refused:
            return
        registry = self._schemas.registry
        registered = registry.find_by_id(schema_id)
        if registered is None:
            found.refused[schema_id] = f"schema id {schema_id} is not in the registry"
        elif subject not in registry.subjects_of_id(schema_id):
            found.refused[schema_id] = f"schema id {schema_id} is not one of `{subject}`"
        else:
            self._judge(found, registered, reader)

    def _judge(self, found: _Found, registered: RegisteredSchema, reader: Schema) -> None:
        candidate = self._schemas.from_registry(registered)
        problems = reader.can_read(candidate.schema)
        if problems:
            first = problems[0]
            why = f"{first.path or '/'} {first.message}"
            told = f"schema id {registered.id} cannot be resolved to the flow's schema: {why}"
            found.refused[registered.id] = told
        else:
            found.writers[registered.id] = candidate.as_writer
