"""The records of `_schemas`, in the format that Confluent's registry writes and reads.

Key and value are JSON. Keys are compared byte by byte when the topic is compacted, so theirs are
written exactly as there. A key of a kind that is not known here is left alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.names import Subject
from penstock.registry.entries import Config, Content, JsonText, Mode, SchemaVersion
from penstock.registry.log import Record
from penstock.registry.rules import kept_metadata, kept_rule_set
from penstock.schemas import Level, Reference, SchemaType

IDS_KEY = b'{"magic":0,"keytype":"NOOP"}'
"""Other registries read this as their own `NOOP`, whose fields stand the other way round, and pass
over it whatever its value is; compaction takes the two for two keys."""

TENANT = "default"
"""Confluent's cloud has several in one topic; everywhere else there is this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaGone:
    """A version was deleted for good."""

    subject: Subject
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectDeleted:
    """All versions of a subject up to this one were deleted."""

    subject: Subject
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectsCleared:
    """What was deleted of a subject, a context or (None) everything is forgotten."""

    subject: Subject | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSet:
    """A subject, a context or (None) everything has this config; or (None) none any more."""

    subject: Subject | None
    config: Config | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSet:
    """A subject, a context or (None) everything has this mode; or (None) none any more."""

    subject: Subject | None
    mode: Mode | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSet:
    """A context exists, or does not any more."""

    context: str
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsGiven:
    """The highest id that was ever given in each context, by the context's name.

    Written with what is deleted for good: compaction forgets it, and its id must not come again.
    """

    highest: tuple[tuple[str, int], ...]


Change = (
    SchemaVersion
    | SchemaGone
    | SubjectDeleted
    | SubjectsCleared
    | ConfigSet
    | ModeSet
    | ContextSet
    | IdsGiven
)
"""What one record says."""


class UnreadableRecordError(ValueError):
    """A record has not the format of its kind."""


class _Key(BaseModel):
    model_config = ConfigDict(extra="ignore")

    keytype: str
    subject: Subject | None = None
    version: int | None = None
    context: str | None = None


class _Reference(BaseModel):
    name: str
    subject: str
    version: int


