"""Which columns of its inputs a flow uses, found in the plan that Spark has analyzed.

Columns have ids in a plan. What the result needs is followed down, operator by operator, to the ids
of the inputs. Where an operator hides what becomes of a column, all columns below it count as used:
the answer may name a column too many, never one too few.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.engine.events import SubjectRead
from penstock.engine.schemas import struct_of
from penstock.names import DatasetName
from penstock.pipeline import RECORD_COLUMN, Contract, Lookup, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame

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
    plan = _analyzed(frame)
    wanted = {id_ for id_, name in _columns(plan) if name != RECORD_COLUMN}
    needed = _needed(plan, wanted)
    return {
        name: tuple(column for id_, column in _columns(_analyzed(source)) if id_ in needed)
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


def _needed(node: Any, wanted: set[int]) -> set[int]:  # noqa: ANN401 - an object of the JVM
    """Return the ids of all columns, here and below, that the `wanted` ones depend on."""
    needed = set(wanted)
    for child, below in _wanted_below(node, wanted):
        needed |= _needed(child, below)
    return needed


def _wanted_below(node: Any, wanted: set[int]) -> Iterator[tuple[Any, set[int]]]:  # noqa: ANN401 - an object of the JVM
    children = _items(node.children())
    match str(node.nodeName()):
        case "Project":
            below = _references(_chosen(node.projectList(), wanted))
        case "Aggregate":
            chosen = _chosen(node.aggregateExpressions(), wanted)
            below = _references([*chosen, *_items(node.groupingExpressions())])
        case operator if operator in _PASSING:
            below = wanted | _references([node])
        case _:
            yield from ((child, {id_ for id_, _ in _columns(child)}) for child in children)
            return
    yield from ((child, below) for child in children)


def _chosen(expressions: Any, wanted: set[int]) -> list[Any]:  # noqa: ANN401 - a Scala sequence
    return [item for item in _items(expressions) if int(item.exprId().id()) in wanted]


def _references(items: Iterable[Any]) -> set[int]:
    """Return the ids of the columns that expressions, or an operator, look at."""
    found = (column for item in items for column in _items(item.references().toSeq()))
    return {int(column.exprId().id()) for column in found}


def _columns(node: Any) -> list[tuple[int, str]]:  # noqa: ANN401 - an object of the JVM
    return [(int(item.exprId().id()), str(item.name())) for item in _items(node.output())]


def _analyzed(frame: DataFrame) -> Any:  # noqa: ANN401 - an object of the JVM
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the only way in


def _items(sequence: Any) -> list[Any]:  # noqa: ANN401 - a Scala sequence
    return [sequence.apply(index) for index in range(sequence.size())]
