"""What the registry knows: versions of subjects, configs and modes.

How they are written down is `registry/records.py`; how they are found, `registry/state.py`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

from penstock.names import Subject
from penstock.schemas import Level, Reference, SchemaType

JsonText = NewType("JsonText", str)
"""A JSON value that the registry keeps for others: minimal text, keys in one order."""


class Mode(StrEnum):
    """What may be done to a subject."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    """As the global mode: nothing may be written, whatever the subjects' own modes say."""
    IMPORT = "IMPORT"
    """Schemas come with their ids and versions, from another registry, and are not compared."""
    FORWARD = "FORWARD"
    """As `IMPORT`."""

    @property
    def read_only(self) -> bool:
        """Whether nothing may be written."""
        return self in (Mode.READONLY, Mode.READONLY_OVERRIDE)

    @property
    def importing(self) -> bool:
        """Whether schemas come with their ids."""
        return self in (Mode.IMPORT, Mode.FORWARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """All that makes a schema what it is: the same content has the same id within a context."""

    type: str = SchemaType.AVRO
    """A `SchemaType`, or what another registry has written for a type of its own."""
    text: str
    references: tuple[Reference, ...] = ()
    metadata: JsonText | None = None
    rule_set: JsonText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """A schema under a subject; once deleted it still answers for its id."""

    subject: Subject
    version: int
    id: int
    content: Content
    deleted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Settings of a subject, a context or everything; None is what was not set."""

    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    compatibility_level: Level | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: JsonText | None = None
    override_metadata: JsonText | None = None
    default_rule_set: JsonText | None = None
    override_rule_set: JsonText | None = None
