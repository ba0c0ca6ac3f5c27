"""Whether a flow writes by lanes, and whether it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.analysis_errors import NotRealTimeError
from penstock.engine.exactly_once.errors import WanderingRowsError, WanderingStateError
from penstock.engine.exactly_once.lane_plan import is_by_order, wanders, wanders_below_state
from penstock.pipeline import Delivery, Lookup, Nondeterminism, RealTime, Table, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from penstock.errors import PenstockError
    from penstock.pipeline import Dataset, Flow, Pipeline


def uses_lanes(flow: Flow, pipeline: Pipeline) -> bool:
    """Whether `flow` writes to a topic, and no record twice."""
    to_topics = any(isinstance(item, Topic) for item in pipeline.targets(flow).values())
    return to_topics and flow.delivery is not Delivery.AT_LEAST_ONCE


def delivery_problems(frame: DataFrame, flow: Flow, pipeline: Pipeline) -> Iterator[PenstockError]:
    """Return what keeps `flow`, which makes `frame`, from writing as it declares."""
    # A lane has its rows of all topics; a table has them in a transaction of its own.
    apart = _has_tables(flow, pipeline) and len(set(flow.targets.values())) > 1
    if flow.delivery is Delivery.AT_LEAST_ONCE or not (apart or uses_lanes(flow, pipeline)):
        return
    if isinstance(flow.trigger, RealTime):
        yield NotRealTimeError(
            flow,
            because=f"its delivery is `{flow.delivery}`, which is done batch by batch",
            instead='declare `delivery="at_least_once"`, or leave out `trigger=`',
            origin=flow.origin,
        )
        return
    sources = pipeline.sources(flow)
    others = any(not isinstance(source, Topic | Lookup) for source in sources)
    by_order = is_by_order(frame)
    operator = wanders(
        frame,
        by_content=others or apart or by_order,
        by_value=by_order and any(_has_no_key(item) for item in pipeline.targets(flow).values()),
    )
    if operator is None:
        return
    if flow.nondeterministic is Nondeterminism.REFUSE:
        yield WanderingRowsError(flow.name, operator, origin=flow.origin)
    elif (operator := wanders_below_state(frame)) is not None:
        yield WanderingStateError(flow.name, operator, origin=flow.origin)


def _has_no_key(target: Dataset) -> bool:
    return isinstance(target, Topic) and not target.key


def _has_tables(flow: Flow, pipeline: Pipeline) -> bool:
    return any(isinstance(item, Table) for item in pipeline.targets(flow).values())
