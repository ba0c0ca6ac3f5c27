"""Requests: bodies, parameters and path segments, as Confluent's registry understands them."""

import re
from dataclasses import replace
from typing import TypeVar
from urllib.parse import unquote

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from penstock.names import Subject
from penstock.registry.contexts import normal_subject
from penstock.registry.entries import Config, Content, JsonText, Mode
from penstock.registry.errors import InvalidLevelError, InvalidModeError, InvalidVersionError
from penstock.registry.rules import Metadata, RuleSet, check_rule_set, kept_text
from penstock.registry.state import Which
from penstock.schemas import Level, Reference, SchemaType

MAX_INT = 2**31 - 1
_INT = re.compile(r"-?[0-9]{1,10}")
_CONTENT_TYPES = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
    "application/octet-stream",
    "",
)

_Body = TypeVar("_Body", bound=BaseModel)


class _Request(BaseModel):
    """A body; what is not known is left out, since newer clients send more."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _ReferenceRequest(_Request):
    name: str
    subject: str
    version: int = Field(ge=-1, le=MAX_INT)


class SchemaRequest(_Request):
    """A schema to register, look up or compare."""

    text: str | None = Field(default=None, alias="schema")
    kind: str | None = Field(default=None, alias="schemaType")
    references: list[_ReferenceRequest] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = Field(default=None, alias="ruleSet")
    given_id: int | None = Field(default=None, alias="id", ge=-1, le=MAX_INT)
    given_version: int | None = Field(default=None, alias="version", ge=-1, le=MAX_INT)

    def content(self) -> Content:
        """Return the schema.

        Raises:
            InvalidRuleSetError: a rule cannot be applied.
        """
        if self.rule_set is not None:
            check_rule_set(self.rule_set)
        return Content(
            type=self.kind or SchemaType.AVRO,
            text=self.text or "",
            references=tuple(
                Reference(name=one.name, subject=one.subject, version=one.version)
                for one in self.references or ()
            ),
            metadata=_kept(self.metadata),
            rule_set=_kept(self.rule_set),
        )

    def id(self) -> int | None:
        """Return the id that it shall have; -1 is none."""
        return None if self.given_id == -1 else self.given_id

    def version(self) -> int | None:
        """Return the version that it shall have, -1 for the last one; 0 is any."""
        return self.given_version or None


class ConfigRequest(_Request):
    """A change to a config: what is not there stays, what is null is unset."""

    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = Field(default=None, alias="validateFields")
    compatibility: str | None = Field(
        default=None, validation_alias=AliasChoices("compatibility", "compatibilityLevel")
    )
    compatibility_policy: str | None = Field(default=None, alias="compatibilityPolicy")
    compatibility_group: str | None = Field(default=None, alias="compatibilityGroup")
    default_metadata: Metadata | None = Field(default=None, alias="defaultMetadata")
    override_metadata: Metadata | None = Field(default=None, alias="overrideMetadata")
    default_rule_set: RuleSet | None = Field(default=None, alias="defaultRuleSet")
    override_rule_set: RuleSet | None = Field(default=None, alias="overrideRuleSet")

    def level(self) -> Level | None:
        """Return the level.

        Raises:
            InvalidLevelError: there is none of this name.
        """
        if self.compatibility is None:
            return None
        try:
            return Level(self.compatibility.upper())
        except ValueError as error:
            raise InvalidLevelError from error

    def checked(self) -> "ConfigRequest":
        """Return this request if it can be done.

        Raises:
            InvalidLevelError: there is no level of this name.
            InvalidRuleSetError: a rule cannot be applied.
        """
        self.level()
        for rules in (self.default_rule_set, self.override_rule_set):
            if rules is not None:
                check_rule_set(rules)
        return self

    def applied_to(self, config: Config) -> Config:
        """Return the config as it is after this change."""
        given = self.model_fields_set
        if "alias" in given:
            config = replace(config, alias=self.alias)
        if "normalize" in given:
            config = replace(config, normalize=self.normalize)
        if "validate_fields" in given:
            config = replace(config, validate_fields=self.validate_fields)
        if "compatibility" in given:
            config = replace(config, compatibility_level=self.level())
        if "compatibility_policy" in given:
            config = replace(config, compatibility_policy=self.compatibility_policy)
        if "compatibility_group" in given:
            config = replace(config, compatibility_group=self.compatibility_group)
        return self._with_defaults(config)

    def _with_defaults(self, config: Config) -> Config:
        given = self.model_fields_set
        if "default_metadata" in given:
            config = replace(config, default_metadata=_kept(self.default_metadata))
        if "override_metadata" in given:
            config = replace(config, override_metadata=_kept(self.override_metadata))
        if "default_rule_set" in given:
            config = replace(config, default_rule_set=_kept(self.default_rule_set))
        if "override_rule_set" in given:
            config = replace(config, override_rule_set=_kept(self.override_rule_set))
        return config


class ModeRequest(_Request):
    """A change of a mode."""

    name: str | None = Field(default=None, alias="mode")

    def mode(self) -> Mode:
        """Return the mode.

        Raises:
            InvalidModeError: there is none of this name.
        """
        try:
            return Mode((self.name or "").upper())
        except ValueError as error:
            raise InvalidModeError from error


def _kept(model: Metadata | RuleSet | None) -> JsonText | None:
    return None if model is None else kept_text(model)


async def body_of(request: Request, model: type[_Body], *, max_bytes: int) -> _Body:
    """Return the body of a request.

    Raises:
        HTTPException: it is too large (413), of another content type (415), not JSON or not of
            this shape (400), or not there (422).
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in _CONTENT_TYPES:
        raise HTTPException(415)
    content = await _read(request, max_bytes)
    if content.strip() in (b"", b"null"):
        raise HTTPException(422, "the request has no body")
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise HTTPException(400, _problem(error)) from error


