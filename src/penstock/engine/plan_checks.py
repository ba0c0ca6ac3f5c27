"""What is wrong with the plan of a flow, as a table: operator, output modes, why, what instead.

Spark has a check of its own, which the table does not replace: `analysis.py` asks it about every
plan in which nothing is found here. The table comes first because it names the operator as the
user wrote it and an alternative, and because Spark lets state grow for ever without a word.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from penstock.pipeline import OutputMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.engine.plan_tree import PlanNode

_ALL = frozenset(OutputMode)
_APPEND, _UPDATE, _COMPLETE = ({mode} for mode in OutputMode)
_NOT_COMPLETE = {OutputMode.APPEND, OutputMode.UPDATE}


class Fault(Enum):
    """What kind of problem a finding is."""

    UNBOUNDED = auto()
    """State that only grows."""
    UNSUPPORTED = auto()
    """Nothing that streams have, in any output mode."""
    MODE = auto()
    """Possible, but in another output mode."""
    WATERMARK = auto()
    """A watermark above a watermark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem of a plan."""

    fault: Fault
    node: PlanNode
    operator: str
    """What the user wrote, in a few words."""
    why: str = ""
    instead: str
    calls: tuple[str, ...]
    """Methods that bring the operator about, to find the line in the user's function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    fault: Fault
    operators: tuple[str, ...]
    modes: frozenset[OutputMode] | set[OutputMode] = _ALL
    applies: Callable[[PlanNode], bool]
    operator: str
    why: str = ""
    instead: str
    calls: tuple[str, ...]


AGGREGATING = ("agg", "count", "sum", "avg", "mean", "min", "max", "pivot", "groupBy", "groupby")
DEDUPLICATING = ("distinct", "dropDuplicates", "drop_duplicates")
_JOINING = ("join", "crossJoin")

_EVENT_TIME = "declare `event_time=` and `allowed_lateness=` on the topic, or call `withWatermark`,"

_UNBOUNDED = (
    _Rule(
        fault=Fault.UNBOUNDED,
        operators=("Deduplicate", "Distinct"),
        applies=lambda node: not node.bounded,
        operator="`distinct` or `dropDuplicates`",
        why="remembers every row, as none of its columns has a watermark",
        instead=f"{_EVENT_TIME} and use `dropDuplicatesWithinWatermark`, or name the event time"
        " among the columns of `dropDuplicates`",
        calls=DEDUPLICATING,
    ),
    _Rule(
        fault=Fault.UNBOUNDED,
        operators=("Join",),
        applies=lambda node: (
            node.is_stateful_join and node.join_type != "LeftAnti" and not node.bounded
        ),
        operator="a join of two streams",
        why="keeps every row of a side, as no watermark and bound on time says when to forget",
        instead=f"{_EVENT_TIME} on both sides and join on a range such as"
        " `paid.at BETWEEN placed.at AND placed.at + INTERVAL 1 HOUR`",
        calls=_JOINING,
    ),
    _Rule(
        fault=Fault.UNBOUNDED,
        operators=("Aggregate",),
        modes=_APPEND,
        applies=lambda node: not node.bounded,
        operator="an aggregation in append mode",
        why="groups by no column with a watermark, so no group is ever complete and written",
        instead=f"{_EVENT_TIME} and group by `F.window(…)` of it; or use"
        ' `output_mode="update"` for running results',
        calls=AGGREGATING,
    ),
    _Rule(
        fault=Fault.UNBOUNDED,
        operators=("Aggregate",),
        modes=_UPDATE,
        applies=lambda node: (node.time_window or node.session_window) and not node.bounded,
        operator="an aggregation by time windows",
        why="keeps every window, as its time has no watermark",
        instead=f"{_EVENT_TIME} before grouping",
        calls=AGGREGATING,
    ),
)

