"""What the history is told of one flow: its batches, its losses, its dead letters."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.delivery.records import BatchRecord, LettersRecord, LossRecord, PartitionRead
from penstock.engine.checkpoints import DamagedCheckpointError
from penstock.engine.events import BatchFinished, DataLost, DeadLettersWritten
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from penstock.delivery.history import HistoryWriter
    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.engine.events import Offsets, PipelineEvent, SourceProgress
    from penstock.kafka import TopicPartition
    from penstock.kafka.lanes.ledger import Written
    from penstock.names import PipelineName
    from penstock.pipeline import Flow


class BatchNotes:
    """Writes down what happens to one flow, at each of its starts. Never waits for Kafka."""

    def __init__(
        self,
        flow: Flow,
        pipeline: PipelineName,
        history: HistoryWriter,
        checkpoint: CheckpointFolder,
    ) -> None:
        self._flow, self._pipeline = flow, pipeline
        self._history, self._checkpoint = history, checkpoint
        self._is_first = True

    def note(self, batch: BatchFinished, written: Written | None) -> None:
        """Note a batch; `written` is what its lanes have told."""
        self._history.note(
            BatchRecord(
                pipeline=self._pipeline,
                flow=self._flow.name,
                query_id=batch.query_id,
                first_batch_id=batch.batch_id,
                batch_id=batch.batch_id,
                started=self._started(batch),
                ended=batch.at,
                delivery=str(self._flow.delivery),
                reads=dict(self._reads(batch)),
                input_rows=batch.input_rows,
                undecodable=sum(batch.undecodable.values()),
                refused=batch.refused_rows,
                duplicates=batch.duplicates,
                late=batch.dropped_late,
                produced=batch.produced,
                is_stateful=batch.is_stateful,
                written=dict(batch.written),
                fingerprints=written.fingerprints if written else {},
                totals=written.totals if written else None,
                total_fingerprints=written.total_fingerprints if written else {},
            )
        )

    def note_event(self, event: PipelineEvent) -> None:
        """Note what has happened beside the batches."""
        match event:
            case DataLost(at=at, topic=topic, reason=reason, lost=lost):
                self._history.note(
                    LossRecord(
                        pipeline=self._pipeline,
                        flow=self._flow.name,
                        at=at,
                        topic=topic,
                        reason=reason,
                        count=sum(lost.values()),
                    )
                )
            case DeadLettersWritten(at=at, batch_id=batch_id, count=count):
                self._history.note(
                    LettersRecord(
                        pipeline=self._pipeline,
                        flow=self._flow.name,
                        at=at,
                        batch_id=batch_id,
                        count=count,
                    )
                )
            case _:
                pass

    def _started(self, batch: BatchFinished) -> datetime:
        """Return when a batch began; one that is run again began when it was planned."""
        started, is_first = batch.at - timedelta(seconds=batch.seconds), self._is_first
        self._is_first = False
        if is_first:
            with suppress(DamagedCheckpointError):  # real-time flows plan at the end
                return min(started, self._checkpoint.plan(batch.batch_id).began)
        return started

    def _reads(self, batch: BatchFinished) -> Iterator[tuple[TopicPartition, PartitionRead]]:
        for source in batch.sources:
            starts = self._starts(batch.batch_id, source)
            for where, after in source.end.items():
                first = starts.get(where, Offset(0))  # one that was added is read from 0
                rows = None if source.rows is None else source.rows.get(where, 0)
                yield where, PartitionRead(first=first, after=after, rows=rows)

    def _starts(self, batch_id: int, source: SourceProgress) -> Offsets:
        # Spark names no start for the first batch of a source; the checkpoint knows it.
        return source.start or self._checkpoint.start_offsets(batch_id, source.dataset)
