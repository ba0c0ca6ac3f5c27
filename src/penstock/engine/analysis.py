"""The second step of validation: Spark analyzes each flow on inputs that contact nobody.

The first step, without Spark, is `pipeline/validation.py`. Here every function is called once
with frames of the declared columns, and the plan that comes out is looked into: whether its state
is bounded, whether streams have such operators in that output mode, whether the columns are those
of the target. Nothing is read, started or written.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from penstock.engine.analysis_errors import (
    NotAnalyzedError,
    NotAStreamError,
    OutputModeError,
    SecondWatermarkError,
    UnboundedStateError,
    UnknownColumnsError,
    UnsupportedOperatorError,
    UsedTwiceError,
)
from penstock.engine.column_checks import result_problems
from penstock.engine.declared_types import setting_problems, type_problems
from penstock.engine.empty_inputs import EmptyInputs
from penstock.engine.exactly_once.checks import delivery_problems
from penstock.engine.flow_errors import FlowFunctionError
from penstock.engine.outcomes import FlowOutcome
from penstock.engine.plan_checks import Fault, findings, sources_used_twice
from penstock.engine.plan_tree import has_python, plan_of, refusal
from penstock.engine.reading import apply_flow
from penstock.engine.real_time import real_time_problems
from penstock.engine.schemas import struct_of
from penstock.engine.used_columns import told_subjects
from penstock.engine.user_lines import call_site, hint, line_of_call, reason
from penstock.errors import PenstockError
from penstock.pipeline import (
    RESERVED_COLUMNS,
    Lookup,
    Table,
    Topic,
    View,
    topic_problems,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.engine.contracts.binding import Contracts
    from penstock.engine.events import SubjectRead
    from penstock.engine.plan_checks import Finding
    from penstock.errors import Origin
    from penstock.names import DatasetName, FlowName
    from penstock.pipeline import Dataset, Flow, Pipeline


def analyze(
    pipeline: Pipeline,
    spark: SparkSession,
    *,
    contracts: Contracts | None = None,
    flows: Sequence[Flow] | None = None,
) -> list[PenstockError]:
    """Return every problem that only Spark can find, in the order of the user's files.

    Args:
        pipeline: declarations without problems of the first step.
        spark: a session with the settings of `spark_settings.py`; nothing is run in it.
        contracts: resolve the formats of topics whose schemas are elsewhere; None: there are none.
        flows: those to look at, and with them the flows that write the tables they read; None: all.
    """
    analysis = _Analysis(pipeline, spark)
    if contracts is not None:
        analysis.resolve_schemas(contracts)
    if flows is None:
        analysis.look_at_declarations()
    for flow in pipeline.flows if flows is None else flows:
        analysis.columns_of_flow(flow)
    return sorted(analysis.problems, key=_place)


def analyze_flow(
    pipeline: Pipeline, flow: Flow, spark: SparkSession, *, contracts: Contracts
) -> FlowOutcome:
    """Return what Spark makes of one flow, and of the flows that write the tables it reads.

    Args:
        pipeline: declarations without problems of the first step.
        flow: one of it.
        spark: as for `analyze`.
        contracts: resolve the formats of topics whose schemas are elsewhere.
    """
    analysis = _Analysis(pipeline, spark)
    topics = pipeline.topics(_with_writers(pipeline, [flow]))
    analysis.resolve_schemas(contracts, only={item.name for item in topics})
    columns = analysis.columns_of_flow(flow)
    return FlowOutcome(
        columns=None
        if columns is None
        else {field.name: field.dataType.simpleString() for field in columns},
        problems=tuple(sorted(analysis.problems, key=_place)),
        reads=analysis.subjects_read(flow),
    )


class _UnknownInputError(Exception):
    """A dataset cannot be analyzed, which has been told where it is declared or written."""


class _Analysis:
    """One run over a pipeline: each dataset and flow is looked at once, inputs first."""

    def __init__(self, pipeline: Pipeline, spark: SparkSession) -> None:
        self._pipeline, self._spark = pipeline, spark
        self._flows: dict[FlowName, StructType | None] = {}
        self._datasets: dict[DatasetName, bool] = {}
        self._results: dict[FlowName, tuple[DataFrame, EmptyInputs]] = {}
        self.problems: list[PenstockError] = []

    def resolve_schemas(
        self, contracts: Contracts, *, only: Collection[DatasetName] | None = None
    ) -> None:
        """Put contracts in the place of formats whose schemas are elsewhere.

        What is declared about the columns of such a topic could not be checked before. Topics that
        are not in `only` stay as they are; None: all are resolved.
        """
        flows = self._pipeline.flows
        read = {name for flow in flows for name in _names_read(self._pipeline, flow)}
        datasets: list[Dataset] = []
        for dataset in self._pipeline.datasets:
            datasets.append(dataset)
            if not isinstance(dataset, Topic) or not dataset.has_registry_format:
                continue
            if only is not None and dataset.name not in only:
                continue
            try:
                bound = contracts.for_analysis(dataset, is_read=dataset.name in read)
            except PenstockError as err:
                self._add(err)
                self._datasets[dataset.name] = False
                continue
            datasets[-1] = bound
            for problem in topic_problems(bound):
                self._add(problem)
        self._pipeline = replace(self._pipeline, datasets=tuple(datasets))

    def look_at_declarations(self) -> None:
        """Look at the types of every dataset, also of those that no flow touches."""
        for dataset in self._pipeline.datasets:
            self._is_usable(dataset.name)

    def columns_of_flow(self, flow: Flow) -> StructType | None:
        """Return the columns of what `flow` returns, None when it cannot be analyzed."""
        if flow.name not in self._flows:
            self._flows[flow.name] = None
            with suppress(_UnknownInputError):
                self._flows[flow.name] = self._analyzed(flow)
        return self._flows[flow.name]

    def subjects_read(self, flow: Flow) -> tuple[SubjectRead, ...]:
        """Return what `flow` uses of topics with contracts; nothing if it cannot be analyzed."""
        if flow.name not in self._results:
            return ()
        frame, inputs = self._results[flow.name]
        return told_subjects(frame, inputs.opened, self._pipeline)

    def _analyzed(self, flow: Flow) -> StructType | None:
        usable = [self._is_usable(name) for name in _names(self._pipeline, flow)]
        session = self._session(flow)
        if not all(usable):
            raise _UnknownInputError
        if flow.is_declarative:  # was resolved when the project was loaded
            return None
        for source in self._pipeline.sources(flow):
            if isinstance(source, Table):
                self._columns_of_table(source)  # the flow that writes it comes first
        frame = self._frame(flow, session)
        if frame is None:
            return None
        for problem in _problems_of(frame, flow, self._pipeline):
            self._add(problem)
        return frame.schema

    def _session(self, flow: Flow) -> SparkSession:
        if not flow.conf:
            return self._spark
        session = self._spark.newSession()
        for problem in setting_problems(flow, session):
            self._add(problem)
        return session

    def _frame(self, flow: Flow, session: SparkSession) -> DataFrame | None:
        _activate(session)
        inputs = EmptyInputs(session, self._pipeline, flow, table_columns=self._columns_of_table)
        try:
            frame = apply_flow(flow, {name: inputs.frame(name) for name in flow.reads})
        except PenstockError as err:
            self._add(_explained(err, self._pipeline))
            return None
        finally:
            _activate(self._spark)
        self._results[flow.name] = frame, inputs
        return frame

    def _columns_of_table(self, table: Table) -> StructType:
        if table.schema is not None:
            return struct_of(table.schema)
        writers = self._pipeline.writers(table.name)
        if not writers:
            self._add(UnknownColumnsError(table))
            raise _UnknownInputError
        columns = self.columns_of_flow(writers[0])
        if columns is None:
            raise _UnknownInputError
        return StructType([field for field in columns if field.name not in RESERVED_COLUMNS])

    def _is_usable(self, name: DatasetName) -> bool:
        """Tell whether the types in a declaration exist; those that do not are told once."""
        if name not in self._datasets:
            found = list(type_problems(self._pipeline.dataset(name)))
            self._datasets[name] = not found
            for problem in found:
                self._add(problem)
        return self._datasets[name]

    def _add(self, problem: PenstockError) -> None:
        """Keep `problem` unless it is known: several flows may use one wrong view."""
        known = {(item.code, item.message, item.origin) for item in self.problems}
        if (problem.code, problem.message, problem.origin) not in known:
            self.problems.append(problem)


def _with_writers(pipeline: Pipeline, flows: Sequence[Flow]) -> list[Flow]:
    """Return `flows` and those that give the tables they read their columns."""
    found = {flow.name: flow for flow in flows}
    tables = [item for flow in flows for item in pipeline.sources(flow) if isinstance(item, Table)]
    writers = [writer for item in tables for writer in pipeline.writers(item.name)[:1]]
    if all(writer.name in found for writer in writers):
        return list(found.values())
    return _with_writers(pipeline, list((found | {item.name: item for item in writers}).values()))


def _activate(session: SparkSession) -> None:
    """Let functions find `session`, and Spark note on which line an expression is made."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - not in Spark's Python
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _names(pipeline: Pipeline, flow: Flow) -> Iterator[DatasetName]:
    """Return every dataset that `flow` touches, each as often as it does."""
    yield from _names_read(pipeline, flow)
    yield from flow.targets.values()


