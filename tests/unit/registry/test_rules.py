"""Metadata and rule sets: one spelling, and rules that clients can apply."""

from collections.abc import Mapping

import pytest

from penstock.registry.entries import JsonText
from penstock.registry.errors import InvalidRuleSetError
from penstock.registry.rules import (
    Metadata,
    RuleSet,
    check_rule_set,
    kept_metadata,
    kept_text,
    properties_of,
    rule_types_of,
)

RULE = {"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL"}


def rule_set(group: str, *rules: Mapping[str, object]) -> RuleSet:
    return RuleSet.model_validate({group: [dict(rule) for rule in rules]})


@pytest.mark.parametrize(
    "rules",
    [
        rule_set("domainRules", RULE, {**RULE, "name": "_other-1"}),
        rule_set("encodingRules", {**RULE, "mode": "WRITEREAD", "onFailure": "DLQ,NONE"}),
        rule_set("migrationRules", {**RULE, "mode": "UPDOWN"}),
    ],
    ids=range(3),
)
def test_rules_with_name_type_and_fitting_mode_pass(rules: RuleSet) -> None:
    check_rule_set(rules)


@pytest.mark.parametrize(
    "rules",
    [
        rule_set("domainRules", RULE, RULE),
        rule_set("domainRules", {**RULE, "name": None}),
        rule_set("domainRules", {**RULE, "name": "1st"}),
        rule_set("domainRules", {**RULE, "name": "a b"}),
        rule_set("domainRules", {**RULE, "name": "n" * 65}),
        rule_set("domainRules", {**RULE, "type": None}),
        rule_set("domainRules", {**RULE, "mode": "UPGRADE"}),
        rule_set("domainRules", {**RULE, "mode": None}),
        rule_set("migrationRules", RULE),
        rule_set("encodingRules", {**RULE, "onSuccess": "NONE,ERROR"}),
    ],
    ids=range(10),
)
def test_rules_that_no_client_could_apply_are_refused(rules: RuleSet) -> None:
    with pytest.raises(InvalidRuleSetError):
        check_rule_set(rules)


def test_metadata_has_one_spelling() -> None:
    given = {
        "sensitive": ["b", "a", "b"],
        "properties": {"z": "1", "a": ""},
        "tags": {"y": ["2", "1"], "x": []},
        "unknown": 1,
    }

    assert kept_text(Metadata.model_validate(given)) == JsonText(
        '{"tags":{"x":[],"y":["1","2"]},"properties":{"a":"","z":"1"},"sensitive":["a","b"]}'
    )


def test_metadata_in_a_log_that_is_none_is_passed_over() -> None:
    assert kept_metadata({"properties": "none"}) is None
    assert kept_metadata(None) is None


def test_what_is_kept_can_be_asked_for() -> None:
    rules = kept_text(rule_set("domainRules", RULE, {**RULE, "name": "x", "type": "JSONATA"}))

    assert rule_types_of(rules) == {"CEL", "JSONATA"}
    assert properties_of(JsonText('{"properties":{"a":"1"}}')) == {"a": "1"}
    assert (rule_types_of(None), properties_of(None)) == (frozenset(), {})