async def _read(request: Request, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise HTTPException(413, f"the request has more than {max_bytes:,} bytes")
        parts.append(part)
    return b"".join(parts)


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def segment(request: Request, name: str) -> str:
    """Return a segment of the path, decoded; it may contain slashes that came percent-encoded."""
    return unquote(request.path_params[name])


def subject_of(request: Request) -> Subject:
    """Return the subject in the path, in its one spelling."""
    return normal_subject(segment(request, "subject"))


def subject_parameter(request: Request) -> Subject | None:
    """Return the subject in the query, if there is one."""
    subject = request.query_params.get("subject")
    return None if subject is None else normal_subject(subject)


def version_of(request: Request) -> int | None:
    """Return the version in the path; None is the last one.

    Raises:
        InvalidVersionError: it is not a version.
    """
    text = segment(request, "version")
    if text in ("latest", "-1"):
        return None
    if not _INT.fullmatch(text) or not 1 <= int(text) <= MAX_INT:
        raise InvalidVersionError(text)
    return int(text)


def id_of(request: Request) -> int:
    """Return the schema id in the path.

    Raises:
        HTTPException: it is not a number: there is no such page.
    """
    return _int(segment(request, "id"))


def number(request: Request, name: str, default: int) -> int:
    """Return a number in the query.

    Raises:
        HTTPException: it is not one: there is no such page.
    """
    text = request.query_params.get(name)
    return default if text is None else _int(text)


def _int(text: str) -> int:
    if not _INT.fullmatch(text) or abs(int(text)) > MAX_INT:
        raise HTTPException(404)
    return int(text)


def flag(request: Request, name: str) -> bool:
    """Whether a parameter is `true`; everything else is false."""
    return request.query_params.get(name, "").lower() == "true"


def which(request: Request) -> Which:
    """Return which versions `deleted` and `deletedOnly` ask for."""
    if flag(request, "deletedOnly"):
        return Which.DELETED
    return Which.ALL if flag(request, "deleted") else Which.LIVE


def live_or_all(request: Request) -> Which:
    """Return which versions `deleted` asks for, where there is no `deletedOnly`."""
    return Which.ALL if flag(request, "deleted") else Which.LIVE
