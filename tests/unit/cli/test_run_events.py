"""Events of a pipeline as sentences and as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.cli.run_events import json_line, sentence
from penstock.engine.events import (
    DataLost,
    DeadLettersWritten,
    FlowIdle,
    FlowPaused,
    FlowRestarting,
    FlowStarted,
    FlowStarting,
    FlowStopped,
    KafkaAway,
    KafkaBack,
    LookupReloaded,
)
from penstock.errors import Origin
from penstock.names import DatasetName, TopicName
from penstock.pipeline import Guarantee
from support.pipeline_events import DETECT, NOON, HiccupError, at, batch, failed, lag, offsets

if TYPE_CHECKING:
    from penstock.engine.events import PipelineEvent

LETTERS = DeadLettersWritten(
    flow=DETECT,
    at=NOON,
    dataset=DatasetName("lines"),
    topic=TopicName("fraud.deadletters"),
    batch_id=4,
    count=1200,
)
LOST = DataLost(
    flow=DETECT,
    at=NOON,
    topic=TopicName("lines"),
    reason="retention has removed them",
    lost={where: int(end) for where, end in offsets(5, 7).items()},
)
RELOADED = LookupReloaded(
    flow=DETECT, at=NOON, lookup=DatasetName("blocked"), old_version="1", new_version="2"
)
RESTARTING = FlowRestarting(flow=DETECT, at=NOON, attempt=2, after_seconds=4.25)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (
            FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=None),
            "detect: started",
        ),
        (
            FlowStarted(flow=DETECT, at=NOON, query_id="8f4f", resumed_batch=7),
            "detect: started, goes on after batch 7",
        ),
        (
            FlowStarted(
                flow=DETECT,
                at=NOON,
                query_id="8f4f",
                resumed_batch=None,
                writes={
                    DatasetName("hits"): Guarantee.EXACTLY_ONCE,
                    DatasetName("log"): Guarantee.AT_LEAST_ONCE,
                },
            ),
            "detect: started, writes `hits` exactly once, `log` at least once",
        ),
        (LETTERS, "detect: 1,200 dead letters of `lines` in `fraud.deadletters`"),
        (LOST, "detect: at most 12 records of `lines` are lost: retention has removed them"),
        (RELOADED, "detect: goes on with version `2` of lookup `blocked`"),
        (failed(), "detect: failed (kafka): [PEN-999] a broker hiccuped"),
        (RESTARTING, "detect: starts again in 4.2 s (restart 2)"),
        (FlowPaused(flow=DETECT, at=NOON), "detect: paused"),
        (FlowStarting(flow=DETECT, at=NOON), "detect: starts because somebody asked for it"),
        (FlowStopped(flow=DETECT, at=NOON), "detect: stopped"),
        (FlowStopped(flow=DETECT, at=NOON, finished=True), "detect: finished"),
        (
            FlowStopped(flow=DETECT, at=NOON, error=HiccupError()),
            "detect: stays stopped: it failed for good",
        ),
        (
            KafkaAway(at=NOON, error=HiccupError("nobody answers")),
            "waiting for Kafka: [PEN-999] nobody answers",
        ),
        (KafkaBack(at=NOON, away_seconds=30.4), "Kafka is back after 30 s"),
        (batch(), None),
        (FlowIdle(flow=DETECT, at=NOON), None),
        (lag(5, 1.0), None),
    ],
)
def test_what_is_notable_is_told_in_a_sentence(event: PipelineEvent, told: str | None) -> None:
    assert sentence(event) == told


def test_an_error_in_user_code_is_told_with_its_line() -> None:
    error = HiccupError()
    error.origin = Origin(Path("flows.py"), 12)

    assert sentence(failed(error)) == (
        "detect: failed (kafka): [PEN-999] a broker hiccuped at flows.py:12"
    )


def test_a_batch_is_a_line_of_json_with_all_its_fields() -> None:
    event = batch(watermark=at(-60), undecodable={DatasetName("lines"): 2})

    assert json.loads(json_line(event)) == {
        "event": "batch_finished",
        "flow": "detect",
        "at": "2026-05-01T12:00:00+00:00",
        "query_id": "8f4f",
        "batch_id": 0,
        "input_rows": 100,
        "output_rows": 10,
        "seconds": 0.5,
        "phases": {"addBatch": 400},
        "sources": [
            {
                "dataset": "lines",
                "start": {},
                "end": {"lines-0": 60, "lines-1": 40},
                "rows": None,
                "times": None,
            }
        ],
        "watermark": "2026-05-01T11:59:00+00:00",
        "state_rows": 0,
        "state_bytes": 0,
        "dropped_late": 0,
        "duplicates": 0,
        "undecodable": {"lines": 2},
        "refused_rows": 0,
        "produced": None,
        "written": {},
        "is_stateful": False,
    }


def test_an_error_in_an_event_is_json_with_code_and_hint() -> None:
    told = json.loads(json_line(failed()))

    assert told["event"] == "flow_failed"
    assert told["told"] == "detect: failed (kafka): [PEN-999] a broker hiccuped"
    assert told["failure"] == "kafka"
    assert told["error"] == {
        "code": "PEN-999",
        "message": "a broker hiccuped",
        "hint": "wait",
        "origin": None,
        "retryable": True,
    }
