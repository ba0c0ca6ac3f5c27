"""Dead letters once: a lane for each dataset that a flow reads, written behind its batches.

The entry of such a lane says up to which batch the undecodable records of the dataset are dead
letters, and its `plan` holds the offsets behind that batch, because Spark forgets old batches.
Whoever starts next goes on there, whether or not the mark beside the checkpoint was moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.engine.checkpoints import format_offsets, parse_offsets
from penstock.engine.exactly_once.lane_records import lane_records
from penstock.engine.exactly_once.tasks import RESULT_SCHEMA, lane_writer, result_of
from penstock.kafka.lanes.ledger import Lane, LaneEntry, letters_of
from penstock.kafka.lanes.limits import batch_bytes, transaction_seconds
from penstock.kafka.lanes.writing import LaneTask, Parts, written_last

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.engine.context import PipelineContext
    from penstock.engine.events import Offsets
    from penstock.engine.quarantine import Mark
    from penstock.names import DatasetName, FlowName

_LETTERS_PER_SECOND = 2000
"""What a lane surely writes, records of all sizes with their headers, beside a flow at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LettersWritten:
    """Up to where the undecodable records of a dataset are dead letters."""

    batch_id: int
    offsets: Offsets
    """Behind the batch; none of a watched folder."""

    count: int
    """How many were written at last."""


class LetterLanes:
    """The lanes of one start of one flow. For one thread at a time."""

    def __init__(self, flow: FlowName, context: PipelineContext) -> None:
        """Open nothing yet."""
        self._flow, self._context = flow, context
        self._owners: dict[DatasetName, str] = {}
        self._entries: dict[DatasetName, LaneEntry | None] = {}

    def written(self, dataset: DatasetName, query_id: str) -> LettersWritten | None:
        """Return what is written of a dataset since this checkpoint began; None if nothing is.

        Raises:
            ClusterError: the cluster is away, or refuses.
        """
        entry = self._entry(dataset)
        if entry is None or entry.query_id != query_id:
            return None
        return LettersWritten(
            batch_id=entry.batch_id,
            offsets=parse_offsets(entry.plan),
            count=sum(entry.counts.values()),
        )

    def share(self, dataset: DatasetName, mark: Mark) -> LetterShare:
        """Return what writes the letters of a dataset up to a mark."""
        offsets = format_offsets(mark.offsets.get(dataset, {}))
        return LetterShare(self, dataset, mark.query_id, mark.batch_id, offsets)

    @cached_property
    def transaction_seconds(self) -> float:
        """How long a transaction may be open."""
        return transaction_seconds(self._context.admin)

    @cached_property
    def batch_bytes(self) -> int:
        """How many bytes of letters may go to a partition at once."""
        return batch_bytes(self._context.admin, [self._context.pipeline.dead_letters])

    def has_written(self, share: LetterShare) -> bool:
        """Whether the letters of a share are written."""
        entry = self._entry(share.dataset)
        return entry is not None and entry.has_written(share.query_id, share.batch_id)

    def write(self, share: LetterShare, letters: DataFrame) -> int:
        """Write `letters`: key, value, headers; return how many were.

        Raises:
            ClusterError: the cluster is away, or refuses.
            PySparkException: the lane failed; `tasks.failure_in` finds why.
        """
        lane, table = self._lane(share.dataset), self._context.ledger.table()
        position, found = table.entries_at(lane.key)
        known = found.get(lane.key)
        task = LaneTask(
            lane=lane,
            query_id=share.query_id,
            batch_id=share.batch_id,
            plan=share.plan,
            known=None if known is None else LaneEntry.from_bytes(known.value),
            position=position,
            owner=self._owners.get(share.dataset),
            transaction_seconds=self.transaction_seconds,
            parts=Parts.NEVER,
            batch_bytes=self.batch_bytes,
            behind=written_last(self._entry(share.dataset)),
        )
        topic = self._context.pipeline.dead_letters
        write = lane_writer(table.connection, [task], topic)
        records = lane_records(letters).coalesce(1)
        (row,) = records.mapInArrow(write, RESULT_SCHEMA).collect()
        result = result_of(row["result"])
        self._owners[share.dataset], self._entries[share.dataset] = result.owner, result.entry
        return 0 if result.entry is None else sum(result.entry.counts.values())

    def _lane(self, dataset: DatasetName) -> Lane:
        pipeline = self._context.pipeline.name
        return Lane(pipeline=pipeline, flow=letters_of(self._flow), name=dataset)

    def _entry(self, dataset: DatasetName) -> LaneEntry | None:
        if dataset not in self._entries:
            table = self._context.ledger.table()
            table.refresh()
            found = table.get(self._lane(dataset).key)
            self._entries[dataset] = None if found is None else LaneEntry.from_bytes(found.value)
        return self._entries[dataset]


@dataclass(frozen=True, slots=True)
class LetterShare:
    """The dead letters of one dataset up to the end of one batch."""

    lanes: LetterLanes
    dataset: DatasetName
    query_id: str
    batch_id: int
    plan: str

    @property
    def is_written(self) -> bool:
        """Whether they were written before."""
        return self.lanes.has_written(self)

    def fits(self, count: int) -> bool:
        """Whether so many surely fit into a transaction."""
        return count <= self.lanes.transaction_seconds * _LETTERS_PER_SECOND

    def write(self, letters: DataFrame) -> int:
        """Write them; return how many there were."""
        return self.lanes.write(self, letters)
