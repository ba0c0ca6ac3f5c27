"""The driver's part of writing a batch: what the ledger says, one job, what the lanes have done."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from penstock.engine.exactly_once.errors import LanesChangedError
from penstock.engine.exactly_once.keeping import evaluate
from penstock.engine.exactly_once.lane_plan import LanePlan, lane_plan, shared_by_content
from penstock.engine.exactly_once.tasks import RESULT_SCHEMA, lane_writer, result_of
from penstock.kafka.lanes.ledger import (
    LEDGER_TOPIC,
    Lane,
    LaneEntry,
    Written,
    flow_of,
    lane_prefix,
    written_by,
)
from penstock.kafka.lanes.writing import LaneTask, Parts
from penstock.kafka.tables import KafkaTable
from penstock.names import FlowName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from penstock.engine.exactly_once.keeping import KeptLanes
    from penstock.engine.exactly_once.losses import ShortenedBatch
    from penstock.engine.storage import Storage
    from penstock.engine.tables import BatchIdentity
    from penstock.kafka import Connection
    from penstock.names import Offset, TopicName


logger = logging.getLogger(__name__)


class Ledger:
    """The table of entries, opened when the first flow needs it. Threads may share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, Lock()
        self._table: KafkaTable | None = None
        self._has_retired = False

    def table(self) -> KafkaTable:
        """Return the table; its topic is created if there is none.

        Raises:
            ClusterError: the cluster is away, or refuses.
        """
        with self._lock:
            if self._table is None:
                self._table = KafkaTable.open(self._connection, LEDGER_TOPIC)
            return self._table

    def retire(self, pipeline: str, is_needed: Callable[[FlowName], bool]) -> None:
        """Forget the lanes of flows of `pipeline` that are not needed; only the first call does.

        An entry is needed as long as the flow's checkpoint is there: batches of another checkpoint
        never count as written by it.

        Raises:
            ClusterError: the cluster is away, or refuses.
        """
        table = self.table()
        with self._lock:
            if self._has_retired:
                return
            prefix = f"{pipeline}/"
            _, found = table.entries_at(prefix)
            flows = {key: FlowName(flow_of(key)) for key in found}
            needed = {flow: is_needed(flow) for flow in set(flows.values())}
            for key, flow in flows.items():
                if not needed[flow]:
                    table.delete(key)
            self._has_retired = True

    def close(self) -> None:
        """Close the table if it is open."""
        with self._lock:
            if self._table is not None:
                self._table.close()
                self._table = None


class BegunBatch:
    """The file `<flow>.begun.json` beside a checkpoint: the last batch that was begun."""

    def __init__(self, storage: Storage, flow: FlowName) -> None:
        self._storage, self._name = storage, f"{flow}.begun.json"

    def note(self, identity: BatchIdentity) -> bool:
        """Note that a batch begins; return False if it has begun before.

        Raises:
            StorageError: the file cannot be read or written.
        """
        text = json.dumps(asdict(identity))
        if self._storage.read_text(self._name) == text:
            logger.warning("a batch is given up", extra={"batch": identity.batch_id})
            return False
        self._storage.write_text(self._name, text)
        return True


def entries_by_lane(
    ledger: KafkaTable, pipeline: str, flow: FlowName
) -> tuple[Offset, dict[str, LaneEntry]]:
    """Return the entries of a flow that the table has, and up to where it has read."""
    prefix = lane_prefix(pipeline, flow)
    position, found = ledger.entries_at(prefix)
    return position, {
        key.removeprefix(prefix): LaneEntry.from_bytes(entry.value) for key, entry in found.items()
    }


