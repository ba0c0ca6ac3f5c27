"""Projects of Spark Declarative Pipelines: written, loaded and run in the Spark of the tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from textwrap import dedent
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from penstock.control.order import writers_before
from penstock.delivery.history import HistoryWriter
from penstock.engine.context import PipelineContext
from penstock.engine.exactly_once.sink import Ledger
from penstock.engine.kafka_options import kafka_options
from penstock.engine.lookups import Lookups
from penstock.engine.quarantine import QuarantineWorker
from penstock.engine.queries import FlowQuery
from penstock.engine.refreshing import RefreshQuery
from penstock.engine.sdp import load_declarative_pipeline
from penstock.engine.storage import Storage
from penstock.engine.tables import TableLocations
from penstock.kafka import Admin, Connection
from penstock.names import PipelineName
from penstock.pipeline import AvailableNow, InvalidPipelineError, Table, load_spec
from support.contracts import contracts_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.engine.events import PipelineEvent
    from penstock.errors import PenstockError
    from penstock.pipeline import Flow, Pipeline

NOBODY = Connection(bootstrap="127.0.0.1:9")
"""An address that leads nowhere: projects without topics need no broker."""


@dataclass
class DeclarativeLab:
    """A project in a folder of the test."""

    spark: SparkSession
    folder: Path
    connection: Connection = NOBODY
    events: list[PipelineEvent] = field(default_factory=list)
    name: str = field(default_factory=lambda: f"sdp{uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.admin, self.worker = Admin(self.connection), QuarantineWorker()

    def write(self, files: Mapping[str, str], *, spec: str = "") -> None:
        """Write files by their paths, and the spec with `spec` added to it."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        (self.folder / "spark-pipeline.yml").write_text(
            f"name: {self.name}\nstorage: file://{self.folder}/storage\n"
            "libraries:\n  - glob:\n      include: transformations/**\n" + dedent(spec),
            encoding="utf-8",
        )

    def load(self) -> Pipeline:
        """Return the pipeline of the project."""
        spec = load_spec(self.folder / "spark-pipeline.yml")
        name = PipelineName(self.name)
        return load_declarative_pipeline(spec, self.spark, name=name, files=("flows.py",))

    def problems(self) -> list[tuple[str, str, str, int | None]]:
        """Return code, message, file and line of all that is wrong with the project."""
        try:
            self.load()
        except InvalidPipelineError as err:
            return [_told(problem) for problem in err.problems]
        return []

    def run_once(self) -> Pipeline:
        """Run every flow, those first that write what others read, and return the pipeline."""
        pipeline = self.load()
        for name in TopologicalSorter(writers_before(pipeline, pipeline.flows)).static_order():
            query = self.query(pipeline, pipeline.flow(name))
            query.start()
            assert query.await_end(110)
            assert query.failure is None, query.failure.error
        return pipeline

    def query(
        self, pipeline: Pipeline, flow: Flow, *, once: bool = True
    ) -> FlowQuery | RefreshQuery:
        """Return a start of a flow."""
        context = self.context(pipeline)
        if flow.refresh is not None:
            return RefreshQuery(flow, context, once=once)
        return FlowQuery(flow, context, trigger=AvailableNow() if once else None)

    @cached_property
    def history(self) -> HistoryWriter:
        """Where batches are noted."""
        return HistoryWriter(self.connection)

    def context(self, pipeline: Pipeline) -> PipelineContext:
        """Return what the flows of the pipeline share."""
        kafka = kafka_options(self.connection)
        storage = Storage(self.spark, f"{pipeline.storage}/{pipeline.name}")
        tables = TableLocations(warehouse=str(self.folder / "tables"), project=self.folder)
        contracts = contracts_at(self.spark, self.folder)
        return PipelineContext(
            pipeline=pipeline,
            spark=self.spark,
            storage=storage,
            admin=self.admin,
            kafka=kafka,
            tables=tables,
            lookups=Lookups(
                self.spark,
                pipeline,
                storage=storage,
                connection=self.connection,
                kafka=kafka,
                tables=tables,
                contracts=contracts,
            ),
            contracts=contracts,
            ledger=Ledger(self.connection),
            history=self.history,
            quarantine=self.worker,
            conf={},
            notify=self.events.append,
        )

    def rows(self, pipeline: Pipeline, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table, sorted."""
        found = next(item for item in pipeline.datasets if item.name == table)
        assert isinstance(found, Table)
        frame = self.spark.read.format(found.format).load(str(self.folder / "tables" / table))
        return sorted((tuple(row) for row in frame.collect()), key=repr)

    def close(self) -> None:
        """End what runs beside the flows."""
        self.worker.close()
        self.history.close(1)
        self.admin.forget()


def _told(problem: PenstockError) -> tuple[str, str, str, int | None]:
    origin = problem.origin
    assert origin is not None
    return problem.code, problem.message, origin.file.name, origin.line
