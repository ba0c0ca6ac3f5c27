"""Formats whose schemas live in a registry, or in the project's `schemas/` folder.

What a user declares names a schema; a `Contract` is the same with the schemas themselves. The
engine makes contracts when a flow starts (`engine/contracts`), and reads and writes by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar, cast

from penstock.names import Subject
from penstock.schemas import Resolved, SchemaType


class SubjectNames(StrEnum):
    """How the subject of a topic's records is called, as Confluent's strategies have it."""

    TOPIC = "topic"
    """`orders-value` or `orders-key`."""

    RECORD = "record"
    """The full name of the record."""

    TOPIC_RECORD = "topic_record"
    """`orders-` and the full name of the record."""


class Framing(StrEnum):
    """What says with which schema a record was written."""

    PREFIX = "prefix"
    """Five bytes before the data: zero, and the id of the schema in the registry."""

    HEADER = "header"
    """A header of the record with the id or the GUID of the schema; a prefix counts as well."""

    SINGLE_OBJECT = "single_object"
    """Avro's own: two bytes, and the fingerprint of a schema of the project."""

    BARE = "bare"
    """Nothing: all records are written with the schema that is declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Avro:
    """Avro with the columns of its record, or one column `value` for any other type."""

    schema: str | None = None
    """A file of `schemas/` without its ending, or else a subject; None: the topic's own subject."""

    subject_names: SubjectNames = SubjectNames.TOPIC
    version: int | None = None
    """The version of the subject to read by; None: a file if there is one, else the latest."""

    framing: Framing = Framing.PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchema:
    """JSON under a schema, with the columns of its properties."""

    schema: str | None = None
    subject_names: SubjectNames = SubjectNames.TOPIC
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Protobuf:
    """A message of Protobuf, with the columns of its fields."""

    schema: str | None = None
    subject_names: SubjectNames = SubjectNames.TOPIC
    version: int | None = None
    message: str | None = None
    """The full name of the message; None: the first of the schema."""


RegistryFormat = Avro | JsonSchema | Protobuf


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSchema:
    """A schema that records are written with."""

    id: int
    """What the prefix of a record says; 0 for a schema that is only a file."""

    text: str
    references: tuple[Resolved, ...] = ()
    guid: str | None = None
    """What the header of a record may say instead of the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A registry format with the schemas that it stands for at one start of a flow."""

    format: RegistryFormat
    subject: Subject | None
    """Where the ids of records belong; None: there are none."""

    is_key: bool
    reader: WriterSchema
    """The schema that the flow is written for."""

    columns: str
    """What it decodes into, as Spark's DDL."""

    writers: tuple[WriterSchema, ...] = ()
    """What records may be written with, newest first."""

    refused: Mapping[int, str] = field(default_factory=dict)
    """Ids that the registry was asked for, and why their records cannot be decoded."""

    refused_guids: Mapping[str, str] = field(default_factory=dict)
    """The same of GUIDs that headers named."""

    written: WriterSchema | None = None
    """What the flow writes with; None while it only reads."""


def schema_type(format_: RegistryFormat) -> SchemaType:
    """Return the language of the schemas of `format_`."""
    match format_:
        case Avro():
            return SchemaType.AVRO
        case JsonSchema():
            return SchemaType.JSON
        case Protobuf():
            return SchemaType.PROTOBUF


def avro(
    schema: str | None = None,
    *,
    subject_names: SubjectNames | str = SubjectNames.TOPIC,
    version: int | None = None,
    framing: Framing | str = Framing.PREFIX,
) -> Avro:
    """Avro; `schema` names a file of `schemas/` without its ending, or a subject.

    Args:
        schema: without it, the subject of the topic. A topic that is only written and has no
            schema yet gets one that fits the columns of the flow.
        subject_names: `topic`, `record` or `topic_record`.
        version: the version of the subject to read by, instead of the file or the latest.
        framing: `prefix` and `header` for a registry's ids, `single_object` and `bare` without one.
    """
    return Avro(
        schema=schema,
        subject_names=_member(SubjectNames, subject_names),
        version=version,
        framing=_member(Framing, framing),
    )


def json_schema(
    schema: str | None = None,
    *,
    subject_names: SubjectNames | str = SubjectNames.TOPIC,
    version: int | None = None,
) -> JsonSchema:
    """JSON under a schema, of which `schema`, `subject_names` and `version` are as for `avro`."""
    names = _member(SubjectNames, subject_names)
    return JsonSchema(schema=schema, subject_names=names, version=version)


def protobuf(
    schema: str | None = None,
    *,
    message: str | None = None,
    subject_names: SubjectNames | str = SubjectNames.TOPIC,
    version: int | None = None,
) -> Protobuf:
    """Protobuf; `message` chooses one of several in a schema, the rest is as for `avro`."""
    names = _member(SubjectNames, subject_names)
    return Protobuf(schema=schema, subject_names=names, version=version, message=message)


def checked_registry_format(value: RegistryFormat) -> None:
    """Check what was given to `avro`, `json_schema` or `protobuf`.

    Raises:
        ValueError: something is not as it should be; the text says what.
    """
    _check_member("subject_names", value.subject_names, SubjectNames)
    texts = {"schema": value.schema}
    if isinstance(value, Avro):
        _check_member("framing", value.framing, Framing)
    if isinstance(value, Protobuf):
        texts["message"] = value.message
    for name, text in texts.items():
        if text is not None and (not isinstance(text, str) or not text):
            reason = f"`{name}` is `{text!r}`, not a name"
            raise ValueError(reason)
    version: object = value.version
    if version is not None and (type(version) is not int or version < 1):
        reason = f"`version` is `{version!r}`, not a number from 1 on"
        raise ValueError(reason)


Member = TypeVar("Member", bound=StrEnum)


def _member(kind: type[Member], value: Member | str) -> Member:
    """Return `value` as a member; what is none is found when the declaration is checked."""
    try:
        return kind(value)
    except ValueError:
        return cast("Member", value)


def _check_member(name: str, value: object, kind: type[StrEnum]) -> None:
    if not isinstance(value, kind):
        known = ", ".join(f"`{member}`" for member in kind)
        reason = f"`{name}` is `{value!r}`, not one of {known}"
        raise ValueError(reason)  # noqa: TRY004 - pydantic shows only ValueError as a problem
