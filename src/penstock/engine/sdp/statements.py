"""SQL files: Spark's own parser reads them, and each statement becomes a definition.

CREATE STREAMING TABLE      with a query or without
CREATE MATERIALIZED VIEW, CREATE TEMPORARY VIEW
CREATE FLOW … AS INSERT INTO … BY NAME
SET                         for the statements that follow in the same file
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.pipelines.output import MaterializedView, StreamingTable, TemporaryView
from pyspark.pipelines.source_code_location import SourceCodeLocation
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.flow_errors import FlowFunctionError
from penstock.engine.schemas import quoted
from penstock.engine.sdp.definitions import Definitions, OutputDefinition, QueryDefinition
from penstock.engine.sdp.errors import SqlStatementError, UnsupportedFeatureError
from penstock.engine.sdp.sessions import active_session
from penstock.engine.user_code import reason_of, spark_sentence
from penstock.errors import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Java = Any
"""An object of the JVM, or of Scala in it."""

_COMMENTS = re.compile(r"(\s+|--[^\n]*|/\*.*?\*/)*", re.S)
"""What may stand before a statement."""


def define_statements(file: Path, spark: SparkSession, definitions: Definitions) -> None:
    """Add what the SQL file declares to `definitions`.

    Raises:
        SqlStatementError: a statement cannot be read, or declares nothing.
        UnsupportedFeatureError: it declares something that Penstock does not have.
    """
    reader = _StatementReader(spark, definitions)
    for text, origin in _statements(file, spark):
        reader.take(text, origin)


def stream_of(table: str, *, flow: str, origin: Origin) -> Callable[[], DataFrame]:
    """Return a function that reads a dataset as a stream, and blames `origin`."""
    return _blaming(
        lambda spark: spark.readStream.table(table), who=f"flow `{flow}`", origin=origin
    )


def _blaming(
    read: Callable[[SparkSession], DataFrame], *, who: str, origin: Origin
) -> Callable[[], DataFrame]:
    def query() -> DataFrame:
        try:
            return read(active_session(SparkSession.active()))
        except PySparkException as err:
            raise FlowFunctionError(who, reason=reason_of(err), origin=origin) from err

    return query


def _statements(file: Path, spark: SparkSession) -> Iterator[tuple[str, Origin]]:
    """Return each statement and the line on which it begins, comments left out."""
    content = file.read_text(encoding="utf-8")
    jvm: Java = spark._jvm  # noqa: SLF001 - Spark's own way of cutting is Java's
    pieces = jvm.org.apache.spark.sql.catalyst.util.StringUtils.splitSemiColonWithIndex(
        content,
        False,  # noqa: FBT003 - Java has no names here
    )
    position = 0
    for index in range(pieces.size()):
        piece = str(pieces.apply(index))
        start = content.index(piece, position)
        position = start + len(piece)
        said = _COMMENTS.match(piece)
        begin = said.end() if said else 0
        if piece[begin:].strip():
            yield piece[begin:].strip(), Origin(file, content.count("\n", 0, start + begin) + 1)


@dataclass(slots=True)
class _StatementReader:
    """Goes through the statements of one file; `SET` holds for those that follow."""

    spark: SparkSession
    definitions: Definitions
    conf: dict[str, str] = field(default_factory=dict)

    def take(self, text: str, origin: Origin) -> None:
        plan = self._parsed(text, origin)
        match str(plan.getClass().getSimpleName()):
            case "CreateStreamingTable":
                self._output(StreamingTable, plan, origin)
            case "CreateStreamingTableAsSelect":
                self._with_query(StreamingTable, plan, text, origin)
            case "CreateMaterializedViewAsSelect":
                self._with_query(MaterializedView, plan, text, origin)
            case "CreateViewCommand":
                self._view(plan, text, origin)
            case "CreateFlowCommand":
                self._flow(plan, text, origin)
            case "SetCommand":
                self._set(plan, origin)
            case other:
                self._refuse(other, text, origin)

    def _parsed(self, text: str, origin: Origin) -> Java:
        try:
            return _parse(self.spark, text)
        except PySparkException as err:
            context = spark_sentence(err.getMessage() or str(err))
            raise SqlStatementError(context, origin=origin) from err

    def _refuse(self, command: str, text: str, origin: Origin) -> None:
        words = " ".join(text.split()[:3])
        if command in ("CreateView", "SetNamespaceCommand", "SetCatalogCommand"):
            raise UnsupportedFeatureError(
                feature=f"the statement `{words} …`",
                instead="declare a temporary view; `database` in the spec names the schema",
                origin=origin,
            )
        reason = f"`{words} …` declares no table, view or flow"
        raise SqlStatementError(reason, origin=origin)

    def _with_query(
        self, kind: type[StreamingTable | MaterializedView], plan: Java, text: str, origin: Origin
    ) -> None:
        name = self._output(kind, plan, origin)
        self._query(name, name, text, origin, lambda parsed: parsed.query())

    def _output(
        self, kind: type[StreamingTable | MaterializedView], plan: Java, origin: Origin
    ) -> str:
        name, spec = _name(plan.name()), plan.tableSpec()
        if _option(spec.location()) is not None:
            raise UnsupportedFeatureError(
                feature=f"the `LOCATION` of `{name}`",
                instead="leave it out: tables are kept in the warehouse",
                origin=origin,
            )
        partitioned, clustered = _layout(plan.partitioning(), name, origin)
        output = kind(
            name=name,
            comment=_option(spec.comment()),
            source_code_location=_location(origin),
            table_properties=_mapping(spec.properties()),
            partition_cols=partitioned,
            cluster_by=clustered,
            schema=_ddl(plan.columns()),
            format=_option(spec.provider()),
        )
        self.definitions.outputs.append(OutputDefinition(output=output, origin=origin))
        return name

    def _view(self, plan: Java, text: str, origin: Origin) -> None:
        if str(plan.viewType().toString()) != "LocalTempView" or plan.userSpecifiedColumns().size():
            words = " ".join(text.split()[:3])
            raise UnsupportedFeatureError(
                feature=f"the statement `{words} …`",
                instead="declare a temporary view, and name its columns in its query",
                origin=origin,
            )
        name = str(plan.name().table())
        view = TemporaryView(
            name=name, comment=_option(plan.comment()), source_code_location=_location(origin)
        )
        self.definitions.outputs.append(OutputDefinition(output=view, origin=origin))
        self._query(name, name, text, origin, lambda parsed: parsed.plan())

    def _flow(self, plan: Java, text: str, origin: Origin) -> None:
        insert = plan.flowOperation()
        if str(insert.getClass().getSimpleName()) != "InsertIntoStatement" or not insert.byName():
            raise UnsupportedFeatureError(
                feature="a flow that is not `INSERT INTO … BY NAME`",
                instead="write `CREATE FLOW name AS INSERT INTO table BY NAME SELECT …`",
                origin=origin,
            )
        target = ".".join(_items(insert.table().multipartIdentifier()))
        self._query(
            _name(plan.name()), target, text, origin, lambda parsed: parsed.flowOperation().query()
        )

    def _set(self, plan: Java, origin: Origin) -> None:
        pair = plan.kv()
        value = None if pair.isEmpty() else pair.get()._2()  # noqa: SLF001 - a Scala tuple
        if value is None or value.isEmpty():
            reason = "`SET` without a value sets nothing"
            raise SqlStatementError(reason, origin=origin)
        self.conf[str(pair.get()._1())] = str(value.get())  # noqa: SLF001

    def _query(
        self, name: str, target: str, text: str, origin: Origin, part: Callable[[Java], Any]
    ) -> None:
        def read(spark: SparkSession) -> DataFrame:
            jvm: Java = spark._jvm  # noqa: SLF001 - a plan becomes a frame only in Java
            query = part(_parse(spark, text))
            frame = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, query)  # noqa: SLF001
            return DataFrame(frame, spark)

        self.definitions.queries.append(
            QueryDefinition(
                name=name,
                target=target,
                function=_blaming(read, who=f"`{name}`", origin=origin),
                origin=origin,
                conf=dict(self.conf),
            )
        )


def _parse(spark: SparkSession, text: str) -> Java:
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # noqa: SLF001


def _layout(
    transforms: Java,
    table: str,
    origin: Origin,
) -> tuple[list[str] | None, list[str] | None]:
    """Return the columns of `PARTITIONED BY` and of `CLUSTER BY`."""
    found: dict[str, list[str]] = {"identity": [], "cluster_by": []}
    for index in range(transforms.size()):
        transform = transforms.apply(index)
        kind = str(transform.name())
        if kind not in found:
            raise UnsupportedFeatureError(
                feature=f"`{table}` partitioned by `{transform.describe()}`",
                instead="add the value as a column, and partition by that",
                origin=origin,
            )
        columns = [".".join(reference.fieldNames()) for reference in transform.references()]
        found[kind] += columns
    return found["identity"] or None, found["cluster_by"] or None


def _ddl(columns: Java) -> str | None:
    parts = []
    for index in range(columns.size()):
        column = columns.apply(index)
        comment = _option(column.comment())
        text = f"{quoted(str(column.name()))} {column.dataType().sql()}"
        if comment is not None:
            escaped = comment.replace("\\", "\\\\").replace("'", "\\'")
            text += f" COMMENT '{escaped}'"
        parts.append(text)
    return ", ".join(parts) or None


def _name(identifier: Java) -> str:
    return ".".join(_items(identifier.nameParts()))


def _items(sequence: Java) -> list[str]:
    return [str(sequence.apply(index)) for index in range(sequence.size())]


def _option(option: Java) -> str | None:
    return str(option.get()) if option.isDefined() else None


def _mapping(scala: Java) -> dict[str, str]:
    pairs = scala.toSeq()
    return {str(pairs.apply(i)._1()): str(pairs.apply(i)._2()) for i in range(pairs.size())}  # noqa: SLF001


def _location(origin: Origin) -> SourceCodeLocation:
    return SourceCodeLocation(filename=str(origin.file), line_number=origin.line)
