"""The table of what plans cannot be, on plans that are written down by hand."""

from penstock.engine.plan_checks import Fault, findings
from penstock.engine.plan_tree import PlanNode
from penstock.pipeline import OutputMode

SOURCE = PlanNode(operator="StreamingRelationV2", source_format="kafka", column="orders")
TABLE = PlanNode(operator="LogicalRDD", is_streaming=False)


def test_a_projection_of_a_source_is_fine() -> None:
    plan = PlanNode(operator="Project", children=(SOURCE,))

    assert list(findings(plan, OutputMode.APPEND)) == []
    assert list(findings(plan, OutputMode.UPDATE)) == []


def test_operators_on_tables_are_nobodys_business() -> None:
    """A table beside the stream may be sorted, aggregated and made distinct."""
    static = PlanNode(
        operator="Sort",
        is_streaming=False,
        children=(PlanNode(operator="Aggregate", is_streaming=False, children=(TABLE,)),),
    )
    plan = PlanNode(operator="Join", join_type="Inner", children=(SOURCE, static))

    assert list(findings(plan, OutputMode.APPEND)) == []


def test_every_fault_of_a_plan_is_found() -> None:
    distinct = PlanNode(operator="Deduplicate", children=(SOURCE,))
    plan = PlanNode(operator="Sort", children=(distinct,))

    found = [(item.fault, item.node.operator) for item in findings(plan, OutputMode.UPDATE)]

    assert found == [(Fault.UNBOUNDED, "Deduplicate"), (Fault.UNSUPPORTED, "Sort")]


def test_watermarks_side_by_side_are_not_a_second_one() -> None:
    left = PlanNode(operator="EventTimeWatermark", column="at", children=(SOURCE,))
    right = PlanNode(operator="EventTimeWatermark", column="at", children=(SOURCE,))
    plan = PlanNode(operator="Union", children=(left, right))

    assert list(findings(plan, OutputMode.APPEND)) == []


def test_a_watermark_anywhere_above_another_is_found() -> None:
    first = PlanNode(operator="EventTimeWatermark", column="at", children=(SOURCE,))
    between = PlanNode(operator="Aggregate", bounded=True, time_window=True, children=(first,))
    plan = PlanNode(operator="EventTimeWatermark", column="end", children=(between,))

    (found,) = findings(plan, OutputMode.APPEND)

    assert (found.fault, found.node.column, found.operator) == (Fault.WATERMARK, "end", "at")


def test_a_running_count_may_keep_its_keys_but_not_every_window() -> None:
    running = PlanNode(operator="Aggregate", children=(SOURCE,))
    windows = PlanNode(operator="Aggregate", time_window=True, children=(SOURCE,))

    assert list(findings(running, OutputMode.UPDATE)) == []
    assert [item.fault for item in findings(windows, OutputMode.UPDATE)] == [Fault.UNBOUNDED]
