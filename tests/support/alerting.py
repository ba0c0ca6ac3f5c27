"""What tests of alerts are made from: a clock to set, readings to write down, rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from penstock.monitoring.alerts import Comparison, Rule, RuleName, Severity
from penstock.monitoring.alerts.conditions import Latest
from penstock.monitoring.alerts.readings import Only, Stretch, every
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.monitoring.alerts.conditions import Condition
    from penstock.monitoring.catalog import Labels, MetricName

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@dataclass
class SetClock:
    """A clock that stands still until it is moved."""

    at: datetime = NOON

    def __call__(self) -> datetime:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass
class WrittenReadings:
    """Readings that a test has written down."""

    values: dict[MetricName, dict[Labels, float]] = field(default_factory=dict)
    courses: dict[MetricName, dict[Labels, list[tuple[datetime, float]]]] = field(
        default_factory=dict
    )
    """Points as they would be sampled, each until the next."""

    def latest(self, metric: MetricName) -> Mapping[Labels, float]:
        return self.values.get(metric, {})

    def over(
        self, metric: MetricName, since: datetime, until: datetime, *, only: Only = every
    ) -> Mapping[Labels, Stretch]:
        found = {
            labels: [(at, value) for at, value in points if since <= at <= until]
            for labels, points in self.courses.get(metric, {}).items()
            if only(labels)
        }
        return {
            labels: Stretch(
                mean=fmean(value for _, value in points),
                growth=sum(
                    later - earlier if later >= earlier else later
                    for (_, earlier), (_, later) in pairwise(points)
                ),
                seconds=(points[-1][0] - points[0][0]).total_seconds(),
            )
            for labels, points in found.items()
            if points
        }


def labels_of(**labels: str) -> Labels:
    return tuple(sorted(labels.items()))


def lag_rule(
    name: str = "behind",
    *,
    threshold: float = 10,
    hold_seconds: float = 60,
    severity: Severity = Severity.WARNING,
    condition: Condition | None = None,
    enabled: bool = True,
) -> Rule:
    return Rule(
        name=RuleName(name),
        condition=condition or Latest(GROUP_MAX_LAG.name),
        comparison=Comparison.ABOVE,
        threshold=threshold,
        hold_seconds=hold_seconds,
        severity=severity,
        message="group `{group}` is {value} behind",
        enabled=enabled,
    )
