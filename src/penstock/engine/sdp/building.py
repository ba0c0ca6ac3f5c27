"""Building: what was defined and resolved becomes datasets and flows like any others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

from pyspark.pipelines import output as spark_output
from pyspark.sql import functions as F

from penstock.engine.analysis_errors import FlowSettingError
from penstock.engine.declared_types import OWNED_SETTINGS
from penstock.engine.named_sources import SOURCE_EVOLUTION
from penstock.engine.schemas import quoted
from penstock.engine.sdp.errors import UnsupportedFeatureError
from penstock.names import DatasetName, FlowName
from penstock.pipeline import (
    ONLY_TARGET,
    ContradictionError,
    Flow,
    InvalidDeclarationError,
    MaterializedView,
    OutputMode,
    Sink,
    Table,
    TableFormat,
    View,
    is_identifier,
    parse_span,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from penstock.engine.sdp.definitions import Definitions, OutputDefinition, QueryDefinition
    from penstock.engine.sdp.resolving import ResolvedQuery, Resolver
    from penstock.errors import Origin, PenstockError
    from penstock.pipeline import Dataset

REFRESH = "penstock.refresh"
"""How often a materialized view is computed at most: a table property, or in `configuration`."""
_REFRESH_DEFAULT = "60 seconds"
_FORMATS = {item.value: item for item in TableFormat}


@dataclass(slots=True)
class Builder:
    """Makes declarations; what cannot be one is in `problems`."""

    conf: Mapping[str, str]
    """What the spec configures for every query."""

    others: tuple[Dataset, ...] = ()
    """What is declared with Penstock's own verbs."""

    datasets: list[Dataset] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    problems: list[PenstockError] = field(default_factory=list)

    def accept(self, definitions: Definitions) -> None:
        """Take away what has a name that no dataset or flow can have."""
        definitions.outputs[:] = [
            item
            for item in definitions.outputs
            if self._is_name(item.name, what="dataset", origin=item.origin)
        ]
        definitions.queries[:] = [
            item
            for item in definitions.queries
            if is_name(item.target)
            and (
                item.name == item.target
                or self._is_name(item.name, what="flow", origin=item.origin)
            )
        ]

    def refuse_views_of(self, flows: Sequence[Flow], views: Sequence[View]) -> None:
        """Refuse declarative views as parameters: their sources have no names of ours."""
        ours = {item.name for item in self.datasets if isinstance(item, View)}
        readers: list[Flow | View] = [*flows, *views]
        for reader in readers:
            self.problems += [
                UnsupportedFeatureError(
                    feature=f"the temporary view `{name}` as a parameter of `{reader.name}`",
                    instead="write it into a table with `@dp.table`, and read that",
                    origin=reader.origin,
                )
                for name in reader.reads
                if name in ours
            ]

    def add_output(self, definition: OutputDefinition, resolver: Resolver) -> None:
        """Add the dataset of a table, view or sink."""
        name, output = definition.name, definition.output
        known: dict[str, Any] = {
            "name": DatasetName(name),
            "origin": definition.origin,
            "description": output.comment or "",
        }
        columns = resolver.columns_of(name)
        match output:
            case spark_output.Sink(format=format_, options=options):
                self.datasets.append(Sink(**known, format=format_, options=dict(options)))
            case spark_output.TemporaryView():
                query = resolver.query_of(name)
                if query is not None:
                    self.datasets.append(_view(known, query))
            case spark_output.Table():
                self._add_table(output, known, columns)
            case _:
                raise AssertionError(output)

    def add_query(self, query: QueryDefinition, resolver: Resolver) -> None:
        """Add the flow of a query; that of a temporary view is part of the view."""
        resolved = resolver.resolved(query)
        known = (*self.datasets, *self.others)
        target = next((item for item in known if item.name == query.target), None)
        if resolved is None or target is None or isinstance(target, View):
            return
        whole = isinstance(target, MaterializedView)
        columns = None if query.changes else resolver.columns_of(query.target)
        flow = Flow(
            name=FlowName(query.name),
            origin=query.origin,
            function=_widened(query.function, columns),
            reads=resolved.reads,
            consults=resolved.consults,
            targets={ONLY_TARGET: DatasetName(query.target)},
            output_mode=OutputMode.COMPLETE if whole else OutputMode.APPEND,
            conf={**self.conf, **query.conf, SOURCE_EVOLUTION: "false"},
            is_declarative=True,
            refresh=self._refresh(target) if isinstance(target, MaterializedView) else None,
            changes=query.changes,
        )
        self.problems += [
            FlowSettingError(
                flow,
                setting=key,
                reason=f"Penstock relies on it: {OWNED_SETTINGS[key]}",
                hint=f"leave out `{key}`",
            )
            for key in {**self.conf, **query.conf}
            if key in OWNED_SETTINGS
        ]
        self.flows.append(flow)

    def _add_table(
        self, output: spark_output.Table, known: dict[str, Any], columns: StructType | None
    ) -> None:
        format_ = self._format(output, known["origin"])
        if format_ is None:
            return
        properties = {key: str(value) for key, value in output.table_properties.items()}
        kind = MaterializedView if isinstance(output, spark_output.MaterializedView) else Table
        if output.partition_cols and output.cluster_by:
            self.problems.append(
                ContradictionError(
                    what=f"`{output.name}`",
                    reason="a table is partitioned or clustered, not both",
                    hint="leave out `partition_cols` or `cluster_by`",
                    origin=known["origin"],
                )
            )
        self.datasets.append(
            kind(
                **known,
                format=format_,
                schema=None if columns is None else ddl_of(columns),
                partition_by=tuple(output.partition_cols or ()),
                cluster_by=tuple(output.cluster_by or ()),
                properties=properties,
            )
        )

    def _format(self, output: spark_output.Table, origin: Origin) -> TableFormat | None:
        stated = (output.format or TableFormat.DELTA.value).lower()
        whole = isinstance(output, spark_output.MaterializedView)
        if stated in _FORMATS and not (whole and stated != TableFormat.DELTA):
            return _FORMATS[stated]
        kind = "materialized view" if whole else "table"
        self.problems.append(
            UnsupportedFeatureError(
                feature=f"the format `{stated}` of {kind} `{output.name}`",
                instead="leave it out: a Delta table is replaced as a whole"
                if whole
                else f"leave it out, or use one of {', '.join(f'`{name}`' for name in _FORMATS)}",
                origin=origin,
            )
        )
        return None

    def _refresh(self, view: MaterializedView) -> timedelta | None:
        text = view.properties.get(REFRESH) or self.conf.get(REFRESH) or _REFRESH_DEFAULT
        span = parse_span(text)
        if not span:
            self.problems.append(
                InvalidDeclarationError(
                    what=f"materialized view `{view.name}`",
                    argument=REFRESH,
                    reason=f"`{text}` is not a span of time such as `10 minutes`",
                    origin=view.origin,
                )
            )
        return span

    def _is_name(self, name: str, *, what: str, origin: Origin) -> bool:
        try:
            is_identifier(name)
        except ValueError as err:
            if "." in name:
                self.problems.append(
                    UnsupportedFeatureError(
                        feature=f"the {what} name `{name}`, which names a schema,",
                        instead="use a plain name; `database` in the spec names the schema of all",
                        origin=origin,
                    )
                )
            else:
                self.problems.append(
                    InvalidDeclarationError(
                        what=f"{what} `{name}`", argument="name", reason=str(err), origin=origin
                    )
                )
            return False
        return True


def is_name(name: str) -> bool:
    """Tell whether a dataset or flow can be called so."""
    try:
        is_identifier(name)
    except ValueError:
        return False
    return True


def _view(known: dict[str, Any], query: ResolvedQuery) -> View:
    return View(
        **known,
        function=query.definition.function,
        reads=query.reads,
        consults=query.consults,
        is_declarative=True,
    )


def ddl_of(columns: StructType) -> str:
    """Return `columns` as DDL in which each may be null."""
    return ", ".join(f"{quoted(item.name)} {item.dataType.simpleString()}" for item in columns)


def _widened(
    function: Callable[[], DataFrame], columns: StructType | None
) -> Callable[[], DataFrame]:
    """Return a function that adds the columns which only other flows into the table have."""
    if columns is None:
        return function
    wanted = columns

    @wraps(function)
    def query() -> DataFrame:
        frame = function()
        there = {name.lower() for name in frame.columns}
        absent = [item for item in wanted if item.name.lower() not in there]
        nulls = (F.lit(None).cast(item.dataType).alias(item.name) for item in absent)
        return frame.select("*", *nulls) if absent else frame

    return query
