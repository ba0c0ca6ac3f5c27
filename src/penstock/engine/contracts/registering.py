"""The schema that a flow writes with: looked up or registered at its start, never per record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.engine.contracts.errors import IncompatibleSchemaError, NotRegisteredYetError
from penstock.pipeline import Avro, Framing
from penstock.registry.project import problems_with, versions_of

if TYPE_CHECKING:
    from penstock.engine.contracts.sources import FoundSchema, SchemaSources, Side
    from penstock.names import Subject
    from penstock.pipeline import Contract, WriterSchema


class Registering:
    """Gives out ids for what flows write."""

    def __init__(self, schemas: SchemaSources, *, registers: bool) -> None:
        self._schemas, self._registers = schemas, registers

    def registered(self, side: Side, contract: Contract, found: FoundSchema) -> WriterSchema:
        """Return the schema to write with, under the id that its subject has it by.

        Raises:
            IncompatibleSchemaError: the subject's level does not allow it.
            NotRegisteredYetError: it is new, and flows may not register.
            PenstockError: the registry does not answer, or refuses for another reason.
        """
        if isinstance(side.format, Avro) and side.format.framing in (
            Framing.BARE,
            Framing.SINGLE_OBJECT,
        ):
            return contract.reader
        assert contract.subject is not None  # noqa: S101 - only framings without ids have none
        return replace(contract.reader, id=self._id(side, contract.subject, found))

    def _id(self, side: Side, subject: Subject, found: FoundSchema) -> int:
        registry, text = self._schemas.registry, self._schemas.sent(found)
        same = registry.find(subject, text)
        if same is not None:
            return same.id
        level = registry.level(subject)
        versions = versions_of(registry, subject)
        problems = problems_with(registry, subject, found.schema, versions, level)
        if problems:
            raise IncompatibleSchemaError(
                subject, level=level, problems=problems, origin=side.topic.origin
            )
        if not self._registers:
            raise NotRegisteredYetError(subject, origin=side.topic.origin)
        return registry.register(subject, text)
