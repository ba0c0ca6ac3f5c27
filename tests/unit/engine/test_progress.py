"""What Spark says of a batch, in our words."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryProgress

from penstock.engine.decoding import SAMPLED_SHARES
from penstock.engine.progress import batch_finished
from penstock.engine.writing import OUTPUT_METRIC
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, FlowName, Partition, TopicName

SHOP = TopicName("shop.lines-v1")
LINES = DatasetName("lines")
ZERO = TopicPartition(SHOP, Partition(0))

SAID: dict[str, Any] = {
    "id": "8d778a8d-a2f8-4df4-bd2d-e75820b91ec0",
    "runId": "7483c305-1145-4e15-9c1d-00aec3c1489e",
    "name": "shop.detect",
    "timestamp": "2026-11-16T03:58:28.500Z",
    "batchId": 7,
    "batchDuration": 1500,
    "numInputRows": 5,
    "inputRowsPerSecond": 0.0,
    "processedRowsPerSecond": 0.4,
    "durationMs": {"addBatch": 1400, "triggerExecution": 1500},
    "eventTime": {"watermark": "2026-11-16T03:00:00.000Z"},
    "stateOperators": [
        {
            "operatorName": "stateStoreSave",
            "numRowsTotal": 5,
            "numRowsUpdated": 5,
            "allUpdatesTimeMs": 2,
            "numRowsRemoved": 0,
            "allRemovalsTimeMs": 0,
            "commitTimeMs": 3,
            "memoryUsedBytes": 12540,
            "numRowsDroppedByWatermark": 2,
            "numShufflePartitions": 2,
            "numStateStoreInstances": 2,
            "customMetrics": {"numDroppedDuplicateRows": 3},
        }
    ],
    "sources": [
        {
            "description": "KafkaV2[Subscribe[shop.lines-v1]]",
            "startOffset": {SHOP: {"0": 2}},
            "endOffset": {SHOP: {"0": 7}},
            "latestOffset": {SHOP: {"0": 9}},
            "numInputRows": 5,
            "inputRowsPerSecond": 0.0,
            "processedRowsPerSecond": 0.4,
            "metrics": {},
        },
        {
            "description": "FileStreamSource[file:/in]",
            "startOffset": None,
            "endOffset": {"logOffset": 0},
            "latestOffset": None,
            "numInputRows": 0,
            "inputRowsPerSecond": 0.0,
            "processedRowsPerSecond": 0.0,
            "metrics": {},
        },
    ],
    "sink": {"description": "KafkaTable", "numOutputRows": 4},
    "observedMetrics": {"penstock_lines": {"undecodable": 3}},
}


def said(**fields: object) -> StreamingQueryProgress:
    progress: StreamingQueryProgress = StreamingQueryProgress.fromJson({**SAID, **fields})
    return progress


def test_a_batch_is_told_with_offsets_counts_and_times() -> None:
    batch = batch_finished(FlowName("detect"), said(), {SHOP: LINES})
    assert (batch.batch_id, batch.input_rows, batch.output_rows) == (7, 5, 4)
    assert batch.at == datetime(2026, 11, 16, 3, 58, 30, tzinfo=UTC)
    assert batch.seconds == pytest.approx(1.5)
    assert batch.watermark == datetime(2026, 11, 16, 3, tzinfo=UTC)
    assert (batch.state_rows, batch.state_bytes, batch.dropped_late) == (5, 12540, 2)
    assert batch.duplicates == 3
    assert batch.undecodable == {"lines": 3}
    (source,) = batch.sources
    assert (source.dataset, source.start, source.end) == (LINES, {ZERO: 2}, {ZERO: 7})


def test_the_first_batch_has_no_start() -> None:
    first = json.loads(json.dumps(SAID["sources"]))
    first[0]["startOffset"] = None
    batch = batch_finished(FlowName("detect"), said(sources=first), {SHOP: LINES})
    assert batch.sources[0].start == {}


def test_rows_of_a_sink_that_does_not_count_are_those_observed() -> None:
    silent = {"description": "ForeachBatchSink", "numOutputRows": -1}
    unknown = batch_finished(FlowName("detect"), said(sink=silent), {})
    observed = batch_finished(
        FlowName("detect"), said(sink=silent, observedMetrics={OUTPUT_METRIC: {"rows": 6}}), {}
    )
    assert (unknown.output_rows, observed.output_rows) == (None, 6)


def test_a_watermark_of_1970_is_none() -> None:
    batch = batch_finished(
        FlowName("detect"), said(eventTime={"watermark": "1970-01-01T00:00:00.000Z"}), {}
    )
    assert batch.watermark is None


def test_the_timestamps_of_a_batch_are_moments() -> None:
    micros = 1_700_000_000_000_000
    told = {
        "undecodable": 0,
        "first": micros,
        "last": micros + 9_000_000,
        "sampled": [micros + second * 1_000_000 for second in range(1, 8)],
    }
    batch = batch_finished(
        FlowName("detect"), said(observedMetrics={"penstock_lines": told}), {SHOP: LINES}
    )
    times = batch.sources[0].times
    assert times is not None
    first = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (times.first, times.last) == (first, first + timedelta(seconds=9))
    assert dict(times.shares) == {
        share: first + timedelta(seconds=second)
        for second, share in enumerate(SAMPLED_SHARES, start=1)
    }


@pytest.mark.parametrize(
    "told", [{}, {"first": None, "last": None, "sampled": None}, {"first": -1000, "last": -1000}]
)
def test_records_without_timestamps_have_no_times(told: dict[str, object]) -> None:
    batch = batch_finished(
        FlowName("detect"), said(observedMetrics={"penstock_lines": told}), {SHOP: LINES}
    )
    assert batch.sources[0].times is None
