"""Writing: the result of a flow goes to its targets, by as few writers as can be.

    topics       lanes (`exactly_once/`), or Spark's Kafka sink; a column says which topic when
                 rows are routed
    a sink       Spark's own of that format
    one table    Delta's own sink; by key, a merge per batch; plain Parquet and ORC by the file sink
    mixed        one batch, kept, and written to each target in turn

A row that names a route that does not exist is a dead letter of class `code`; so is one that the
schema of its topic does not allow.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import functions as F

from penstock.engine.changes import apply_changes
from penstock.engine.encoding import (
    HEADERS_TYPE,
    column_problems,
    encode,
    headers_column,
    key_column,
    unwritable,
    value_column,
)
from penstock.engine.envelope import DeadLetterClass, envelope, place_in_topic
from penstock.engine.exactly_once.lane_records import lane_records
from penstock.engine.schemas import named
from penstock.engine.tables import BatchIdentity, ensure_table, table_rows, write_rows
from penstock.pipeline import (
    HEADERS_COLUMN,
    RECORD_COLUMN,
    ROUTE_COLUMN,
    AvailableNow,
    Continuously,
    Interval,
    InvalidPipelineError,
    OutputMode,
    RealTime,
    Sink,
    Table,
    Topic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    from penstock.engine.exactly_once.keeping import KeptBatches
    from penstock.engine.exactly_once.sink import LaneSink
    from penstock.engine.tables import TableLocations
    from penstock.names import TopicName
    from penstock.pipeline import Flow, Pipeline, Trigger

OUTPUT_METRIC = "penstock-output"
"""What a batch observed of what it writes (`rows`, and by target).

