"""Whether what a flow returns has the columns that its targets hold, and says where rows go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import StringType, StructType

from penstock.engine.analysis_errors import RouteColumnError
from penstock.engine.encoding import column_problems, declared_columns
from penstock.pipeline import RESERVED_COLUMNS, ROUTE_COLUMN, MissingColumnError, Table, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.errors import PenstockError
    from penstock.pipeline import Flow, Pipeline


def result_problems(columns: StructType, flow: Flow, pipeline: Pipeline) -> Iterator[PenstockError]:
    """Return what is wrong with the `columns` that `flow` returns, for all of its targets."""
    targets = [item for item in pipeline.targets(flow).values() if isinstance(item, Topic | Table)]
    route = _route_problem(columns, flow)
    if route is not None:
        yield route
        columns = _with_a_right_route(columns, flow)
    for target in targets:
        yield from column_problems(columns, target, flow)
        if isinstance(target, Table):
            yield from _partition_problems(columns, target, flow)
    if flow.is_routed:
        yield from _columns_for_nobody(columns, flow, targets)


def _route_problem(columns: StructType, flow: Flow) -> RouteColumnError | None:
    routes = ", ".join(f"`{route}`" for route in flow.targets)
    if not flow.is_routed:
        if ROUTE_COLUMN not in columns.names:
            return None
        return RouteColumnError(
            flow,
            problem=f"returns a column `{ROUTE_COLUMN}`, but writes one dataset",
            hint=f'drop the column, or name the routes: `into={{"…": "{flow.targets[""]}"}}`',
        )
    if ROUTE_COLUMN not in columns.names:
        problem = f"routes its rows, but returns no column `{ROUTE_COLUMN}`"
    elif not isinstance(columns[ROUTE_COLUMN].dataType, StringType):
        found = columns[ROUTE_COLUMN].dataType.simpleString()
        problem = f"returns the column `{ROUTE_COLUMN}` as `{found}`, expected `string`"
    else:
        return None
    return RouteColumnError(flow, problem=problem, hint=f"add it with one of {routes} for each row")


def _with_a_right_route(columns: StructType, flow: Flow) -> StructType:
    """Return `columns` as they should be, so that one fault is not told once per target."""
    others = StructType([field for field in columns if field.name != ROUTE_COLUMN])
    return others.add(ROUTE_COLUMN, StringType()) if flow.is_routed else others


def _partition_problems(
    columns: StructType, table: Table, flow: Flow
) -> Iterator[MissingColumnError]:
    if table.schema is not None:
        return
    for name in table.partition_by:
        if name not in columns.names:
            yield MissingColumnError(
                name,
                who=f"table `{table.name}`, written by flow `{flow.name}`,",
                setting="partition_by",
                columns=[column for column in columns.names if column not in RESERVED_COLUMNS],
                origin=table.origin,
            )


def _columns_for_nobody(
    columns: StructType, flow: Flow, targets: Sequence[Topic | Table]
) -> Iterator[RouteColumnError]:
    taken = set(RESERVED_COLUMNS)
    for target in targets:
        declared = declared_columns(target)
        if declared is None:
            return
        taken |= {field.name for field in declared} | set(target.key)
    for name in columns.names:
        if name not in taken:
            yield RouteColumnError(
                flow,
                problem=f"returns the column `{name}`, which none of its targets has",
                hint="drop it in the flow, or add it to the schema of a target",
            )
