"""Whether a flow can run in Spark's real-time mode, and what prevents it.

The mode takes projections, filters, unions and joins with small tables, from Kafka to Kafka. All
of it can be told from the plan, except whether there is a task slot for each partition, which
needs the cluster: with fewer, Spark reads some partitions and never says that it leaves others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.engine.analysis_errors import NotRealTimeError, TooFewTaskSlotsError
from penstock.engine.plan_checks import AGGREGATING, DEDUPLICATING
from penstock.engine.user_lines import line_of_call
from penstock.pipeline import RealTime, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.engine.plan_tree import PlanNode
    from penstock.pipeline import Dataset, Flow, Trigger

_OTHERWISE = "leave out `trigger=`"


@dataclass(frozen=True, slots=True)
class _Obstacle:
    operators: tuple[str, ...]
    because: str
    calls: tuple[str, ...]
    instead: str = f"{_OTHERWISE}, or do it in a second flow that reads the result"


_OBSTACLES = (
    _Obstacle(("Aggregate",), "it aggregates, which needs state and a shuffle", AGGREGATING),
    _Obstacle(
        ("Deduplicate", "DeduplicateWithinWatermark", "Distinct"),
        "it removes duplicates, which needs state and a shuffle",
        (*DEDUPLICATING, "dropDuplicatesWithinWatermark"),
    ),
    _Obstacle(
        ("Repartition", "RepartitionByExpression", "RebalancePartitions"),
        "it repartitions, which is a shuffle",
        ("repartition", "repartitionByRange", "coalesce"),
        "leave out `repartition`; Kafka's partitions are what runs side by side",
    ),
    _Obstacle(
        (
            "FlatMapGroupsWithState",
            "FlatMapGroupsInPandasWithState",
            "TransformWithState",
            "TransformWithStateInPySpark",
        ),
        "it keeps state of its own",
        ("transformWithState", "transformWithStateInPandas", "applyInPandasWithState"),
    ),
    _Obstacle(("GlobalLimit",), "it limits the number of rows", ("limit",)),
)

_PYTHON = ("udf", "pandas_udf", "arrow_udf", "mapInArrow", "mapInPandas", "applyInPandas")


def real_time_problems(
    flow: Flow, plan: PlanNode, *, sources: Sequence[Dataset], runs_python: bool
) -> Iterator[NotRealTimeError]:
    """Return what prevents `flow` from running in real time.

    Args:
        flow: a flow with any trigger; others than `real_time` have no such problems.
        plan: what its function makes of its inputs.
        sources: what it reads in the end.
        runs_python: whether rows pass through a Python function.
    """
    if not isinstance(flow.trigger, RealTime):
        return
    yield from _operator_problems(flow, plan)
    if runs_python:
        yield _problem(
            flow,
            "it calls a Python function for rows, and they may not leave the JVM",
            "use Spark's own functions, or leave out `trigger=`",
            _PYTHON,
        )
    yield from _source_problems(flow, plan, sources)


def slot_problem(
    flow: Flow, trigger: Trigger, *, partition_count: int, task_slots: int
) -> TooFewTaskSlotsError | None:
    """Return the problem of a real-time start with more partitions to read than Spark has slots.

    Args:
        flow: the flow about to start.
        trigger: the one it is started with.
        partition_count: of all the topics that it reads.
        task_slots: how many tasks the cluster runs at once.
    """
    if not isinstance(trigger, RealTime) or task_slots >= partition_count:
        return None
    return TooFewTaskSlotsError(flow, partition_count=partition_count, task_slots=task_slots)


def _operator_problems(flow: Flow, plan: PlanNode) -> Iterator[NotRealTimeError]:
    for obstacle in _OBSTACLES:
        if plan.streaming(*obstacle.operators):
            yield _problem(flow, obstacle.because, obstacle.instead, obstacle.calls)
    if any(node.is_stateful_join for node in plan.streaming("Join")):
        yield _problem(
            flow,
            "it joins two streams, which needs state and a shuffle",
            f"{_OTHERWISE}, or join with a lookup",
            ("join",),
        )


def _source_problems(
    flow: Flow, plan: PlanNode, sources: Sequence[Dataset]
) -> Iterator[NotRealTimeError]:
    for source in sources:
        if isinstance(source, Topic):
            yield from _limit_problems(flow, source)
    others = {node.source_format for node in plan.walk() if node.source_format} - {"kafka"}
    if others:
        yield _problem(flow, "it reads something that is no topic", "read topics and lookups", ())


def _limit_problems(flow: Flow, topic: Topic) -> Iterator[NotRealTimeError]:
    limits = {
        "most_per_trigger": topic.most_per_trigger,
        "min_partitions": topic.min_partitions,
    }
    for setting, value in limits.items():
        if value is not None:
            yield NotRealTimeError(
                flow,
                because=f"topic `{topic.name}` sets `{setting}`, and there are no batches to limit",
                instead=f"leave out `{setting}=`, or the `trigger=` of the flow",
                origin=topic.origin,
            )


def _problem(flow: Flow, because: str, instead: str, calls: tuple[str, ...]) -> NotRealTimeError:
    origin = line_of_call(flow.function, calls) or flow.origin
    return NotRealTimeError(flow, because=because, instead=instead, origin=origin)
