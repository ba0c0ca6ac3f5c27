"""How long records took from their timestamp to the commit of the batch that read them.

Of each batch a few moments are known: the first and the last timestamp, and those before which some
share of a sample was stamped. Between them the share is taken to grow evenly, so a batch is a
broken line from the youngest record to the oldest, and costs the same whatever its size.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the fields' types
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from penstock.engine.events import BatchFinished, RecordTimes

BOUNDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0),
)
"""Seconds up to which a latency is counted; slower ones are in the count alone."""

QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRecord:
    """The latencies of a flow since its driver began, and the quantiles of its last batch."""

    counts: tuple[int, ...]
    """How many records took at most as long as each of `BOUNDS` says."""

    count: int
    seconds: float
    """Of all records together."""

    quantiles: Mapping[str, float]
    """By share: the seconds within which that share of the last batch was committed."""


@dataclass(frozen=True, slots=True)
class _Line:
    """Which share of records took at most how many seconds; both grow from 0 to 1."""

    seconds: tuple[float, ...]
    shares: tuple[float, ...]

    def share_within(self, seconds: float) -> float:
        after = bisect_right(self.seconds, seconds)
        return _between(self.seconds, self.shares, after, seconds)

    def within(self, share: float) -> float:
        return _between(self.shares, self.seconds, bisect_left(self.shares, share), share)

    @property
    def mean(self) -> float:
        corners = pairwise(zip(self.seconds, self.shares, strict=True))
        return sum((a + b) / 2 * (upper - lower) for (a, lower), (b, upper) in corners)


def _between(known: Sequence[float], wanted: Sequence[float], after: int, at: float) -> float:
    """Return the value at `at`, which lies before the point `after`, or beyond an end."""
    if after == 0:
        return wanted[0]
    if after == len(known):
        return wanted[-1]
    before = after - 1
    part = (at - known[before]) / (known[after] - known[before])
    return wanted[before] + part * (wanted[after] - wanted[before])


def _line_of(times: RecordTimes, committed: datetime) -> _Line:
    moments = {0.0: times.first} | dict(times.shares) | {1.0: times.last}
    # The newest records are the quickest; clocks may differ, but nothing is committed before it is.
    ages = [
        (max(0.0, (committed - moment).total_seconds()), 1 - share)
        for share, moment in sorted(moments.items(), reverse=True)
    ]
    return _Line(tuple(age for age, _ in ages), tuple(share for _, share in ages))


def _mixed(lines: Sequence[tuple[_Line, int]]) -> tuple[_Line, int]:
    """Return the line of all these together, and of how many records it is."""
    rows = sum(weight for _, weight in lines)
    if len(lines) == 1:
        return lines[0][0], rows
    corners = sorted({seconds for line, _ in lines for seconds in line.seconds})
    shares = [
        sum(line.share_within(seconds) * weight for line, weight in lines) / rows
        for seconds in corners
    ]
    return _Line((corners[0], *corners), (0.0, *shares)), rows


@dataclass(slots=True)
class LatencyHistogram:
    """Counts the latencies of batch after batch."""

    _counts: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    _count: int = 0
    _seconds: float = 0
    _quantiles: dict[str, float] = field(default_factory=dict)

    def add(self, batch: BatchFinished) -> None:
        """Count the records of a batch; one whose timestamps are not known changes nothing."""
        lines = [
            (_line_of(source.times, batch.at), sum(source.rows.values()))
            for source in batch.sources
            if source.times is not None and source.rows
        ]
        if not lines:
            return
        line, rows = _mixed(lines)
        self._counts = [
            count + round(line.share_within(bound) * rows)
            for count, bound in zip(self._counts, BOUNDS, strict=True)
        ]
        self._count += rows
        self._seconds += line.mean * rows
        self._quantiles = {f"{share:g}": line.within(share) for share in QUANTILES}

    @property
    def record(self) -> LatencyRecord | None:
        """What is known so far; None before the first batch with timestamps."""
        if self._count == 0:
            return None
        return LatencyRecord(
            counts=tuple(self._counts),
            count=self._count,
            seconds=self._seconds,
            quantiles=dict(self._quantiles),
        )
