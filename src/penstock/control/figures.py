"""The status of a pipeline as samples of the catalog: for `/metrics`, the history and alerts.

Pure: whoever has the record of a driver has its figures, the driver itself and the console alike.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from penstock.control.latency import BOUNDS
from penstock.control.status_records import ENDED, PipelineState
from penstock.control.supervision import FlowState
from penstock.monitoring.catalog import flows, histogram_samples, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.latency import LatencyRecord
    from penstock.control.status_records import BatchRecord, FlowRecord, PipelineRecord
    from penstock.monitoring.catalog import Sample

_AWAY = ENDED | {PipelineState.LOST}
_RUNS = frozenset({FlowState.RUNNING, FlowState.IDLE})


def samples_of(record: PipelineRecord) -> list[Sample]:
    """Return what `record` measures, in the names of the catalog.

    Of a pipeline that has ended, or counts as lost, the counts stay; what it did when it was last
    heard of is left out.
    """
    is_up = record.state not in _AWAY
    samples = [
        sample(metric, value, pipeline=record.pipeline)
        for metric, value in (
            (flows.PIPELINE_UP, is_up),
            (flows.PIPELINE_LOST, record.state is PipelineState.LOST),
            (flows.PIPELINE_FAILED, record.state is PipelineState.FAILED),
        )
    ]
    for flow in record.flows:
        labels = {"pipeline": record.pipeline, "flow": flow.flow}
        runs = is_up and flow.state in _RUNS
        samples.append(sample(flows.FLOW_RUNNING, runs, **labels))
        samples.append(sample(flows.FLOW_FAILED, flow.state is FlowState.FAILED, **labels))
        samples += _counts(flow, labels)
        if is_up:
            samples += _gauges(flow, labels)
    return samples


def _counts(flow: FlowRecord, labels: dict[str, str]) -> Iterator[Sample]:
    totals = flow.totals
    yield sample(flows.INPUT_RECORDS, totals.records_in, **labels)
    if totals.records_out is not None:
        yield sample(flows.OUTPUT_RECORDS, totals.records_out, **labels)
    yield sample(flows.UNDECODABLE, totals.undecodable, **labels)
    yield sample(flows.DEAD_LETTERS, totals.dead_letters, **labels)
    yield sample(flows.LATE, totals.dropped_late, **labels)
    yield sample(flows.DUPLICATES, totals.duplicates, **labels)
    yield sample(flows.BATCHES, totals.batches, **labels)
    yield sample(flows.RESTARTS, totals.restarts, **labels)
    if flow.latency is not None:
        yield from _latency(flow.latency, labels)


def _latency(latency: LatencyRecord, labels: dict[str, str]) -> Iterator[Sample]:
    buckets = dict(zip(BOUNDS, latency.counts, strict=False)) | {math.inf: latency.count}
    yield from histogram_samples(flows.LATENCY, buckets, latency.seconds, **labels)


def _gauges(flow: FlowRecord, labels: dict[str, str]) -> Iterator[Sample]:
    yield sample(flows.INPUT_RATE, flow.rates.records_in, **labels)
    if flow.rates.records_out is not None:
        yield sample(flows.OUTPUT_RATE, flow.rates.records_out, **labels)
    if flow.last_batch is not None:
        yield from _batch(flow.last_batch, labels)
        if flow.watermark is not None:
            delay = (flow.last_batch.at - flow.watermark).total_seconds()
            yield sample(flows.WATERMARK_DELAY, delay, **labels)
    if flow.latency is not None:
        for share, seconds in flow.latency.quantiles.items():
            yield sample(flows.LATENCY_QUANTILE, seconds, **labels, quantile=share)
    if flow.lag is not None:
        lag = (
            (flows.FLOW_LAG, flow.lag.records),
            (flows.FLOW_LAG_SECONDS, flow.lag.seconds),
            (flows.FLOW_HELD, flow.lag.held_records),
        )
        for metric, value in lag:
            if value is not None:
                yield sample(metric, value, **labels)


def _batch(batch: BatchRecord, labels: dict[str, str]) -> Iterator[Sample]:
    if batch.records_in and batch.seconds:
        yield sample(flows.PROCESSED_RATE, batch.records_in / batch.seconds, **labels)
    yield sample(flows.BATCH_SECONDS, batch.seconds, **labels)
    for phase, milliseconds in batch.phases.items():
        yield sample(flows.PHASE_SECONDS, milliseconds / 1000, **labels, phase=phase)
    if batch.state_rows is not None:
        yield sample(flows.STATE_ROWS, batch.state_rows, **labels)
    yield sample(flows.STATE_BYTES, batch.state_bytes, **labels)