No dataset can be called so that its metric has this name.
"""

TARGET_PREFIX = "to:"
"""Before the name of a topic, table or sink among what was observed of the output."""

REFUSED_METRIC = "penstock-refused"
"""What a batch observed of rows that no topic takes, which are dead letters (`rows`)."""

_PROBLEM = "__problem"
"""Why a row cannot be written, null for those that can."""

_QUERY_ID_PROPERTY = "sql.streaming.queryId"


def start_query(
    frame: DataFrame,
    flow: Flow,
    pipeline: Pipeline,
    *,
    checkpoint: str,
    kafka: Mapping[str, str],
    tables: TableLocations,
    trigger: Trigger,
    lanes: LaneSink | None = None,
    kept: KeptBatches | None = None,
    on_error: Callable[[Exception], None] | None = None,
) -> StreamingQuery:
    """Start the streaming query that writes `frame` to the targets of `flow`.

    Args:
        frame: what the function of the flow made of its streams.
        flow: the flow.
        pipeline: its pipeline.
        checkpoint: the folder or URI of the query's checkpoint.
        kafka: options of the connection.
        tables: where tables are.
        trigger: the flow's, or another for this run.
        lanes: writes to topics exactly once; without it Spark's own sink does, at least once.
        kept: where batches are kept before they are written from here.
        on_error: is told what fails a batch that is written from here: Spark keeps its text alone.

    Raises:
        InvalidPipelineError: the columns of the frame are not those of a target.
    """
    writer = _Writer(
        flow=flow,
        pipeline=pipeline,
        kafka=kafka,
        tables=tables,
        checkpoint=checkpoint,
        lanes=lanes,
        kept=kept,
        on_error=on_error,
    )
    writer.check(frame)
    stream = writer.stream(frame).outputMode(flow.output_mode.value)
    stream = stream.queryName(f"{pipeline.name}.{flow.name}")
    return _triggered(stream.option("checkpointLocation", checkpoint), trigger).start()


def write_batch(
    frame: DataFrame,
    flow: Flow,
    pipeline: Pipeline,
    *,
    kafka: Mapping[str, str],
    tables: TableLocations,
) -> None:
    """Write a bounded `frame` to the targets of `flow`, once.

    Raises:
        InvalidPipelineError: the columns of the frame are not those of a target.
    """
    writer = _Writer(flow=flow, pipeline=pipeline, kafka=kafka, tables=tables)
    writer.check(frame)
    writer.write(frame, identity=None)


class _Writer:
    """How the rows of one flow reach its targets."""

    def __init__(
        self,
        *,
        flow: Flow,
        pipeline: Pipeline,
        kafka: Mapping[str, str],
        tables: TableLocations,
        checkpoint: str = "",
        lanes: LaneSink | None = None,
        kept: KeptBatches | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._flow, self._pipeline, self._tables = flow, pipeline, tables
        self._checkpoint, self._lanes, self._on_error = checkpoint, lanes, on_error
        self._kept = kept
        self._kafka = dict(kafka)
        self._topics: dict[str, Topic] = {}
        self._target_tables: dict[str, Table] = {}
        self._sink: Sink | None = None
        for route, target in pipeline.targets(flow).items():
            if isinstance(target, Topic):
                self._topics[route] = target
            elif isinstance(target, Table):
                self._target_tables[route] = target
            elif isinstance(target, Sink):
                self._sink = target

    def check(self, frame: DataFrame) -> None:
        """Raise InvalidPipelineError when a target cannot take the columns of `frame`."""
        if self._flow.changes is not None:  # they were resolved when the project was loaded
            return
        targets: list[Topic | Table] = [*self._topics.values(), *self._target_tables.values()]
        problems = [
            problem
            for target in targets
            for problem in column_problems(frame.schema, target, self._flow)
        ]
        if problems:
            raise InvalidPipelineError(self._pipeline.name, problems)

    def stream(self, frame: DataFrame) -> DataStreamWriter:
        """Return the writer of the stream, ready but for what all of them need."""
        if not self._target_tables and self._sink is None:
            return self._stream_to_topics(frame)
        observed = self._observed_rows(frame)
        if self._sink is not None:
            return observed.writeStream.format(self._sink.format).options(**self._sink.options)
        if self._flow.is_routed:
            return self._in_batches(observed, self._write_one_batch)
        (table,) = self._target_tables.values()
        if self._flow.changes is not None:
            ensure_table(frame.sparkSession, table, self._tables.path(table))
            return self._in_batches(observed, self._apply_changes)
        if table.key and self._flow.output_mode is not OutputMode.COMPLETE:
            return self._in_batches(observed, self._write_one_batch)
        return self._to_table(observed, table)

    def write(self, frame: DataFrame, *, identity: BatchIdentity | None) -> None:
        """Write a batch to every target; evaluated once, also when that takes several jobs."""
        if not self._target_tables:
            self._write_topics(frame, identity)
            return
        with self._evaluated_once(frame, identity) as rows:
            self._write_topics(rows, identity)
            self._write_tables(rows, identity)

    @contextmanager
    def _evaluated_once(
        self, frame: DataFrame, identity: BatchIdentity | None
    ) -> Iterator[DataFrame]:
        if self._kept is not None and identity is not None:
            with self._kept.rows(frame, identity) as rows:
                yield rows
            return
        rows = frame.persist()
        try:
            yield rows
        finally:
            rows.unpersist()

    def _write_one_batch(self, frame: DataFrame, batch_id: int) -> None:
        self.write(frame, identity=_identity(frame, batch_id))

    def _observed_rows(self, frame: DataFrame) -> DataFrame:
        """Return `frame`; each batch tells its rows, and how many each table or sink gets."""
        if self._sink is not None:
            return _observed(frame, {self._sink.name: F.count(F.lit(1))})
        return _observed(frame, _rows_by_table(self._flow, self._pipeline))

    def _observed_records(self, records: DataFrame, topic: TopicName | None) -> DataFrame:
        """Return `records`; each batch tells how many there are, and how many for each topic."""
        if topic is not None:
            return _observed(records, {topic: F.count(F.lit(1))})
        topics = {item.kafka_name for item in self._topics.values()} | {self._pipeline.dead_letters}
        return _observed(
            records, {name: F.count_if(F.col("topic") == name) for name in sorted(topics)}
        )

    def _stream_to_topics(self, frame: DataFrame) -> DataStreamWriter:
        lanes, kept = self._lanes, self._kept
        records, topic = self._records(frame)
        if lanes is not None and kept is None:
            # Before the rows are counted: behind that they would be copied once more.
            records = lane_records(records)
        records = self._observed_records(records, topic)
        if lanes is None:
            if topic is not None:
                records = records.withColumn("topic", F.lit(topic))
            return records.writeStream.format("kafka").options(**self._kafka)

        def write(batch: DataFrame, batch_id: int) -> None:
            identity = _identity(batch, batch_id)
            if kept is None:
                lanes.write(batch, identity, topic=topic)
                return
            with kept.rows(batch, identity) as rows:
                lanes.write(lane_records(rows), identity, topic=topic)

        return self._in_batches(records, write)

    def _in_batches(
        self, frame: DataFrame, write: Callable[[DataFrame, int], None]
    ) -> DataStreamWriter:
        def guarded(batch: DataFrame, batch_id: int) -> None:
            try:
                write(batch, batch_id)
            except Exception as err:
                if self._on_error is not None:
                    self._on_error(err)
                raise

        return frame.writeStream.foreachBatch(guarded)

    def _apply_changes(self, frame: DataFrame, _batch_id: int) -> None:
        (table,) = self._target_tables.values()
        apply_changes(
            frame,
            self._flow,
            table=self._tables.path(table),
            sequences=f"{self._checkpoint}.sequences",
        )

    def _write_topics(self, frame: DataFrame, identity: BatchIdentity | None) -> None:
        if not self._topics and not self._flow.is_routed:
            return
        if self._lanes is not None and identity is not None:
            records, topic = self._records(frame)
            self._lanes.write(lane_records(records), identity, topic=topic)
            return
        records = self._to_topics(frame)
        records.write.format("kafka").options(**self._kafka).mode("append").save()

    def _write_tables(self, frame: DataFrame, identity: BatchIdentity | None) -> None:
        # Routes to one table are one write: Delta would take a second one for the first again.
        for table in {table.name: table for table in self._target_tables.values()}.values():
            routes = [name for name, item in self._target_tables.items() if item.name == table.name]
            rows = frame.where(named(ROUTE_COLUMN).isin(routes)) if self._flow.is_routed else frame
            path = self._tables.path(table)
            write_rows(rows, table, path, mode=self._flow.output_mode, identity=identity)

    def _to_table(self, frame: DataFrame, table: Table) -> DataStreamWriter:
        rows, path = table_rows(frame, table), self._tables.path(table)
        ensure_table(frame.sparkSession, table, path, rows.schema)
        writer = rows.writeStream.format(table.format).option("path", path)
        return writer.partitionBy(*table.partition_by)

    def _records(self, frame: DataFrame) -> tuple[DataFrame, TopicName | None]:
        """Return the records, and the topic that all of them go to if there is only one."""
        if not self._flow.is_routed:
            (topic,) = self._topics.values()
            if unwritable(frame.schema, topic) is None:
                return encode(frame, topic), topic.kafka_name
        return self._to_topics(frame), None

    def _to_topics(self, frame: DataFrame) -> DataFrame:
        if not self._flow.is_routed:
            (topic,) = self._topics.values()
            problem = unwritable(frame.schema, topic)
            if problem is None:
                return encode(frame, topic).withColumn("topic", F.lit(topic.kafka_name))
            return judged(frame, topic, problem, self._flow, self._pipeline)
        for route in self._target_tables:
            frame = frame.where(~named(ROUTE_COLUMN).eqNullSafe(route))
        return routed(frame, self._topics, self._flow, self._pipeline)


def count_rows(frame: DataFrame, flow: Flow, pipeline: Pipeline) -> tuple[int, dict[str, int]]:
    """Count a batch as a whole and by table, as is observed of one that is computed."""
    counts = [count.alias(name) for name, count in _rows_by_table(flow, pipeline).items()]
    (total, *by_table) = frame.agg(F.count(F.lit(1)), *counts).collect()[0]
    return total, dict(zip(_rows_by_table(flow, pipeline), by_table, strict=True))


def _rows_by_table(flow: Flow, pipeline: Pipeline) -> dict[str, Column]:
    routes: dict[str, list[str]] = {}
    for route, target in pipeline.targets(flow).items():
        if isinstance(target, Table):
            routes.setdefault(target.name, []).append(route)
    if not flow.is_routed:
        return dict.fromkeys(routes, F.count(F.lit(1)))
    return {name: F.count_if(named(ROUTE_COLUMN).isin(found)) for name, found in routes.items()}


def _observed(frame: DataFrame, targets: Mapping[str, Column]) -> DataFrame:
    counts = [count.alias(f"{TARGET_PREFIX}{name}") for name, count in targets.items()]
    return frame.observe(OUTPUT_METRIC, F.count(F.lit(1)).alias("rows"), *counts)


def _identity(frame: DataFrame, batch_id: int) -> BatchIdentity:
    query_id = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID_PROPERTY)
    assert query_id  # noqa: S101 - Spark sets it for the thread of each query
    return BatchIdentity(query_id=query_id, batch_id=batch_id)


def judged(
    frame: DataFrame, topic: Topic, problem: Column, flow: Flow, pipeline: Pipeline
) -> DataFrame:
    """Return the records of a topic; of rows that its schema does not allow, dead letters."""
    schema = frame.schema
    rows = _counted(frame.select("*", problem.alias(_PROBLEM)))
    good = named(_PROBLEM).isNull()
    own = _own_headers(schema)
    lost = _lost_headers(frame, own, flow, named(_PROBLEM))
    value = value_column(schema, topic).cast("binary")
    return rows.select(
        F.when(good, key_column(schema, topic).cast("binary")).alias("key"),
        F.when(good, value).otherwise(_row(schema)).alias("value"),
        F.when(good, own).otherwise(lost).alias("headers"),
        F.when(good, topic.kafka_name).otherwise(pipeline.dead_letters).alias("topic"),
    )


def routed(
    frame: DataFrame, topics: Mapping[str, Topic], flow: Flow, pipeline: Pipeline
) -> DataFrame:
    """Return the records of each row's topic; of rows that no topic can take, dead letters."""
    schema = frame.schema
    problem = _problem_by_route(schema, topics)
    frame = _counted(frame.select("*", problem.alias(_PROBLEM)))
    good = named(_PROBLEM).isNull()

    def by_route(known: Mapping[str, Column], unknown: Column) -> Column:
        chosen = unknown
        for route, column in known.items():
            chosen = F.when(good & (named(ROUTE_COLUMN) == route), column).otherwise(chosen)
        return chosen

    keys = {r: key_column(schema, topic).cast("binary") for r, topic in topics.items()}
    values = {r: value_column(schema, topic).cast("binary") for r, topic in topics.items()}
    names = {r: F.lit(topic.kafka_name) for r, topic in topics.items()}
    own = _own_headers(schema)
    lost = _lost_headers(frame, own, flow, named(_PROBLEM))
    return frame.select(
        by_route(keys, F.lit(None).cast("binary")).alias("key"),
        by_route(values, _row(schema)).alias("value"),
        by_route(dict.fromkeys(topics, own), lost).alias("headers"),
        by_route(names, F.lit(pipeline.dead_letters)).alias("topic"),
    )


