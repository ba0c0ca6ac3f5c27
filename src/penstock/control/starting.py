"""Starting the flows of one run: what they share, and one start of one flow for the supervisor."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Self

from penstock.control.registry import contracts_of
from penstock.errors import PenstockError
from penstock.kafka import Admin
from penstock.pipeline import AvailableNow, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.control.options import RunOptions
    from penstock.engine import SparkDriver
    from penstock.engine.batch import BoundedResult
    from penstock.engine.context import PipelineContext
    from penstock.engine.events import Notify, Offsets
    from penstock.engine.failures import Failure
    from penstock.engine.lookups import Lookups
    from penstock.engine.queries import FlowQuery
    from penstock.engine.refreshing import RefreshQuery
    from penstock.kafka import StartingPoint
    from penstock.names import DatasetName, FlowName
    from penstock.pipeline import Flow, Pipeline

_DYING_SECONDS = 5.0
_HISTORY_SECONDS = 10.0
"""How long the last records of batches may take; the next start finds what is missing."""

_CLOSE_SECONDS = 5.0
"""Flows that ended in good order have waited for their dead letters already."""


class FlowStart:
    """One start of one flow. The end of the JVM, which any call may meet, is told as such."""

    def __init__(self, query: FlowQuery | RefreshQuery, driver: SparkDriver) -> None:
        self._query, self._driver = query, driver

    @property
    def failure(self) -> Failure | None:
        """Why it ended, when that was not wanted."""
        return self._query.failure

    @property
    def lookup_versions(self) -> Mapping[DatasetName, str]:
        """The versions of reference data that it uses; known once it has started."""
        return self._query.lookup_versions

    def start(self) -> None:
        """Check everything and start the query.

        Raises:
            PenstockError: it cannot be started.
        """
        with self._alive():
            self._query.start()

    def position(self, topics: tuple[Topic, ...]) -> Offsets:
        """Return up to where the flow has read `topics`, by its checkpoint."""
        from penstock.engine.data_loss import reached_offsets

        with self._alive():
            found = [reached_offsets(self._query.checkpoint, topic) for topic in topics]
        return {where: offset for offsets in found for where, offset in offsets.items()}

    def await_end(self) -> None:
        """Wait until the query has ended and all that it said and left is dealt with."""
        with self._alive():
            self._query.await_end()

    def stop_after_batch(self, timeout_seconds: float) -> None:
        """Let the running batch finish, for so long at most, and stop."""
        with self._alive():
            self._query.stop_after_batch(timeout_seconds)

    def stop_now(self) -> None:
        """Stop in the middle of a batch."""
        with self._alive():
            self._query.stop_now()

    @contextmanager
    def _alive(self) -> Iterator[None]:
        try:
            yield
        except PenstockError:
            self._driver.require_alive()
            raise
        except Exception:
            # A lost connection is seen before the end of the process that it belonged to.
            self._driver.require_alive(grace_seconds=_DYING_SECONDS)
            raise


class FlowStarter:
    """Starts flows of one run. Use it as a context manager."""

    def __init__(self, options: RunOptions, driver: SparkDriver, notify: Notify) -> None:
        from penstock.engine.quarantine import QuarantineWorker

        self._options, self._driver = options, driver
        self._admin = Admin(options.connection)
        self._quarantine = QuarantineWorker()
        self._context = self._shared(notify)
        self._min_partitions: dict[FlowName, int] = {}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Finish what is under way; what hangs is left to the end of the JVM."""
        closing = Thread(target=self._quarantine.close, name="penstock-closing", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)
        self._context.contracts.close()
        self._context.ledger.close()
        self._context.history.close(_HISTORY_SECONDS)
        self._admin.forget()

    def prepare(self, flow: Flow) -> FlowStart:
        """Return a start of `flow`; nothing has happened yet."""
        from penstock.engine.queries import FlowQuery
        from penstock.engine.refreshing import RefreshQuery

        if flow.refresh is not None:
            query = RefreshQuery(flow, self._context, once=self._options.once)
            return FlowStart(query, self._driver)
        trigger = AvailableNow() if self._options.once else None
        context, count = self._context, self._min_partitions.get(flow.name)
        if count is not None:
            context = replace(context, pipeline=with_min_partitions(context.pipeline, flow, count))
        return FlowStart(FlowQuery(flow, context, trigger=trigger), self._driver)

    def rescale(self, flow: Flow, min_partitions: int) -> None:
        """Let each topic be read with at least so many tasks, from the next start of `flow` on."""
        self._min_partitions[flow.name] = min_partitions

    def shuffle_partitions(self, flow: Flow) -> str | None:
        """Return how many shuffle partitions the checkpoint of `flow` was born with, if it was."""
        from penstock.engine.certificates import CertificateFile
        from penstock.engine.spark_settings import SHUFFLE_PARTITIONS

        born = CertificateFile(self._context.storage, f"{flow.name}.birth.json").load()
        return born.conf.get(SHUFFLE_PARTITIONS) if born else None

    def run_bounded(
        self, flow: Flow, admin: Admin, start: StartingPoint, end: StartingPoint
    ) -> BoundedResult:
        """Run `flow` over a range of its topics, once.

        Raises:
            PenstockError: it cannot be run.
        """
        from penstock.engine.batch import bounded_run

        try:
            return bounded_run(flow, self._context, admin, start, end)
        except BaseException:
            self._driver.require_alive()
            raise

    @property
    def lookups(self) -> Lookups:
        """The reference data of the pipeline."""
        return self._context.lookups

    def topics_read(self, flow: Flow) -> tuple[Topic, ...]:
        """Return the topics that `flow` reads."""
        sources = self._options.pipeline.sources(flow)
        return tuple(source for source in sources if isinstance(source, Topic))

    def forget_connections(self) -> None:
        """Connect anew: a client that met an outage waits longer and longer."""
        self._admin.forget()

    def _shared(self, notify: Notify) -> PipelineContext:
        from penstock.delivery.history import HistoryWriter
        from penstock.engine.context import PipelineContext
        from penstock.engine.exactly_once.sink import Ledger
        from penstock.engine.kafka_options import kafka_options
        from penstock.engine.lookups import Lookups
        from penstock.engine.storage import Storage
        from penstock.engine.tables import TableLocations

        options, spark = self._options, self._driver.session()
        settings, pipeline = options.settings.spark, options.pipeline
        kafka = kafka_options(options.connection)
        storage = Storage(spark, f"{pipeline.storage or settings.checkpoint_root}/{pipeline.name}")
        tables = TableLocations(warehouse=settings.warehouse, project=pipeline.folder)
        contracts = contracts_of(pipeline, options.settings, spark)
        return PipelineContext(
            pipeline=pipeline,
            spark=spark,
            storage=storage,
            admin=self._admin,
            kafka=kafka,
            tables=tables,
            lookups=Lookups(
                spark,
                pipeline,
                storage=storage,
                connection=options.connection,
                kafka=kafka,
                tables=tables,
                contracts=contracts,
            ),
            contracts=contracts,
            ledger=Ledger(options.connection),
            history=HistoryWriter(options.connection),
            quarantine=self._quarantine,
            conf=settings.conf,
            notify=notify,
        )


def with_min_partitions(pipeline: Pipeline, flow: Flow, count: int) -> Pipeline:
    """Return the pipeline with topics that are read with at least `count` tasks by `flow`."""
    read = {item.name for item in pipeline.sources(flow)}
    datasets = tuple(
        replace(item, min_partitions=count)
        if isinstance(item, Topic) and item.name in read
        else item
        for item in pipeline.datasets
    )
    return replace(pipeline, datasets=datasets)
