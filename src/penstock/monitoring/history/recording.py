"""Rounds of samples, on their way to rows: what changed, and the sums of minutes and ten minutes.

What a series was is kept in memory until the rows are due, so that a round costs little more than
comparing each value with the one before.
"""

import math
from collections.abc import Iterable, Iterator

from penstock.monitoring.catalog import Labels, MetricName, Sample
from penstock.monitoring.history.series import (
    SAMPLE_SECONDS,
    Row,
    Segment,
    segments_of_rows,
    segments_of_values,
    stepped,
)
from penstock.monitoring.history.storage import MINUTES, RAW, TENS, Tier

GONE_SECONDS = 60
"""A series that no round has named for so long has ended."""

RawRow = tuple[int, int, int, float | None]
SumRow = tuple[int, int, int, float, float | None, float | None, float | None, float | None, float]


class _Living:
    """One series that rounds name: its value, and what is not summed up yet."""

    __slots__ = ("chunk", "minutes", "number", "seen", "value", "values", "written_at")

    def __init__(self, number: int) -> None:
        self.number = number
        self.value: float | None = None
        self.written_at = 0
        self.seen = 0
        self.chunk = -1
        self.values: list[tuple[int, float | None]] | None = None
        """Since the last minute that was summed up, with the one before; None: nothing changed."""
        self.minutes: list[Row] | None = None
        """The same of the last ten minutes."""

    def change(self, at: int, value: float | None) -> None:
        if self.values is None:
            self.values = [] if self.chunk < 0 else [(self.written_at, self.value)]
        elif self.values[-1][0] == at:
            self.values.pop()
        self.values.append((at, value))
        self.value, self.written_at = value, at


