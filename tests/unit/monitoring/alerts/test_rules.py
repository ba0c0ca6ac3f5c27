"""Rules: ready-made ones, those of settings, and what is said when they are broken."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.monitoring.alerts import READY_MADE, Comparison, Severity, rules_of
from penstock.monitoring.alerts.conditions import Increase, Latest, Mean
from penstock.monitoring.alerts.errors import (
    ImpossibleRuleError,
    UnknownMetricError,
    UnknownRuleError,
)
from penstock.monitoring.alerts.readings import is_like
from penstock.monitoring.alerts.rules import shown
from penstock.monitoring.catalog import METRICS
from penstock.monitoring.catalog.flows import INPUT_RECORDS
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from penstock.settings import RuleSettings
from support.alerting import NOON, WrittenReadings, labels_of, lag_rule


def test_ready_made_rules_are_about_metrics_of_the_catalog_and_say_what_they_can() -> None:
    names = [rule.name for rule in READY_MADE]

    assert [rule.name for rule in READY_MADE if rule.condition.metric not in METRICS] == []
    assert len(set(names)) == len(names)
    for rule in READY_MADE:  # as if each was written down anew: its own message is allowed
        assert rules_of([RuleSettings(name=rule.name, message=rule.message)], READY_MADE)


def test_a_setting_changes_only_what_it_says_of_a_ready_made_rule() -> None:
    before = {str(rule.name): rule for rule in READY_MADE}

    rules = rules_of([RuleSettings(name="lag-growing", threshold=5, window_seconds=60)], READY_MADE)
    changed = {str(rule.name): rule for rule in rules}["lag-growing"]

    assert changed.threshold == 5
    assert changed.hold_seconds == before[changed.name].hold_seconds
    assert changed.is_ready_made
    assert len(rules) == len(READY_MADE)


def test_a_ready_made_rule_can_be_switched_off() -> None:
    rules = rules_of([RuleSettings(name="lag-growing", enabled=False)], READY_MADE)

    assert "lag-growing" in [rule.name for rule in rules if not rule.enabled]


def test_a_rule_can_be_like_a_ready_made_one_for_some_series() -> None:
    given = RuleSettings(
        name="orders-growing", like="lag-growing", where={"group": "orders-*"}, threshold=4
    )

    added = rules_of([given], READY_MADE)[-1]

    assert (added.name, added.where, added.threshold) == (
        "orders-growing",
        (("group", "orders-*"),),
        4,
    )
    assert not added.is_ready_made


def test_a_rule_of_ones_own_compares_the_last_value_the_mean_or_an_increase() -> None:
    rules = rules_of(
        [
            RuleSettings(name="a", metric=GROUP_MAX_LAG.name, threshold=1, comparison="<="),
            RuleSettings(name="b", metric=GROUP_MAX_LAG.name, threshold=1, window_seconds=60),
            RuleSettings(name="c", metric=INPUT_RECORDS.name, threshold=1, window_seconds=60),
        ],
        [],
    )

    assert [rule.condition for rule in rules] == [
        Latest(GROUP_MAX_LAG.name),
        Mean(GROUP_MAX_LAG.name, 60),
        Increase(INPUT_RECORDS.name, 60),
    ]
    assert rules[0].comparison is Comparison.AT_MOST
    assert rules[0].severity is Severity.WARNING
    assert rules[0].said_of((("group", "orders"),), 1200) == (
        "kafka_consumergroup_group_max_lag is 1,200, group `orders`"
    )


@pytest.mark.parametrize(
    ("given", "error", "hint"),
    [
        (
            RuleSettings(name="a", metric="kafka_consumergroup_group_maxlag", threshold=1),
            UnknownMetricError,
            "did you mean `kafka_consumergroup_group_max_lag`?",
        ),
        (RuleSettings(name="lag-growin"), UnknownRuleError, "did you mean `lag-growing`?"),
        (
            RuleSettings(name="a", like="lag_growing"),
            UnknownRuleError,
            "did you mean `lag-growing`?",
        ),
        (RuleSettings(name="a", metric=GROUP_MAX_LAG.name), ImpossibleRuleError, None),
        (
            RuleSettings(name="a", metric=INPUT_RECORDS.name, threshold=1),
            ImpossibleRuleError,
            None,
        ),
        (
            RuleSettings(name="a", metric="penstock_flow_latency_seconds", threshold=1),
            ImpossibleRuleError,
            None,
        ),
        (
            RuleSettings(name="a", metric=GROUP_MAX_LAG.name, threshold=1, where={"topic": "x"}),
            ImpossibleRuleError,
            None,
        ),
        (
            RuleSettings(name="a", metric=GROUP_MAX_LAG.name, threshold=1, message="{topic}"),
            ImpossibleRuleError,
            None,
        ),
        (RuleSettings(name="lag-growing", metric=GROUP_MAX_LAG.name), ImpossibleRuleError, None),
    ],
)
def test_a_rule_that_cannot_be_is_refused(
    given: RuleSettings, error: type[PenstockError], hint: str | None
) -> None:
    with pytest.raises(error) as raised:
        rules_of([given], READY_MADE)

    if hint is not None:
        assert raised.value.hint == hint


def test_a_rule_looks_only_at_series_that_match() -> None:
    one, two = labels_of(group="orders-1"), labels_of(group="payments")
    readings = WrittenReadings({GROUP_MAX_LAG.name: {one: 5.0, two: 7.0}})
    given = RuleSettings(
        name="a", metric=GROUP_MAX_LAG.name, threshold=1, where={"group": "orders-*"}
    )

    (rule,) = rules_of([given], [])

    assert rule.numbers(readings, NOON) == {one: 5.0}


@given(st.text("ab.", max_size=8), st.text("ab.*?", max_size=6))
def test_a_pattern_is_any_text_where_it_has_stars_and_nothing_else_is_special(
    text: str, pattern: str
) -> None:
    assert is_like(text, pattern) == fnmatchcase(text, pattern)


@pytest.mark.timeout(10)
def test_a_pattern_of_many_stars_is_answered_at_once() -> None:
    """Whoever silences alerts writes patterns, and whoever reads topics names groups."""
    assert not is_like("a" * 200, "*a" * 50 + "b")
    assert is_like("a" * 200, "*a" * 50)


def test_a_message_keeps_what_a_label_holds_as_it_is() -> None:
    rule = lag_rule()

    said = rule.said_of(labels_of(group="{value} {0.__class__}"), 12)

    assert said == "group `{value} {0.__class__}` is 12 behind"


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (0.0123, "ratio", "1.2%"),
        (0.0001, "ratio", "0.010%"),
        (2.5, "times", "2.5 times"),
        (90, "seconds", "90 s"),
        (600, "seconds", "10 min"),
        (3 * 86_400, "seconds", "3 d"),
        (1_500_000, "bytes", "1.5 MB"),
        (2_000, "bytes per second", "2 kB/s"),
        (1234567, "records", "1,234,567"),
        (0.25, "per second", "0.25"),
    ],
)
def test_numbers_are_shown_as_people_read_them(number: float, unit: str, text: str) -> None:
    assert shown(number, unit) == text


def test_the_page_of_the_documentation_lists_all_ready_made_rules() -> None:
    page = (Path(__file__).parents[4] / "docs" / "alerts.md").read_text(encoding="utf-8")

    table = [line for line in page.splitlines() if line.startswith("| `")]
    named = [name for line in table for name in re.findall(r"`([a-z-]+)`", line.split("|")[1])]

    assert sorted(named) == sorted(rule.name for rule in READY_MADE)
