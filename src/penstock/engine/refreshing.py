"""Refreshing: a table that is the result of a query is computed again when its inputs have moved.

Such a flow is no stream. It runs as a batch over all that its inputs hold, and its result replaces
the table in one commit of Delta: readers see the old table or the new one. Whether an input has
moved is seen in its log. Inputs that have none (topics, folders) count as moved each time.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as F

from penstock.engine.checkpoints import CheckpointFolder
from penstock.engine.contracts.errors import UnknownSchemaIdError
from penstock.engine.events import BatchFinished, FlowIdle, FlowStarted
from penstock.engine.failures import failure_of
from penstock.engine.queries import activate_session
from penstock.engine.reading import Reader, SourceOptions, apply_flow
from penstock.engine.schemas import struct_of
from penstock.engine.storage import Storage
from penstock.engine.tables import ensure_table, table_rows
from penstock.errors import PenstockError
from penstock.pipeline import MaterializedView, Table, TableFormat, guarantees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from penstock.engine.context import PipelineContext
    from penstock.engine.failures import Failure
    from penstock.names import DatasetName
    from penstock.pipeline import Flow

_LOOK_SECONDS = 1.0
"""How often to look whether inputs have moved; a table may be written by another driver."""

_LOGS = {TableFormat.DELTA: "_delta_log"}
_PLAIN_LOG = "_spark_metadata"


class RefreshQuery:
    """One start of a flow that computes a materialized view; used as `queries.FlowQuery` is."""

    def __init__(self, flow: Flow, context: PipelineContext, *, once: bool) -> None:
        """Do nothing yet; `once`: compute it and end."""
        self.flow = flow
        self.lookup_versions: Mapping[DatasetName, str] = {}
        self.failure: Failure | None = None
        """Why it ended, when that was not wanted; known once `await_end` has returned."""

        self.checkpoint = CheckpointFolder(context.storage, flow.name)
        """Never written: every computation reads all there is."""
        self._context, self._once = context, once
        self._every = flow.refresh or timedelta(0)
        self._session = context.spark.newSession()
        self._id = str(uuid4())
        self._stop, self._ended = Event(), Event()
        self._batches = 0

    @property
    def view(self) -> MaterializedView:
        """What is computed."""
        (target,) = self._context.pipeline.targets(self.flow).values()
        assert isinstance(target, MaterializedView)  # noqa: S101 - nothing else is refreshed
        return target

    def start(self) -> None:
        """Set up the session; the first computation is made by `await_end`.

        Raises:
            PenstockError: a setting cannot be made.
        """
        try:
            for key, value in self.flow.conf.items():
                self._session.conf.set(key, value)
        except (PySparkException, Py4JError) as err:
            raise failure_of(self.flow.name, err).error from err
        started = FlowStarted(
            flow=self.flow.name,
            at=datetime.now(UTC),
            query_id=self._id,
            resumed_batch=None,
            writes=guarantees(self.flow, self._context.pipeline),
        )
        self._context.notify(started)

    def await_end(self, timeout_seconds: float | None = None) -> bool:
        """Compute the view whenever that is due, until stopped; in the thread that calls."""
        del timeout_seconds  # nobody waits for this with a limit
        try:
            self._run()
        except (PySparkException, Py4JError, PenstockError) as err:
            if not self._stop.is_set():  # a computation that was interrupted fails
                self.failure = failure_of(self.flow.name, err)
                if isinstance(self.failure.error, UnknownSchemaIdError):
                    self._context.contracts.ask_about(self.failure.error)
        finally:
            self._ended.set()
        return True

    def stop_after_batch(self, timeout_seconds: float) -> bool:
        """Let a computation finish, for so long at most, and end."""
        self._stop.set()
        if self._ended.wait(timeout_seconds):
            return True
        self.stop_now()
        return False

    def stop_now(self) -> None:
        """End in the middle of a computation, which leaves the table as it was."""
        self._stop.set()
        self._session.sparkContext.cancelJobGroup(self._id)
        self._ended.wait()

    def _run(self) -> None:
        activate_session(self._session)
        seen: Mapping[DatasetName, int | None] | None = None
        due = time.monotonic()
        while not self._stop.is_set():
            found = self._versions()
            if time.monotonic() >= due and (found != seen or None in found.values()):
                due = time.monotonic() + self._every.total_seconds()
                self._compute()
                seen = found
                self._context.notify(FlowIdle(flow=self.flow.name, at=datetime.now(UTC)))
            if self._once:
                return
            self._stop.wait(min(_LOOK_SECONDS, self._every.total_seconds()))

    def _versions(self) -> dict[DatasetName, int | None]:
        """Return how far each input has come; None where nothing tells."""
        return {
            item.name: self._version(item) if isinstance(item, Table) else None
            for item in self._context.pipeline.upstream(self.flow)
        }

    def _version(self, table: Table) -> int:
        folder = Storage(self._session, self._context.tables.path(table))
        names = folder.names(_LOGS.get(table.format, _PLAIN_LOG))
        numbers = [stem for name in names if (stem := name.partition(".")[0]).isdigit()]
        return max(map(int, numbers), default=-1)

    def _compute(self) -> None:
        begun = time.monotonic()
        context = self._session.sparkContext
        context.setJobGroup(self._id, f"refresh of {self.view.name}", interruptOnCancel=True)
        pipeline = self._context.contracts.read_by(self._context.pipeline, self.flow)
        reader = Reader(
            self._session,
            SourceOptions(flow=self.flow.name, pipeline=pipeline, kafka=self._context.kafka),
            tables=self._context.tables,
            lookups=lambda lookup: self._context.lookups.input(
                lookup, self._context.lookups.present(self.flow), self._session
            ),
        )
        rows = self._replace(apply_flow(self.flow, reader.inputs(self.flow)))
        seconds = time.monotonic() - begun
        self._context.notify(
            BatchFinished(
                flow=self.flow.name,
                at=datetime.now(UTC),
                query_id=self._id,
                batch_id=self._batches,
                input_rows=0,
                output_rows=rows,
                seconds=seconds,
                phases={"addBatch": int(seconds * 1000)},
                sources=(),
                watermark=None,
            )
        )
        self._batches += 1

    def _replace(self, frame: DataFrame) -> int:
        """Replace the table by `frame` in one commit, and return how many rows it has."""
        view, path = self.view, self._context.tables.path(self.view)
        rows, counted = table_rows(frame, view), Observation()
        ensure_table(self._session, view, path, rows.schema)
        writer = rows.observe(counted, F.count(F.lit(1)).alias("rows")).write.format("delta")
        if not self._has_columns_of(view, path):
            writer = writer.option("overwriteSchema", "true")
        writer.partitionBy(*view.partition_by).mode("overwrite").save(path)
        return int(counted.get["rows"])

    def _has_columns_of(self, view: MaterializedView, path: str) -> bool:
        found = self._session.read.format("delta").load(path).schema
        wanted = struct_of(view.schema) if view.schema else found
        return [(item.name, item.dataType.simpleString()) for item in found] == [
            (item.name, item.dataType.simpleString()) for item in wanted
        ]
