"""The plan of a DataFrame as data: which operators it has, and what bounds their state.

Spark analyzes a DataFrame when it is made; here its analyzed plan is copied out of the JVM, a few
calls per operator, so that the checks in `plan_checks.py` and `real_time.py` are plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from penstock.pipeline import OutputMode

_DELAY = "spark.watermarkDelayMs"
_TIME_WINDOW = "spark.timeWindow"
_SESSION_WINDOW = "spark.sessionWindow"
_NAMED = ("AttributeReference", "Alias")

# Any time will do: the question is only whether one can be derived. It does not fit an `int`, so
# that it reaches the JVM as the `Long` that Spark expects.
_SOME_WATERMARK = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """One operator of a plan, by Spark's own name, and what it reads."""

    operator: str
    is_streaming: bool = True
    children: tuple[PlanNode, ...] = ()

    bounded: bool = False
    """Whether event time lets the operator forget: for those that keep state."""
    column: str = ""
    """Of a watermark: its column. Of a source: the name of the dataset."""
    source_format: str = ""
    join_type: str = ""
    time_window: bool = False
    session_window: bool = False
    distinct_aggregate: bool = False

    @property
    def is_stateful_join(self) -> bool:
        """Whether both sides are streams."""
        return self.operator == "Join" and all(child.is_streaming for child in self.children)

    def walk(self) -> Iterator[PlanNode]:
        """Return this operator and everything below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()

    def below(self) -> Iterator[PlanNode]:
        """Return everything below this operator."""
        for child in self.children:
            yield from child.walk()

    def streaming(self, *operators: str) -> list[PlanNode]:
        """Return the operators of these names that work on streams."""
        return [node for node in self.walk() if node.is_streaming and node.operator in operators]


def plan_of(frame: DataFrame) -> PlanNode:
    """Return the analyzed plan of `frame`."""
    return _copied(analyzed(frame), frame.sparkSession.sparkContext._jvm)  # noqa: SLF001 - the only way in


def has_python(frame: DataFrame) -> bool:
    """Return whether rows leave the JVM for a Python function."""
    jvm: Any = frame.sparkSession.sparkContext._jvm  # noqa: SLF001 - the only way in
    patterns = jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    return bool(analyzed(frame).containsPattern(patterns.PYTHON_UDF()))


def refusal(frame: DataFrame, mode: OutputMode) -> AnalysisException | None:
    """Return what Spark itself has against `frame` as a stream in `mode`, or None."""
    jvm: Any = frame.sparkSession.sparkContext._jvm  # noqa: SLF001 - the only way in
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    spark_mode = getattr(modes, mode.value.capitalize())()
    try:
        checker.checkForStreaming(analyzed(frame), spark_mode)
    except AnalysisException as err:
        return err
    return None


def analyzed(frame: DataFrame) -> Any:  # noqa: ANN401 - an object of the JVM
    """Return the plan of `frame` as Spark has analyzed it."""
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the only way in


def _copied(node: Any, jvm: Any) -> PlanNode:  # noqa: ANN401 - objects of the JVM
    operator = str(node.nodeName())
    children = tuple(_copied(child, jvm) for child in items(node.children()))
    is_streaming = bool(node.isStreaming())
    facts: dict[str, Any] = {}
    if is_streaming:
        match operator:
            case "Aggregate":
                facts = _facts_of_aggregate(node)
            case "Deduplicate":
                facts = {"bounded": _any_has(items(node.keys()), _DELAY)}
            case "Distinct":
                facts = {"bounded": _any_has(items(node.child().output()), _DELAY)}
            case "Join":
                facts = {"join_type": str(node.joinType().toString())}
                if all(child.is_streaming for child in children):
                    facts["bounded"] = _is_bounded_join(node, jvm)
            case "EventTimeWatermark":
                facts = {"column": str(node.eventTime().name())}
            case "StreamingRelationV2" | "StreamingRelation":
                facts = _facts_of_source(node)
            case _:
                pass
    return PlanNode(operator=operator, is_streaming=is_streaming, children=children, **facts)


def _facts_of_aggregate(node: Any) -> dict[str, Any]:  # noqa: ANN401 - an object of the JVM
    keys = items(node.groupingExpressions())
    return {
        "bounded": _any_has(keys, _DELAY),
        "time_window": _any_has(keys, _TIME_WINDOW),
        "session_window": _any_has(keys, _SESSION_WINDOW),
        "distinct_aggregate": any(_is_distinct(e) for e in items(node.aggregateExpressions())),
    }


def _facts_of_source(node: Any) -> dict[str, Any]:  # noqa: ANN401 - an object of the JVM
    name = str(node.sourceIdentifyingName().toString()).removeprefix('name="').removesuffix('"')
    return {"source_format": str(node.sourceName()), "column": name}


def _is_bounded_join(join: Any, jvm: Any) -> bool:  # noqa: ANN401 - objects of the JVM
    """Return whether rows of both sides are forgotten once no partner can come any more."""
    helper = jvm.org.apache.spark.sql.catalyst.analysis.StreamingJoinHelper
    if helper.isWatermarkInJoinKeys(join):
        return True
    left, right, condition = join.left().outputSet(), join.right().outputSet(), join.condition()
    watermark = jvm.scala.Option.apply(_SOME_WATERMARK)
    return all(
        helper.getStateValueWatermark(kept, other, condition, watermark).isDefined()
        for kept, other in ((left, right), (right, left))
    )


def _is_distinct(expression: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    if expression.nodeName() == "AggregateExpression":
        return bool(expression.isDistinct())
    return any(_is_distinct(child) for child in items(expression.children()))


def _any_has(expressions: list[Any], key: str) -> bool:
    return any(
        expression.nodeName() in _NAMED and expression.metadata().contains(key)
        for expression in expressions
    )


def items(sequence: Any) -> list[Any]:  # noqa: ANN401 - a Scala sequence
    """Return what a Scala sequence holds."""
    return [sequence.apply(index) for index in range(sequence.size())]