class LaneSink:
    """Writes the batches of one start of a flow."""

    def __init__(
        self,
        pipeline: str,
        flow: FlowName,
        ledger: KafkaTable,
        *,
        by_content: bool,
        repeats: bool,
        transaction_seconds: float,
        batch_bytes: int,
        on_written: Callable[[int, Written], None],
        kept: KeptLanes,
        begun: BegunBatch | None = None,
        shortened: ShortenedBatch | None = None,
    ) -> None:
        """Write nothing yet.

        Args:
            pipeline: the name of the pipeline.
            flow: the name of the flow.
            ledger: the table of entries, open.
            by_content: whether partitions of this flow's batches are never lanes.
            repeats: whether a batch has the same rows when it is run again.
            transaction_seconds: how long a transaction may be open.
            batch_bytes: how many bytes of records may go to a partition at once.
            on_written: is told of each batch what its lanes have written.
            kept: where batches are kept that take longer than a transaction.
            begun: where the last batch is noted before anything of it is written; a batch that was
                begun is not written again. None: it is.
            shortened: the last batch that lost records after some of it was written.
        """
        self._pipeline, self._flow, self._ledger = pipeline, flow, ledger
        self._by_content, self._on_written, self._begun = by_content, on_written, begun
        self._repeats, self._transaction_seconds, self._kept = repeats, transaction_seconds, kept
        self._batch_bytes, self._shortened = batch_bytes, shortened
        self._owners: dict[str, str] = {}
        self._entries: dict[str, LaneEntry] = {}
        """What lanes have told, of which the table may know less."""

    def write(
        self, records: DataFrame, identity: BatchIdentity, *, topic: TopicName | None
    ) -> None:
        """Write a batch, but for what is written.

        Args:
            records: key, value and, if there are any, headers and topic; `lane_records` made them.
            identity: of the batch.
            topic: where all records go; None: each record's `topic`.

        Raises:
            LanesChangedError: a part of it was written with other lanes.
            PySparkException: a lane failed; `tasks.failure_in` finds why.
        """
        self._kept.begin(identity)
        gives_up = self._begun is not None and not self._begun.note(identity)
        # One that was found to be long began again because of that, and loses nothing by it.
        if gives_up and not _is_long(_of_batch(identity, self._known()[1])):
            evaluate(records)
            as_returned = False
        else:
            as_returned = self._write(records, identity, topic)
        written = written_by(self.entries().values(), identity.query_id, identity.batch_id)
        self._on_written(identity.batch_id, replace(written, is_as_returned=as_returned))

    def entries(self) -> dict[str, LaneEntry]:
        """Return what each lane has written last."""
        _, known = self._known()
        return {**known, **self._entries}

    def _write(self, records: DataFrame, identity: BatchIdentity, topic: TopicName | None) -> bool:
        """Write a batch; return whether what is written is what `records` are in this run."""
        position, known = self._known()
        of_batch = _of_batch(identity, known)
        share = partial(self._run, identity=identity, topic=topic, position=position, known=known)
        lost = self._lost(identity)
        is_long = _is_long(of_batch)
        if is_long and self._kept.has_batch():
            evaluate(records)
            with self._kept.records(records) as (kept, plan):
                self._ensure_same_plan(plan, identity, of_batch, frozenset())
                share(kept, plan, parts=Parts.AS_THEY_COME)
            return lost is None and self._repeats
        records, plan = self._planned(records)
        done = lost.done(plan.names) if lost else frozenset()
        self._ensure_same_plan(plan, identity, of_batch, done)
        if plan.in_order and self._repeats:
            share(records, plan, parts=Parts.AS_THEY_COME, done=done)
        elif not is_long:
            share(records, plan, parts=Parts.KEPT, done=done)
        else:
            if any(entry.rows and name not in done for name, entry in of_batch.items()):
                # Parts of rows as they came, from before the flow was changed.
                raise LanesChangedError(self._flow, identity.batch_id, lanes=len(plan.names))
            self._kept.keep(records, plan)
            with self._kept.records(records) as (kept, plan):
                share(kept, plan, parts=Parts.AS_THEY_COME, done=done)
        return lost is None and (self._repeats or not of_batch)

    def _run(
        self,
        records: DataFrame,
        plan: LanePlan,
        *,
        identity: BatchIdentity,
        topic: TopicName | None,
        position: Offset,
        known: Mapping[str, LaneEntry],
        parts: Parts,
        done: frozenset[str] = frozenset(),
    ) -> None:
        """Let each lane write its share, but for those that are done."""
        if not plan.names:
            return
        tasks = [
            None
            if name in done
            else LaneTask(
                lane=Lane(pipeline=self._pipeline, flow=self._flow, name=name),
                query_id=identity.query_id,
                batch_id=identity.batch_id,
                plan=plan.digest,
                known=known.get(name),
                position=position,
                owner=self._owners.get(name),
                transaction_seconds=self._transaction_seconds,
                parts=parts,
                batch_bytes=self._batch_bytes,
            )
            for name in plan.names
        ]
        write = lane_writer(self._ledger.connection, tasks, topic)
        rows = records.mapInArrow(write, RESULT_SCHEMA).collect()
        results = {row["lane"]: result_of(row["result"]) for row in rows}
        self._owners |= {name: result.owner for name, result in results.items()}
        for name, result in results.items():
            if result.entry is not None:
                self._entries[name] = result.entry

    def _lost(self, identity: BatchIdentity) -> ShortenedBatch | None:
        """Return what a batch lost records behind; None if it has lost none."""
        shortened = self._shortened
        return shortened if shortened is not None and shortened.is_batch(identity) else None

    def _planned(self, records: DataFrame) -> tuple[DataFrame, LanePlan]:
        plan = None if self._by_content else lane_plan(records)
        if plan is not None:
            return records, plan
        lanes = records.sparkSession.conf.get("spark.sql.shuffle.partitions")
        return shared_by_content(records, int(lanes or 1))

    def _known(self) -> tuple[Offset, dict[str, LaneEntry]]:
        return entries_by_lane(self._ledger, self._pipeline, self._flow)

    def _ensure_same_plan(
        self,
        plan: LanePlan,
        identity: BatchIdentity,
        of_batch: Mapping[str, LaneEntry],
        done: frozenset[str],
    ) -> None:
        for name, entry in of_batch.items():
            is_begun = entry.has_begun(identity.query_id, identity.batch_id)
            if is_begun and entry.plan != plan.digest and not (plan.in_order and name in done):
                raise LanesChangedError(self._flow, identity.batch_id, lanes=len(plan.names))


def _of_batch(identity: BatchIdentity, known: Mapping[str, LaneEntry]) -> dict[str, LaneEntry]:
    return {
        name: entry
        for name, entry in known.items()
        if entry.is_of(identity.query_id, identity.batch_id)
    }


def _is_long(of_batch: Mapping[str, LaneEntry]) -> bool:
    """Whether a lane has found that the batch takes longer than a transaction."""
    return any(entry.rows is not None for entry in of_batch.values())
