"""The events of a run folded into what its driver publishes; no clock, no Kafka."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from penstock.control.status_fold import Identity, StatusFold, state_while_running, why_of
from penstock.control.status_records import (
    ErrorRecord,
    LagRecord,
    PipelineState,
    decode_status,
    encode_status,
)
from penstock.control.supervision import FlowState
from penstock.engine.events import (
    FlowIdle,
    FlowPaused,
    FlowRestarting,
    FlowStarted,
    FlowStopped,
    KafkaAway,
    KafkaBack,
)
from penstock.names import FlowName
from support.drivers import SHOP, driver
from support.pipeline_events import DETECT, NOON, HiccupError, at, batch, failed, lag

COUNT = FlowName("count")

PENDING, STARTING, RUNNING = FlowState.PENDING, FlowState.STARTING, FlowState.RUNNING
IDLE, RESTARTING, NO_KAFKA = FlowState.IDLE, FlowState.RESTARTING, FlowState.NO_KAFKA
PAUSED, STOPPED = FlowState.PAUSED, FlowState.STOPPED
FAILED, FINISHED = FlowState.FAILED, FlowState.FINISHED


@pytest.mark.parametrize(
    ("flows", "state", "why"),
    [
        ([], PipelineState.STARTING, None),
        ([STARTING, STARTING], PipelineState.STARTING, None),
        ([STARTING, PENDING], PipelineState.STARTING, None),
        ([RUNNING, STARTING], PipelineState.RUNNING, None),
        ([RUNNING, RUNNING], PipelineState.RUNNING, None),
        ([IDLE, IDLE], PipelineState.RUNNING, None),
        ([RUNNING, RESTARTING], PipelineState.RUNNING, "1 of 2 flows is restarting"),
        ([RUNNING, FAILED], PipelineState.RUNNING, "1 of 2 flows is failed"),
        ([FAILED, FAILED], PipelineState.RUNNING, "2 of 2 flows are failed"),
        ([FAILED, STARTING], PipelineState.RUNNING, "1 of 2 flows is failed"),
        ([NO_KAFKA, NO_KAFKA], PipelineState.RUNNING, "no broker answers"),
        ([NO_KAFKA, FAILED], PipelineState.RUNNING, "no broker answers"),
        ([RUNNING, PAUSED], PipelineState.RUNNING, "1 of 2 flows is paused"),
        ([PAUSED, PAUSED], PipelineState.PAUSED, "2 of 2 flows are paused"),
        ([PAUSED, STARTING], PipelineState.RUNNING, "1 of 2 flows is paused"),
        (
            [PAUSED, STOPPED],
            PipelineState.PAUSED,
            "1 of 2 flows is paused, 1 of 2 flows is stopped",
        ),
        ([PAUSED, FAILED], PipelineState.PAUSED, "1 of 2 flows is failed, 1 of 2 flows is paused"),
        ([FINISHED, RUNNING], PipelineState.RUNNING, None),
        ([FINISHED, PENDING], PipelineState.RUNNING, None),
        ([STOPPED, STOPPED], PipelineState.RUNNING, "2 of 2 flows are stopped"),
    ],
)
def test_the_state_of_a_pipeline_follows_from_those_of_its_flows(
    flows: list[FlowState], state: PipelineState, why: str | None
) -> None:
    assert (state_while_running(flows), why_of(flows)) == (state, why)


@pytest.fixture
def fold() -> StatusFold:
    identity = Identity(pipeline=SHOP, driver=driver(), epoch=4, profile="local")
    fold = StatusFold(identity, at=NOON, clean=lambda text: text.replace("hunter2", "***"))
    fold.begin([DETECT, COUNT], at_first=FlowState.STARTING, at=at(1))
    return fold


def started(flow: FlowName, seconds: float) -> FlowStarted:
    return FlowStarted(flow=flow, at=at(seconds), query_id="8f4f", resumed_batch=None)


def test_a_driver_without_flows_is_starting() -> None:
    identity = Identity(pipeline=SHOP, driver=driver(), epoch=4, profile="local")

    record = StatusFold(identity, at=NOON).record(at(3))

    assert (record.state, record.since, record.flows) == (PipelineState.STARTING, NOON, ())
    assert (record.epoch, record.profile, record.code_version) == (4, "local", "0123456789ab")


def test_states_are_since_the_event_that_changed_them(fold: StatusFold) -> None:
    changes = [
        fold.apply(started(DETECT, 5)),
        fold.apply(batch(at=at(6))),
        fold.apply(batch(at=at(7))),
        fold.apply(FlowIdle(flow=DETECT, at=at(8))),
    ]
    record = fold.record(at(9))

    assert changes == [True, False, False, True]
    assert (record.state, record.since) == (PipelineState.RUNNING, at(5))
    assert [(flow.flow, flow.state, flow.since) for flow in record.flows] == [
        (DETECT, FlowState.IDLE, at(8)),
        (COUNT, FlowState.STARTING, at(1)),
    ]


def test_a_flow_says_what_it_did_and_how_far_behind_it_is(fold: StatusFold) -> None:
    fold.apply(started(DETECT, 5))
    fold.apply(batch(at=at(6), batch_id=0))
    fold.apply(batch(at=at(7), batch_id=1, watermark=at(-30)))
    fold.apply(lag(12, 0.5))
    flow = fold.record(at(7)).flows[0]

    assert (flow.totals.records_in, flow.totals.records_out, flow.totals.batches) == (200, 20, 2)
    assert flow.last_batch is not None
    assert (flow.last_batch.batch_id, flow.last_batch.at) == (1, at(7))
    assert (flow.watermark, flow.lag) == (at(-30), LagRecord(records=12, seconds=0.5))
    assert flow.rates.records_in > 0


def test_a_watermark_that_has_not_begun_is_not_told(fold: StatusFold) -> None:
    fold.apply(batch(at=at(6), watermark=datetime.fromtimestamp(0, UTC)))

    assert fold.record(at(7)).flows[0].watermark is None


def test_the_last_error_stays_when_the_flow_has_recovered(fold: StatusFold) -> None:
    fold.apply(started(DETECT, 5))
    fold.apply(failed())
    fold.apply(FlowRestarting(flow=DETECT, at=at(6), attempt=1, after_seconds=1))
    fold.apply(started(DETECT, 7))
    fold.apply(batch(at=at(8)))
    flow = fold.record(at(9)).flows[0]

    assert (flow.state, flow.totals.restarts) == (FlowState.RUNNING, 1)
    assert flow.last_error == ErrorRecord(code="PEN-999", message="a broker hiccuped", at=NOON)


def test_without_kafka_the_flows_wait_and_the_pipeline_says_why(fold: StatusFold) -> None:
    fold.apply(started(DETECT, 5))
    fold.apply(KafkaAway(at=at(6), error=HiccupError()))
    away = fold.record(at(7))
    fold.apply(KafkaBack(at=at(8), away_seconds=2))
    back = fold.record(at(9))

    assert (away.state, away.why) == (PipelineState.RUNNING, "no broker answers")
    assert {flow.state for flow in away.flows} == {FlowState.NO_KAFKA}
    assert (back.why, back.flows[0].state, back.flows[0].since) == (None, FlowState.RUNNING, at(8))


def test_a_paused_pipeline_says_since_when(fold: StatusFold) -> None:
    fold.apply(started(DETECT, 5))
    fold.apply(FlowPaused(flow=DETECT, at=at(6)))
    fold.apply(FlowPaused(flow=COUNT, at=at(7)))
    record = fold.record(at(9))

    assert (record.state, record.since) == (PipelineState.PAUSED, at(7))


def test_a_pipeline_that_stops_goes_on_stopping_until_its_end(fold: StatusFold) -> None:
    fold.apply(started(DETECT, 5))
    fold.stop("somebody has stopped it", at=at(6))
    fold.apply(batch(at=at(7)))
    stopping = fold.record(at(7))
    fold.apply(FlowStopped(flow=DETECT, at=at(8)))
    fold.end(None, at=at(9))
    stopped = fold.record(at(9))

    assert (stopping.state, stopping.since) == (PipelineState.STOPPING, at(6))
    assert (stopped.state, stopped.since) == (PipelineState.STOPPED, at(9))
    assert (stopping.why, stopped.why, stopped.error) == (
        "somebody has stopped it",
        "somebody has stopped it",
        None,
    )


def test_a_pipeline_that_has_read_everything_says_so(fold: StatusFold) -> None:
    for flow in (DETECT, COUNT):
        fold.apply(FlowStopped(flow=flow, at=at(8), finished=True))
    fold.end(None, at=at(9))

    record = fold.record(at(9))

    assert (record.state, record.why) == (PipelineState.STOPPED, "all flows have finished")


class WordlessError(Exception):
    """As Spark's errors are once the JVM is gone, which they ask for their text."""

    def __str__(self) -> str:
        raise ConnectionError


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (WordlessError(), None, "WordlessError"),
        (HiccupError("the password hunter2 is wrong"), "PEN-999", "the password *** is wrong"),
        (ValueError("hunter2"), None, "ValueError: ***"),
    ],
)
def test_a_failure_has_code_and_sentence_and_no_secret(
    fold: StatusFold, error: Exception, code: str | None, message: str
) -> None:
    fold.end(error, at=at(9))

    record = fold.record(at(9))

    assert (record.state, record.since) == (PipelineState.FAILED, at(9))
    assert record.error == ErrorRecord(code=code, message=message, at=at(9))
    assert b"hunter2" not in encode_status(record)


