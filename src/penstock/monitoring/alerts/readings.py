"""What rules look at: the last value of each series, and what it did over a time.

The history of the console has both; a test writes them down.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from penstock.monitoring.catalog import Labels, MetricName, Sample
    from penstock.monitoring.history import History

Only = Callable[["Labels"], bool]
"""Which series are asked for."""


def every(_labels: Labels) -> bool:
    """Ask for all series."""
    return True


class Stretch(NamedTuple):
    """What a series did over a time."""

    mean: float
    growth: float
    """By how much a count has grown, also one that began anew; 0 of what goes up and down."""

    seconds: float
    """For how much of the time it was measured."""


class Readings(Protocol):
    """The values of one round of sampling, and of the time before."""

    def latest(self, metric: MetricName) -> Mapping[Labels, float]:
        """Return the last value of each series that is still measured."""
        ...

    def over(
        self, metric: MetricName, since: datetime, until: datetime, *, only: Only = every
    ) -> Mapping[Labels, Stretch]:
        """Return what each series that is asked for did from `since` to `until`."""
        ...


@dataclass(frozen=True, slots=True)
class HistoryReadings:
    """Readings from a history."""

    history: History

    def latest(self, metric: MetricName) -> Mapping[Labels, float]:
        """Return the last values."""
        return {sample.labels: sample.value for sample in self.history.latest(metric)}

    def over(
        self, metric: MetricName, since: datetime, until: datetime, *, only: Only = every
    ) -> Mapping[Labels, Stretch]:
        """Return what each series did.

        Raises:
            HistoryReadError: the file is damaged.
        """
        found = self.history.series(
            metric,
            lambda labels: only(tuple(sorted(labels.items()))),
            since=since,
            until=until,
            step=None,
        )
        return {
            series.labels: Stretch(point.value, point.growth or 0.0, point.seconds)
            for series in found
            for point in series.points
        }


@dataclass(frozen=True, slots=True)
class UnkeptReadings(HistoryReadings):
    """Readings of a round that the history could not keep, with what it kept before."""

    samples: Sequence[Sample]

    def latest(self, metric: MetricName) -> Mapping[Labels, float]:
        """Return the values of the round."""
        return {item.labels: item.value for item in self.samples if item.metric == metric}


def matches(labels: Labels, where: Labels) -> bool:
    """Whether the labels of `where` are there and as said; `*` stands for any text."""
    found = dict(labels)
    return all(label in found and is_like(found[label], pattern) for label, pattern in where)


def is_like(text: str, pattern: str) -> bool:
    """Whether `text` is as `pattern` says, in which `*` stands for any text, `?` for any character.

    Nothing else is special: groups and topics may have brackets and dots in their names.
    """
    first, *others = (re.escape(part).replace(r"\?", ".") for part in pattern.split("*"))
    # Each part is taken where it is found first, and for good: trying all other places as well
    # takes hours with a few `*`, and nobody else in the process gets a turn meanwhile.
    between = "".join(f"(?>.*?{part})" for part in others[:-1])
    expression = first + between + (f".*{others[-1]}" if others else "")
    return re.fullmatch(expression, text, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Those of the series of `readings` that match."""

    readings: Readings
    where: Labels

    def latest(self, metric: MetricName) -> Mapping[Labels, float]:
        """Return the last values of the series that match."""
        found = self.readings.latest(metric)
        return {labels: value for labels, value in found.items() if matches(labels, self.where)}

    def over(
        self, metric: MetricName, since: datetime, until: datetime, *, only: Only = every
    ) -> Mapping[Labels, Stretch]:
        """Return what the series that match did."""

        def both(labels: Labels) -> bool:
            return matches(labels, self.where) and only(labels)

        return self.readings.over(metric, since, until, only=both)
