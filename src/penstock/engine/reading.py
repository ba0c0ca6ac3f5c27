"""Reading: each dataset that a flow names becomes a DataFrame, and the flow's function is called.

    topic:  records → decoded → counted (`observe`) → good ones → watermark, if it is declared

The count is all that undecodable records cost while there are none. `dead_letters.py` fetches
them after a batch that counted some. Counting also keeps Spark from decoding every record twice,
once for the filter and once for the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampNTZType, TimestampType

from penstock.engine.catalog import register_table, use_database
from penstock.engine.decoding import good_records
from penstock.engine.file_source import file_batch, file_stream
from penstock.engine.flow_errors import EventTimeTypeError
from penstock.engine.kafka_source import raw_range, raw_stream
from penstock.engine.named_sources import stream_reader
from penstock.engine.schemas import quoted
from penstock.engine.tables import ensure_table
from penstock.engine.user_code import call
from penstock.pipeline import Files, Lookup, Rate, Sink, Socket, Table, TableFormat, Topic, View

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from penstock.engine.enriching import FunctionLookup
    from penstock.engine.tables import TableLocations
    from penstock.kafka import TopicPartition
    from penstock.names import DatasetName, FlowName, Offset
    from penstock.pipeline import Dataset, Flow, Pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """For which flow to read, and how to reach Kafka."""

    flow: FlowName
    pipeline: Pipeline
    kafka: Mapping[str, str]
    """Options of Spark's Kafka source for the connection: `kafka_options.kafka_options`."""


