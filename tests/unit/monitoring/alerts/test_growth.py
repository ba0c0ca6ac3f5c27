"""Rules about growth over hours: told when it begins, and to be over when nothing rises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from penstock.monitoring.alerts import READY_MADE, Phase
from penstock.monitoring.alerts.states import advanced
from support.alerting import WrittenReadings, after, labels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.monitoring.alerts import Alert
    from penstock.monitoring.alerts.states import AlertKey

RULES = {str(rule.name): rule for rule in READY_MADE}
SERIES = labels_of(group="orders")
ROUND, HOUR = 30, 3600


@dataclass
class Course:
    """Rounds of one rule over one series, and when it began and ceased to fire."""

    name: str
    second: int = 0
    alerts: Mapping[AlertKey, Alert] = field(default_factory=dict)
    readings: WrittenReadings = field(default_factory=WrittenReadings)
    began: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)

    def go(self, value: float, *, per_second: float, seconds: int) -> float:
        """Let the series rise evenly from `value`; return what it is in the end."""
        rule = RULES[self.name]
        metric = rule.condition.metric
        points = self.readings.courses.setdefault(metric, {}).setdefault(SERIES, [])
        for _ in range(0, seconds, ROUND):
            self.second += ROUND
            value += per_second * ROUND
            points.append((after(self.second), value))
            self.readings.values[metric] = {SERIES: value}
            fired = self.fires
            numbers = {rule.name: rule.numbers(self.readings, after(self.second))}
            self.alerts = advanced(self.alerts, [rule], numbers, after(self.second))
            if self.fires and not fired:
                self.began.append(self.second)
            if fired and not self.fires:
                self.ended.append(self.second)
        return value

    @property
    def fires(self) -> bool:
        return [alert.phase for alert in self.alerts.values()] == [Phase.FIRING]


@pytest.mark.parametrize(
    ("name", "calm", "per_second"),
    [("lag-growing", 0.0, 100.0), ("batch-time-accelerating", 2.0, 0.01)],
)
def test_what_rises_evenly_for_hours_fires_once_and_is_over_when_it_rises_no_more(
    name: str, calm: float, per_second: float
) -> None:
    """Even growth is twice as much only at first: after ten minutes its share falls below that."""
    course = Course(name)
    value = course.go(calm, per_second=0, seconds=900)
    value = course.go(value, per_second=per_second, seconds=3 * HOUR)
    grown = course.second
    course.go(value, per_second=-per_second, seconds=900)

    assert len(course.began) == len(course.ended) == 1
    assert course.began[0] < 900 + 600
    assert grown < course.ended[0] < grown + 600


def test_growth_that_was_never_told_is_not_told_for_going_on() -> None:
    course = Course("lag-growing")

    value = course.go(1_000_000, per_second=0, seconds=900)
    course.go(value, per_second=100, seconds=3 * HOUR)

    assert course.began == []
