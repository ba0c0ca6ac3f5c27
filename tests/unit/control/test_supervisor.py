"""The loop of a run, with queries that the test ends as it likes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from penstock.engine.errors import DriverDiedError
from penstock.engine.events import (
    FailureClass,
    FlowFailed,
    FlowRestarting,
    FlowStopped,
    KafkaBack,
    LookupReloaded,
)
from penstock.names import DatasetName
from support.pipeline_events import NOON, HiccupError, batch
from support.staged_runs import A, B, LastingError, Stage
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def stage() -> Iterator[Stage]:
    staged = Stage()
    yield staged
    staged.close()


def test_a_run_ends_when_all_flows_have_read_all_there_was(stage: Stage) -> None:
    stage.query(A).end()
    stage.query(B).end()

    assert stage.end() == {}
    stopped = [event for event in stage.events if isinstance(event, FlowStopped)]
    assert sorted((event.flow, event.finished) for event in stopped) == [(A, True), (B, True)]


def test_a_failed_flow_starts_again_while_the_other_goes_on(stage: Stage) -> None:
    stage.query(B)
    stage.query(A).fail(HiccupError())
    stage.query(A, 1)

    assert len(stage.queries[B]) == 1
    assert stage.query(B).asked == []
    assert [
        (event.flow, event.attempt) for event in stage.events if isinstance(event, FlowRestarting)
    ] == [(A, 1)]


def test_a_flow_that_fails_too_often_stays_failed_and_is_named_in_the_end(stage: Stage) -> None:
    error = HiccupError()
    for number in range(3):
        stage.query(A, number).fail(error)
    eventually(lambda: stage.told(FlowStopped), within_seconds=5)
    stage.supervisor.stop()

    assert stage.end() == {A: error}
    assert len(stage.queries[A]) == 3
    assert len(stage.told(FlowFailed)) == 3


def test_what_cannot_succeed_is_not_started_again(stage: Stage) -> None:
    stage.query(A).fail(LastingError())
    stage.query(B).end()

    outcome = stage.end()

    assert isinstance(outcome, dict)
    assert list(outcome) == [A]
    assert len(stage.queries[A]) == 1


def test_stopping_lets_batches_finish(stage: Stage) -> None:
    queries = [stage.query(A), stage.query(B)]
    stage.supervisor.stop()

    assert stage.end() == {}
    assert [query.asked for query in queries] == [["after batch"], ["after batch"]]


def test_a_second_wish_stops_at_once(stage: Stage) -> None:
    queries = [stage.query(A), stage.query(B)]
    for query in queries:
        query.finishes_batches = False
    stage.supervisor.stop()
    eventually(lambda: all(query.asked for query in queries), within_seconds=5)
    running_on = stage.is_running
    stage.supervisor.stop()

    assert stage.end() == {}
    assert running_on
    assert [query.asked for query in queries] == [["after batch", "now"]] * 2


def test_a_flow_that_is_being_started_is_stopped_when_it_has_begun() -> None:
    stage = Stage()
    stage.query(B)
    first = stage.query(A)
    stage.may_start.clear()
    first.fail(HiccupError())
    eventually(lambda: stage.told(FlowRestarting), within_seconds=5)
    stage.supervisor.stop()
    stage.may_start.set()

    assert stage.end() == {}
    assert len(stage.told(FlowStopped)) == 2


def test_a_failure_in_the_last_batch_is_told_and_left_to_the_next_run(stage: Stage) -> None:
    stage.query(A).finishes_batches = False
    stage.query(B)
    stage.supervisor.stop()
    eventually(lambda: stage.query(A).asked, within_seconds=5)
    stage.query(A).fail(HiccupError())

    assert stage.end() == {}
    assert len(stage.told(FlowFailed)) == 1


def test_an_outage_of_kafka_is_waited_out_and_costs_no_restarts(stage: Stage) -> None:
    stage.kafka_is_away = True
    for number in range(5):
        stage.query(A, number).fail(HiccupError(), FailureClass.KAFKA)
        eventually(partial(stage.has_failed, number + 1), within_seconds=5)
        stage.supervisor.receive(KafkaBack(at=NOON, away_seconds=1))
    stage.query(A, 5).end()
    stage.query(B).end()

    assert stage.end() == {}
    assert stage.told(FlowRestarting) == []


def test_flows_that_read_what_others_write_come_after_them() -> None:
    stage = Stage(after={B: frozenset({A})})
    stage.query(A)
    waited = len(stage.queries[B]) == 0
    stage.query(A).end()
    stage.query(B).end()

    assert stage.end() == {}
    assert waited


def test_a_flow_that_never_began_is_stopped_too() -> None:
    stage = Stage(after={B: frozenset({A})})
    stage.query(A)
    stage.supervisor.stop()

    assert stage.end() == {}
    assert len(stage.queries[B]) == 0


def test_a_reload_restarts_the_flow_and_tells_why(stage: Stage) -> None:
    reloaded = LookupReloaded(
        flow=A, at=NOON, lookup=DatasetName("blocked"), old_version="1", new_version="2"
    )
    stage.query(A)
    stage.query(B)
    stage.supervisor.reload(A, [reloaded])
    stage.query(A, 1)
    eventually(lambda: stage.told(LookupReloaded), within_seconds=5)

    assert stage.query(A).asked == ["after batch"]
    assert stage.query(B).asked == []
    assert stage.told(FlowStopped) == []


def test_events_are_passed_on_in_their_order(stage: Stage) -> None:
    stage.query(A)
    stage.query(B)
    sent = [batch(flow=A, batch_id=number) for number in range(20)]
    for event in sent:
        stage.supervisor.receive(event)
    eventually(lambda: len(stage.events) >= 20, within_seconds=5)

    assert stage.events == sent


def test_the_end_of_the_jvm_is_the_end_of_the_run(stage: Stage, tmp_path: Path) -> None:
    died = DriverDiedError(status=137, last_words=(), log_file=tmp_path / "log")
    stage.query(B)
    stage.query(A).fail(died, FailureClass.UNKNOWN)

    assert stage.end() is died