def _names_read(pipeline: Pipeline, flow: Flow) -> Iterator[DatasetName]:
    for source in pipeline.sources(flow):
        yield source.name
        if isinstance(source, Lookup) and isinstance(source.source, str):
            yield pipeline.dataset(source.source).name


def _explained(err: PenstockError, pipeline: Pipeline) -> PenstockError:
    """Return `err` in the user's words when Spark could not analyze an expression."""
    cause = err.__cause__
    if not isinstance(err, FlowFunctionError) or not isinstance(cause, PySparkException):
        return err
    files = {item.origin.file for item in (*pipeline.flows, *pipeline.datasets)}
    origin = call_site(cause, files) or err.origin
    assert origin is not None  # noqa: S101 - what a function raises has a line
    return NotAnalyzedError(who=err.who, reason=reason(cause), hint=hint(cause), origin=origin)


def _problems_of(frame: DataFrame, flow: Flow, pipeline: Pipeline) -> Iterator[PenstockError]:
    if not frame.isStreaming:
        yield NotAStreamError(
            who=f"flow `{flow.name}`",
            found="a DataFrame that is no stream",
            hint="use one of its inputs that is a topic, a table or a watched folder",
            origin=flow.origin,
        )
        return
    yield from _plan_problems(frame, flow, pipeline)
    yield from result_problems(frame.schema, flow, pipeline)


