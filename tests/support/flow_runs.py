"""Flows on real Spark and real Kafka: declare one in a test, run it, and see what it told."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.delivery.history import HistoryWriter
from penstock.engine.batch import BoundedResult, bounded_run
from penstock.engine.context import PipelineContext
from penstock.engine.events import BatchFinished, PipelineEvent
from penstock.engine.exactly_once.sink import Ledger
from penstock.engine.kafka_options import kafka_options
from penstock.engine.lookups import Lookups
from penstock.engine.quarantine import QuarantineWorker
from penstock.engine.queries import FlowQuery
from penstock.engine.storage import Storage
from penstock.engine.tables import TableLocations
from penstock.errors import PenstockError
from penstock.kafka import Admin
from penstock.names import DatasetName, FlowName, PipelineName, TopicName
from penstock.pipeline import (
    AvailableNow,
    Delivery,
    Flow,
    Nondeterminism,
    OutputMode,
    Pipeline,
    Table,
    Topic,
)
from support.contracts import contracts_at
from support.declared import ORIGIN
from support.producing import Sent, send
from support.topic_contents import Stored, await_commits, topic_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.contracts.binding import Contracts
    from penstock.kafka import StartingPoint
    from penstock.local.cluster import KafkaCluster
    from penstock.pipeline import Dataset, Trigger


@dataclass
class FlowLab:
    """A pipeline of one flow, called `flow`, with its checkpoint in a folder of the test."""

    spark: SparkSession
    kafka: KafkaCluster
    folder: Path
    name: str
    admin: Admin = field(init=False)
    worker: QuarantineWorker = field(default_factory=QuarantineWorker)
    events: list[PipelineEvent] = field(default_factory=list)
    conf: dict[str, str] = field(default_factory=dict)
    registry_url: str | None = None
    may_register: bool = True
    queries: list[FlowQuery] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.admin = Admin(self.kafka.connection)

    @cached_property
    def contracts(self) -> Contracts:
        """What the flow has found out about schemas, over all of its starts."""
        return contracts_at(self.spark, self.folder, self.registry_url, registers=self.may_register)

    @cached_property
    def ledger(self) -> Ledger:
        """What the lanes of the flow have written, over all of its starts."""
        return Ledger(self.kafka.connection)

    @cached_property
    def history(self) -> HistoryWriter:
        """Where the batches of the flow are noted."""
        return HistoryWriter(self.kafka.connection)

    @property
    def root(self) -> Path:
        """Where checkpoints and the files beside them are."""
        return self.folder / "checkpoints" / self.name

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the flow."""
        return self.root / "flow"

    def topic(self, name: str, *, partition_count: int = 2, **settings: Any) -> Topic:  # noqa: ANN401 - any setting
        """Create a topic and return its declaration."""
        kafka_name = self.kafka.create_topic(f"{self.name}-{name}", partition_count=partition_count)
        return self.declared(name, kafka_name, **settings)

    def declared(self, name: str, kafka_name: TopicName, **settings: Any) -> Topic:  # noqa: ANN401 - any setting
        """Return the declaration of a topic that there is."""
        return Topic(name=DatasetName(name), kafka_name=kafka_name, origin=ORIGIN, **settings)

    def send(
        self, topic: Topic, values: Iterable[str | bytes], *, partition: int | None = None
    ) -> None:
        """Send records without keys."""
        records = [Sent(value=value, partition=partition) for value in values]
        send(self.kafka.connection, topic.kafka_name, records)

    def query(
        self,
        function: Callable[..., DataFrame],
        *datasets: Dataset,
        into: Topic | Table | Mapping[str, Topic | Table],
        trigger: Trigger | None = None,
        mode: OutputMode = OutputMode.APPEND,
        conf: Mapping[str, str] | None = None,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
        nondeterministic: Nondeterminism = Nondeterminism.REFUSE,
        name: str = "flow",
    ) -> FlowQuery:
        """Return a start of the flow, which is not started yet; reads what there is and ends."""
        targets = {"": into} if isinstance(into, Topic | Table) else into
        flow = Flow(
            name=FlowName(name),
            origin=ORIGIN,
            function=function,
            reads=tuple(dataset.name for dataset in datasets),
            targets={route: target.name for route, target in targets.items()},
            output_mode=mode,
            delivery=delivery,
            nondeterministic=nondeterministic,
            conf=conf or {},
        )
        query = FlowQuery(
            flow,
            self._context(flow, (*datasets, *targets.values())),
            trigger=trigger or AvailableNow(),
        )
        self.queries.append(query)
        return query

    def run(
        self,
        function: Callable[..., DataFrame],
        *datasets: Dataset,
        **settings: Any,  # noqa: ANN401 - those of `query`
    ) -> FlowQuery:
        """Start the flow and wait until it has read all there is, without a failure."""
        query = self.query(function, *datasets, **settings)
        query.start()
        assert query.await_end(110)
        assert query.failure is None, query.failure.error
        return query

    def run_range(
        self,
        function: Callable[..., DataFrame],
        *datasets: Dataset,
        into: Topic,
        start: StartingPoint,
        end: StartingPoint,
        mode: OutputMode = OutputMode.APPEND,
    ) -> BoundedResult:
        """Run the flow once over a range of its topics."""
        flow = self.query(function, *datasets, into=into, mode=mode).flow
        context = self._context(flow, (*datasets, into))
        return bounded_run(flow, context, self.admin, start, end)

    def batches(self) -> list[BatchFinished]:
        """Return the batches that were told."""
        return [event for event in self.events if isinstance(event, BatchFinished)]

    def told(self, kind: type[PipelineEvent]) -> list[Any]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def rows(self, topic: Topic) -> list[Any]:
        """Return the values of a JSON topic."""
        return [json.loads(record.value or b"null") for record in self.records(topic.kafka_name)]

    def records(self, topic: TopicName) -> list[Stored]:
        """Return the records of a topic."""
        await_commits(self.kafka.connection, topic)
        return topic_contents(self.kafka.bootstrap, topic)

    def dead_letters(self, config: Mapping[str, str] | None = None) -> TopicName:
        """Create the pipeline's topic of dead letters and return its name."""
        return self.kafka.create_topic(f"{self.name}.deadletters", config=config)

    def context(self, pipeline: Pipeline) -> PipelineContext:
        """Return what flows of `pipeline` need to run."""
        storage = Storage(self.spark, str(self.root))
        kafka = kafka_options(self.kafka.connection)
        tables = TableLocations(warehouse=str(self.folder / "tables"), project=self.folder)
        lookups = Lookups(
            self.spark,
            pipeline,
            storage=storage,
            connection=self.kafka.connection,
            kafka=kafka,
            tables=tables,
            contracts=self.contracts,
        )
        return PipelineContext(
            pipeline=pipeline,
            spark=self.spark,
            storage=storage,
            admin=self.admin,
            kafka=kafka,
            tables=tables,
            lookups=lookups,
            contracts=self.contracts,
            ledger=self.ledger,
            history=self.history,
            quarantine=self.worker,
            conf=self.conf,
            notify=self.events.append,
        )

    def close(self) -> None:
        """End what a test that failed has left running, the thread of the worker, connections."""
        for query in self.queries:
            with suppress(AssertionError, PenstockError):  # it was not started, or hangs
                if query.is_active:
                    query.stop_now()
        self.worker.close()
        self.contracts.close()
        self.ledger.close()
        self.history.close(10)

    def _context(self, flow: Flow, datasets: tuple[Dataset, ...]) -> PipelineContext:
        pipeline = Pipeline(
            name=PipelineName(self.name), folder=self.folder, datasets=datasets, flows=(flow,)
        )
        return self.context(pipeline)
