"""What a metric is: a name, what it counts, and by which labels its series are told apart."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

MetricName = NewType("MetricName", str)
"""As Prometheus writes it: the unit at its end, and `_total` after what only grows."""

Labels = tuple[tuple[str, str], ...]
"""The labels of a series with their values, sorted by label."""


class MetricKind(StrEnum):
    """How the values of a metric follow each other, in Prometheus' words."""

    COUNTER = "counter"
    """Only grows, and begins anew at 0 with the process that counts."""

    GAUGE = "gauge"
    """Goes up and down."""

    HISTOGRAM = "histogram"
    """Counts by upper bound, which only grow: see `histogram_samples`."""


class Unit(StrEnum):
    """What the values of a metric are numbers of."""

    RECORDS = "records"
    RECORDS_PER_SECOND = "records per second"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes per second"
    SECONDS = "seconds"
    RATIO = "ratio"
    """A share: 1 is all of it."""

    COUNT = "count"
    PER_SECOND = "per second"
    OFFSET = "offset"
    BOOLEAN = "0 or 1"

    @property
    def per_second(self) -> "Unit":
        """The unit of how fast a count of these grows."""
        return _PER_SECOND.get(self, self)


_PER_SECOND = {
    Unit.RECORDS: Unit.RECORDS_PER_SECOND,
    Unit.BYTES: Unit.BYTES_PER_SECOND,
    Unit.COUNT: Unit.PER_SECOND,
    Unit.SECONDS: Unit.RATIO,  # seconds that pass in a second, such as of work
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One entry of the catalog."""

    name: MetricName
    kind: MetricKind
    unit: Unit
    meaning: str
    """One sentence for whoever reads a graph of it."""

    labels: tuple[str, ...] = ()

    @property
    def series(self) -> Mapping[MetricName, tuple[str, ...]]:
        """The names that its samples have, each with its labels: of a histogram there are three."""
        if self.kind is not MetricKind.HISTOGRAM:
            return {self.name: self.labels}
        return {
            MetricName(f"{self.name}_bucket"): (*self.labels, "le"),
            MetricName(f"{self.name}_sum"): self.labels,
            MetricName(f"{self.name}_count"): self.labels,
        }

    @property
    def grows(self) -> bool:
        """Whether its values are counts that only grow, so that a graph shows how fast they do."""
        return self.kind is not MetricKind.GAUGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of one series."""

    metric: MetricName
    """The name of a metric, or of one of the series of a histogram."""

    labels: Labels
    value: float


def sample(metric: Metric, value: float, /, **labels: str) -> Sample:
    """Return a value of `metric`, whose labels must be those that the catalog says.

    Raises:
        ValueError: they are not.
    """
    if set(labels) != set(metric.labels):
        reason = f"`{metric.name}` has the labels {metric.labels}, not {tuple(labels)}"
        raise ValueError(reason)
    return Sample(metric=metric.name, labels=tuple(sorted(labels.items())), value=value)


def histogram_samples(
    metric: Metric, buckets: Mapping[float, float], total: float, /, **labels: str
) -> Iterator[Sample]:
    """Return the samples of one histogram.

    Args:
        metric: an entry of the catalog that is a histogram.
        buckets: how many values are at most as large as each bound; each count includes those
            of the lower bounds, and the count of the bound infinity, all values, must be there.
        total: the sum of all values.
        labels: those of the metric, without `le`.

    Raises:
        ValueError: they are not those of the metric, or infinity is missing.
    """
    if math.inf not in buckets:
        reason = f"the buckets of `{metric.name}` end at {max(buckets, default=0)}, not at infinity"
        raise ValueError(reason)
    plain = sample(metric, total, **labels).labels
    bucket, sum_name, count_name = metric.series
    for bound, count in sorted(buckets.items()):
        with_bound = tuple(sorted((*plain, ("le", bound_text(bound)))))
        yield Sample(metric=bucket, labels=with_bound, value=count)
    yield Sample(metric=sum_name, labels=plain, value=total)
    yield Sample(metric=count_name, labels=plain, value=buckets[math.inf])


def bound_text(bound: float) -> str:
    """Return the value of the label `le`, as Prometheus writes it."""
    return "+Inf" if bound == math.inf else repr(float(bound))


def gauge(name: str, unit: Unit, meaning: str, *labels: str) -> Metric:
    """Return a metric that goes up and down."""
    return _metric(MetricKind.GAUGE, name, unit, meaning, labels)


def counter(name: str, unit: Unit, meaning: str, *labels: str) -> Metric:
    """Return a metric that only grows."""
    return _metric(MetricKind.COUNTER, name, unit, meaning, labels)


def histogram(name: str, unit: Unit, meaning: str, *labels: str) -> Metric:
    """Return a metric that counts by upper bound; `labels` without `le`."""
    return _metric(MetricKind.HISTOGRAM, name, unit, meaning, labels)


def _metric(
    kind: MetricKind, name: str, unit: Unit, meaning: str, labels: tuple[str, ...]
) -> Metric:
    return Metric(name=MetricName(name), kind=kind, unit=unit, meaning=meaning, labels=labels)