_UNSUPPORTED = (
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Aggregate",),
        applies=lambda node: node.distinct_aggregate,
        operator="`countDistinct` and other distinct aggregates need all rows of a group at once",
        instead="use `F.approx_count_distinct(…)`; or `dropDuplicatesWithinWatermark` first",
        calls=("countDistinct", "count_distinct", "sumDistinct", "sum_distinct", *AGGREGATING),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Window",),
        applies=lambda _: True,
        operator="`row_number` and other functions `over` a window of rows need all rows",
        instead="group by `F.window(…)`; take the newest row of a key with `F.max_by`; or keep"
        " state of your own with `transformWithState`",
        calls=("over",),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Sort",),
        modes=_NOT_COMPLETE,
        applies=lambda _: True,
        operator="a sort needs all rows, and a stream has no last one",
        instead="sort when the result is read; only an aggregation in complete mode can be sorted",
        calls=("sort", "orderBy", "sortWithinPartitions"),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Offset",),
        applies=lambda _: True,
        operator="`offset` counts rows, and a stream has no order",
        instead="leave out `offset`, or filter by a column",
        calls=("offset",),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Sample",),
        applies=lambda _: True,
        operator="`sample` would take another part at each replay",
        instead='filter by a hash of a key, such as `"abs(hash(id)) % 10 = 0"`',
        calls=("sample", "randomSplit"),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Intersect", "Intersect All", "IntersectAll"),
        applies=lambda _: True,
        operator="`intersect` needs all rows of both sides",
        instead="use a left semi join with a bound on time",
        calls=("intersect", "intersectAll"),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Except", "Except All", "ExceptAll"),
        applies=lambda node: node.children[1].is_streaming,
        operator="`exceptAll` and `subtract` need all rows of the stream on the right",
        instead="use a left outer join with a bound on time and keep rows without a partner",
        calls=("exceptAll", "subtract"),
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Join",),
        applies=lambda node: node.join_type == "LeftAnti" and node.children[1].is_streaming,
        operator="an anti join needs all rows of the stream on the right",
        instead="use a left outer join with a bound on time and keep rows without a partner",
        calls=_JOINING,
    ),
    _Rule(
        fault=Fault.UNSUPPORTED,
        operators=("Join",),
        applies=lambda node: _keeps_static_rows(node),
        operator="an outer join cannot keep unmatched rows of a lookup, as a match may yet come",
        instead="put the stream on the side whose rows are all kept, or use an inner join",
        calls=_JOINING,
    ),
)

_MODES = (
    _Rule(
        fault=Fault.MODE,
        operators=("GlobalLimit",),
        modes=_UPDATE,
        applies=lambda _: True,
        operator="`limit` is for rows that never change",
        instead='use `output_mode="append"`',
        calls=("limit",),
    ),
    _Rule(
        fault=Fault.MODE,
        operators=("Aggregate",),
        modes=_UPDATE,
        applies=lambda node: node.session_window and node.bounded,
        operator="session windows move until they close",
        instead='use `output_mode="append"`, which writes each session once it is closed',
        calls=("session_window", *AGGREGATING),
    ),
    _Rule(
        fault=Fault.MODE,
        operators=("Aggregate",),
        modes={OutputMode.UPDATE, OutputMode.COMPLETE},
        applies=lambda node: any(
            item.is_streaming and item.operator == "Aggregate" for item in node.below()
        ),
        operator="an aggregation of an aggregation would count each update anew",
        instead='use `output_mode="append"`, or write the first result to a topic and let a second'
        " flow aggregate it",
        calls=AGGREGATING,
    ),
    _Rule(
        fault=Fault.MODE,
        operators=("Join",),
        modes=_UPDATE,
        applies=lambda node: node.is_stateful_join and node.join_type.endswith("Outer"),
        operator="an outer join of two streams knows late that a row has no partner",
        instead='use `output_mode="append"`',
        calls=_JOINING,
    ),
    _Rule(
        fault=Fault.MODE,
        operators=("Join",),
        modes=_COMPLETE,
        applies=lambda node: node.is_stateful_join,
        operator="a join of two streams does not keep its whole result",
        instead='use `output_mode="append"`',
        calls=_JOINING,
    ),
)


def findings(plan: PlanNode, mode: OutputMode) -> Iterator[Finding]:
    """Return what the table has against `plan` as a stream in `mode`."""
    for rule in (*_UNBOUNDED, *_UNSUPPORTED, *_MODES):
        if mode in rule.modes:
            for node in plan.streaming(*rule.operators):
                if rule.applies(node):
                    yield _finding(rule, node)
    yield from _second_watermarks(plan)
    if mode is OutputMode.COMPLETE and not plan.streaming("Aggregate", "Distinct"):
        yield Finding(
            fault=Fault.MODE,
            node=plan,
            operator="without an aggregation, every row ever read would have to be kept",
            instead='use `output_mode="append"`, or aggregate',
            calls=(),
        )


def sources_used_twice(plan: PlanNode) -> list[str]:
    """Return the datasets that `plan` reads more than once, which named sources do not allow."""
    names = Counter(node.column for node in plan.walk() if node.source_format)
    return sorted(name for name, count in names.items() if count > 1)


def _finding(rule: _Rule, node: PlanNode) -> Finding:
    return Finding(
        fault=rule.fault,
        node=node,
        operator=rule.operator,
        why=rule.why,
        instead=rule.instead,
        calls=rule.calls,
    )


def _second_watermarks(plan: PlanNode) -> Iterator[Finding]:
    for node in plan.streaming("EventTimeWatermark"):
        first = next((item for item in node.below() if item.operator == node.operator), None)
        if first is not None:
            yield Finding(
                fault=Fault.WATERMARK,
                node=node,
                operator=first.column,
                instead="leave out `withWatermark`",
                calls=("withWatermark",),
            )


def _keeps_static_rows(node: PlanNode) -> bool:
    """Return whether unmatched rows of a side that is no stream belong to the result."""
    left, right = (child.is_streaming for child in node.children)
    match node.join_type:
        case "LeftOuter" | "LeftSemi" | "LeftAnti":
            return not left
        case "RightOuter":
            return not right
        case "FullOuter":
            return left != right
        case _:
            return False
