"""Trends: whether a group catches up or falls behind, over the last minutes."""

from __future__ import annotations

from array import array
from enum import StrEnum

TREND_SECONDS = 600.0
_STEP_SECONDS = 30.0
# Below this share of the lag a change is no direction.
_STEADY_SHARE = 0.01


class Trend(StrEnum):
    """Where the lag of a group goes."""

    GROWING = "growing"
    SHRINKING = "shrinking"
    STEADY = "steady"


class LagHistory:
    """The lag that a group had during the last ten minutes; a kept value is one point, not many."""

    __slots__ = ("_lags", "_times")

    def __init__(self) -> None:
        self._times = array("d")
        self._lags = array("q")

    def note(self, lag: int, *, at: float) -> None:
        """Add a look."""
        if len(self._lags) > 1 and (
            self._lags[-1] == self._lags[-2] == lag
            or self._times[-1] - self._times[-2] < _STEP_SECONDS
        ):
            self._times[-1], self._lags[-1] = at, lag
        else:
            self._times.append(at)
            self._lags.append(lag)
        while len(self._times) > 1 and self._times[1] <= at - TREND_SECONDS:
            del self._times[0], self._lags[0]

    def per_second(self) -> float | None:
        """Return by how many records per second the lag grows; None after one look."""
        if len(self._times) < 2:
            return None
        end = self._times[-1]
        start = max(self._times[0], end - TREND_SECONDS)
        seconds = end - start
        return (self._lags[-1] - self._lags[0]) / seconds if seconds > 0 else None


def trend_of(lag: int, per_second: float | None) -> Trend | None:
    """Return the direction of a lag; None while it is not known."""
    if per_second is None:
        return None
    change = per_second * TREND_SECONDS
    if abs(change) <= max(1.0, lag * _STEADY_SHARE):
        return Trend.STEADY
    return Trend.GROWING if change > 0 else Trend.SHRINKING
