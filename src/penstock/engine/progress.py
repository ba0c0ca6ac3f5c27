"""What Spark tells about a running query, in our words and in the order it happened.

Spark calls listeners from threads of its own, and waits for them before it tells anybody else. So
a listener only puts what it hears into a queue; a thread of ours reads it and delivers.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from penstock.engine.checkpoints import offsets_of
from penstock.engine.decoding import METRIC_PREFIX, MOST_PARTITIONS, SAMPLED_SHARES
from penstock.engine.events import BatchFinished, FlowIdle, RecordTimes, SourceProgress
from penstock.engine.writing import OUTPUT_METRIC, REFUSED_METRIC, TARGET_PREFIX
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, FlowName, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql.streaming.listener import (
        QueryStartedEvent,
        StateOperatorProgress,
        StreamingQueryProgress,
    )

    SparkEvent = QueryProgressEvent | QueryIdleEvent | QueryTerminatedEvent

logger = logging.getLogger(__name__)

_KAFKA_SOURCE = "KafkaV2["
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEnded:
    """Spark says that a query has ended; `error_class` and `error` only when it failed."""

    error_class: str | None
    error: str | None


ProgressEvent = BatchFinished | FlowIdle | QueryEnded


class ProgressFeed(StreamingQueryListener):
    """Delivers the progress of the one query that runs in a session.

    Attach it with `session.streams.addListener` before the query starts: Spark tells a listener
    about the queries of its own session only.
    """

    def __init__(
        self,
        flow: FlowName,
        datasets: Mapping[TopicName, DatasetName],
        deliver: Callable[[ProgressEvent], None],
        fail: Callable[[Exception], None],
    ) -> None:
        """Begin to listen.

        Args:
            flow: whose query it is.
            datasets: the topics that it reads.
            deliver: receives what happened, in order, from a thread of this object.
            fail: is told when that was not possible: a batch that nobody noticed must not pass.
        """
        self._flow, self._datasets = flow, datasets
        self._deliver, self._fail = deliver, fail
        self._heard: SimpleQueue[SparkEvent | None] = SimpleQueue()
        self._ended = Event()
        self._thread = Thread(target=self._run, name=f"penstock-progress-{flow}", daemon=True)
        self._thread.start()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Do nothing: whoever started the query knows."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """A batch is committed."""
        self._heard.put(event)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """There was no input."""
        self._heard.put(event)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """The query has ended."""
        self._heard.put(event)

    def drain(self, *, timeout_seconds: float) -> bool:
        """Wait until the query's end was delivered, and hence all before it."""
        return self._ended.wait(timeout_seconds)

    def close(self) -> None:
        """Deliver what was heard, and end."""
        self._heard.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (event := self._heard.get()) is not None:
            try:
                self._deliver(self._translated(event))
            except Exception as err:
                logger.exception("progress not delivered", extra={"flow": self._flow})
                self._fail(err)
            if isinstance(event, QueryTerminatedEvent):
                self._ended.set()

    def _translated(self, event: SparkEvent) -> ProgressEvent:
        match event:
            case QueryProgressEvent():
                return batch_finished(self._flow, event.progress, self._datasets)
            case QueryIdleEvent():
                return FlowIdle(flow=self._flow, at=_moment(event.timestamp))
            case _:
                return QueryEnded(error_class=event.errorClassOnException, error=event.exception)


def batch_finished(
    flow: FlowName,
    progress: StreamingQueryProgress,
    datasets: Mapping[TopicName, DatasetName],
) -> BatchFinished:
    """Return our event for what Spark says of a batch; `datasets` names the topics it reads."""
    milliseconds = progress.durationMs.get("triggerExecution", 0)
    operators = progress.stateOperators
    return BatchFinished(
        flow=flow,
        at=_moment(progress.timestamp) + timedelta(milliseconds=milliseconds),
        query_id=str(progress.id),
        batch_id=progress.batchId,
        input_rows=progress.numInputRows,
        output_rows=_output_rows(progress),
        refused_rows=_observed(progress, REFUSED_METRIC) or 0,
        seconds=milliseconds / 1000,
        phases=dict(progress.durationMs),
        sources=tuple(_sources(progress, datasets)),
        watermark=_watermark(progress),
        state_rows=sum(max(0, operator.numRowsTotal) for operator in operators),
        state_bytes=sum(max(0, operator.memoryUsedBytes) for operator in operators),
        dropped_late=sum(operator.numRowsDroppedByWatermark for operator in operators),
        duplicates=sum(_duplicates(operator) for operator in operators),
        undecodable=_undecodable(progress),
        produced=_observed(progress, OUTPUT_METRIC),
        written=_written(progress),
        is_stateful=bool(operators),
    )