class Reader:
    """The datasets of one flow, each read once however often it is named."""

    def __init__(
        self,
        spark: SparkSession,
        options: SourceOptions,
        *,
        tables: TableLocations,
        lookups: Callable[[Lookup], DataFrame | FunctionLookup],
    ) -> None:
        """Read nothing yet.

        Args:
            spark: the session that the flow's query runs in.
            options: the flow and its pipeline.
            tables: where tables are.
            lookups: gives the version of reference data that the flow uses.
        """
        self.spark, self.options = spark, options
        self._tables, self._lookups = tables, lookups
        self._streams: dict[DatasetName, DataFrame | FunctionLookup] = {}

    def inputs(self, flow: Flow) -> dict[DatasetName, DataFrame | FunctionLookup]:
        """Return what the parameters of the flow's function stand for, as streams.

        A declarative flow has none: what it reads is put where the session finds it by name.
        """
        if flow.is_declarative:
            self._provide((*flow.reads, *flow.consults), whole=flow.refresh is not None)
            return {}
        return {name: self.stream(name) for name in flow.reads}

    @property
    def opened(self) -> dict[DatasetName, DataFrame]:
        """What was read so far, but for lookups by function, which have no rows."""
        return {
            name: frame for name, frame in self._streams.items() if isinstance(frame, DataFrame)
        }

    def stream(self, name: DatasetName) -> DataFrame | FunctionLookup:
        """Return the dataset of that name as a stream; a lookup as it is at this start."""
        if name not in self._streams:
            self._streams[name] = self._open(name)
        return self._streams[name]

    def bounded(
        self, name: DatasetName, ranges: Mapping[TopicPartition, tuple[Offset, Offset]]
    ) -> DataFrame:
        """Return a range of a topic as a batch with the columns of the stream."""
        topic = self.topic(name)
        return readable(raw_range(self.spark, topic, self.options.kafka, ranges), topic)

    def raw_range(
        self, name: DatasetName, ranges: Mapping[TopicPartition, tuple[Offset, Offset]]
    ) -> DataFrame:
        """Return a range of a topic as Kafka holds it."""
        return raw_range(self.spark, self.topic(name), self.options.kafka, ranges)

    def topic(self, name: DatasetName) -> Topic:
        """Return the topic of that name."""
        dataset = self.options.pipeline.dataset(name)
        assert isinstance(dataset, Topic)  # noqa: S101 - only topics have offsets
        return dataset

    def _open(self, name: DatasetName) -> DataFrame | FunctionLookup:
        dataset = self.options.pipeline.dataset(name)
        match dataset:
            case Topic():
                return self._topic_stream(dataset)
            case Table():
                return self._table_stream(dataset)
            case Files():
                return file_stream(self.spark, dataset, self.options.pipeline.folder)
            case Socket(host=host, port=port):
                source = stream_reader(self.spark, name).format("socket")
                return source.option("host", host).option("port", port).load()
            case Rate(rows_per_second=rows):
                source = stream_reader(self.spark, name).format("rate")
                return source.option("rowsPerSecond", rows).load()
            case View(is_declarative=True):
                self._provide((*dataset.reads, *dataset.consults), whole=False)
                return apply_view(dataset, {})
            case View():
                return apply_view(dataset, {item: self.stream(item) for item in dataset.reads})
            case Lookup():
                return self._lookups(dataset)
            case Sink():
                raise AssertionError(dataset)  # the first step of validation lets none pass
            case _:
                assert_never(dataset)

    def _provide(self, names: Sequence[DatasetName], *, whole: bool) -> None:
        """Let the session find these datasets by name; `whole`: no topic or folder as a stream."""
        pipeline = self.options.pipeline
        use_database(self.spark, pipeline.database)
        for name in dict.fromkeys(names):
            dataset = pipeline.dataset(name)
            if isinstance(dataset, Table):
                path = self._tables.path(dataset)
                register_table(self.spark, dataset, path, database=pipeline.database)
                continue
            frame = self._whole(dataset) if whole else self.stream(name)
            assert isinstance(frame, DataFrame)  # noqa: S101 - lookups by function have no rows
            frame.createOrReplaceTempView(quoted(name))

    def _whole(self, dataset: Dataset) -> DataFrame | FunctionLookup:
        match dataset:
            case Topic():
                return readable(raw_range(self.spark, dataset, self.options.kafka), dataset)
            case Files():
                return file_batch(self.spark, dataset, self.options.pipeline.folder)
            case _:
                return self.stream(dataset.name)

    def _topic_stream(self, topic: Topic) -> DataFrame:
        flow = self.options.pipeline.flow(self.options.flow)
        raw = raw_stream(
            self.spark, topic, self.options.kafka, flow=flow, pipeline=self.options.pipeline.name
        )
        return readable(raw, topic)

    def _table_stream(self, table: Table) -> DataFrame:
        path = self._tables.path(table)
        source = stream_reader(self.spark, table.name).format(table.format)
        if table.format is TableFormat.DELTA:
            ensure_table(self.spark, table, path)
        else:
            schema = table.schema or self.spark.read.format(table.format).load(path).schema
            source = source.schema(schema)
        return source.load(path)


def readable(raw: DataFrame, topic: Topic) -> DataFrame:
    """Return what flows see of records as Kafka's source has them: `raw` may be any such frame.

    Raises:
        EventTimeTypeError: the declared event time is not a timestamp.
    """
    decoded = good_records(raw, topic)
    if topic.event_time is None:
        return decoded
    found = decoded.schema[topic.event_time].dataType
    if not isinstance(found, TimestampType | TimestampNTZType):
        raise EventTimeTypeError(
            topic.event_time, topic=topic.name, found=found.simpleString(), origin=topic.origin
        )
    milliseconds = int(topic.allowed_lateness.total_seconds() * 1000)
    return decoded.withWatermark(topic.event_time, f"{milliseconds} milliseconds")


def apply_flow(flow: Flow, inputs: Mapping[DatasetName, DataFrame | FunctionLookup]) -> DataFrame:
    """Return what the function of `flow` makes of its inputs.

    Raises:
        FlowFunctionError: it raises; the error points at the user's line.
        NoDataFrameError: it returns something else.
    """
    return call(flow.function, inputs, who=f"flow `{flow.name}`")


def apply_view(view: View, inputs: Mapping[DatasetName, DataFrame | FunctionLookup]) -> DataFrame:
    """Return what the function of `view` makes of its inputs; raises what `apply_flow` raises."""
    return call(view.function, inputs, who=f"view `{view.name}`")
