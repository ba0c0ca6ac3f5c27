"""What a rule compares with its threshold: numbers that are computed from series.

Each condition gives a number for each series it can say something about, and nothing for the
others: too little is known of them. No condition knows a threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.monitoring.alerts.readings import every
from penstock.monitoring.catalog import METRICS, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from penstock.monitoring.alerts.readings import Only, Readings, Stretch
    from penstock.monitoring.catalog import Labels, MetricName

_COVERED = 0.8
"""The share of a window that must have been seen before anything is said about it."""

NO_GROWTH = 1.0
"""How often as large as before something is that does not grow."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The last value."""

    metric: MetricName

    @property
    def meaning(self) -> str:
        """What the numbers are, of the metric."""
        return "the last value"

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return METRICS[self.metric].unit

    def numbers(self, readings: Readings, now: datetime) -> Mapping[Labels, float]:  # noqa: ARG002 - as all conditions
        """Return a number for each series."""
        return readings.latest(self.metric)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a time."""

    metric: MetricName
    window_seconds: float

    @property
    def meaning(self) -> str:
        """What the numbers are, of the metric."""
        return f"the mean of {span(self.window_seconds)}"

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return METRICS[self.metric].unit

    def numbers(self, readings: Readings, now: datetime) -> Mapping[Labels, float]:
        """Return a number for each series that was seen for most of the window."""
        found = _stretches(readings, self.metric, self.window_seconds, now)
        return {labels: stretch.mean for labels, stretch in found.items()}


@dataclass(frozen=True, slots=True)
class Increase:
    """By how much a counter has grown in a time."""

    metric: MetricName
    window_seconds: float

    @property
    def meaning(self) -> str:
        """What the numbers are, of the metric."""
        return f"the increase in {span(self.window_seconds)}"

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return METRICS[self.metric].unit

    def numbers(self, readings: Readings, now: datetime) -> Mapping[Labels, float]:
        """Return a number for each series that was seen for most of the window."""
        found = _stretches(readings, self.metric, self.window_seconds, now)
        return {labels: stretch.growth for labels, stretch in found.items()}


@dataclass(frozen=True, slots=True)
class Share:
    """How much of what a counter has counted in a time another one has counted too."""

    metric: MetricName
    of: MetricName
    window_seconds: float

    @property
    def meaning(self) -> str:
        """What the numbers are, of the metric."""
        return f"its share of {self.of} in {span(self.window_seconds)}"

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return Unit.RATIO

    def numbers(self, readings: Readings, now: datetime) -> Mapping[Labels, float]:
        """Return a number for each series that has counted anything; 1 is all of it."""
        since = now - timedelta(seconds=self.window_seconds)
        whole = readings.over(self.of, since, now)
        return {
            labels: min(1.0, part.growth / whole[labels].growth)
            for labels, part in readings.over(self.metric, since, now).items()
            if labels in whole and whole[labels].growth > 0
        }


@dataclass(frozen=True, slots=True)
class Growth:
    """How many times as large the last third of a time is as the first, if it rose all along.

    What does not rise from third to third has grown by 1. Small numbers are taken for `floor`,
    because from 1 to 10 is no growth that anybody need know of.

    What rises evenly grows by less and less, for it has grown already: growth that was told of is
    over when nothing rises any more (`Rule.is_still_broken_by`).
    """

    metric: MetricName
    window_seconds: float
    floor: float

    @property
    def meaning(self) -> str:
        """What the numbers are, of the metric."""
        return f"how it has grown within {span(self.window_seconds)}"

    @property
    def unit(self) -> str:
        """What the numbers count."""
        return "times"

    def numbers(self, readings: Readings, now: datetime) -> Mapping[Labels, float]:
        """Return a number for each series that is small, or was seen for most of the window."""
        third, latest = self.window_seconds / 3, readings.latest(self.metric)
        large = {labels for labels, value in latest.items() if value > self.floor}
        if not large:
            return dict.fromkeys(latest, NO_GROWTH)
        # Of ten thousand groups few lag, and reading courses is what takes time.
        first, middle, last = (
            _stretches(
                readings,
                self.metric,
                third,
                now - timedelta(seconds=third * back),
                only=large.__contains__,
            )
            for back in (2, 1, 0)
        )
        return dict.fromkeys(latest.keys() - large, NO_GROWTH) | {
            labels: self._growth(first[labels].mean, middle[labels].mean, stretch.mean)
            for labels, stretch in last.items()
            if labels in first and labels in middle
        }

    def _growth(self, first: float, middle: float, last: float) -> float:
        if not first < middle < last:
            return NO_GROWTH
        return max(NO_GROWTH, last / max(first, self.floor))


Condition = Latest | Mean | Increase | Share | Growth


def _stretches(
    readings: Readings,
    metric: MetricName,
    window_seconds: float,
    until: datetime,
    *,
    only: Only = every,
) -> Mapping[Labels, Stretch]:
    """Return what series did in a window, of those that were seen for most of it."""
    found = readings.over(metric, until - timedelta(seconds=window_seconds), until, only=only)
    return {
        labels: stretch
        for labels, stretch in found.items()
        if stretch.seconds >= window_seconds * _COVERED
    }


def span(seconds: float) -> str:
    """Return a length of time for people to read."""
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds:.3g} s"
