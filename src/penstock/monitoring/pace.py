"""When a sampler looks next: seldom enough to take no more than its share of a processor."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PAUSE_PER_SECOND = 100.0
"""A look that took a second of processor time is followed by none for so long: 1 % of a core."""

_FOLLOWED_PAUSE_PER_SECOND = 10.0
"""The same while somebody waits for what changes: 10 % of a core."""


class Pace:
    """Says when it is time; belongs to one thread, but for `hasten`."""

    def __init__(
        self,
        *,
        is_followed: Callable[[], bool] = lambda: False,
        pause_per_second: float = _PAUSE_PER_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Let the first look be due; `is_followed` says whether somebody waits for the next one."""
        self._is_followed, self._pause_per_second, self._clock = (
            is_followed,
            pause_per_second,
            clock,
        )
        self._ended_at, self._cost, self._is_hastened = float("-inf"), 0.0, False

    @property
    def is_due(self) -> bool:
        """Whether it is time for another look."""
        share = _FOLLOWED_PAUSE_PER_SECOND if self._is_followed() else self._pause_per_second
        return self._is_hastened or self._clock() >= self._ended_at + self._cost * share

    def hasten(self) -> None:
        """Let the next look come whenever it may: somebody has just changed something.

        A look that is under way may have missed the change: there is another one after it.
        """
        self._is_hastened = True

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the look that the block makes; one that fails may be repeated at once."""
        self._is_hastened = False
        started = time.thread_time()
        try:
            yield
        except BaseException:
            self._is_hastened = True
            raise
        self._cost, self._ended_at = time.thread_time() - started, self._clock()
