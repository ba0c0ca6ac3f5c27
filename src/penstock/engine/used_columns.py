"""Which columns of its inputs a flow uses, found in the plan that Spark has analyzed.

Columns have ids in a plan. What the result needs is followed down, operator by operator, to the ids
of the inputs. Where an operator hides what becomes of a column, all columns below it count as used:
the answer may name a column too many, never one too few.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.engine.events import SubjectRead
from penstock.engine.plan_tree import analyzed, items
from penstock.engine.schemas import struct_of
from penstock.names import DatasetName
from penstock.pipeline import RECORD_COLUMN, Contract, Lookup, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from penstock.pipeline import Pipeline

logger = logging.getLogger(__name__)

_PASSING = frozenset(
    (
        "CollectMetrics",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "EventTimeWatermark",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Join",
        "LocalLimit",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sort",
        "SubqueryAlias",
        "Window",
    )
)
"""Operators that give on columns under the ids they came with, and perhaps add some."""


def used_columns(
    frame: DataFrame, inputs: Mapping[DatasetName, DataFrame]
) -> dict[DatasetName, tuple[str, ...]]:
    """Return the columns of each input that `frame` depends on, in the order of the input.

    Where a record came from is not part of what a flow writes, so `_record` counts only where
    something is made of it.
    """
    plan = analyzed(frame)
    wanted = plan.outputSet()
    if RECORD_COLUMN in frame.columns:
        record = plan.output().apply(frame.columns.index(RECORD_COLUMN))
        wanted = getattr(wanted, "$minus")(record)  # as Scala calls its operator `-`
    needed = _Sets(frame.sparkSession).needed(plan, wanted)
    plans = {name: analyzed(source) for name, source in inputs.items()}
    copied = _copied(plan, plans)
    return {
        name: tuple(
            column
            for attribute, column in zip(items(plans[name].output()), source.columns, strict=True)
            if name in copied or needed.contains(attribute)
        )
        for name, source in inputs.items()
    }


def subjects_read(
    frame: DataFrame, inputs: Mapping[DatasetName, DataFrame], pipeline: Pipeline
) -> tuple[SubjectRead, ...]:
    """Return what a flow uses of topics whose schemas are in a registry.

    Args:
        frame: what the flow returns.
        inputs: the datasets that it was made of.
        pipeline: with contracts for the topics that the flow reads.
    """
    topics = {name: topic for name in inputs if (topic := _topic(pipeline, name)) is not None}
    used = used_columns(frame, {name: inputs[name] for name in topics}) if topics else {}
    return tuple(read for name, names in used.items() for read in _reads(topics[name], names))


def told_subjects(
    frame: DataFrame, inputs: Mapping[DatasetName, DataFrame], pipeline: Pipeline
) -> tuple[SubjectRead, ...]:
    """Return `subjects_read`, or nothing if it cannot be found out: no start fails for that."""
    try:
        return subjects_read(frame, inputs, pipeline)
    except Exception:  # plans may have any shape, and the flow runs without this
        logger.warning("used columns could not be found out", exc_info=True)
        return ()


def _topic(pipeline: Pipeline, name: DatasetName) -> Topic | None:
    """Return the topic with contracts that a dataset is, or that a lookup is made of."""
    dataset = pipeline.dataset(name)
    if isinstance(dataset, Lookup) and isinstance(dataset.source, str):
        dataset = pipeline.dataset(DatasetName(dataset.source))
    if not isinstance(dataset, Topic):
        return None
    has_contract = any(isinstance(item, Contract) for item in (dataset.value, dataset.key_format))
    return dataset if has_contract else None


def _reads(topic: Topic, used: Iterable[str]) -> Iterator[SubjectRead]:
    """Yield what is used of the value and of the key; the key is in `_record`, all or nothing."""
    names = set(used)
    for format_ in (topic.value, topic.key_format):
        if not isinstance(format_, Contract) or format_.subject is None:
            continue
        columns = {
            field.name: field.dataType.simpleString() for field in struct_of(format_.columns)
        }
        if not format_.is_key:
            columns = {name: type_ for name, type_ in columns.items() if name in names}
        elif RECORD_COLUMN not in names:
            continue
        yield SubjectRead(
            topic=topic.kafka_name,
            subject=format_.subject,
            is_key=format_.is_key,
            columns=columns,
        )


class _Sets:
    """Follows sets of columns down a plan.

    The sets stay in the JVM: a call for each column of each operator would take seconds.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - the only way in

    def needed(self, node: Any, wanted: Any) -> Any:  # noqa: ANN401 - objects of the JVM
        """Return all columns, here and below, that the `wanted` ones depend on."""
        below = self._wanted_below(node, wanted)
        found = [
            self.needed(child, child.outputSet() if below is None else below)
            for child in items(node.children())
        ]
        return self._union([wanted, *found])

    def _wanted_below(self, node: Any, wanted: Any) -> Any | None:  # noqa: ANN401 - objects of the JVM
        """Return what `node` needs of its inputs; None: everything."""
        match str(node.nodeName()):
            case "Project" | "Aggregate" if node.outputSet().subsetOf(wanted):
                return node.references()
            case "Project":
                return self._references(_chosen(node.projectList(), wanted))
            case "Aggregate":
                chosen = _chosen(node.aggregateExpressions(), wanted)
                return self._references([*chosen, *items(node.groupingExpressions())])
            case operator if operator in _PASSING:
                return self._union([wanted, node.references()])
            case _:
                return None

    def _references(self, expressions: Iterable[Any]) -> Any:  # noqa: ANN401 - an object of the JVM
        return self._union([expression.references() for expression in expressions])

    def _union(self, sets: list[Any]) -> Any:  # noqa: ANN401 - an object of the JVM
        catalyst = self._jvm.org.apache.spark.sql.catalyst.expressions
        return catalyst.AttributeSet.fromAttributeSets(self._jvm.PythonUtils.toSeq(sets))


def _chosen(expressions: Any, wanted: Any) -> list[Any]:  # noqa: ANN401 - objects of the JVM
    return [item for item in items(expressions) if wanted.contains(item)]


def _copied(plan: Any, inputs: Mapping[DatasetName, Any]) -> set[DatasetName]:  # noqa: ANN401 - objects of the JVM
    """Return the inputs that are in the plan a second time, where their columns have other ids."""
    known = [(name, leaf) for name, item in inputs.items() for leaf in items(item.collectLeaves())]
    found = set()
    for leaf in items(plan.collectLeaves()):
        if any(leaf.outputSet().subsetOf(other.outputSet()) for _, other in known):
            continue
        columns = list(leaf.schema().fieldNames())
        found |= {name for name, other in known if list(other.schema().fieldNames()) == columns}
    return found
