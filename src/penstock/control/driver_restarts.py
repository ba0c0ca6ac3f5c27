"""What follows the end of a detached driver: another start, and when; or the end.

Decisions only: no process, no thread. The clock and the dice are handed in. Flows that fail are
none of it: the driver itself starts them again (`supervision.py`).
"""

from __future__ import annotations

import signal
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.control.kept import START_AGAIN_STATUS, KeeperState

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.control.kept import DriverExit
    from penstock.control.supervision import Dice, RestartPolicy

NO_KAFKA = frozenset({"PEN-401", "PEN-508"})
"""No broker answers, or the local platform is down: waited out, and no failure.

Codes rather than classes: keepers are to stay small, and Kafka's client is not.
"""

UNFORESEEN = frozenset({"PEN-222", "PEN-300", "PEN-900"})
"""A lost lease, Java that did not come up, faults of ours: what has run may well run again."""

_WANTED_STATUS = frozenset({0, 128 + signal.SIGINT})
"""Stopped in good order, by whomever; the second one before the first flow had started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAgain:
    """A driver is to be started after a pause."""

    after_seconds: float
    why: str
    is_restart: bool = True
    """Whether the last one ended by itself, rather than asked to be started again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StayDown:
    """No driver is to be started."""

    state: KeeperState
    why: str


class DriverRestarts:
    """Decides after each end of a driver; for one thread."""

    def __init__(self, policy: RestartPolicy, *, clock: Callable[[], float], dice: Dice) -> None:
        self._policy, self._clock, self._dice = policy, clock, dice
        self._failures: deque[float] = deque()
        self._waits = 0
        self._has_run = False

    def note_running(self) -> None:
        """A driver has come up: whatever ends it from now on is no refused start."""
        self._has_run, self._waits = True, 0

    def after(self, ended: DriverExit) -> StartAgain | StayDown:
        """Return what to do after `ended`."""
        if ended.status in _WANTED_STATUS and ended.error is None:
            return StayDown(state=KeeperState.STOPPED, why="stopped as wanted")
        if ended.status == START_AGAIN_STATUS:
            why = "the driver asked to be started again"
            return StartAgain(after_seconds=0, why=why, is_restart=False)
        if self._is_hopeless(ended):
            return StayDown(state=KeeperState.FAILED, why=ended.reason)
        if ended.error is not None and ended.error.code in NO_KAFKA:
            self._waits += 1
            return self._again(ended, self._waits)
        return self._after_failure(ended)

    def _is_hopeless(self, ended: DriverExit) -> bool:
        """Whether the next driver would only say the same."""
        if ended.error is None:
            return False
        if not self._has_run:
            return True
        code = ended.error.code
        return not (ended.error.retryable or code in UNFORESEEN or code in NO_KAFKA)

    def _after_failure(self, ended: DriverExit) -> StartAgain | StayDown:
        now = self._clock()
        self._failures.append(now)
        while self._failures[0] <= now - self._policy.window_seconds:
            self._failures.popleft()
        count = len(self._failures)
        if count < self._policy.limit:
            return self._again(ended, count)
        times = "once" if count == 1 else f"{count} times"
        window = f"{self._policy.window_seconds:g} s"
        why = f"the driver died {times} within {window}, at last: {ended.reason}"
        return StayDown(state=KeeperState.FAILED, why=why)

    def _again(self, ended: DriverExit, failures: int) -> StartAgain:
        pause = self._policy.pause_seconds(failures, self._dice)
        return StartAgain(after_seconds=pause, why=ended.reason)