class _SchemaValue(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: int
    kind: str | None = Field(default=None, alias="schemaType")
    references: list[_Reference] | None = None
    metadata: object = None
    rule_set: object = Field(default=None, alias="ruleSet")
    text: str = Field(alias="schema")
    deleted: bool = False

    def content(self) -> Content:
        return Content(
            type=self.kind or SchemaType.AVRO,
            text=self.text,
            references=tuple(
                Reference(name=one.name, subject=one.subject, version=one.version)
                for one in self.references or ()
            ),
            metadata=kept_metadata(self.metadata),
            rule_set=kept_rule_set(self.rule_set),
        )


class _ConfigValue(BaseModel):
    model_config = ConfigDict(extra="ignore")

    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = Field(default=None, alias="validateFields")
    level: Level | None = Field(default=None, alias="compatibilityLevel")
    policy: str | None = Field(default=None, alias="compatibilityPolicy")
    group: str | None = Field(default=None, alias="compatibilityGroup")
    default_metadata: object = Field(default=None, alias="defaultMetadata")
    override_metadata: object = Field(default=None, alias="overrideMetadata")
    default_rule_set: object = Field(default=None, alias="defaultRuleSet")
    override_rule_set: object = Field(default=None, alias="overrideRuleSet")

    def config(self) -> Config:
        return Config(
            alias=self.alias,
            normalize=self.normalize,
            validate_fields=self.validate_fields,
            compatibility_level=self.level,
            compatibility_policy=self.policy,
            compatibility_group=self.group,
            default_metadata=kept_metadata(self.default_metadata),
            override_metadata=kept_metadata(self.override_metadata),
            default_rule_set=kept_rule_set(self.default_rule_set),
            override_rule_set=kept_rule_set(self.override_rule_set),
        )


class _IdsValue(BaseModel):
    highest: dict[str, int] = Field(alias="maxIds")


class _ModeValue(BaseModel):
    mode: Mode


class _DeleteSubjectValue(BaseModel):
    version: int


def decode(record: Record) -> Change | None:
    """Return what a record says; None for one that says nothing here.

    Raises:
        UnreadableRecordError: the record is of a known kind and has not its format.
    """
    try:
        if record.key == IDS_KEY and record.value is not None:
            given = _IdsValue.model_validate_json(record.value).highest
            return IdsGiven(highest=tuple(given.items()))
        key = _Key.model_validate_json(record.key)
        return _decode_value(key, record.value)
    except ValidationError as error:
        raise UnreadableRecordError(str(error)) from error


def _decode_value(key: _Key, value: bytes | None) -> Change | None:
    match key.keytype:
        case "SCHEMA" if key.subject is not None and key.version is not None:
            return _decode_schema(key.subject, key.version, value)
        case "CONFIG":
            config = None if value is None else _ConfigValue.model_validate_json(value).config()
            return ConfigSet(subject=key.subject, config=config)
        case "MODE":
            mode = None if value is None else _ModeValue.model_validate_json(value).mode
            return ModeSet(subject=key.subject, mode=mode)
        case "DELETE_SUBJECT" if key.subject is not None and value is not None:
            until = _DeleteSubjectValue.model_validate_json(value).version
            return SubjectDeleted(subject=key.subject, version=until)
        case "CLEAR_SUBJECT" if value is not None:
            return SubjectsCleared(subject=key.subject)
        case "CONTEXT" if key.context is not None:
            return ContextSet(context=key.context, exists=value is not None)
        case _:
            return None


def _decode_schema(subject: Subject, version: int, value: bytes | None) -> Change:
    if value is None:
        return SchemaGone(subject=subject, version=version)
    read = _SchemaValue.model_validate_json(value)
    return SchemaVersion(
        subject=subject,
        version=version,
        id=read.id,
        content=read.content(),
        deleted=read.deleted,
    )


def encode(change: Change) -> Record:
    """Return the record that says `change`."""
    match change:
        case SchemaVersion():
            return Record(key=_schema_key(change), value=_bytes(_schema_value(change)))
        case SchemaGone():
            return Record(key=_schema_key(change), value=None)
        case SubjectDeleted(subject=subject, version=version):
            value = _bytes({"subject": subject, "version": version})
            return Record(key=_subject_key("DELETE_SUBJECT", subject), value=value)
        case SubjectsCleared(subject=subject):
            return Record(
                key=_subject_key("CLEAR_SUBJECT", subject), value=_bytes({"subject": subject})
            )
        case ConfigSet(subject=subject, config=config):
            written = None if config is None else _bytes(_config_value(subject, config))
            return Record(key=_subject_key("CONFIG", subject), value=written)
        case ModeSet(subject=subject, mode=mode):
            written = None if mode is None else _bytes({"subject": subject, "mode": mode})
            return Record(key=_subject_key("MODE", subject), value=written)
        case ContextSet(context=context, exists=exists):
            named = {"tenant": TENANT, "context": context}
            key = json_bytes({"keytype": "CONTEXT", **named, "magic": 0})
            return Record(key=key, value=_bytes(named) if exists else None)
        case IdsGiven(highest=highest):
            return Record(key=IDS_KEY, value=_bytes({"maxIds": dict(highest)}))


def _schema_key(schema: SchemaVersion | SchemaGone) -> bytes:
    return json_bytes(
        {
            "keytype": "SCHEMA",
            "subject": schema.subject,
            "version": schema.version,
            "magic": 1,
        }
    )


def _subject_key(keytype: str, subject: Subject | None) -> bytes:
    return json_bytes({"keytype": keytype, "subject": subject, "magic": 0})


def _schema_value(schema: SchemaVersion) -> dict[str, object]:
    content = schema.content
    return {
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.id,
        "schemaType": None if content.type == SchemaType.AVRO else content.type,
        "references": [
            {"name": one.name, "subject": one.subject, "version": one.version}
            for one in content.references
        ]
        or None,
        "metadata": loaded(content.metadata),
        "ruleSet": loaded(content.rule_set),
        "schema": content.text,
        "deleted": schema.deleted,
    }


def _config_value(subject: Subject | None, config: Config) -> dict[str, object]:
    return {"subject": subject, **config_fields(config)}


def config_fields(config: Config) -> dict[str, object]:
    """Return the fields of a config under their names in records and answers."""
    return {
        "alias": config.alias,
        "normalize": config.normalize,
        "validateFields": config.validate_fields,
        "compatibilityLevel": config.compatibility_level,
        "compatibilityPolicy": config.compatibility_policy,
        "compatibilityGroup": config.compatibility_group,
        "defaultMetadata": loaded(config.default_metadata),
        "overrideMetadata": loaded(config.override_metadata),
        "defaultRuleSet": loaded(config.default_rule_set),
        "overrideRuleSet": loaded(config.override_rule_set),
    }


def loaded(text: JsonText | None) -> object:
    """Return the value that a kept text stands for."""
    return None if text is None else json.loads(text)


def _bytes(fields: Mapping[str, object]) -> bytes:
    return json_bytes({name: value for name, value in fields.items() if value is not None})


def json_bytes(value: object) -> bytes:
    """Return `value` as JSON without whitespace, as Confluent's registry writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
