"""Schemas on their way to a registry and back: text, references, and the numbers given to them."""

from dataclasses import dataclass

from penstock.names import Subject
from penstock.schemas.schema import Reference, SchemaType


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaText:
    """A schema as it is sent to a registry; its references are versions of other subjects."""

    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema as a registry keeps it.

    `subject` and `version` are None when it was asked for by its id: many subjects may share it.
    """

    id: int
    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    subject: Subject | None = None
    version: int | None = None
