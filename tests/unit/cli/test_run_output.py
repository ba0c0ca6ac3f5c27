"""What `penstock run` writes where no terminal is: lines, JSON lines and the summary."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from penstock.cli.run_output import STOPPING, JsonOutput, PlainOutput, Steps
from penstock.control import PipelineStatus
from penstock.engine.events import FlowIdle, FlowStarted, FlowStopped
from penstock.events import StepFinished
from penstock.names import FlowName
from support.pipeline_events import DETECT, NOON, at, batch, lag

COUNT = FlowName("count")
STARTED = FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=None)
STOPPED = FlowStopped(flow=DETECT, at=NOON)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are shown in the user's zone."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


class Clock:
    """Shows the time that the test has set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plain(clock: Clock) -> PlainOutput:
    return PlainOutput(Steps(), PipelineStatus([DETECT, COUNT]), clock=clock)


def test_notable_events_are_lines_with_a_time(
    plain: PlainOutput, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.notify(STARTED)
    plain.notify(STOPPED)

    assert capsys.readouterr().out == "12:00:00 detect: started\n12:00:00 detect: stopped\n"


def test_progress_is_told_at_most_every_five_seconds_per_flow(
    plain: PlainOutput, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(11):
        plain.notify(batch(batch_id=number, at=at(number)))
        plain.notify(batch(flow=COUNT, batch_id=number, at=at(number)))
        clock.now += 1

    told = [line.split(",")[2] for line in capsys.readouterr().out.splitlines()]

    assert told == [f" batch {number} in 500ms" for number in (0, 0, 5, 5, 10, 10)]


def test_a_line_of_progress_has_rates_lag_watermark_and_duplicates(
    plain: PlainOutput, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.notify(lag(1234, 2.5))
    finished = batch(at=at(0), seconds=0.5, input_rows=500, output_rows=50, watermark=at(-60))
    plain.notify(replace(finished, duplicates=1200))

    assert capsys.readouterr().out == (
        "12:00:00 detect: 1.0k in/s, 100 out/s, batch 0 in 500ms, lag 1.2k records, 2.5s, "
        "watermark 60s behind, 1,200 duplicates\n"
    )


def test_an_idle_flow_writes_nothing(
    plain: PlainOutput, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.notify(batch())
    capsys.readouterr()
    for _ in range(10):
        clock.now += 60
        plain.notify(FlowIdle(flow=DETECT, at=NOON))
        plain.notify(lag(0, 0))

    assert capsys.readouterr().out == ""


def test_a_transaction_that_holds_a_flow_up_is_told_once_when_it_is_no_longer_young(
    plain: PlainOutput, capsys: pytest.CaptureFixture[str]
) -> None:
    for second in (2, 9, 11, 13):
        waiting = replace(lag(7, 60), at=at(second), held_records=7, held_since=at(0))
        plain.notify(waiting)

    assert capsys.readouterr().out == (
        "12:00:11 detect: waits for a transaction that is open since 2026-05-01 12:00:00, "
        "7 records behind it\n"
    )


def test_the_last_batch_is_told_when_the_flow_goes_idle(
    plain: PlainOutput, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.notify(batch(batch_id=0))
    plain.notify(batch(batch_id=1))
    clock.now += 10
    plain.notify(FlowIdle(flow=DETECT, at=at(10)))

    told = capsys.readouterr().out.splitlines()

    assert [line.split(",")[2] for line in told] == [" batch 0 in 500ms", " batch 1 in 500ms"]


def test_the_end_is_a_summary_of_each_flow(
    plain: PlainOutput, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.notify(replace(batch(), duplicates=40))
    plain.notify(batch(flow=COUNT, output_rows=None))
    plain.notify(STOPPED)
    capsys.readouterr()
    plain.close()

    assert capsys.readouterr().out == (
        "FLOW    STATE     IN  OUT  DEAD  DUPLICATES  BATCHES  SECONDS  RESTARTS\n"
        "detect  stopped  100   10     0          40        1      0.5         0\n"
        "count   running  100    -     0           0        1      0.5         0\n"
    )


def test_a_run_that_never_began_has_no_summary(
    plain: PlainOutput, capsys: pytest.CaptureFixture[str]
) -> None:
    plain.close()

    assert capsys.readouterr().out == ""


def test_json_has_events_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps()
    output = JsonOutput(steps)
    steps.emit(StepFinished(step="starting Spark"))
    output.notify(STARTED)
    output.say_stopping()
    output.notify(STOPPED)
    output.close()

    written = capsys.readouterr()

    assert [json.loads(line)["event"] for line in written.out.splitlines()] == [
        "flow_started",
        "flow_stopped",
    ]
    assert written.err == f"starting Spark: done\n{STOPPING}\n"
