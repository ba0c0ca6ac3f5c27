"""What a driver that died has not noted of its last batches: found at the next start, and counted.

A driver notes a batch behind Spark's commit, so it may die in between. The checkpoint then knows a
committed batch that the history lacks. One record makes up for all that is missing in a row: its
offsets are those of the checkpoint, its records are counted again, and what is written is what the
totals of the lanes have grown by since the record before.

It happens in the background, while the flow goes on.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from penstock.delivery.audit import up_to
from penstock.delivery.history import HistoryReader
from penstock.delivery.records import BatchRecord, PartitionRead
from penstock.engine.decoding import BAD_COLUMN, with_reason
from penstock.engine.quarantine import ranges_between
from penstock.errors import PenstockError
from penstock.kafka import TopicPartition
from penstock.kafka.lanes.ledger import Written, mixed
from penstock.names import Offset, Partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.delivery.history import HistoryWriter
    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.engine.reading import Reader
    from penstock.kafka.lanes.ledger import LaneEntry
    from penstock.names import PipelineName, TopicName
    from penstock.pipeline import Flow, Topic

logger = logging.getLogger(__name__)

_SLACK = timedelta(minutes=1)
"""A record bears the time of its batch's end, by the clock of the machine that ran it."""


class Recount:
    """The hole in the history before one start of a flow, if there is one."""

    def __init__(
        self,
        flow: Flow,
        pipeline: PipelineName,
        *,
        topics: Sequence[Topic],
        checkpoint: CheckpointFolder,
        reader: Reader,
        history: HistoryWriter,
        entries: Mapping[str, LaneEntry],
    ) -> None:
        """Look at the checkpoint; call it before the query starts.

        Args:
            flow: the flow.
            pipeline: the name of its pipeline.
            topics: what it reads.
            checkpoint: its checkpoint.
            reader: reads topics as the flow does.
            history: where batches are noted.
            entries: of its lanes, as they are before the query starts.
        """
        self._flow, self._pipeline, self._topics = flow, pipeline, topics
        self._checkpoint, self._reader, self._history = checkpoint, reader, history
        self._entries = entries
        self._query_id, self._last = checkpoint.query_id(), checkpoint.last_committed()
        planned = checkpoint.last_planned()
        # Asked now: by the time of the count this process may have noted batches behind the hole.
        self._is_noted = (
            self._query_id is not None
            and self._last is not None
            and history.has_noted(flow.name, self._query_id, self._last)
        )
        self._ended = datetime.now(UTC)
        """When the last batch had ended: nobody knows better than that it was before the next."""
        if planned is not None and planned != self._last:
            self._ended = checkpoint.plan(planned).began

    def note_what_is_missing(self) -> None:
        """Note a record for the batches that the history lacks; what prevents that is logged."""
        if self._last is None or self._query_id is None or self._is_noted:
            return
        try:
            self._note(self._query_id, self._last)
        except (PenstockError, PySparkException, Py4JError):
            # The audit names what is missing; the flow does not need it.
            logger.warning(
                "batches not counted again", extra={"flow": self._flow.name}, exc_info=True
            )

    def _note(self, query_id: str, last: int) -> None:
        oldest = min(self._checkpoint.committed_after(None))
        noted = self._noted(query_id, last, self._checkpoint.plan(oldest).began)
        if not noted and oldest > 0:
            return  # it ran before there was a history
        before = None
        for record in noted:
            # A driver may have died before it had counted again what the one before it had missed.
            first = 0 if before is None else before.batch_id + 1
            if record.first_batch_id > first and (first == 0 or first > oldest):
                lanes = _before(record)
                self._history.note(self._record(query_id, before, record.first_batch_id - 1, lanes))
            before = record
        if before is None or before.batch_id < last:
            entries = self._entries.values()
            lanes = up_to(entries, query_id, last) if self._entries else None
            self._history.note(self._record(query_id, before, last, lanes))

    def _noted(self, query_id: str, last: int, since: datetime) -> list[BatchRecord]:
        """Return what is noted of batches up to `last`, in their order."""
        connection = self._history.connection
        with HistoryReader(connection, self._pipeline, since=since - _SLACK) as history:
            found = {
                record.batch_id: record
                for record in history.read()
                if isinstance(record, BatchRecord)
                and record.flow == self._flow.name
                and record.query_id == query_id
                and record.batch_id <= last
            }
        return [found[batch_id] for batch_id in sorted(found)]

    def _record(
        self, query_id: str, before: BatchRecord | None, last: int, lanes: Written | None
    ) -> BatchRecord:
        """Return a record for the batches after `before` up to `last`, where lanes were `lanes`."""
        first = 0 if before is None else before.batch_id + 1
        reads: dict[TopicPartition, PartitionRead] = {}
        undecodable = 0
        for topic in self._topics:
            found, bad = self._counted(topic, first, last)
            reads |= found
            undecodable += bad
        record = BatchRecord(
            pipeline=self._pipeline,
            flow=self._flow.name,
            query_id=query_id,
            first_batch_id=first,
            batch_id=last,
            started=self._checkpoint.plan(first).began,
            ended=self._ended if last == self._last else self._checkpoint.plan(last + 1).began,
            delivery=str(self._flow.delivery),
            reads=reads,
            input_rows=sum(read.rows or 0 for read in reads.values()),
            undecodable=undecodable,
            is_stateful=self._checkpoint.has_state(),
            recounted=True,
        )
        return record if lanes is None else _with_growth(record, before, lanes)

    def _counted(
        self, topic: Topic, first: int, last: int
    ) -> tuple[dict[TopicPartition, PartitionRead], int]:
        starts = self._checkpoint.start_offsets(first, topic.name)
        ends = self._checkpoint.plan(last).offsets(topic.name)
        ranges = ranges_between(starts, ends, {})
        counts: dict[TopicPartition, int] = {}
        undecodable = 0
        if ranges:
            judged = with_reason(self._reader.raw_range(topic.name, ranges), topic)
            rows = judged.groupBy("partition").agg(
                F.count(F.lit(1)).alias("rows"), F.count(BAD_COLUMN).alias("bad")
            )
            for row in rows.collect():
                counts[TopicPartition(topic.kafka_name, Partition(row["partition"]))] = row["rows"]
                undecodable += row["bad"]
        reads = {
            where: PartitionRead(
                first=starts.get(where, Offset(0)), after=after, rows=counts.get(where, 0)
            )
            for where, after in ends.items()
        }
        return reads, undecodable


def _before(record: BatchRecord) -> Written | None:
    """Return what lanes had written before the batches of a record."""
    if record.totals is None:
        return None
    totals = {topic: n - record.written.get(topic, 0) for topic, n in record.totals.items()}
    return Written(
        counts={},
        fingerprints={},
        totals=totals,
        total_fingerprints=mixed(record.total_fingerprints, record.fingerprints),
    )


def _with_growth(record: BatchRecord, before: BatchRecord | None, lanes: Written) -> BatchRecord:
    """Return `record` with what lanes have written since the one before."""
    known: Mapping[TopicName, int] = {}
    fingerprints: Mapping[TopicName, int] = {}
    if before is not None:
        if before.totals is None:
            return record
        known, fingerprints = before.totals, before.total_fingerprints
    return replace(
        record,
        written={topic: count - known.get(topic, 0) for topic, count in lanes.totals.items()},
        fingerprints=mixed(fingerprints, lanes.total_fingerprints),
        totals=lanes.totals,
        total_fingerprints=lanes.total_fingerprints,
    )
