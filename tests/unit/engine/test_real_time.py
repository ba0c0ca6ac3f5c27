"""What prevents real time, on plans that are written down by hand, and the count of task slots."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from penstock.engine.plan_tree import PlanNode
from penstock.engine.real_time import real_time_problems, slot_problem
from penstock.errors import Origin
from penstock.names import DatasetName, FlowName
from penstock.pipeline import Continuously, Flow, OutputMode, RealTime

SOURCE = PlanNode(operator="StreamingRelationV2", source_format="kafka", column="orders")


def function(orders: DataFrame) -> DataFrame:
    return orders


FLOW = Flow(
    name=FlowName("alert"),
    origin=Origin(Path("flows.py"), 7),
    function=function,
    reads=(DatasetName("orders"),),
    targets={"": DatasetName("alerts")},
    trigger=RealTime(),
    output_mode=OutputMode.UPDATE,
)


def obstacles(plan: PlanNode, *, flow: Flow = FLOW, runs_python: bool = False) -> list[str]:
    found = real_time_problems(flow, plan, sources=(), runs_python=runs_python)
    return [problem.because for problem in found]


def test_a_filter_of_a_topic_runs_in_real_time() -> None:
    assert obstacles(PlanNode(operator="Filter", children=(SOURCE,))) == []


def test_all_obstacles_are_told_together() -> None:
    join = PlanNode(operator="Join", join_type="Inner", children=(SOURCE, SOURCE))

    assert obstacles(PlanNode(operator="Aggregate", children=(join,)), runs_python=True) == [
        "it aggregates, which needs state and a shuffle",
        "it joins two streams, which needs state and a shuffle",
        "it calls a Python function for rows, and they may not leave the JVM",
    ]


def test_flows_with_other_triggers_have_no_obstacles() -> None:
    flow = replace(FLOW, trigger=Continuously())

    assert obstacles(PlanNode(operator="Aggregate", children=(SOURCE,)), flow=flow) == []


@pytest.mark.parametrize(("slots", "is_problem"), [(2, True), (3, False), (4, False)])
def test_each_partition_needs_a_task_slot(slots: int, *, is_problem: bool) -> None:
    problem = slot_problem(FLOW, FLOW.trigger, partition_count=3, task_slots=slots)

    assert (problem is not None) == is_problem


def test_batches_do_with_fewer_task_slots() -> None:
    flow = replace(FLOW, trigger=Continuously())

    assert slot_problem(flow, flow.trigger, partition_count=3, task_slots=1) is None


def test_the_problem_of_slots_names_both_numbers() -> None:
    problem = slot_problem(FLOW, FLOW.trigger, partition_count=3, task_slots=2)

    assert str(problem) == (
        "flow `alert` reads 3 partitions in real time, but Spark has 2 task slots: the others"
        " would never be read"
    )
