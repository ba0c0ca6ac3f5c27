"""Resolving: every query is called once, which tells what it reads and which columns it has.

Nothing runs and nothing is written. Tables that a query names stand in Spark's catalog, empty and
for as long as this takes; those that are not there yet are resolved first, so that the order of
definitions does not matter.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.pipelines.output import MaterializedView, Sink, TemporaryView
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.engine.analysis_errors import NotAnalyzedError
from penstock.engine.changes import changed_columns
from penstock.engine.flow_errors import FlowFunctionError
from penstock.engine.named_sources import SOURCE_EVOLUTION
from penstock.engine.schemas import quoted, same_type, struct_of
from penstock.engine.sdp.errors import QueryKindError, SchemasDifferError
from penstock.engine.sdp.plans import readings
from penstock.engine.sdp.sessions import activate
from penstock.engine.user_code import call, spark_sentence
from penstock.engine.user_lines import call_site, hint, reason
from penstock.errors import Origin, PenstockError
from penstock.names import DatasetName
from penstock.pipeline import (
    ContradictionError,
    CycleError,
    InvalidDeclarationError,
    MissingKeyColumnError,
    UnknownDatasetError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.sdp.definitions import Definitions, OutputDefinition, QueryDefinition

DEFAULT_DATABASE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedQuery:
    """A query, what it reads, and what it returns."""

    definition: QueryDefinition
    reads: tuple[DatasetName, ...]
    consults: tuple[DatasetName, ...]
    columns: StructType


class _FailedError(Exception):
    """An input could not be resolved, which has been told where it is defined."""


class Resolver:
    """One pass over the definitions of a project: `resolve`, while the `catalog` is there."""

    def __init__(
        self,
        spark: SparkSession,
        definitions: Definitions,
        *,
        database: str,
        conf: Mapping[str, str],
        others: Callable[[SparkSession, DatasetName, bool], DataFrame | None],
        known: Collection[str],
    ) -> None:
        """Resolve nothing yet.

        Args:
            spark: the session of the process.
            definitions: what the project defines.
            database: where its tables are.
            conf: what the spec configures for every query.
            others: gives a frame of a dataset that is declared otherwise, as a stream or as a
                whole; None when there is none of that name.
            known: the names of those datasets.
        """
        self._spark, self._database, self._others = spark.newSession(), database, others
        for key, value in conf.items():
            self._spark.conf.set(key, value)
        self._spark.conf.set(SOURCE_EVOLUTION, "false")  # functions read what has no name of ours
        self._outputs: dict[str, OutputDefinition] = {}
        for item in definitions.outputs:
            self._outputs.setdefault(item.name, item)
        self._definitions, self._known = definitions, known
        self._columns: dict[str, StructType | None] = {}
        self._under_way: list[str] = []
        self._views: dict[str, bool] = {}
        """The datasets that are declared otherwise and whether they stand there as streams."""
        self._stand_ins: set[str] = set()
        self._queries: dict[tuple[str, str], ResolvedQuery] = {}
        """By the names of the query and of its target."""
        self.problems: list[PenstockError] = []

    @contextmanager
    def catalog(self) -> Iterator[None]:
        """Keep the stand-ins of tables while the block runs."""
        self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(self._database)}")
        self._spark.sql(f"USE {quoted(self._database)}")
        with TemporaryDirectory(prefix="penstock-") as self._folder:
            try:
                yield
            finally:
                for name in self._stand_ins:
                    self._spark.sql(f"DROP TABLE IF EXISTS {self._qualified(name)}")

    def resolve(self) -> None:
        """Resolve everything; what cannot be is in `problems`."""
        for name in self._outputs:
            self._resolve_output(name)
        for query in self._definitions.queries:
            if query.target in self._known:
                with suppress(_FailedError):
                    self._resolve_query(query, None)
            elif query.target not in self._outputs:
                self._add(
                    UnknownDatasetError(
                        query.target,
                        who=f"flow `{query.name}`",
                        known={*self._outputs, *self._known},
                        origin=query.origin,
                    )
                )

    def columns_of(self, name: str) -> StructType | None:
        """Return the columns of an output; None for sinks, and when they are not known."""
        return self._columns.get(name)

    def resolved(self, query: QueryDefinition) -> ResolvedQuery | None:
        """Return what is known of a query; None when it could not be resolved."""
        return self._queries.get((query.name, query.target))

    def query_of(self, view: str) -> ResolvedQuery | None:
        """Return the query of a view; None when it could not be resolved."""
        return self._queries.get((view, view))

    def _resolve_output(self, name: str) -> None:
        if name in self._columns:
            return
        if name in self._under_way:
            way = self._under_way[self._under_way.index(name) :]
            self._add(CycleError([f"`{item}`" for item in way], origin=self._outputs[name].origin))
            raise _FailedError
        self._under_way.append(name)
        try:
            self._columns[name] = self._resolved(self._outputs[name])
        except _FailedError:
            self._columns[name] = None
        finally:
            self._under_way.remove(name)

    def _resolved(self, definition: OutputDefinition) -> StructType | None:
        output = definition.output
        declared = self._declared(definition)
        if declared is not None:  # known before its queries are: they may read each other's tables
            self._stand_in(definition, declared)
            self._columns[definition.name] = declared
        frames = [
            self._resolve_query(query, definition)
            for query in self._definitions.queries
            if query.target == definition.name
        ]
        if isinstance(output, Sink):
            return None
        if isinstance(output, TemporaryView):
            frame = frames[0]
            frame.createOrReplaceTempView(quoted(definition.name))
            return frame.schema
        columns = declared or self._merged(definition.name)
        if columns is None:
            self._add(
                ContradictionError(
                    what=f"`{definition.name}`",
                    reason="no flow writes it, and it has no `schema`",
                    hint="add a flow into it",
                    origin=definition.origin,
                )
            )
        elif declared is None:
            self._stand_in(definition, columns)
        return columns

    def _declared(self, definition: OutputDefinition) -> StructType | None:
        schema = getattr(definition.output, "schema", None)
        if not isinstance(schema, str):
            return schema
        try:
            return struct_of(schema)
        except PySparkException as err:
            self._add(
                InvalidDeclarationError(
                    what=f"`{definition.name}`",
                    argument="schema",
                    reason=spark_sentence(str(err)),
                    origin=definition.origin,
                )
            )
            raise _FailedError from err

    def _merged(self, table: str) -> StructType | None:
        """Return the columns of all queries into `table`, as the first of them has them."""
        merged: dict[str, Any] = {}
        for query in self._queries.values():
            if query.definition.target != table:
                continue
            for column in query.columns:
                known = merged.setdefault(column.name, column)
                if not same_type(known.dataType, column.dataType):
                    self._add(
                        SchemasDifferError(
                            column.name,
                            table=table,
                            flow=query.definition.name,
                            types=(known.dataType.simpleString(), column.dataType.simpleString()),
                            origin=query.definition.origin,
                        )
                    )
        return StructType(list(merged.values())) if merged else None

    def _stand_in(self, definition: OutputDefinition, columns: StructType) -> None:
        name = self._qualified(definition.name)
        ddl = ", ".join(f"{quoted(item.name)} {item.dataType.simpleString()}" for item in columns)
        self._stand_ins.add(definition.name)
        try:
            self._spark.sql(f"DROP TABLE IF EXISTS {name}")
            self._spark.sql(f"CREATE TABLE {name} ({ddl}) USING parquet LOCATION '{self._folder}'")
        except PySparkException as err:
            self._add(
                InvalidDeclarationError(
                    what=f"`{definition.name}`",
                    argument="schema",
                    reason=reason(err),
                    origin=definition.origin,
                )
            )
            raise _FailedError from err

    def _qualified(self, name: str) -> str:
        return f"{quoted(self._database)}.{quoted(name)}"

    def _resolve_query(self, query: QueryDefinition, output: OutputDefinition | None) -> DataFrame:
        as_streams = output is None or not isinstance(output.output, MaterializedView)
        frame = self._frame(query, as_streams=as_streams)
        problem = _kind_problem(frame, query, output)
        if problem is not None:
            self._add(problem)
            raise _FailedError
        found = [item for item in readings(frame) if self._is_ours(item.name, item.database)]
        self._queries[query.name, query.target] = ResolvedQuery(
            definition=query,
            reads=_names(item.name for item in found if item.is_stream),
            consults=_names(item.name for item in found if not item.is_stream),
            columns=self._written(frame, query),
        )
        return frame

    def _written(self, frame: DataFrame, query: QueryDefinition) -> StructType:
        """Return the columns that reach the target."""
        if query.changes is None:
            return frame.schema
        columns = changed_columns(frame.columns, query.changes)
        try:
            frame.select(
                *(quoted(name) for name in query.changes.keys),
                F.expr(query.changes.sequence_by),
                F.expr(query.changes.deletes or "false"),
            )
            selected = frame.select(*(quoted(name) for name in columns)).schema
        except PySparkException as err:
            who, found = f"flow `{query.name}`", reason(err)
            self._add(NotAnalyzedError(who=who, reason=found, hint=hint(err), origin=query.origin))
            raise _FailedError from err
        for key in query.changes.keys:
            if key.lower() not in map(str.lower, columns):
                self._add(
                    MissingKeyColumnError(
                        key, who=f"table `{query.target}`", columns=columns, origin=query.origin
                    )
                )
                raise _FailedError
        return selected

    def _is_ours(self, name: str, database: str | None) -> bool:
        return database is None or (database == self._database and name in self._outputs)

    def _frame(self, query: QueryDefinition, *, as_streams: bool) -> DataFrame:
        """Call the function, as often as it names a dataset that is not there yet."""
        activate(self._spark)
        conf = {key: self._spark.conf.get(key, None) for key in query.conf}
        provided: set[str] = set()
        try:
            self._set(query.conf, query)
            while True:
                self._fit_views(as_streams=as_streams)
                try:
                    return call(query.function, {}, who=f"`{query.name}`")
                except PenstockError as err:
                    missing = _missing(err)
                    if missing is None or missing in provided:
                        self._add(_explained(err, self._files()))
                        raise _FailedError from err
                    provided.add(missing)
                    self._provide(missing, as_streams=as_streams)
        finally:
            for key, value in conf.items():
                self._spark.conf.unset(key) if value is None else self._spark.conf.set(key, value)

    def _set(self, conf: Mapping[str, str], query: QueryDefinition) -> None:
        for key, value in conf.items():
            try:
                self._spark.conf.set(key, value)
            except PySparkException as err:
                self._add(
                    InvalidDeclarationError(
                        what=f"`{query.name}`",
                        argument="spark_conf",
                        reason=spark_sentence(str(err)),
                        origin=query.origin,
                    )
                )
                raise _FailedError from err

    def _provide(self, name: str, *, as_streams: bool) -> None:
        """Let the session find the dataset `name`."""
        if name in self._outputs:
            self._resolve_output(name)
            if self._columns[name] is None:
                raise _FailedError
            activate(self._spark)
            return
        try:
            frame = self._others(self._spark, DatasetName(name), as_streams)
        except PenstockError as err:
            self._add(err)
            raise _FailedError from err
        if frame is not None:
            self._views[name] = not as_streams  # made when it is fitted

    def _fit_views(self, *, as_streams: bool) -> None:
        for name, is_stream in self._views.items():
            if is_stream is not as_streams:
                frame = self._others(self._spark, DatasetName(name), as_streams)
                assert frame is not None  # noqa: S101 - it was there before
                frame.createOrReplaceTempView(quoted(name))
                self._views[name] = as_streams

    def _files(self) -> set[Any]:
        return {item.origin.file for item in self._definitions.queries}

    def _add(self, problem: PenstockError) -> None:
        self.problems.append(problem)


def _names(found: Iterator[str]) -> tuple[DatasetName, ...]:
    return tuple(DatasetName(name) for name in dict.fromkeys(found))


def _missing(err: PenstockError) -> str | None:
    """Return the name of the table or view that Spark did not find, in its last part."""
    cause = err.__cause__
    if not isinstance(cause, AnalysisException):
        return None
    if cause.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    name = (cause.getMessageParameters() or {})["relationName"]
    return name.rpartition("`.`")[2].strip("`").replace("``", "`")


def _explained(err: PenstockError, files: set[Any]) -> PenstockError:
    cause = err.__cause__
    if not isinstance(err, FlowFunctionError) or not isinstance(cause, PySparkException):
        return err
    origin: Origin | None = call_site(cause, files) or err.origin
    assert origin is not None  # noqa: S101 - what a function raises has a line
    return NotAnalyzedError(who=err.who, reason=reason(cause), hint=hint(cause), origin=origin)


def _kind_problem(
    frame: DataFrame, query: QueryDefinition, output: OutputDefinition | None
) -> QueryKindError | None:
    if output is not None and isinstance(output.output, TemporaryView):
        return None
    if output is not None and isinstance(output.output, MaterializedView):
        if not frame.isStreaming:
            return None
        return QueryKindError(
            f"the query of materialized view `{output.name}`",
            needed="batch query: it reads a stream",
            hint="read with `spark.read`, or without `STREAM`; or make it a table",
            origin=query.origin,
        )
    if frame.isStreaming:
        return None
    return QueryKindError(
        f"the query of flow `{query.name}` into `{query.target}`",
        needed="stream",
        hint="read with `spark.readStream`, or with `STREAM`; or make it a materialized view",
        origin=query.origin,
    )
