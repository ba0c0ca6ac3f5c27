"""Verdicts on groups without thresholds, after Burrow: how commits and lag move over a window.

A lag of a million may be fine, and one of ten a fault: what counts is whether the group gets on.
"""

from __future__ import annotations

from array import array
from enum import StrEnum

WINDOW_SECONDS = 300.0
_STEP_SECONDS = 30.0


class Verdict(StrEnum):
    """How a group gets on, from the best to the worst."""

    OK = "ok"
    WARN = "warn"
    """It reads, and falls further behind at every look."""

    STALL = "stall"
    """It commits the same position again and again while records wait."""

    STOP = "stop"
    """It has committed nothing for the whole window while records wait."""

    ERR = "err"
    """Retention has deleted records that it has not read."""

    @property
    def rank(self) -> int:
        """Higher is worse."""
        return _RANKS[self]


_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}


class Window:
    """What was seen of a group in a partition since it was last at the end, at most five minutes.

    All moments are seconds since 1970.
    """

    __slots__ = ("_at_end", "_lags", "_offsets", "_times")

    def __init__(self) -> None:
        self._times = array("d")
        self._offsets = array("q")
        self._lags = array("q")
        self._at_end = False

    def note(self, *, offset: int, lag: int, at: float) -> None:
        """Add a look: the first, and then one in half a minute. Without lag it begins anew."""
        if lag == 0:
            self._at_end = True
            del self._times[:], self._offsets[:], self._lags[:]
            return
        if self._times and at - self._times[-1] < _STEP_SECONDS:
            return
        self._times.append(at)
        self._offsets.append(offset)
        self._lags.append(lag)
        while at - self._times[0] > WINDOW_SECONDS + _STEP_SECONDS:
            del self._times[0], self._offsets[0], self._lags[0]

    def verdict(self, *, committed_at: float, since: float | None, at: float) -> Verdict:
        """Return how the group gets on here; `OK` until enough was seen.

        Args:
            committed_at: when it committed last.
            since: the timestamp of the first record that it has not read, if that is known. It
                counts for groups that were never seen at the end: those that were, wait since then.
            at: now.
        """
        if not self._times:
            return Verdict.OK
        began = self._times[0]
        waiting = at - (began if since is None or self._at_end else min(since, began))
        if min(at - committed_at, waiting) >= WINDOW_SECONDS:
            return Verdict.STOP
        if at - began < WINDOW_SECONDS:
            return Verdict.OK
        if len(set(self._offsets)) == 1:
            return Verdict.STALL
        falling = all(a <= b for a, b in zip(self._lags, self._lags[1:], strict=False))
        return Verdict.WARN if falling and self._lags[-1] > self._lags[0] else Verdict.OK
