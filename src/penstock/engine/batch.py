"""Bounded runs: the function of a flow over a range of its topics, as one batch job.

The same function, decoder and targets as in the stream, but no checkpoint: the range alone says
what is read. Stateless flows give the rows of the stream; windowed flows give, for every window
that the stream has closed, the row that the stream gave unless late records were dropped there.
Tables and folders are read as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.dead_letters import write_dead_letters
from penstock.engine.failures import failure_of
from penstock.engine.file_source import file_batch
from penstock.engine.reading import Reader, SourceOptions, apply_flow, apply_view
from penstock.engine.writing import write_batch
from penstock.errors import Origin, UsageError
from penstock.kafka import (
    Isolation,
    TopicPartition,
    await_transactions,
    partitions_to_read,
    starting_offsets,
)
from penstock.names import DatasetName, FlowName, Offset
from penstock.pipeline import Files, Lookup, Rate, Sink, Socket, Table, Topic, View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from penstock.engine.context import PipelineContext
    from penstock.engine.enriching import FunctionLookup
    from penstock.kafka import Admin, StartingPoint
    from penstock.pipeline import Flow

Ranges = dict[TopicPartition, tuple[Offset, Offset]]
"""The first offset and the one after the last, by partition."""


class NotBoundedError(UsageError):
    """A flow reads something that has no range."""

    code = "PEN-362"

    def __init__(self, flow: str, dataset: str, *, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow}` reads `{dataset}`, of which nothing can be read again",
            hint="leave out `--from` and `--to`, or choose other flows with `--flow`",
            origin=origin,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedResult:
    """What a bounded run of one flow has done."""

    flow: FlowName
    ranges: Mapping[TopicPartition, tuple[Offset, Offset]]
    output_rows: int
    dead_letters: int

    @property
    def offsets(self) -> int:
        """How many offsets were looked at; some of them may hold no record."""
        return sum(after - first for first, after in self.ranges.values())


def ranges_between(
    admin: Admin, topics: Sequence[Topic], start: StartingPoint, end: StartingPoint
) -> dict[DatasetName, Ranges]:
    """Return what lies between two places in each of `topics`; nothing where the end comes first.

    Raises:
        ClusterError: a topic is not there, or does not hold such an offset.
    """
    found: dict[DatasetName, Ranges] = {}
    for topic in topics:
        places = partitions_to_read(admin, [topic.kafka_name])
        firsts = starting_offsets(admin, places, start, isolation=Isolation.READ_COMMITTED)
        await_transactions(admin, places)
        ends = starting_offsets(admin, places, end, isolation=Isolation.READ_COMMITTED)
        found[topic.name] = {
            place: (firsts[place], max(firsts[place], ends[place])) for place in places
        }
    return found


def bounded_run(
    flow: Flow, context: PipelineContext, admin: Admin, start: StartingPoint, end: StartingPoint
) -> BoundedResult:
    """Run `flow` once over what lies between two places of its topics.

    Raises:
        PenstockError: the flow reads something that has no range, or Spark or Kafka failed.
    """
    topics = [item for item in context.pipeline.sources(flow) if isinstance(item, Topic)]
    ranges = ranges_between(admin, topics, start, end)
    session = context.spark.newSession()
    pipeline = context.contracts.read_by(context.pipeline, flow)
    _ = session.streams  # starts Spark's coordinator of state, which `transformWithState` looks for
    versions = context.lookups.present(flow)
    reader = Reader(
        session,
        SourceOptions(flow=flow.name, pipeline=pipeline, kafka=context.kafka),
        tables=context.tables,
        lookups=lambda lookup: context.lookups.input(lookup, versions, session),
    )
    try:
        return BoundedRun(flow, reader, ranges, context).run()
    except (PySparkException, Py4JError) as err:
        raise failure_of(flow.name, err).error from err


class BoundedRun:
    """One flow over ranges of its topics."""

    def __init__(
        self,
        flow: Flow,
        reader: Reader,
        ranges: Mapping[DatasetName, Ranges],
        context: PipelineContext,
    ) -> None:
        self._flow, self._reader, self._ranges = flow, reader, ranges
        self._tables, self._contracts = context.tables, context.contracts
        self._inputs: dict[DatasetName, DataFrame | FunctionLookup] = {}

    def run(self) -> BoundedResult:
        """Read, compute, write to the flow's targets, and keep what could not be decoded.

        Raises:
            NotBoundedError: the flow reads something that has no range.
            InvalidPipelineError: the flow's columns are not those of a target.
        """
        if self._flow.is_declarative:
            target = next(iter(self._flow.targets.values()))
            raise NotBoundedError(self._flow.name, target, origin=self._flow.origin)
        frame = apply_flow(self._flow, {name: self._input(name) for name in self._flow.reads})
        rows = self._write(frame)
        topics = [name for name in self._inputs if name in self._ranges]
        lost = (
            write_dead_letters(self._reader, self._flow, name, self._ranges[name])
            for name in topics
        )
        return BoundedResult(
            flow=self._flow.name,
            ranges={place: span for name in topics for place, span in self._ranges[name].items()},
            output_rows=rows,
            dead_letters=sum(lost),
        )

    def _write(self, frame: DataFrame) -> int:
        options = self._reader.options
        kept = frame.persist()
        try:
            count = kept.count()
            pipeline = self._contracts.written_by(options.pipeline, self._flow, frame.schema)
            write_batch(kept, self._flow, pipeline, kafka=options.kafka, tables=self._tables)
        finally:
            kept.unpersist()
        return count

    def _input(self, name: DatasetName) -> DataFrame | FunctionLookup:
        if name not in self._inputs:
            self._inputs[name] = self._open(name)
        return self._inputs[name]

    def _open(self, name: DatasetName) -> DataFrame | FunctionLookup:
        dataset = self._reader.options.pipeline.dataset(name)
        match dataset:
            case Topic():
                return self._reader.bounded(name, self._ranges[name])
            case Table():
                spark = self._reader.spark
                return spark.read.format(dataset.format).load(self._tables.path(dataset))
            case Files():
                return file_batch(self._reader.spark, dataset, self._reader.options.pipeline.folder)
            case View():
                return apply_view(dataset, {item: self._input(item) for item in dataset.reads})
            case Lookup():
                return self._reader.stream(name)
            case Rate() | Socket() | Sink():
                raise NotBoundedError(self._flow.name, name, origin=self._flow.origin)
