"""Events folded into states, rates and totals."""

from __future__ import annotations

import pytest

from penstock.control import FlowState, FlowStatus, PipelineStatus, Rates, Totals
from penstock.engine.events import (
    DeadLettersWritten,
    FlowIdle,
    FlowPaused,
    FlowRestarting,
    FlowStarted,
    FlowStarting,
    FlowStopped,
    KafkaAway,
    KafkaBack,
    SourceProgress,
)
from penstock.names import DatasetName, FlowName, TopicName
from support.pipeline_events import DETECT, NOON, HiccupError, at, batch, failed, offsets


@pytest.fixture
def flow() -> FlowStatus:
    return FlowStatus(flow=DETECT)


def test_the_state_follows_the_events(flow: FlowStatus) -> None:
    states = [flow.state]
    for event in (
        FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=None),
        FlowIdle(flow=DETECT, at=NOON),
        batch(),
        failed(),
        FlowRestarting(flow=DETECT, at=NOON, attempt=1, after_seconds=2),
        FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=0),
        FlowStopped(flow=DETECT, at=NOON),
        batch(),
    ):
        flow.apply(event)
        states.append(flow.state)

    assert states == [
        "starting",
        "running",
        "idle",
        "running",
        "running",
        "restarting",
        "running",
        "stopped",
        "stopped",
    ]


def test_rates_are_told_apart_by_what_is_read_and_written(flow: FlowStatus) -> None:
    """Of one of two topics nobody counted the records."""
    rows = dict.fromkeys(offsets(0, 0), 30)
    counted = SourceProgress(dataset=DatasetName("lines"), start={}, end={}, rows=rows)
    uncounted = SourceProgress(dataset=DatasetName("more"), start={}, end={})
    written = {"good": 50, "bad": 10}
    for second in (1, 2):
        told = batch(at=at(second), seconds=1, sources=(counted, uncounted), written=written)
        flow.apply(told)

    rates = flow.rates(at(2))

    assert rates.by_source == {"lines": 60}
    assert rates.by_target == {"good": 50, "bad": 10}


def test_a_paused_flow_rests_until_somebody_starts_it(flow: FlowStatus) -> None:
    """Spark may tell of the last batch after the pause."""
    states = []
    for event in (
        FlowPaused(flow=DETECT, at=NOON),
        batch(),
        FlowIdle(flow=DETECT, at=NOON),
        FlowStarting(flow=DETECT, at=NOON),
        FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=0),
    ):
        flow.apply(event)
        states.append(flow.state)

    assert states == ["paused", "paused", "paused", "starting", "running"]


@pytest.mark.parametrize(
    ("stopped", "state"),
    [
        (FlowStopped(flow=DETECT, at=NOON), FlowState.STOPPED),
        (FlowStopped(flow=DETECT, at=NOON, finished=True), FlowState.FINISHED),
        (FlowStopped(flow=DETECT, at=NOON, error=HiccupError()), FlowState.FAILED),
    ],
    ids=["wanted", "read all", "failed"],
)
def test_a_flow_ends_as_the_event_says(
    flow: FlowStatus, stopped: FlowStopped, state: FlowState
) -> None:
    flow.apply(stopped)
    flow.apply(batch())

    assert (flow.state, flow.error) == (state, stopped.error)


def test_totals_add_up_over_restarts(flow: FlowStatus) -> None:
    flow.apply(batch(dropped_late=2, duplicates=4))
    flow.apply(failed())
    flow.apply(FlowRestarting(flow=DETECT, at=NOON, attempt=1, after_seconds=2))
    flow.apply(batch(batch_id=1, input_rows=7, output_rows=0, seconds=0.25))
    flow.apply(
        DeadLettersWritten(
            flow=DETECT,
            at=NOON,
            dataset=DatasetName("lines"),
            topic=TopicName("fraud.deadletters"),
            batch_id=1,
            count=3,
        )
    )

    assert flow.totals == Totals(
        records_in=107,
        records_out=10,
        dead_letters=3,
        batches=2,
        seconds=0.75,
        restarts=1,
        dropped_late=2,
        duplicates=4,
    )


def test_output_that_one_batch_does_not_tell_is_unknown(flow: FlowStatus) -> None:
    flow.apply(batch())
    flow.apply(batch(output_rows=None))
    flow.apply(batch())

    assert flow.totals.records_out is None


def test_an_error_is_over_with_the_next_good_batch(flow: FlowStatus) -> None:
    flow.apply(failed())
    told = flow.error
    flow.apply(batch())

    assert (type(told), flow.error) == (HiccupError, None)


def test_rates_are_means_over_the_batches_of_the_last_seconds(flow: FlowStatus) -> None:
    for second in range(30):
        flow.apply(batch(at=at(second), input_rows=200, output_rows=20, seconds=1))

    # The batches that ended at 19 to 29 s began at 18 s: eleven of them in eleven seconds.
    assert flow.rates(at(29)) == Rates(records_in=200, records_out=20)


def test_rates_of_a_long_batch_count_its_whole_time(flow: FlowStatus) -> None:
    flow.apply(batch(at=at(60), input_rows=6000, output_rows=None, seconds=60))

    assert flow.rates(at(60)) == Rates(records_in=100, records_out=None)


def test_rates_fall_to_zero_when_nothing_comes(flow: FlowStatus) -> None:
    flow.apply(batch(at=at(0)))

    assert flow.rates(at(11)) == Rates(records_in=0, records_out=0)


def test_a_sink_that_never_says_what_it_writes_does_not_say_0_at_rest(flow: FlowStatus) -> None:
    flow.apply(batch(at=at(0), output_rows=None))

    assert flow.rates(at(11)) == Rates(records_in=0, records_out=None)


def test_a_flow_of_long_batches_is_slow_and_not_still(flow: FlowStatus) -> None:
    flow.apply(batch(at=at(30), input_rows=3000, output_rows=30, seconds=30))

    assert flow.rates(at(60)) == Rates(records_in=50, records_out=0.5)
    assert flow.rates(at(91)) == Rates(records_in=0, records_out=0)


def test_the_watermark_is_told_as_a_delay(flow: FlowStatus) -> None:
    delays = [flow.watermark_delay_seconds()]
    for watermark in (None, at(-1e10), at(-90)):
        flow.apply(batch(at=at(0), watermark=watermark))
        delays.append(flow.watermark_delay_seconds())

    assert delays == [None, None, None, 90]


def test_flows_that_run_wait_while_kafka_is_away() -> None:
    done = FlowName("done")
    status = PipelineStatus([DETECT, done])
    status.apply(FlowStopped(flow=done, at=NOON, finished=True))
    status.apply(batch())
    status.apply(KafkaAway(at=NOON, error=HiccupError()))
    away = [status.state_of(DETECT), status.state_of(done)]
    status.apply(KafkaBack(at=at(30), away_seconds=30))

    assert away == [FlowState.NO_KAFKA, FlowState.FINISHED]
    assert status.state_of(DETECT) is FlowState.RUNNING
