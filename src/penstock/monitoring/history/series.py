"""The arithmetic of series: from pieces of time with a value to the points of a graph."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from penstock.monitoring.catalog import Labels, MetricName

SAMPLE_SECONDS = 10
"""How far apart the values of a series usually are.

Values are written down only when they change, so a count that has grown since an earlier row grew
within the last such interval, not over the whole time since."""

Where = Mapping[str, str] | Callable[[Mapping[str, str]], bool]
"""Which series are meant: those with these labels, or those whose labels a function accepts."""


class Row(NamedTuple):
    """What was measured of a series from `at` on, for one resolution of a tier.

    `last` is None when the series ended; the other values are None when there was none at all.
    """

    at: int
    seconds: float
    """For how long there was a value: less than the resolution where a series begins or ends."""

    mean: float | None
    low: float | None
    high: float | None
    last: float | None
    growth: float
    """How much a count grew; meaningless for what goes up and down."""


class Segment(NamedTuple):
    """A piece of time, in seconds since 1970, with what was measured during it."""

    begin: float
    end: float
    mean: float
    low: float
    high: float
    last: float
    growth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What was measured in one step of a graph."""

    at: datetime
    """When the step begins."""

    value: float
    """What a graph shows: the mean over time, and of a count that only grows its growth a second.

    A count that began anew has grown by what it shows since then, never by less than nothing.
    """

    low: float
    high: float
    last: float
    growth: float | None
    """How much a count has grown during the step; None for what goes up and down."""

    seconds: float
    """How much of the step was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The points of one series, in order; a step without values has none."""

    metric: MetricName
    labels: Labels
    points: tuple[Point, ...]

    @property
    def label(self) -> Mapping[str, str]:
        """The labels, by name."""
        return dict(self.labels)


@dataclass(slots=True)
class Totals:
    """What the segments of one step add up to."""

    seconds: float = 0.0
    area: float = 0.0
    low: float = 0.0
    high: float = 0.0
    last: float = 0.0
    last_end: float = 0.0
    growth: float = 0.0

    def add(self, segment: Segment, begin: float, end: float) -> None:
        """Add the part of `segment` from `begin` to `end`, which may not be empty."""
        part = end - begin
        if not self.seconds:
            self.low, self.high = segment.low, segment.high
        else:
            self.low = min(self.low, segment.low)
            self.high = max(self.high, segment.high)
        self.seconds += part
        self.area += part * segment.mean
        if segment.growth:
            self.growth += segment.growth * part / (segment.end - segment.begin)
        if end >= self.last_end:
            self.last, self.last_end = segment.last, end

    @property
    def mean(self) -> float:
        """The mean over time."""
        return self.area / self.seconds


def grown(before: float, after: float) -> float:
    """Return how much a count has grown; one that is smaller than before began anew at 0."""
    return after - before if after >= before else after


def segments_of_values(values: Sequence[tuple[int, float | None]], end: float) -> list[Segment]:
    """Return the segments of a series whose values were written down when they changed.

    Args:
        values: when, in order, and what; None: the series ended.
        end: until when the last value holds.
    """
    if not values:
        return []
    found: list[Segment] = []
    following = [*values[1:], (end, None)]
    for (begin, value), (until, after) in zip(values, following, strict=True):
        if value is None:
            continue
        growth = 0.0 if after is None else grown(value, after)
        since = max(begin, until - SAMPLE_SECONDS) if growth else until
        if since > begin:
            found.append(Segment(begin, since, value, value, value, value, 0.0))
        if until > since:
            found.append(Segment(since, until, value, value, value, value, growth))
    return found


def segments_of_rows(rows: Sequence[Row], resolution: int, end: float) -> list[Segment]:
    """Return the segments of rows that sum up `resolution` seconds each.

    Where a row is missing, the series kept the last value of the row before; `end` is until when
    the last one did.
    """
    if not rows:
        return []
    found: list[Segment] = []
    following = [*(float(row.at) for row in rows[1:]), end]
    for row, until in zip(rows, following, strict=True):
        over = float(row.at + resolution)
        if row.mean is not None and row.low is not None and row.high is not None:
            if row.last is None:
                begin, done, last = float(row.at), row.at + row.seconds, row.mean
            else:
                begin, done, last = over - row.seconds, over, row.last
            found.append(Segment(begin, done, row.mean, row.low, row.high, last, row.growth))
        if row.last is not None and until > over:
            found.append(Segment(over, until, row.last, row.last, row.last, row.last, 0.0))
    return found


def stepped(
    segments: Iterable[Segment], *, since: float, until: float, step: float, origin: float = 0
) -> dict[int, Totals]:
    """Return the totals of each step in which something was measured, by the number of the step.

    Step n begins at `origin + n * step`. What is outside of `since` to `until` is cut off: growth
    in proportion, as if it had been even within its segment.
    """
    totals: dict[int, Totals] = {}
    for segment in segments:
        begin, over = max(segment.begin, since), min(segment.end, until)
        number = int((begin - origin) // step)
        while begin < over:
            edge = origin + (number + 1) * step
            end = min(edge, over)
            if end > begin:
                found = totals.get(number)
                if found is None:
                    found = totals[number] = Totals()
                found.add(segment, begin, end)
            begin, number = max(begin, end), number + 1
    return totals