def _counted(rows: DataFrame) -> DataFrame:
    """Return `rows`; each batch tells how many of them nobody takes."""
    return rows.observe(REFUSED_METRIC, F.count(_PROBLEM).alias("rows"))


def _problem_by_route(schema: StructType, topics: Mapping[str, Topic]) -> Column:
    route = F.coalesce(named(ROUTE_COLUMN), F.lit("null"))
    problem = F.concat(F.lit("unknown route `"), route, F.lit("`"))
    for name, topic in topics.items():
        found = unwritable(schema, topic)
        nothing = F.lit(None).cast("string")
        here = nothing if found is None else found
        problem = F.when(named(ROUTE_COLUMN) == name, here).otherwise(problem)
    return problem


def _own_headers(schema: StructType) -> Column:
    if HEADERS_COLUMN in schema.names:
        return headers_column(schema)
    return F.lit(None).cast(HEADERS_TYPE)


def _row(schema: StructType) -> Column:
    own = [named(name) for name in schema.names if name not in (RECORD_COLUMN, HEADERS_COLUMN)]
    return F.to_json(F.struct(*own)).cast("binary")


def _lost_headers(frame: DataFrame, own: Column, flow: Flow, reason: Column) -> Column:
    origin = F.lit(None).cast(HEADERS_TYPE)
    if RECORD_COLUMN in frame.columns:
        record = named(RECORD_COLUMN)
        origin = place_in_topic(record["topic"], record["partition"], record["offset"])
    return envelope(own, origin=origin, flow=flow.name, kind=DeadLetterClass.CODE, reason=reason)


def _triggered(writer: DataStreamWriter, trigger: Trigger) -> DataStreamWriter:
    match trigger:
        case Continuously():
            return writer.trigger(processingTime="0 seconds")
        case Interval(every=every):
            return writer.trigger(processingTime=f"{_milliseconds(every)} milliseconds")
        case AvailableNow():
            return writer.trigger(availableNow=True)
        case RealTime(checkpoint_every=every):
            options = {"realTime": f"{_milliseconds(every)} milliseconds"}
            return writer.trigger(**options)
        case _:
            assert_never(trigger)


def _milliseconds(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)