def test_a_flow_that_quotes_a_secret_is_cleaned_too(fold: StatusFold) -> None:
    fold.apply(failed(HiccupError("hunter2 was refused")))

    assert b"hunter2" not in encode_status(fold.record(at(9)))


def test_a_record_survives_the_table(fold: StatusFold) -> None:
    fold.apply(batch(at=at(6), watermark=at(-30)))
    fold.apply(failed())
    record = fold.record(at(9))

    assert decode_status(encode_status(record)) == record


def test_what_a_driver_told_before_batches_had_phases_and_latencies_can_be_read(
    fold: StatusFold,
) -> None:
    fold.apply(batch(at=at(6)))
    told = json.loads(encode_status(fold.record(at(9))))
    for flow in told["flows"]:
        del flow["latency"], flow["totals"]["undecodable"]
    for name in ("phases", "state_rows", "state_bytes"):
        del told["flows"][0]["last_batch"][name]

    record = decode_status(json.dumps(told).encode())

    assert record is not None
    assert (record.flows[0].latency, record.flows[0].totals.undecodable) == (None, 0)
    assert record.flows[0].last_batch is not None
    assert record.flows[0].last_batch.phases == {}


def test_what_another_version_wrote_is_not_guessed_at() -> None:
    assert decode_status(b'{"pipeline": "shop", "state": "levitating"}') is None


def test_the_last_failures_stay_newest_first_and_each_once(fold: StatusFold) -> None:
    """A flow that stays down tells its last failure twice: when it fails, and when it is over."""
    fold.apply(started(DETECT, 5))
    for number in range(7):
        fold.apply(failed(HiccupError(f"hiccup {number}")))
        fold.apply(FlowRestarting(flow=DETECT, at=at(6), attempt=number, after_seconds=1))
    fold.apply(FlowStopped(flow=DETECT, at=at(8), error=HiccupError("hiccup 6")))
    flow = fold.record(at(9)).flows[0]

    assert [item.message for item in flow.failures] == [f"hiccup {n}" for n in (6, 5, 4, 3, 2)]
    assert flow.last_error == flow.failures[0]


@pytest.mark.parametrize(("rows", "size", "told"), [(0, 0, 0), (5, 900, 5), (0, 900, None)])
def test_rows_of_state_that_nobody_counts_are_not_told_as_none(
    fold: StatusFold, rows: int, size: int, told: int | None
) -> None:
    fold.apply(batch(at=at(6), state_rows=rows, state_bytes=size))
    last = fold.record(at(9)).flows[0].last_batch

    assert last is not None
    assert (last.state_rows, last.state_bytes) == (told, size)
