"""Whether pipelines keep what their projects promise: measured from the history.

Latencies are counted by the histogram that flows keep; a threshold between two of its bounds takes
its share of what lies between them. Lag and availability are shares of time: of the minutes, or
over more than a day of the ten minutes, of which the history knows something. No lag is known while
no driver runs: that time counts as missed. Time in which no console measured counts for nothing,
neither as kept nor as missed.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.monitoring.catalog import Metric, MetricName, Sample, sample
from penstock.monitoring.catalog.flows import FLOW_LAG_SECONDS, FLOW_RUNNING, LATENCY, PIPELINE_UP
from penstock.monitoring.catalog.service_levels import BUDGET_LEFT, COMPLIANCE, TARGET
from penstock.monitoring.history import History, Point
from penstock.names import PipelineName
from penstock.settings import Measure, ServiceLevel, shown_level

_DAY_SECONDS = 86_400.0
_BUCKETS = MetricName(f"{LATENCY.name}_bucket")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliance:
    """How a promise was kept."""

    pipeline: PipelineName
    level: ServiceLevel
    kept: float
    """How many records, or seconds."""

    measured: float
    """Of how many."""

    @property
    def promise(self) -> str:
        """The promise in words."""
        return shown_level(self.level)

    @property
    def share(self) -> float | None:
        """Which share was kept; None: nothing was measured."""
        return self.kept / self.measured if self.measured else None

    @property
    def budget_left(self) -> float | None:
        """How much is left of what may be missed: 1 is all of it, below 0 the promise is broken."""
        return None if self.share is None else 1 - (1 - self.share) / (1 - self.level.share)

    @property
    def is_broken(self) -> bool:
        """Whether less was kept than was promised."""
        return self.share is not None and self.share < self.level.share


def compliance(
    history: History, pipeline: PipelineName, level: ServiceLevel, *, now: datetime
) -> Compliance:
    """Measure how a promise was kept, up to now.

    Raises:
        PenstockError: the history cannot be read.
    """
    since = now - timedelta(seconds=level.over_seconds)
    match level.measure:
        case Measure.LATENCY:
            kept, measured = _records(history, pipeline, level, since, now)
        case Measure.LAG_SECONDS:
            kept, measured = _times(history, FLOW_LAG_SECONDS, pipeline, level, since, now)
        case Measure.AVAILABILITY:
            metric = FLOW_RUNNING if level.flow else PIPELINE_UP
            kept, measured = _times(history, metric, pipeline, level, since, now)
    return Compliance(pipeline=pipeline, level=level, kept=kept, measured=measured)


def samples_of_levels(found: Iterable[Compliance]) -> Iterator[Sample]:
    """Yield what was measured of promises, in the names of the catalog."""
    for each in found:
        labels = {"pipeline": each.pipeline, "service_level": each.level.name}
        yield sample(TARGET, each.level.share, **labels)
        if each.share is not None and each.budget_left is not None:
            yield sample(COMPLIANCE, each.share, **labels)
            yield sample(BUDGET_LEFT, each.budget_left, **labels)


def within(counts: dict[float, float], threshold: float) -> float:
    """Return how many values are at most `threshold`, given how many are at most each bound.

    Between two bounds values are taken to be spread evenly; those above the last finite bound are
    above the threshold.
    """
    below, count_below = 0.0, 0.0
    for bound, count in sorted(counts.items()):
        if bound >= threshold:
            if math.isinf(bound):
                return count_below
            share = (threshold - below) / (bound - below)
            return count_below + share * (count - count_below)
        below, count_below = bound, count
    return count_below


def _records(
    history: History, pipeline: PipelineName, level: ServiceLevel, since: datetime, until: datetime
) -> tuple[float, float]:
    counts: dict[float, float] = {}
    where = _where(pipeline, level)
    for series in history.series(_BUCKETS, where, since=since, until=until, step=None):
        bound = float(series.label["le"])
        grown = sum(point.growth or 0.0 for point in series.points)
        counts[bound] = counts.get(bound, 0.0) + grown
    total = counts.get(math.inf, 0.0)
    return min(total, within(counts, level.threshold_seconds or 0.0)), total


def _times(
    history: History,
    metric: Metric,
    pipeline: PipelineName,
    level: ServiceLevel,
    since: datetime,
    until: datetime,
) -> tuple[float, float]:
    step = timedelta(minutes=1 if level.over_seconds <= _DAY_SECONDS else 10)
    # Of a whole pipeline each moment is as good as its worst flow.
    kept: dict[datetime, float] = {}
    measured: dict[datetime, float] = {}

    def note(point: Point, share: float) -> None:
        kept[point.at] = min(kept.get(point.at, 1.0), share)
        measured[point.at] = max(measured.get(point.at, 0.0), point.seconds)

    where = _where(pipeline, level)
    for series in history.series(metric.name, where, since=since, until=until, step=step):
        for point in series.points:
            if level.threshold_seconds is None:
                note(point, point.value)
            else:
                note(point, 1.0 if point.high <= level.threshold_seconds else 0.0)
    if metric is FLOW_LAG_SECONDS:
        where = {"pipeline": pipeline}
        for series in history.series(PIPELINE_UP.name, where, since=since, until=until, step=step):
            for point in series.points:
                if point.value < 1:
                    note(point, point.value)
    return sum(kept[at] * seconds for at, seconds in measured.items()), sum(measured.values())


def _where(pipeline: PipelineName, level: ServiceLevel) -> dict[str, str]:
    return {"pipeline": pipeline} | ({"flow": level.flow} if level.flow else {})
