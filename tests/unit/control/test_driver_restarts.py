"""What follows the end of a detached driver, over hours of a clock that only the test moves."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from penstock.cli.main import BugError
from penstock.control.driver_restarts import (
    NO_KAFKA,
    UNFORESEEN,
    DriverRestarts,
    StartAgain,
    StayDown,
)
from penstock.control.errors import LeaseLostError
from penstock.control.kept import DriverExit, KeeperState, ToldError
from penstock.control.supervision import RestartPolicy
from penstock.engine.errors import DriverNotStartedError
from penstock.kafka import ClusterUnreachableError
from penstock.local import PlatformNotRunningError

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
KILLED = -signal.SIGKILL


class Restarts:
    """The decisions, with a clock that the test moves and dice that show the middle."""

    def __init__(
        self, *, limit: int = 3, window_seconds: float = 600, has_run: bool = True
    ) -> None:
        self.now = 0.0
        policy = RestartPolicy(limit=limit, window_seconds=window_seconds)
        self.decide = DriverRestarts(policy, clock=lambda: self.now, dice=lambda _low, _high: 1.0)
        if has_run:
            self.decide.note_running()

    def after(self, status: int, error: ToldError | None = None) -> StartAgain | StayDown:
        return self.decide.after(DriverExit(at=NOON, status=status, error=error))

    def pauses(self, count: int, status: int, error: ToldError | None = None) -> list[float]:
        decisions = [self.after(status, error) for _ in range(count)]
        return [item.after_seconds for item in decisions if isinstance(item, StartAgain)]


def told(code: str, *, retryable: bool = False) -> ToldError:
    return ToldError(code=code, message="it broke", hint="mend it", retryable=retryable)


@pytest.mark.parametrize("status", [0, 130])
def test_a_driver_that_was_stopped_stays_stopped(status: int) -> None:
    assert Restarts().after(status) == StayDown(state=KeeperState.STOPPED, why="stopped as wanted")


def test_a_driver_that_asks_for_it_is_started_again_at_once_and_as_often_as_it_likes() -> None:
    restarts = Restarts(limit=0)

    assert restarts.pauses(10, 75) == [0.0] * 10
    assert restarts.after(75) == StartAgain(
        after_seconds=0, why="the driver asked to be started again", is_restart=False
    )


def test_a_driver_that_was_killed_is_started_again_after_growing_pauses() -> None:
    assert Restarts(limit=9).pauses(8, KILLED) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_driver_that_dies_too_often_in_the_window_stays_failed() -> None:
    restarts = Restarts(limit=3, window_seconds=600)

    assert restarts.pauses(2, KILLED) == [1, 2]
    assert restarts.after(KILLED) == StayDown(
        state=KeeperState.FAILED,
        why="the driver died 3 times within 600 s, at last: killed by SIGKILL",
    )


def test_deaths_before_the_window_do_not_count() -> None:
    restarts = Restarts(limit=3, window_seconds=600)
    restarts.pauses(2, KILLED)

    restarts.now = 601

    assert restarts.pauses(2, KILLED) == [1, 2]


def test_with_a_limit_of_0_no_death_is_followed_by_a_start() -> None:
    assert Restarts(limit=0).after(KILLED) == StayDown(
        state=KeeperState.FAILED,
        why="the driver died once within 600 s, at last: killed by SIGKILL",
    )


def test_a_start_that_is_refused_is_not_tried_again_even_if_the_cause_may_pass() -> None:
    refused = Restarts(has_run=False).after(1, told("PEN-401", retryable=True))

    assert refused == StayDown(state=KeeperState.FAILED, why="[PEN-401] it broke")


def test_a_driver_that_is_killed_while_it_starts_is_started_again() -> None:
    assert Restarts(has_run=False).pauses(1, KILLED) == [1]


@pytest.mark.parametrize(
    ("code", "retryable", "pauses"),
    [
        ("PEN-301", True, [1, 2]),  # Java died
        ("PEN-300", False, [1, 2]),  # Java did not come up
        ("PEN-222", False, [1, 2]),  # it was frozen for too long
        ("PEN-900", False, [1, 2]),  # a fault of ours
        ("PEN-220", False, []),  # all flows have failed for good
        ("PEN-221", False, []),  # another driver runs the pipeline
    ],
)
def test_an_error_is_tried_again_when_it_may_pass(
    code: str, pauses: list[float], *, retryable: bool
) -> None:
    restarts = Restarts(limit=3)

    assert restarts.pauses(3, 1, told(code, retryable=retryable)) == pauses


@pytest.mark.parametrize("code", ["PEN-401", "PEN-508"])
def test_a_missing_kafka_is_waited_out_without_end(code: str) -> None:
    restarts = Restarts(limit=1)

    assert restarts.pauses(50, 1, told(code, retryable=True))[-1] == 60


def test_waiting_for_kafka_begins_with_short_pauses_each_time() -> None:
    restarts = Restarts()
    restarts.pauses(10, 1, told("PEN-401", retryable=True))

    restarts.decide.note_running()

    assert restarts.pauses(1, 1, told("PEN-401", retryable=True)) == [1]


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (0, None, "ended as wanted"),
        (75, None, "asked to be started again"),
        (1, None, "exit status 1"),
        (-9, None, "killed by SIGKILL"),
        (1, told("PEN-301"), "[PEN-301] it broke"),
    ],
)
def test_the_reason_of_an_exit_is_a_sentence(
    status: int, error: ToldError | None, reason: str
) -> None:
    assert DriverExit(at=NOON, status=status, error=error).reason == reason


def test_codes_are_those_of_the_errors_that_are_meant() -> None:
    assert {ClusterUnreachableError.code, PlatformNotRunningError.code} == NO_KAFKA
    assert {LeaseLostError.code, DriverNotStartedError.code, BugError.code} == UNFORESEEN


def test_a_keeper_loads_neither_a_client_nor_spark() -> None:
    program = (
        "import sys, penstock.control.keeper\n"
        "print(sorted({'confluent_kafka', 'pydantic', 'pyspark', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
