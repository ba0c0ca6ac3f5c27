"""What commands do to the flows of a run, with queries that the test ends as it likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control.command_errors import (
    NotNowError,
    UnknownRunningFlowError,
    WrongStateError,
)
from penstock.control.commands import Kill, Pause, Restart, Resume, Stop
from penstock.control.supervision import FlowState
from penstock.engine.events import (
    FailureClass,
    FlowFailed,
    FlowPaused,
    FlowRestarting,
    FlowStarted,
    FlowStarting,
    FlowStopped,
    KafkaBack,
)
from penstock.names import FlowName
from support.pipeline_events import NOON, HiccupError
from support.staged_runs import A, B, LastingError, Stage
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.commands import FlowCommand


@pytest.fixture
def stage() -> Iterator[Stage]:
    staged = Stage()
    yield staged
    staged.close()


def has_come_to(stage: Stage, flow: FlowName, state: FlowState) -> None:
    eventually(lambda: stage.supervisor.state_of(flow) is state, within_seconds=5)


def flows_of(stage: Stage, kind: type[FlowPaused | FlowStarting | FlowStopped]) -> list[FlowName]:
    """Return the flows of which such an event was told, in its order."""
    return [event.flow for event in stage.events if isinstance(event, kind)]


def begin(stage: Stage) -> None:
    """Return when both flows run."""
    for flow in (A, B):
        stage.query(flow)
        has_come_to(stage, flow, FlowState.RUNNING)


def fail_for_good(stage: Stage, flow: FlowName) -> None:
    stage.query(flow).fail(LastingError())
    has_come_to(stage, flow, FlowState.FAILED)


def test_a_paused_flow_finishes_its_batch_and_rests_while_the_other_goes_on(stage: Stage) -> None:
    begin(stage)
    said = stage.supervisor.command(Pause(flow=A))
    has_come_to(stage, A, FlowState.PAUSED)

    assert said == "pausing `a` after the running batch"
    assert stage.query(A).asked == ["after batch"]
    assert stage.query(B).asked == []
    assert flows_of(stage, FlowPaused) == [A]
    assert (stage.told(FlowStopped), stage.rests) == ([], 0)


def test_a_resumed_flow_is_started_again(stage: Stage) -> None:
    begin(stage)
    stage.supervisor.command(Pause(flow=A))
    has_come_to(stage, A, FlowState.PAUSED)
    said = stage.supervisor.command(Resume(flow=A))
    stage.query(A, 1)
    has_come_to(stage, A, FlowState.RUNNING)

    assert said == "resuming `a`"
    assert flows_of(stage, FlowStarting) == [A]
    assert stage.told(FlowRestarting) == []


def test_a_run_lives_while_all_of_its_flows_are_paused(stage: Stage) -> None:
    begin(stage)
    said = stage.supervisor.command(Pause())
    has_come_to(stage, A, FlowState.PAUSED)
    has_come_to(stage, B, FlowState.PAUSED)
    eventually(lambda: stage.rests == 1, within_seconds=5)
    lived = stage.is_running and stage.supervisor.is_at_rest
    resumed = stage.supervisor.command(Resume())
    stage.query(A, 1)
    stage.query(B, 1)

    assert lived
    assert said == "pausing `a`, `b` after the running batch"
    assert resumed == "resuming `a`, `b`"


def test_resuming_before_the_batch_is_done_starts_the_flow_again_after_it(stage: Stage) -> None:
    begin(stage)
    stage.query(A).finishes_batches = False
    stage.supervisor.command(Pause(flow=A))
    said = stage.supervisor.command(Resume(flow=A))
    stage.query(A).end()
    stage.query(A, 1)

    assert said == "resuming `a` after the running batch"
    assert stage.query(A).asked == ["after batch"]
    assert stage.told(FlowPaused) == []


def test_asking_twice_is_answered_as_done_and_told_once(stage: Stage) -> None:
    begin(stage)
    stage.supervisor.command(Pause(flow=A))
    has_come_to(stage, A, FlowState.PAUSED)

    assert stage.supervisor.command(Pause(flow=A)) == "`a`: paused already"
    assert len(stage.told(FlowPaused)) == 1


def test_a_flow_that_is_being_started_is_paused_when_it_has_begun(stage: Stage) -> None:
    begin(stage)
    stage.may_start.clear()
    stage.query(A).fail(HiccupError())
    has_come_to(stage, A, FlowState.STARTING)
    said = stage.supervisor.command(Pause(flow=A))
    stage.may_start.set()
    has_come_to(stage, A, FlowState.PAUSED)

    assert said == "pausing `a` as soon as it has started"
    assert stage.query(A, 1).asked == ["after batch"]


@pytest.mark.parametrize("command", [Pause(flow=A), Stop(flow=A), Stop()])
def test_a_query_of_which_spark_tells_before_its_start_returns_is_not_forgotten(
    stage: Stage, command: Pause | Stop
) -> None:
    begin(stage)
    stage.may_start.clear()
    stage.query(A).fail(HiccupError())
    has_come_to(stage, A, FlowState.STARTING)
    stage.supervisor.receive(FlowStarted(flow=A, at=NOON, query_id="8f4f", resumed_batch=None))
    has_come_to(stage, A, FlowState.RUNNING)
    stage.supervisor.command(command)
    early = stage.supervisor.state_of(A)
    stage.may_start.set()
    eventually(lambda: stage.query(A, 1).asked == ["after batch"], within_seconds=5)
    has_come_to(stage, A, FlowState.PAUSED if isinstance(command, Pause) else FlowState.STOPPED)

    assert early is FlowState.RUNNING


def test_a_pause_of_a_start_that_is_under_way_can_be_taken_back(stage: Stage) -> None:
    begin(stage)
    stage.may_start.clear()
    stage.query(A).fail(HiccupError())
    has_come_to(stage, A, FlowState.STARTING)
    stage.supervisor.command(Pause(flow=A))
    said = stage.supervisor.command(Resume(flow=A))
    stage.may_start.set()
    has_come_to(stage, A, FlowState.RUNNING)

    assert said == "resuming `a`"
    assert stage.query(A, 1).asked == []


def test_a_flow_that_waits_for_kafka_can_be_paused_and_stays_so(stage: Stage) -> None:
    begin(stage)
    stage.kafka_is_away = True
    stage.query(A).fail(HiccupError(), FailureClass.KAFKA)
    has_come_to(stage, A, FlowState.NO_KAFKA)
    said = stage.supervisor.command(Pause(flow=A))
    stage.supervisor.receive(KafkaBack(at=NOON, away_seconds=1))
    eventually(lambda: stage.told(KafkaBack), within_seconds=5)

    assert said == "paused `a`"
    assert stage.supervisor.state_of(A) is FlowState.PAUSED
    assert len(stage.queries[A]) == 1


def test_a_failure_in_the_last_batch_before_a_pause_is_told_and_left_to_the_resume(
    stage: Stage,
) -> None:
    begin(stage)
    stage.query(A).finishes_batches = False
    stage.supervisor.command(Pause(flow=A))
    stage.query(A).fail(HiccupError())
    has_come_to(stage, A, FlowState.PAUSED)

    assert len(stage.told(FlowFailed)) == 1
    assert stage.told(FlowRestarting) == []


def test_a_failure_in_the_last_batch_before_a_stop_is_told_and_so_is_the_stop_once(
    stage: Stage,
) -> None:
    begin(stage)
    stage.query(A).finishes_batches = False
    stage.supervisor.command(Stop(flow=A))
    stage.query(A).fail(HiccupError())
    has_come_to(stage, A, FlowState.STOPPED)
    stage.supervisor.command(Pause(flow=B))
    has_come_to(stage, B, FlowState.PAUSED)

    assert len(stage.told(FlowFailed)) == 1
    assert len(stage.told(FlowStopped)) == 1


def test_a_flow_that_fails_for_good_in_that_batch_stays_failed(stage: Stage) -> None:
    begin(stage)
    stage.query(A).finishes_batches = False
    stage.supervisor.command(Pause(flow=A))
    fail_for_good(stage, A)

    assert stage.told(FlowPaused) == []
    assert len(stage.told(FlowStopped)) == 1


def test_a_flow_that_is_stopped_alone_keeps_the_run_alive_until_it_is_resumed(
    stage: Stage,
) -> None:
    begin(stage)
    said = stage.supervisor.command(Stop(flow=A))
    has_come_to(stage, A, FlowState.STOPPED)
    stage.query(B).end()
    has_come_to(stage, B, FlowState.FINISHED)
    lived = stage.is_running
    stage.supervisor.command(Resume(flow=A))
    stage.query(A, 1).end()

    assert said == "stopping `a` after the running batch"
    assert lived
    assert stage.end() == {}
    assert flows_of(stage, FlowStopped) == [A, B, A]


def test_the_pause_of_all_leaves_a_stopped_flow_alone_and_so_does_its_end(stage: Stage) -> None:
    begin(stage)
    stage.supervisor.command(Stop(flow=A))
    has_come_to(stage, A, FlowState.STOPPED)
    paused = stage.supervisor.command(Pause())
    has_come_to(stage, B, FlowState.PAUSED)
    resumed = stage.supervisor.command(Resume())

    assert (paused, resumed) == ("pausing `b` after the running batch", "resuming `b`")
    assert stage.supervisor.state_of(A) is FlowState.STOPPED


def test_a_restart_finishes_the_batch_and_starts_again(stage: Stage) -> None:
    begin(stage)
    said = stage.supervisor.command(Restart(flow=A))
    stage.query(A, 1)

    assert said == "restarting `a` after the running batch"
    assert stage.query(A).asked == ["after batch"]
    assert (stage.told(FlowStopped), stage.told(FlowRestarting)) == ([], [])


def test_a_restart_brings_back_a_failed_flow_with_all_of_its_tries(stage: Stage) -> None:
    """Three failures are too many; after the restart there are three again."""
    begin(stage)
    for number in range(3):
        stage.query(A, number).fail(HiccupError())
    has_come_to(stage, A, FlowState.FAILED)
    said = stage.supervisor.command(Restart(flow=A))
    for number in (3, 4):
        stage.query(A, number).fail(HiccupError())
    stage.query(A, 5)

    assert said == "restarting `a`"


def test_a_restart_does_not_wait_for_the_pause_after_a_failure() -> None:
    stage = Stage(first_pause_seconds=60)
    begin(stage)
    stage.query(A).fail(HiccupError())
    has_come_to(stage, A, FlowState.RESTARTING)
    stage.supervisor.command(Restart(flow=A))
    stage.query(A, 1)
    stage.close()


def test_a_killed_flow_stops_in_the_middle_of_its_batch(stage: Stage) -> None:
    begin(stage)
    said = stage.supervisor.command(Kill(flow=A))
    has_come_to(stage, A, FlowState.STOPPED)

    assert said == "stopping `a` at once"
    assert stage.query(A).asked == ["now"]


def test_a_kill_is_stronger_than_a_pause_that_is_under_way(stage: Stage) -> None:
    begin(stage)
    stage.query(A).finishes_batches = False
    stage.supervisor.command(Pause(flow=A))
    stage.supervisor.command(Kill(flow=A))
    has_come_to(stage, A, FlowState.STOPPED)

    assert stage.query(A).asked[-1] == "now"


def test_a_pipeline_that_is_killed_with_a_wait_lets_batches_finish(stage: Stage) -> None:
    begin(stage)
    said = stage.supervisor.command(Kill(wait_seconds=30))

    assert stage.end() == {}
    assert said == "stopping after the running batches, 30 s at most"
    assert [stage.query(flow).asked for flow in (A, B)] == [["after batch"]] * 2


def test_after_the_wait_it_stops_at_once(stage: Stage) -> None:
    begin(stage)
    for flow in (A, B):
        stage.query(flow).finishes_batches = False
    stage.supervisor.command(Kill(wait_seconds=0.3))

    assert stage.end() == {}
    assert [stage.query(flow).asked for flow in (A, B)] == [["after batch", "now"]] * 2


def test_a_kill_without_a_wait_cuts_short_a_stop_that_is_under_way(stage: Stage) -> None:
    begin(stage)
    for flow in (A, B):
        stage.query(flow).finishes_batches = False
    first = stage.supervisor.command(Stop())
    again = stage.supervisor.command(Stop())
    last = stage.supervisor.command(Kill())

    assert stage.end() == {}
    assert (first, again, last) == (
        "stopping after the running batches, 60 s at most",
        "stopping already",
        "stopping at once",
    )


def test_paused_flows_are_stopped_with_the_run(stage: Stage) -> None:
    begin(stage)
    stage.supervisor.command(Pause())
    has_come_to(stage, A, FlowState.PAUSED)
    has_come_to(stage, B, FlowState.PAUSED)
    stage.supervisor.command(Stop())

    assert stage.end() == {}
    assert sorted(flows_of(stage, FlowStopped)) == [A, B]


@pytest.mark.parametrize(
    ("command", "wish"),
    [
        (Pause(flow=A), "paused"),
        (Resume(flow=A), "resumed"),
        (Stop(flow=A), "stopped"),
        (Kill(flow=A), "stopped"),
    ],
    ids=str,
)
def test_what_means_nothing_for_a_failed_flow_is_refused_with_a_way_out(
    stage: Stage, command: FlowCommand, wish: str
) -> None:
    begin(stage)
    fail_for_good(stage, A)

    with pytest.raises(WrongStateError) as refused:
        stage.supervisor.command(command)

    assert refused.value.message == f"flow `a` is failed, so it cannot be {wish}"
    assert "penstock restart PIPELINE --flow a" in refused.value.hint


def test_a_flow_that_runs_cannot_be_resumed(stage: Stage) -> None:
    begin(stage)
    for command in (Resume(flow=A), Resume()):
        with pytest.raises(WrongStateError):
            stage.supervisor.command(command)

    assert stage.query(A).asked == []


def test_a_finished_flow_cannot_be_paused_but_restarted(stage: Stage) -> None:
    begin(stage)
    stage.query(A).end()
    has_come_to(stage, A, FlowState.FINISHED)

    with pytest.raises(WrongStateError):
        stage.supervisor.command(Pause(flow=A))
    stage.supervisor.command(Restart(flow=A))
    stage.query(A, 1)


def test_a_name_that_no_flow_has_is_refused_with_the_nearest(stage: Stage) -> None:
    begin(stage)

    with pytest.raises(UnknownRunningFlowError) as refused:
        stage.supervisor.command(Pause(flow=FlowName("aa")))

    assert refused.value.hint == "did you mean `a`?"


def test_flows_of_a_run_that_is_stopping_take_no_commands(stage: Stage) -> None:
    begin(stage)
    stage.query(A).finishes_batches = False
    stage.supervisor.command(Stop())

    with pytest.raises(NotNowError):
        stage.supervisor.command(Pause(flow=A))
    with pytest.raises(NotNowError):
        stage.supervisor.command(Restart(flow=A))


def test_a_command_that_the_loop_has_not_heard_in_time_is_never_carried_out() -> None:
    """The loop has not begun, as if it hung; whoever asked has been told so."""
    stage = Stage(begin=False)
    with pytest.raises(NotNowError):
        stage.supervisor.command(Pause(flow=A))
    stage.begin()
    begin(stage)

    assert stage.query(A).asked == []
    stage.close()


def test_a_wish_to_stop_that_came_before_the_first_start_starts_nothing() -> None:
    stage = Stage(begin=False)
    stage.supervisor.stop()
    stage.begin()

    assert stage.end() == {}
    assert (len(stage.queries[A]), len(stage.queries[B])) == (0, 0)
    assert len(stage.told(FlowStopped)) == 2