def _plan_problems(frame: DataFrame, flow: Flow, pipeline: Pipeline) -> Iterator[PenstockError]:
    plan = plan_of(frame)
    yield from (UsedTwiceError(flow, dataset=name) for name in sources_used_twice(plan))
    found = list(findings(plan, flow.output_mode))
    yield from (_problem(finding, flow, pipeline) for finding in _worst(found))
    if not found and (refused := refusal(frame, flow.output_mode)) is not None:
        yield UnsupportedOperatorError(
            flow,
            operator=reason(refused),
            instead="use another operator, or another `output_mode=`",
            origin=flow.origin,
        )
    yield from delivery_problems(frame, flow, pipeline)
    yield from real_time_problems(
        flow, plan, sources=pipeline.sources(flow), runs_python=has_python(frame)
    )


def _worst(found: Sequence[Finding]) -> list[Finding]:
    """Leave out the doubts about the output mode of what cannot be in a stream at all."""
    hopeless = [item for item in found if item.fault is not Fault.MODE]
    return hopeless or list(found[:1])


def _problem(finding: Finding, flow: Flow, pipeline: Pipeline) -> PenstockError:
    origin = _line(finding, flow, pipeline)
    match finding.fault:
        case Fault.UNBOUNDED:
            return UnboundedStateError(
                flow,
                operator=finding.operator,
                lacks=finding.why,
                hint=finding.instead,
                origin=origin,
            )
        case Fault.UNSUPPORTED:
            return UnsupportedOperatorError(
                flow, operator=finding.operator, instead=finding.instead, origin=origin
            )
        case Fault.MODE:
            return OutputModeError(
                flow, operator=finding.operator, instead=finding.instead, origin=origin
            )
        case Fault.WATERMARK:
            return _second_watermark(finding, flow, pipeline, origin)


def _second_watermark(
    finding: Finding, flow: Flow, pipeline: Pipeline, origin: Origin
) -> SecondWatermarkError:
    declared = [
        source.name
        for source in pipeline.sources(flow)
        if isinstance(source, Topic) and source.event_time == finding.operator
    ]
    where = f": topic `{declared[0]}` declares it as its `event_time`" if declared else ""
    return SecondWatermarkError(
        flow,
        column=finding.node.column,
        first=finding.operator,
        hint=f"leave out `withWatermark`{where}",
        origin=origin,
    )


def _line(finding: Finding, flow: Flow, pipeline: Pipeline) -> Origin:
    """Return the line of the call that a finding is about, in the flow or in a view it reads."""
    views = [item for item in pipeline.datasets if isinstance(item, View)]
    read = [view for view in views if view.name in flow.reads]
    for function in (flow.function, *(view.function for view in read)):
        if origin := line_of_call(function, finding.calls):
            return origin
    return flow.origin


def _place(problem: PenstockError) -> tuple[str, int]:
    origin = problem.origin
    return (str(origin.file), origin.line or 0) if origin else ("", 0)
