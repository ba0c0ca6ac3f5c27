"""What becomes of a flow that fails, or of which somebody wants something.

Decisions only: no thread, no Spark, no Kafka. The clock and the dice are handed in, so that an
hour of failures is a test of microseconds. Who acts on the decisions is in `running.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.errors import PenstockError


class Dice(Protocol):
    """Like `random.uniform`."""

    def __call__(self, low: float, high: float, /) -> float:
        """Return a number between the two."""


class FlowState(StrEnum):
    """Where a flow is in its life, in the words that users read."""

    PENDING = "pending"
    """Other flows that write what it reads must finish first; only with `--once`."""

    STARTING = "starting"
    RUNNING = "running"
    IDLE = "idle"
    """It runs, and there is nothing to read."""

    RESTARTING = "restarting"
    """It failed, and a pause goes by before the next start."""

    NO_KAFKA = "no kafka"
    """It waits until a broker answers."""

    PAUSED = "paused"
    """Somebody wanted it to rest; it goes on where it was when it is resumed."""

    STOPPED = "stopped"
    """Somebody wanted it to stop."""

    FAILED = "failed"
    """It will not be started again."""

    FINISHED = "finished"
    """It has read all there was."""

    LOST = "lost"
    """Its driver has fallen silent. No record says so: whoever reads concludes it."""


OVER = frozenset({FlowState.STOPPED, FlowState.FAILED, FlowState.FINISHED})

AT_REST = OVER | {FlowState.PAUSED}
"""States without a query, now and until somebody wants one."""


class Wish(StrEnum):
    """What somebody wants to become of a flow once no query of it runs."""

    PAUSE = "pausing"
    STOP = "stopping"
    RESTART = "restarting"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How often and how soon a failed flow is started again."""

    limit: int
    """So many failures within the window are too many."""

    window_seconds: float
    first_pause_seconds: float = 1
    longest_pause_seconds: float = 60

    def pause_seconds(self, failures: int, dice: Dice) -> float:
        """Return the pause after the failure of that number: twice the last one, give or take.

        The dice keep flows that failed together from coming back together.
        """
        doubled = self.first_pause_seconds * 2.0 ** min(failures - 1, 30)
        rolled = min(doubled, self.longest_pause_seconds) * dice(0.75, 1.25)
        return min(max(rolled, self.first_pause_seconds), self.longest_pause_seconds)


class FlowSupervision:
    """The state of one flow, and what is to be done about its failures."""

    def __init__(self, policy: RestartPolicy, *, clock: Callable[[], float], dice: Dice) -> None:
        self.state = FlowState.PENDING
        self.error: PenstockError | None = None
        """Why it failed last."""
        self.pause_seconds = 0.0
        """The pause before the next start, while `RESTARTING`."""
        self.wish: Wish | None = None
        """What is to become of it when its query has ended; None: what the run decides."""
        self.is_held = False
        """Stopped alone, while the run goes on: it may be started again."""
        self._policy, self._clock, self._dice = policy, clock, dice
        self._failures: list[float] = []
        self._start_at = 0.0

    @property
    def is_over(self) -> bool:
        """Whether it will not run again."""
        return self.state in OVER

    @property
    def failures(self) -> int:
        """How often it has failed within the window."""
        since = self._clock() - self._policy.window_seconds
        return sum(1 for moment in self._failures if moment > since)

    @property
    def is_due(self) -> bool:
        """Whether the pause is over and it should be started."""
        return self.state is FlowState.RESTARTING and self._clock() >= self._start_at

    def begin(self) -> None:
        """A start is under way."""
        self.state, self.is_held = FlowState.STARTING, False

    def run(self) -> None:
        """Its query runs, or has finished a batch, of which Spark may tell after its end."""
        if self.state not in AT_REST:
            self.state = FlowState.RUNNING

    def idle(self) -> None:
        """Its query found nothing to read."""
        if self.state in (FlowState.STARTING, FlowState.RUNNING):
            self.state = FlowState.IDLE

    def fail(self, error: PenstockError, *, kafka_is_away: bool = False) -> None:
        """Its query has ended with `error`: wait for Kafka, pause, or give up.

        While no broker or no registry answers, failures are nobody's fault and do not count.
        """
        self.error = error
        if kafka_is_away and error.retryable:
            self.state = FlowState.NO_KAFKA
            return
        if error.wait_seconds is not None:
            self.pause_seconds = error.wait_seconds
            self._restart_in(error.wait_seconds)
            return
        self._failures.append(self._clock())
        if not error.retryable or self.failures >= self._policy.limit:
            self.state = FlowState.FAILED
            return
        self.pause_seconds = self._policy.pause_seconds(self.failures, self._dice)
        self._restart_in(self.pause_seconds)

    def kafka_is_back(self) -> None:
        """Brokers answer again: what waited for them is due now."""
        if self.state is FlowState.NO_KAFKA:
            self.restart_now()

    def restart_now(self) -> None:
        """It is due without a pause, and that is no failure."""
        self._restart_in(0)

    def stop(self) -> None:
        """It has stopped because somebody wanted that; what had failed for good stays so."""
        if not self.is_over:
            self.state = FlowState.STOPPED

    def fulfil(self) -> bool:
        """No query runs, so do what is wished; return whether that changes anything.

        What has failed for good stays so, unless a restart is wished; then failures are forgotten.
        """
        before, wish = self.state, self.wish
        self.wish = None
        match wish:
            case Wish.RESTART:
                self._failures.clear()
                self.restart_now()
            case Wish.PAUSE if not self.is_over:
                self.state = FlowState.PAUSED
            case Wish.STOP if not self.is_over:
                self.state, self.is_held = FlowState.STOPPED, True
            case Wish.PAUSE | Wish.STOP | None:
                pass
            case _:
                assert_never(wish)
        return self.state is not before

    def finish(self) -> None:
        """It has read all there was."""
        self.state = FlowState.FINISHED

    def _restart_in(self, seconds: float) -> None:
        self.state = FlowState.RESTARTING
        self._start_at = self._clock() + seconds
