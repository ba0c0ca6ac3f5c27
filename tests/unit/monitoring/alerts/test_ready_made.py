"""The ready-made rules: what breaks each of them, what does not, and what is said then."""

from datetime import datetime

import pytest

from penstock.monitoring.alerts import READY_MADE, Rule
from penstock.monitoring.alerts.conditions import Growth, Latest, Mean, Share
from penstock.monitoring.catalog import METRICS
from support.alerting import NOON, WrittenReadings, after, labels_of

RULES = {str(rule.name): rule for rule in READY_MADE}


def labels(rule: Rule) -> dict[str, str]:
    return {label: f"the-{label}" for label in METRICS[rule.condition.metric].labels}


def course(window: float, *values: float) -> list[tuple[datetime, float]]:
    step = window / (len(values) - 1)
    return [(after(-window + step * index), value) for index, value in enumerate(values)]


def is_broken(rule: Rule, readings: WrittenReadings) -> bool:
    (number,) = rule.numbers(readings, NOON).values()
    return rule.is_broken_by(number)


@pytest.mark.parametrize(
    ("name", "well", "broken", "said"),
    [
        ("offline-partitions", 0, 2, "nor read: 2"),
        ("under-replicated-partitions", 0, 1, "missing or behind: 1"),
        ("under-min-isr", 0, 1, "of broker the-broker that refuse"),
        ("active-controllers", 1, 0, "controller: 0, instead"),
        ("active-controllers", 1, 2, "controller: 2, instead"),
        ("cluster-away", 1, 0, "no broker of the cluster answers"),
        ("brokers-away", 0, 1, "accept no connections: 1"),
        ("leader-imbalance", 1.49, 1.5, "150.0% of its even share"),
        ("traffic-imbalance", 1.49, 1.8, "180.0% of its even share"),
        ("hot-partition", 0, 1, "of `the-topic` with"),
        ("broker-disk-nearly-full", 0.84, 0.85, "broker the-broker is 85.0% full"),
        ("host-disk-nearly-full", 0.84, 0.9, "`the-host` with our data is 90.0% full"),
        ("pipeline-lost", 0, 1, "pipeline `the-pipeline` has fallen silent"),
        ("pipeline-failed", 0, 1, "pipeline `the-pipeline` has failed"),
        ("flow-failed", 0, 1, "flow `the-flow` of `the-pipeline` has failed"),
        ("service-level-missed", 0, -0.01, "service level `the-service_level`"),
        ("data-loss-near", 0.25, 0.249, "24.9% of the retention left"),
        ("data-lost", 0, 12, "has read them: 12"),
        ("record-errors", 0, 0.1, "of the console gives up 0.1 records per second"),
    ],
)
def test_rules_of_last_values(name: str, well: float, broken: float, said: str) -> None:
    rule, series = RULES[name], labels_of(**labels(RULES[name]))

    def readings(value: float) -> WrittenReadings:
        return WrittenReadings({rule.condition.metric: {series: value}})

    assert isinstance(rule.condition, Latest)
    assert (is_broken(rule, readings(well)), is_broken(rule, readings(broken))) == (False, True)
    assert said in rule.said_of(series, broken)


@pytest.mark.parametrize(
    ("name", "well", "broken"),
    [
        ("lag-growing", (0, 500, 900, 1900), (0, 1000, 2000, 5000)),
        ("lag-growing", (9000, 8000, 7000, 6000), (1000, 1000, 4000, 9000)),
        ("batch-time-accelerating", (2.0, 2.1, 2.0, 2.1), (2.0, 2.0, 3.0, 5.0)),
        ("no-data", (0, 0, 0.1, 0), (0, 0, 0, 0)),
    ],
)
def test_rules_of_courses(name: str, well: tuple[float, ...], broken: tuple[float, ...]) -> None:
    rule, series = RULES[name], labels_of(**labels(RULES[name]))
    condition = rule.condition
    assert isinstance(condition, Growth | Mean)

    def readings(values: tuple[float, ...]) -> WrittenReadings:
        points = course(condition.window_seconds, *values)
        metric = condition.metric
        return WrittenReadings({metric: {series: values[-1]}}, {metric: {series: points}})

    assert (is_broken(rule, readings(well)), is_broken(rule, readings(broken))) == (False, True)


def test_a_share_of_undecodable_records_above_a_hundredth_is_told() -> None:
    rule = RULES["undecodable-records"]
    condition, series = rule.condition, labels_of(pipeline="shop", flow="detect")
    assert isinstance(condition, Share)

    def readings(undecodable: float) -> WrittenReadings:
        counts = {condition.metric: undecodable, condition.of: 1000.0}
        return WrittenReadings(
            courses={
                metric: {series: [(after(-600), 0.0), (NOON, count)]}
                for metric, count in counts.items()
            }
        )

    assert (is_broken(rule, readings(10)), is_broken(rule, readings(11))) == (False, True)
    assert rule.said_of(series, 0.02) == (
        "2.0% of the records of flow `detect` of `shop` cannot be decoded"
    )


def test_every_ready_made_rule_is_tried_here() -> None:
    tried = {
        *(case[0] for case in _cases(test_rules_of_last_values)),
        *(case[0] for case in _cases(test_rules_of_courses)),
        "undecodable-records",
    }

    assert tried == set(RULES)


def _cases(test: object) -> list[tuple[str, ...]]:
    (mark,) = test.pytestmark  # type: ignore[attr-defined]  # what `parametrize` leaves there
    cases: list[tuple[str, ...]] = mark.args[1]
    return cases
