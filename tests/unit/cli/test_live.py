"""The live view, drawn into a string of 80 columns."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from penstock.cli.live import Heading, LiveView, compact_number, compact_seconds
from penstock.control import PipelineStatus
from penstock.engine.events import FlowRestarting, FlowStarted, FlowStopped, KafkaAway
from penstock.names import FlowName
from support.pipeline_events import DETECT, NOON, HiccupError, at, batch, failed, lag

COUNT = FlowName("count_hits_per_host_and_window")


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are shown in the user's zone."""
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def view(*, seconds: float = 0, spark_ui: str | None = None) -> LiveView:
    heading = Heading(
        pipeline="fraud", profile="local", cluster="127.0.0.1:9092", since=NOON, spark_ui=spark_ui
    )
    status = PipelineStatus([DETECT, COUNT])
    return LiveView(Console(file=StringIO(), width=80), heading, status, clock=lambda: at(seconds))


def drawn(shown: LiveView) -> list[str]:
    screen = StringIO()
    Console(file=screen, width=80, force_terminal=False).print(shown.render())
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def test_flows_that_have_not_said_anything_yet_are_starting() -> None:
    assert drawn(view()) == [
        "fraud on local (127.0.0.1:9092) since 12:00:00, 0ms",
        "",
        "flow                 state       in/s out/s batch   lag behind delay  rows  dead",
        "detect               starting       0     0     -     -      -     -     -     0",
        "count_hits_per_host… starting       0     0     -     -      -     -     -     0",
        "",
    ]


def test_the_view_fits_into_80_columns_with_everything_in_it() -> None:
    shown = view(seconds=125, spark_ui="http://127.0.0.1:4040")
    for flow in (DETECT, COUNT):
        shown.show(FlowStarted(flow=flow, at=NOON, query_id="8f4f", resumed_batch=None))
        for second in range(115, 126):
            shown.show(
                batch(
                    flow=flow,
                    at=at(second),
                    input_rows=123_456,
                    output_rows=987_654,
                    seconds=1,
                    watermark=at(0),
                    state_rows=1_234_567,
                )
            )
        shown.show(lag(98_765_432, 7200, flow))

    assert drawn(shown) == [
        "fraud on local (127.0.0.1:9092) since 12:00:00, 2m",
        "Spark UI: http://127.0.0.1:4040",
        "",
        "flow                 state       in/s out/s batch   lag behind delay  rows  dead",
        "detect               running     123k  988k  1.0s 98.8M     2h    2m  1.2M     0",
        "count_hits_per_host… running     123k  988k  1.0s 98.8M     2h    2m  1.2M     0",
        "",
        "12:00:00 detect: started",
        "12:00:00 count_hits_per_host_and_window: started",
    ]


def test_duplicates_have_a_column_once_there_are_any() -> None:
    shown = view()
    shown.show(replace(batch(), duplicates=12_345))

    assert drawn(shown)[2:5] == [
        "flow           state       in/s out/s batch   lag behind delay  rows  dead  dups",
        "detect         running      200    20 500ms     -      -     -     -     0 12.3k",
        "count_hits_pe… starting       0     0     -     -      -     -     -     0     0",
    ]


def test_a_flow_that_waits_for_a_transaction_says_so() -> None:
    shown = view(seconds=20)
    shown.show(replace(lag(7, 20), held_records=7, held_since=at(5)))

    assert drawn(shown)[5] == (
        "detect: waits for a transaction that is open since 2026-05-01 12:00:05, 7 recor…"
    )


def test_a_failed_flow_shows_why_and_when_it_starts_again() -> None:
    shown = view(seconds=1)
    shown.show(failed(HiccupError("x" * 100)))
    shown.show(FlowRestarting(flow=DETECT, at=NOON, attempt=1, after_seconds=8))

    lines = drawn(shown)

    assert lines[3].split()[:2] == ["detect", "restarting"]
    assert lines[5] == f"detect (again in 7 s): [PEN-999] {'x' * 46}…"
    assert [line[:40] for line in lines[7:]] == [
        "12:00:00 detect: failed (kafka): [PEN-99",
        "12:00:00 detect: starts again in 8.0 s (",
    ]


def test_a_flow_that_stays_failed_says_so() -> None:
    shown = view()
    shown.show(FlowStopped(flow=DETECT, at=NOON, error=HiccupError()))

    lines = drawn(shown)

    assert lines[3].split()[:2] == ["detect", "failed"]
    assert lines[5] == "detect: [PEN-999] a broker hiccuped"


def test_everything_waits_while_kafka_is_away() -> None:
    shown = view()
    shown.show(KafkaAway(at=NOON, error=HiccupError("nobody answers")))

    lines = drawn(shown)

    assert [line[21:29] for line in lines[3:5]] == ["no kafka", "no kafka"]
    assert lines[-1] == "12:00:00 waiting for Kafka: [PEN-999] nobody answers"


def test_only_the_latest_events_are_kept() -> None:
    shown = view()
    for number in range(20):
        shown.say(f"word {number}")

    assert drawn(shown)[6:] == [f"12:00:00 word {number}" for number in range(14, 20)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (0.04, "0"),
        (0.5, "0.5"),
        (7, "7"),
        (9.97, "10"),
        (999.4, "999"),
        (999.6, "1.0k"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (1_234_567, "1.2M"),
        (5e12, "5T"),
    ],
)
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert compact_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (-3, "0ms"),
        (0.31, "310ms"),
        (0.9996, "1.0s"),
        (4.21, "4.2s"),
        (42, "42s"),
        (720, "12m"),
        (7200, "2h"),
        (1e6, "12d"),
    ],
)
def test_lengths_of_time_are_short(value: float | None, text: str) -> None:
    assert compact_seconds(value) == text
