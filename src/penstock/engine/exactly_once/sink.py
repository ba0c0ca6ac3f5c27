"""The driver's part of writing a batch: what the ledger says, one job, what the lanes have done."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from threading import Lock
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.engine.exactly_once.errors import LanesChangedError
from penstock.engine.exactly_once.lane_plan import LanePlan, lane_plan, shared_by_content
from penstock.engine.exactly_once.tasks import RESULT_SCHEMA, lane_writer, result_of
from penstock.kafka.lanes.ledger import (
    LEDGER_TOPIC,
    Counts,
    Lane,
    LaneEntry,
    added,
    lane_prefix,
)
from penstock.kafka.lanes.writing import LaneTask
from penstock.kafka.tables import KafkaTable
from penstock.names import FlowName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from penstock.engine.storage import Storage
    from penstock.engine.tables import BatchIdentity
    from penstock.kafka import Connection
    from penstock.names import TopicName


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
            flows = {key: FlowName(key.removeprefix(prefix).partition("/")[0]) for key in found}
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


class LaneSink:
    """Writes the batches of one start of a flow."""

    def __init__(
        self,
        pipeline: str,
        flow: FlowName,
        ledger: KafkaTable,
        *,
        by_content: bool,
        on_written: Callable[[int, Counts], None],
        begun: BegunBatch | None = None,
    ) -> None:
        """Write nothing yet.

        Args:
            pipeline: the name of the pipeline.
            flow: the name of the flow.
            ledger: the table of entries, open.
            by_content: whether partitions of this flow's batches are never lanes.
            on_written: is told of each batch how many records it has for each topic.
            begun: where the last batch is noted before anything of it is written; a batch that was
                begun is not run again. None: it is.
        """
        self._pipeline, self._flow, self._ledger = pipeline, flow, ledger
        self._by_content, self._on_written, self._begun = by_content, on_written, begun
        self._owners: dict[str, str] = {}

    def write(
        self, records: DataFrame, identity: BatchIdentity, *, topic: TopicName | None
    ) -> None:
        """Write a batch, but for what is written.

        Args:
            records: key, value and, if there are any, headers and topic.
            identity: of the batch.
            topic: where all records go; None: each record's `topic`.

        Raises:
            LanesChangedError: a part of it was written with other lanes.
            PySparkException: a lane failed; `tasks.failure_in` finds why.
        """
        counts: Counts = {}
        if self._begun is None or self._begun.note(identity):
            counts = self._write(records, identity, topic)
        self._on_written(identity.batch_id, counts)

    def _write(
        self, records: DataFrame, identity: BatchIdentity, topic: TopicName | None
    ) -> Counts:
        records, plan = self._planned(records)
        if not plan.names:
            return {}
        connection = self._ledger.connection
        tasks = self._tasks(plan, identity)
        write = lane_writer(connection, tasks, topic)
        rows = records.mapInArrow(write, RESULT_SCHEMA).collect()
        results = {row["lane"]: result_of(row["result"]) for row in rows}
        self._owners = {name: result.owner for name, result in results.items()}
        written = (
            result.entry.counts
            for result in results.values()
            if result.entry is not None and result.entry.is_of(identity.query_id, identity.batch_id)
        )
        return added(*written)

    def _planned(self, records: DataFrame) -> tuple[DataFrame, LanePlan]:
        columns = [
            F.col(name).cast("binary").alias(name) if name in ("key", "value") else F.col(name)
            for name in records.columns
        ]
        records = records.select(*columns)
        plan = None if self._by_content else lane_plan(records)
        if plan is not None:
            return records, plan
        lanes = records.sparkSession.conf.get("spark.sql.shuffle.partitions")
        return shared_by_content(records, int(lanes or 1))

    def _tasks(self, plan: LanePlan, identity: BatchIdentity) -> list[LaneTask]:
        prefix = lane_prefix(self._pipeline, self._flow)
        position, found = self._ledger.entries_at(prefix)
        known = {
            key.removeprefix(prefix): LaneEntry.from_bytes(entry.value)
            for key, entry in found.items()
        }
        self._ensure_same_plan(plan, identity, known)
        return [
            LaneTask(
                lane=Lane(pipeline=self._pipeline, flow=self._flow, name=name),
                query_id=identity.query_id,
                batch_id=identity.batch_id,
                plan=plan.digest,
                known=known.get(name),
                position=position,
                owner=self._owners.get(name),
            )
            for name in plan.names
        ]

    def _ensure_same_plan(
        self, plan: LanePlan, identity: BatchIdentity, known: Mapping[str, LaneEntry]
    ) -> None:
        for entry in known.values():
            is_of_batch = entry.is_of(identity.query_id, identity.batch_id)
            if is_of_batch and entry.plan != plan.digest:
                raise LanesChangedError(self._flow, identity.batch_id, lanes=len(plan.names))