class Recording:
    """The living series of one stretch of rounds without a gap."""

    def __init__(self, began: int) -> None:
        self.began, self.until = began, began
        self._summed = {tier: tier.floor(began) for tier in (MINUTES, TENS)}
        self._living: dict[MetricName, dict[Labels, _Living]] = {}

    def latest(self, metric: MetricName) -> Iterator[Sample]:
        """Yield the living series of a metric with their values."""
        for labels, series in list(self._living.get(metric, {}).items()):
            value = series.value
            if value is not None:
                yield Sample(metric=metric, labels=labels, value=value)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the series in memory."""
        for by_labels in self._living.values():
            for series in by_labels.values():
                yield series.number

    def add(self, at: int, samples: Iterable[Sample], numbers: "SeriesNumbers") -> Iterator[RawRow]:
        """Take a round, and yield the values that must be written."""
        self.until, chunk = at, RAW.chunk_of(at)
        living = self._living
        for sample in samples:
            by_labels = living.get(sample.metric)
            if by_labels is None:
                by_labels = living[sample.metric] = {}
            series = by_labels.get(sample.labels)
            if series is None:
                number = numbers.number(sample.metric, sample.labels)
                if number is None:
                    continue
                series = by_labels[sample.labels] = _Living(number)
            value = sample.value
            if value != series.value:
                if not math.isfinite(value):
                    continue
                series.change(at, value)
            elif series.chunk == chunk:
                series.seen = at
                continue
            series.seen, series.chunk = at, chunk
            yield chunk, series.number, at, value

    def ended(self) -> Iterator[RawRow]:
        """Yield the ends of series that rounds name no more."""
        for series in self._each():
            if series.value is not None and series.seen <= self.until - GONE_SECONDS:
                at = max(series.seen + SAMPLE_SECONDS, self._summed[MINUTES])
                series.change(at, None)
                yield RAW.chunk_of(at), series.number, at, None

    def is_due(self, tier: Tier) -> bool:
        """Return whether a minute, or ten, is over and not summed up."""
        return tier.floor(self.until) > self._summed[tier]

    def minutes(self) -> Iterator[SumRow]:
        """Yield the rows of the minutes that are over."""
        since, until = self._summed[MINUTES], MINUTES.floor(self.until)
        ten = TENS.floor(since)
        for series in self._each():
            if series.values is None:
                yield from _unchanged(series, MINUTES, since, until)
                continue
            before = series.values[0]
            segments = segments_of_values(series.values, self.until)
            rows = list(_summed(segments, series.values, MINUTES, since, until))
            if series.minutes is None:
                began = before[0] < since and before[1] is not None
                series.minutes = (
                    [_constant(MINUTES, ten, before[1])] if began and ten < since else []
                )
            series.minutes.extend(rows)
            kept = sum(value[0] >= until for value in series.values)
            series.values = series.values[-kept - 1 :] if kept else None
            for row in rows:
                yield MINUTES.chunk_of(row.at), series.number, *row
        self._summed[MINUTES] = until

    def tens(self) -> Iterator[SumRow]:
        """Yield the rows of the ten minutes that are over; after `minutes`."""
        since, until = self._summed[TENS], TENS.floor(self.until)
        for by_labels in self._living.values():
            for labels, series in list(by_labels.items()):
                if series.minutes is not None:
                    segments = segments_of_rows(series.minutes, MINUTES.resolution, until)
                    ends = [(row.at, row.last) for row in series.minutes]
                    for row in _summed(segments, ends, TENS, since, until):
                        yield TENS.chunk_of(row.at), series.number, *row
                    series.minutes = [row for row in series.minutes if row.at >= until] or None
                else:
                    yield from _unchanged(series, TENS, since, until)
                if series.value is None and series.values is None and series.minutes is None:
                    del by_labels[labels]
        self._summed[TENS] = until

    def _each(self) -> Iterator[_Living]:
        for by_labels in self._living.values():
            yield from by_labels.values()


class SeriesNumbers:
    """Which number stands for which series in the file; numbers are never used twice in a run."""

    def __init__(self, known: Iterable[tuple[int, MetricName, Labels]], *, limit: int) -> None:
        self._limit = limit
        self._numbers: dict[MetricName, dict[Labels, int]] = {}
        self._count = self._highest = 0
        self.new: list[tuple[int, MetricName, Labels]] = []
        """Those that are not in the file yet; whoever writes them empties the list."""
        self.refused = 0
        """How many samples were of series beyond the limit."""
        for number, metric, labels in known:
            self._numbers.setdefault(metric, {})[labels] = number
            self._count, self._highest = self._count + 1, max(self._highest, number)

    def number(self, metric: MetricName, labels: Labels) -> int | None:
        """Return the number of a series, or a new one; None: there are too many."""
        by_labels = self._numbers.setdefault(metric, {})
        number = by_labels.get(labels)
        if number is None:
            if self._count >= self._limit:
                self.refused += 1
                return None
            self._count, self._highest = self._count + 1, self._highest + 1
            number = by_labels[labels] = self._highest
            self.new.append((number, metric, labels))
        return number

    def of(self, metric: MetricName) -> list[tuple[Labels, int]]:
        """Return the series of a metric, living and past."""
        return list(self._numbers.get(metric, {}).items())

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget series that the file has forgotten."""
        gone = set(numbers)
        for by_labels in self._numbers.values():
            for labels in [labels for labels, number in by_labels.items() if number in gone]:
                del by_labels[labels]
        self._count -= len(gone)


def _summed(
    segments: Iterable[Segment],
    ends: Iterable[tuple[int, float | None]],
    tier: Tier,
    since: int,
    until: int,
) -> Iterator[Row]:
    """Yield a row for each step in which a series changed or was measured."""
    size = tier.resolution
    totals = stepped(segments, since=since, until=until, step=size)
    ended_at = {at // size: value for at, value in ends}
    for number in range(since // size, until // size):
        found, ended = totals.get(number), number in ended_at and ended_at[number] is None
        if found is not None:
            last = None if ended else found.last
            seconds, mean = found.seconds, found.mean
            yield Row(number * size, seconds, mean, found.low, found.high, last, found.growth)
        elif ended:
            yield Row(number * size, 0, None, None, None, None, 0.0)


def _constant(tier: Tier, at: int, value: float | None) -> Row:
    return Row(at, tier.resolution, value, value, value, value, 0.0)


def _unchanged(series: _Living, tier: Tier, since: int, until: int) -> Iterator[SumRow]:
    """Yield the row that a chunk must have of a living series at its beginning."""
    first = tier.chunk_of(until - 1) * tier.chunk
    if series.value is not None and since <= first:
        yield tier.chunk_of(first), series.number, *_constant(tier, first, series.value)
