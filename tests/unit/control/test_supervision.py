"""Restarts, pauses and giving up, with a clock that the test turns."""

from __future__ import annotations

import pytest

from penstock.control.supervision import Dice, FlowState, FlowSupervision, RestartPolicy
from penstock.errors import PenstockError


class PassingError(PenstockError):
    code = "PEN-000"
    retryable = True

    def __init__(self) -> None:
        super().__init__("a broker hiccuped", hint="wait")


class LastingError(PassingError):
    retryable = False


class WaitingError(PassingError):
    wait_seconds = 2.0


class Clock:
    """Shows the time that the test has set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def middle(low: float, high: float) -> float:
    return (low + high) / 2


def lowest(low: float, _high: float) -> float:
    return low


def highest(_low: float, high: float) -> float:
    return high


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def flow(clock: Clock) -> FlowSupervision:
    policy = RestartPolicy(limit=3, window_seconds=100)
    return FlowSupervision(policy, clock=clock, dice=middle)


def test_a_flow_that_runs_and_reads_all_goes_between_running_and_idle(
    flow: FlowSupervision,
) -> None:
    states = [flow.state]
    for step in (flow.begin, flow.run, flow.idle, flow.run, flow.finish):
        step()
        states.append(flow.state)

    assert states == ["pending", "starting", "running", "idle", "running", "finished"]


def test_a_failed_flow_is_due_when_its_pause_is_over(flow: FlowSupervision, clock: Clock) -> None:
    flow.fail(PassingError())
    due_at_once = flow.is_due
    clock.now += flow.pause_seconds

    assert (flow.state, due_at_once, flow.is_due) == (FlowState.RESTARTING, False, True)


def test_pauses_double_from_one_second_to_a_minute() -> None:
    policy = RestartPolicy(limit=100, window_seconds=1e9)
    pauses = [policy.pause_seconds(failures, middle) for failures in range(1, 9)]

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.parametrize("failures", [1, 2, 5, 7, 5000])
@pytest.mark.parametrize("dice", [lowest, highest])
def test_dice_never_leave_the_bounds(failures: int, dice: Dice) -> None:
    policy = RestartPolicy(limit=10_000, window_seconds=1)

    assert 1 <= policy.pause_seconds(failures, dice) <= 60


def test_flows_that_fail_together_need_not_come_back_together() -> None:
    policy = RestartPolicy(limit=10, window_seconds=1)

    assert (policy.pause_seconds(4, lowest), policy.pause_seconds(4, highest)) == (6, 10)


def test_too_many_failures_within_the_window_are_the_end(
    flow: FlowSupervision, clock: Clock
) -> None:
    states = []
    for _ in range(3):
        flow.begin()
        flow.run()
        clock.now += 10
        flow.fail(PassingError())
        states.append(flow.state)

    assert states == ["restarting", "restarting", "failed"]
    assert flow.is_over
    assert not flow.is_due


def test_failures_before_the_window_are_forgiven(flow: FlowSupervision, clock: Clock) -> None:
    states = []
    for _ in range(6):
        flow.fail(PassingError())
        states.append((str(flow.state), flow.failures))
        clock.now += 60

    assert states == [("restarting", 1)] + [("restarting", 2)] * 5


def test_what_cannot_succeed_later_is_not_tried_again(flow: FlowSupervision) -> None:
    error = LastingError()
    flow.fail(error)

    assert (flow.state, flow.error) == (FlowState.FAILED, error)


def test_failures_while_no_broker_answers_do_not_count(flow: FlowSupervision, clock: Clock) -> None:
    for _ in range(10):
        flow.fail(PassingError(), kafka_is_away=True)
        clock.now += 1

    assert (flow.state, flow.failures, flow.is_due) == (FlowState.NO_KAFKA, 0, False)


def test_a_flow_that_waited_for_kafka_is_due_as_soon_as_it_is_back(flow: FlowSupervision) -> None:
    flow.fail(PassingError(), kafka_is_away=True)
    flow.kafka_is_back()

    assert flow.is_due


def test_a_flow_that_pauses_for_another_reason_is_not_hurried_by_kafka(
    flow: FlowSupervision,
) -> None:
    flow.fail(PassingError())
    flow.kafka_is_back()

    assert not flow.is_due


def test_a_lasting_fault_is_the_end_even_while_kafka_is_away(flow: FlowSupervision) -> None:
    flow.fail(LastingError(), kafka_is_away=True)

    assert flow.state is FlowState.FAILED


def test_stopping_leaves_a_failed_flow_failed(flow: FlowSupervision) -> None:
    flow.fail(LastingError())
    flow.stop()

    assert flow.state is FlowState.FAILED


def test_a_late_word_of_a_batch_does_not_wake_a_stopped_flow(flow: FlowSupervision) -> None:
    flow.begin()
    flow.stop()
    flow.run()
    flow.idle()

    assert flow.state is FlowState.STOPPED


def test_a_pausing_flow_that_is_stopped_is_never_due(flow: FlowSupervision, clock: Clock) -> None:
    flow.fail(PassingError())
    flow.stop()
    clock.now += 1000

    assert not flow.is_due


def test_what_is_waited_for_does_not_count_however_long_it_takes(
    flow: FlowSupervision, clock: Clock
) -> None:
    for _ in range(50):
        flow.begin()
        flow.fail(WaitingError())
        assert (flow.state, flow.failures, flow.pause_seconds) == (FlowState.RESTARTING, 0, 2)
        assert not flow.is_due
        clock.now += 2
        assert flow.is_due
