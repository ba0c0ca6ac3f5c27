"""What a driver says of itself, as samples of the catalog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.control.figures import samples_of
from penstock.control.latency import BOUNDS, LatencyRecord
from penstock.control.status import Rates
from penstock.control.status_records import BatchRecord, PipelineRecord, PipelineState
from penstock.control.supervision import FlowState
from support.overviews import CLEAN, NOON, RECORD

BUSY = replace(
    CLEAN,
    last_batch=BatchRecord(
        batch_id=7,
        at=NOON,
        seconds=0.5,
        records_in=10,
        records_out=1,
        phases={"addBatch": 400},
        state_rows=3,
        state_bytes=900,
    ),
    latency=LatencyRecord(
        counts=(*range(len(BOUNDS)),), count=25, seconds=12.5, quantiles={"0.5": 0.25}
    ),
)


def told(record: PipelineRecord) -> dict[str, float]:
    """Return the samples of a pipeline, as `name label=value …` without those it shares."""
    return {
        " ".join([item.metric, *(f"{key}={value}" for key, value in item.labels if key not in
                 ("pipeline", "flow"))]): item.value
        for item in samples_of(record)
    }  # fmt: skip


def test_a_flow_that_runs_has_counts_and_what_it_does_at_the_moment() -> None:
    samples = told(replace(RECORD, flows=(BUSY,)))

    buckets = {name: value for name, value in samples.items() if "_bucket" in name}
    assert len(buckets) == len(BOUNDS) + 1
    assert buckets["penstock_flow_latency_seconds_bucket le=0.002"] == 1
    assert buckets["penstock_flow_latency_seconds_bucket le=+Inf"] == 25
    assert {name: value for name, value in samples.items() if name not in buckets} == {
        "penstock_pipeline_up": 1,
        "penstock_pipeline_lost": 0,
        "penstock_pipeline_failed": 0,
        "penstock_flow_failed": 0,
        "penstock_flow_running": 1,
        "penstock_flow_input_records_total": 5000,
        "penstock_flow_output_records_total": 50,
        "penstock_flow_undecodable_records_total": 0,
        "penstock_flow_dead_letters_total": 2,
        "penstock_flow_late_records_total": 0,
        "penstock_flow_duplicate_records_total": 3,
        "penstock_flow_batches_total": 8,
        "penstock_flow_restarts_total": 1,
        "penstock_flow_latency_seconds_sum": 12.5,
        "penstock_flow_latency_seconds_count": 25,
        "penstock_flow_input_records_per_second": 1234,
        "penstock_flow_output_records_per_second": 12,
        "penstock_flow_processed_records_per_second": 20,
        "penstock_flow_batch_seconds": 0.5,
        "penstock_flow_batch_phase_seconds phase=addBatch": 0.4,
        "penstock_flow_state_rows": 3,
        "penstock_flow_state_bytes": 900,
        "penstock_flow_watermark_delay_seconds": 0,
        "penstock_flow_latency_quantile_seconds quantile=0.5": 0.25,
        "penstock_flow_lag_records": 70,
        "penstock_flow_lag_seconds": 0.25,
        "penstock_flow_held_records": 60,
    }


def test_failed_lost_and_stopped_are_told_apart() -> None:
    ends = (PipelineState.STOPPED, PipelineState.FAILED, PipelineState.LOST)
    broken = replace(CLEAN, state=FlowState.FAILED)

    found = [told(replace(RECORD, state=state, flows=(broken,))) for state in ends]

    names = ("penstock_pipeline_up", "penstock_pipeline_failed", "penstock_pipeline_lost")
    assert [[samples[name] for name in names] for samples in found] == [
        [0, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
    ]
    assert {samples["penstock_flow_failed"] for samples in found} == {1}


@pytest.mark.parametrize("state", [PipelineState.STOPPED, PipelineState.LOST])
def test_of_a_pipeline_that_is_away_only_the_counts_stay(state: PipelineState) -> None:
    samples = told(replace(RECORD, state=state, flows=(BUSY,)))

    assert (samples["penstock_pipeline_up"], samples["penstock_flow_running"]) == (0, 0)
    assert samples["penstock_flow_input_records_total"] == 5000
    assert not {name for name in samples if "per_second" in name or "lag" in name}


def test_what_a_sink_does_not_say_has_no_sample() -> None:
    quiet = replace(
        CLEAN,
        rates=Rates(records_in=1, records_out=None),
        totals=replace(CLEAN.totals, records_out=None),
        last_batch=None,
        lag=None,
    )
    samples = told(replace(RECORD, flows=(quiet,)))

    assert not {name for name in samples if "output" in name or "batch_" in name or "lag" in name}
