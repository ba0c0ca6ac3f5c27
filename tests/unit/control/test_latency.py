"""Latencies from the timestamps of batches: broken lines, folded into fixed buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control.latency import BOUNDS, LatencyHistogram, LatencyRecord
from penstock.engine.events import BatchFinished, RecordTimes, SourceProgress
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, Partition, TopicName
from support.pipeline_events import at, batch, offsets

if TYPE_CHECKING:
    from datetime import datetime

ZERO = TopicPartition(TopicName("lines"), Partition(0))


def read(first: float, last: float, rows: int, **shares: float) -> SourceProgress:
    """Return what a batch read of records stamped between two moments; `_50=3`: half before 3 s."""
    moments: dict[float, datetime] = {
        int(name.removeprefix("_")) / 100: at(seconds) for name, seconds in shares.items()
    }
    return SourceProgress(
        dataset=DatasetName("lines"),
        start={},
        end=offsets(rows),
        rows={ZERO: rows},
        times=RecordTimes(first=at(first), last=at(last), shares=moments),
    )


def counted(*batches: BatchFinished) -> LatencyRecord:
    histogram = LatencyHistogram()
    for item in batches:
        histogram.add(item)
    assert histogram.record is not None
    return histogram.record


def within(record: LatencyRecord, seconds: float) -> int:
    return record.counts[BOUNDS.index(seconds)]


def test_records_of_one_moment_have_one_latency() -> None:
    record = counted(batch(at=at(0.15), sources=(read(0, 0, 7),)))

    assert (within(record, 0.1), within(record, 0.2), record.count) == (0, 7, 7)
    assert record.seconds == pytest.approx(7 * 0.15)
    assert set(record.quantiles.values()) == {0.15}


def test_without_a_sample_records_are_spread_between_first_and_last() -> None:
    record = counted(batch(at=at(10), sources=(read(0, 10, 1000),)))

    assert [within(record, bound) for bound in (1.0, 2.0, 5.0, 10.0)] == [100, 200, 500, 1000]
    assert record.seconds == pytest.approx(5000)
    assert record.quantiles == pytest.approx(
        {"0.5": 5, "0.9": 9, "0.95": 9.5, "0.99": 9.9, "1": 10}
    )


def test_the_sample_bends_the_line() -> None:
    """Nine tenths were stamped in the last second of ten: only the oldest tenth waited long."""
    record = counted(batch(at=at(10), sources=(read(0, 10, 1000, _10=9),)))

    assert [within(record, bound) for bound in (0.5, 1.0, 10.0)] == [450, 900, 1000]
    assert record.quantiles["0.9"] == pytest.approx(1)
    assert record.quantiles["0.95"] == pytest.approx(5.5)


def test_topics_of_a_batch_count_by_their_records() -> None:
    sources = (read(9, 9, 30), read(0, 0, 10))
    record = counted(batch(at=at(10), sources=sources))

    assert [within(record, bound) for bound in (0.5, 1.0, 10.0)] == [0, 30, 40]
    assert record.count == 40


def test_batches_add_up_and_the_last_one_has_the_quantiles() -> None:
    record = counted(
        batch(at=at(10), sources=(read(9, 9, 30),)),
        batch(at=at(20), sources=(read(0, 0, 10),)),
        batch(at=at(21), sources=()),
    )

    assert [within(record, bound) for bound in (0.5, 1.0, 10.0, 20.0)] == [0, 30, 30, 40]
    assert record.count == 40
    assert record.seconds == pytest.approx(230)
    assert record.quantiles["0.5"] == 20


def test_a_record_from_the_future_took_no_time_and_one_of_last_year_is_in_the_count() -> None:
    record = counted(
        batch(at=at(0), sources=(read(5, 5, 1),)), batch(at=at(9e6), sources=(read(0, 0, 2),))
    )

    assert (record.counts, record.count) == ((1,) * len(BOUNDS), 3)


def test_nothing_is_told_before_a_batch_with_timestamps() -> None:
    histogram = LatencyHistogram()
    histogram.add(batch())

    assert histogram.record is None
