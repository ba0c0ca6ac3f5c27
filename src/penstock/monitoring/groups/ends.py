"""How a partition has grown: the ends it had, from which an offset's time of arrival follows.

Lag exporters do the same: the record at an offset came between two looks at the end, one before and
one behind it. So the lag of a moving group in seconds costs no reading of records.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

# Dense where groups move, sparse behind: 64 points are a kilobyte, and at one look in ten seconds
# they reach back for more than an hour.
_POINTS = 64
RATE_SECONDS = 600.0


class EndHistory:
    """The ends that a partition had, and when; times are seconds since 1970."""

    __slots__ = ("_ends", "_times", "changed_at", "end", "first")

    def __init__(self) -> None:
        self._times = array("d")
        self._ends = array("q")
        self.end: int | None = None
        """The end at the last look; None when there is no such partition any more."""

        self.first: int | None = None
        """The first offset that is left, when that was asked last."""

        self.changed_at = 0.0
        """When one of the two was seen to be another than before."""

    def note_first(self, first: int, *, at: float) -> None:
        """Set the first offset that is left."""
        if first != self.first:
            self.first, self.changed_at = first, at

    def note(self, end: int, *, at: float) -> None:
        """Add a look at the end."""
        if end != self.end:
            self.changed_at = at
        if self.end is not None and end < self.end:  # another topic of the same name
            del self._times[:], self._ends[:]
            self.first = None
        self.end = end
        if len(self._ends) > 1 and self._ends[-1] == self._ends[-2] == end:
            self._times[-1] = at  # still the same: what comes next came after this look
            return
        self._times.append(at)
        self._ends.append(end)
        if len(self._ends) > _POINTS:
            # Every second point of the older half goes; the first stays, it is how far back we see.
            half = _POINTS // 2
            del self._times[1:half:2], self._ends[1:half:2]

    def arrival(self, offset: int) -> float | None:
        """Return when the record at `offset` came; None when that was before the first look.

        None as well when there is no such record yet.
        """
        index = bisect_right(self._ends, offset)
        if index == 0 or index == len(self._ends):
            return None
        before, after = self._ends[index - 1], self._ends[index]
        share = (offset - before) / (after - before)
        return self._times[index - 1] + share * (self._times[index] - self._times[index - 1])

    def rate(self) -> float | None:
        """Return the records per second of the last ten minutes; None after one look."""
        if len(self._times) < 2 or self.end is None:
            return None
        start = max(0, bisect_right(self._times, self._times[-1] - RATE_SECONDS) - 1)
        seconds = self._times[-1] - self._times[start]
        return (self._ends[-1] - self._ends[start]) / seconds if seconds > 0 else None