def _sources(
    progress: StreamingQueryProgress, datasets: Mapping[TopicName, DatasetName]
) -> Iterator[SourceProgress]:
    # PySpark's own fields hold offsets as texts of several kinds; its JSON is Spark's.
    for source in json.loads(progress.json)["sources"]:
        if source["description"].startswith(_KAFKA_SOURCE):
            end = offsets_of(source["endOffset"])
            for topic in sorted({partition.topic for partition in end} & datasets.keys()):
                yield SourceProgress(
                    dataset=datasets[topic],
                    start=offsets_of(source["startOffset"]),
                    end=end,
                    rows=_rows(progress, datasets[topic], topic),
                    times=_times(progress, datasets[topic]),
                )


def _rows(
    progress: StreamingQueryProgress, dataset: DatasetName, topic: TopicName
) -> dict[TopicPartition, int] | None:
    observed = _observed_of(progress, dataset)
    if observed is None:
        return None
    bars = observed.get("partitions") or ()
    if len(bars) >= MOST_PARTITIONS:
        return None
    rows: Counter[TopicPartition] = Counter()
    # A partition that several tasks read has a bar for each.
    for number, count in bars:
        rows[TopicPartition(topic, Partition(int(number)))] += round(count)
    return dict(rows)


def _times(progress: StreamingQueryProgress, dataset: DatasetName) -> RecordTimes | None:
    observed = _observed_of(progress, dataset) or {}
    first, last = observed.get("first"), observed.get("last")
    if first is None or last is None or first < 0:  # records of old clients have no timestamp
        return None
    sampled = observed.get("sampled") or ()
    return RecordTimes(
        first=_moment_of(first),
        last=_moment_of(last),
        shares={share: _moment_of(at) for share, at in zip(SAMPLED_SHARES, sampled, strict=False)},
    )


def _observed_of(progress: StreamingQueryProgress, dataset: DatasetName) -> dict[str, Any] | None:
    observed = progress.observedMetrics.get(f"{METRIC_PREFIX}{dataset}")
    return None if observed is None else observed.asDict()


def _moment_of(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _written(progress: StreamingQueryProgress) -> dict[str, int]:
    observed = progress.observedMetrics.get(OUTPUT_METRIC)
    found = {} if observed is None else observed.asDict()
    return {
        name.removeprefix(TARGET_PREFIX): int(count or 0)
        for name, count in found.items()
        if name.startswith(TARGET_PREFIX)
    }


def _output_rows(progress: StreamingQueryProgress) -> int | None:
    counted = progress.sink.numOutputRows
    # Sinks that do not count: their rows are observed.
    rows = counted if counted >= 0 else _observed(progress, OUTPUT_METRIC)
    return None if rows is None else rows - (_observed(progress, REFUSED_METRIC) or 0)


def _observed(progress: StreamingQueryProgress, metric: str) -> int | None:
    observed = progress.observedMetrics.get(metric)
    rows = None if observed is None else observed.asDict().get("rows")
    return None if rows is None else int(rows)


def _duplicates(operator: StateOperatorProgress) -> int:
    return int(operator.customMetrics.get("numDroppedDuplicateRows", 0))


def _undecodable(progress: StreamingQueryProgress) -> dict[DatasetName, int]:
    observed = {
        name.removeprefix(METRIC_PREFIX): row.asDict()
        for name, row in progress.observedMetrics.items()
        if name.startswith(METRIC_PREFIX)
    }
    return {
        DatasetName(name): int(values["undecodable"] or 0)
        for name, values in observed.items()
        if "undecodable" in values
    }


def _watermark(progress: StreamingQueryProgress) -> datetime | None:
    text = progress.eventTime.get("watermark")
    moment = None if text is None else _moment(text)
    # Spark says 1970 as long as it has seen no event.
    return None if moment == _EPOCH else moment


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
