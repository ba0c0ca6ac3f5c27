"""Metadata and rule sets of schemas: checked for their shape, kept in one spelling.

The registry keeps them for clients, which act on them (encryption, validation, migration). They
are part of what makes two schemas the same.
"""

import json
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from penstock.registry.entries import JsonText
from penstock.registry.errors import InvalidRuleSetError

Tags = Annotated[list[str], AfterValidator(lambda tags: sorted(set(tags)))]

_MIGRATION_MODES = frozenset({"UPGRADE", "DOWNGRADE", "UPDOWN"})
_DATA_MODES = frozenset({"WRITE", "READ", "WRITEREAD"})
_BOTH_WAYS = frozenset({"WRITEREAD", "UPDOWN"})
_NAME = re.compile(r"[^\W\d][\w-]{0,63}")


class _Kept(BaseModel):
    """What is kept: fields that Confluent's registry does not know are dropped, as there."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Metadata(_Kept):
    """Tags by path, properties, and the names of properties that are sensitive."""

    tags: dict[str, Tags] | None = None
    properties: dict[str, str] | None = None
    sensitive: Tags | None = None


class Rule(_Kept):
    """One rule that clients apply when they write or read."""

    name: str | None = None
    doc: str | None = None
    kind: Literal["TRANSFORM", "CONDITION"] | None = None
    mode: Literal["UPGRADE", "DOWNGRADE", "UPDOWN", "WRITE", "READ", "WRITEREAD"] | None = None
    type: str | None = None
    tags: Tags | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = Field(default=None, alias="onSuccess")
    on_failure: str | None = Field(default=None, alias="onFailure")
    disabled: bool = False


class RuleSet(_Kept):
    """Rules for data, for what carries it, and for moving it from version to version."""

    migration_rules: list[Rule] | None = Field(default=None, alias="migrationRules")
    domain_rules: list[Rule] | None = Field(default=None, alias="domainRules")
    encoding_rules: list[Rule] | None = Field(default=None, alias="encodingRules")
    enable_at: str | None = Field(default=None, alias="enableAt")


def kept_text(model: Metadata | RuleSet) -> JsonText:
    """Return the text under which `model` is stored: maps sorted, empty fields left out."""
    value = _kept_fields(model.model_dump(by_alias=True, exclude_none=True))
    return JsonText(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _kept_fields(fields: dict[str, object]) -> dict[str, object]:
    return {name: _kept_value(value) for name, value in fields.items() if value not in ({}, [], "")}


def _kept_value(value: object) -> object:
    match value:
        case dict():
            return dict(sorted(value.items()))
        case list():
            return [_kept_fields(one) if isinstance(one, dict) else one for one in value]
        case _:
            return value


def check_rule_set(rule_set: RuleSet) -> None:
    """Refuse rules that no client could apply.

    Raises:
        InvalidRuleSetError: a rule has no name or type, a name twice, or a mode of other rules.
    """
    names: set[str] = set()
    for rule, modes in _rules_and_modes(rule_set):
        _check_rule(rule)
        if rule.name in names:
            raise InvalidRuleSetError(reason=f"found the rule name '{rule.name}' twice")
        if rule.mode not in modes:
            raise InvalidRuleSetError(
                reason=f"rule '{rule.name}' has mode {rule.mode}, "
                f"possible are {', '.join(sorted(modes))}"
            )
        names.add(str(rule.name))


def _rules_and_modes(rule_set: RuleSet) -> Iterator[tuple[Rule, frozenset[str]]]:
    for rule in rule_set.migration_rules or []:
        yield rule, _MIGRATION_MODES
    for rule in (rule_set.domain_rules or []) + (rule_set.encoding_rules or []):
        yield rule, _DATA_MODES


def _check_rule(rule: Rule) -> None:
    if rule.name is None or not _NAME.fullmatch(rule.name):
        raise InvalidRuleSetError(
            reason=f"'{rule.name}' is not a rule name: a letter, then letters, digits, '_' and '-'"
        )
    if rule.type is None:
        raise InvalidRuleSetError(reason=f"rule '{rule.name}' has no type")
    actions = (rule.on_success or "") + (rule.on_failure or "")
    if "," in actions and rule.mode not in _BOTH_WAYS:
        raise InvalidRuleSetError(
            reason=f"rule '{rule.name}' has two actions: only WRITEREAD and UPDOWN have two"
        )


def kept_metadata(value: object) -> JsonText | None:
    """Return what a log has as metadata in the one spelling; None for what is not metadata."""
    return _kept(Metadata, value)


def kept_rule_set(value: object) -> JsonText | None:
    """Return what a log has as a rule set in the one spelling; None for what is not one."""
    return _kept(RuleSet, value)


def _kept(model: type[Metadata] | type[RuleSet], value: object) -> JsonText | None:
    if value is None:
        return None
    try:
        return kept_text(model.model_validate(value))
    except ValidationError:
        return None


def properties_of(metadata: JsonText | None) -> dict[str, str]:
    """Return the properties in `metadata`."""
    return {} if metadata is None else Metadata.model_validate_json(metadata).properties or {}


def rule_types_of(rule_set: JsonText | None) -> frozenset[str]:
    """Return the types of the rules in `rule_set`."""
    if rule_set is None:
        return frozenset()
    rules = _rules_and_modes(RuleSet.model_validate_json(rule_set))
    return frozenset(rule.type for rule, _ in rules if rule.type)
