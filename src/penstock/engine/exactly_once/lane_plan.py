"""Which partitions of a batch can be lanes, and which lane each of them is.

A lane must hold the same records whenever the batch is run again. A range of a Kafka partition
does, and so does a share of a shuffle by key. Spark's own numbers do not tell which range a
partition is: while a topic has four partitions or fewer, they are in another order when a batch is
run again after a restart. So lanes bear the names of what they read.

Everything else (files, a round-robin repartition, sorted output) is shared out anew by content.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from penstock.engine.plan_tree import analyzed, items

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame

_NUMBERED = re.compile(r"(-\d+)\.\d+$")
_PART = re.compile(r"part-(\d+)-")
"""How Spark names the file that a task writes: by the index of its partition."""

_SHUFFLED = ("ShuffledRowRDDPartition", "ZippedPartitionsPartition")
_SHUFFLING = frozenset(
    (
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "Distinct",
        "Except",
        "Intersect",
        "Join",
        "RepartitionByExpression",
        "Window",
    )
)
"""Operators behind which rows are where their values put them."""

_STATEFUL = frozenset(
    ("Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "GlobalLimit", "Join")
)
"""Operators that keep state of the rows of streams."""

_FIRST_COMES = ("Deduplicate", "FlatMapGroups", "TransformWithState")
"""What operators begin with whose rows follow from the order in which others arrive."""

_BY_ORDER = frozenset(
    (
        "GlobalLimit",
        "LocalLimit",
        "Offset",
        "RebalancePartitions",
        "Repartition",
        "Sample",
        "Sort",
        "Tail",
    )
)
"""Operators behind which rows are where the order of others put them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePlan:
    """The lanes of one batch."""

    names: tuple[str, ...]
    """The lane of each partition, by its index."""

    digest: str
    """The same for two runs of a batch only if each lane has the same records in both."""

    in_order: bool
    """Whether the records of each lane come in the same order whenever the batch is run again."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one partition holds."""

    name: str
    first: int
    after: int
    in_order: bool = False
    """Whether it is read in the order in which it is stored."""

    def __str__(self) -> str:
        """Return what a digest is made of."""
        return f"{self.name}[{self.first},{self.after})"


def lane_plan(records: DataFrame) -> LanePlan | None:
    """Return the lanes that the partitions of a batch are; None if they cannot be lanes."""
    partitions = list(_partitions(records))
    shares = [_share(item, len(partitions)) for item in partitions]
    known = [share for share in shares if share is not None]
    return plan_of_shares(known) if len(known) == len(shares) else None


def shared_by_content(records: DataFrame, lanes: int) -> tuple[DataFrame, LanePlan]:
    """Return the records of a batch shared out to `lanes`; those of one key stay together."""
    shared = records.repartition(lanes, F.coalesce("key", "value"))
    return shared, plan_of_shares([Share(str(index), 0, lanes) for index in range(lanes)])


def kept_plan(records: DataFrame, *, names: Sequence[str], digest: str) -> LanePlan:
    """Return the lanes of records that are read from files, one partition a file.

    Args:
        records: what is read.
        names: the lanes of the partitions that wrote the files.
        digest: of the plan that these were.
    """
    indexes = [_part_of(partition) for partition in _partitions(records)]
    assert len({*indexes}) == len(indexes), indexes  # noqa: S101 - each task has written one file
    return LanePlan(names=tuple(names[index] for index in indexes), digest=digest, in_order=True)


def plan_of_shares(shares: Sequence[Share]) -> LanePlan:
    """Name the lanes; of several ranges of one partition each has its number."""
    order = sorted(range(len(shares)), key=lambda index: (shares[index].name, shares[index].first))
    names, seen = [""] * len(shares), Counter[str]()
    for index in order:
        name = shares[index].name
        names[index] = f"{name}.{seen[name]}" if seen[name] else name
        seen[name] += 1
    listed = sorted(f"{name}={share}" for name, share in zip(names, shares, strict=True))
    digest = hashlib.sha256("\n".join(listed).encode()).hexdigest()[:16]
    in_order = all(share.in_order for share in shares)
    return LanePlan(names=tuple(names), digest=digest, in_order=in_order)


def without_number(lane: str) -> str:
    """Return the name of what a lane reads, the same for all ranges of one partition."""
    return _NUMBERED.sub(r"\1", lane)


def is_by_order(frame: DataFrame) -> bool:
    """Whether something in the plan puts rows where the order of others says."""
    return any(str(node.nodeName()) in _BY_ORDER for node in _nodes(analyzed(frame)))


def wanders_below_state(frame: DataFrame) -> str | None:
    """Return the operator that may give other rows to one that keeps state of them."""
    for node in _nodes(analyzed(frame)):
        if not _keeps_state(node):
            continue
        for below in (item for child in items(node.children()) for item in _nodes(child)):
            if str(below.nodeName()) != "Aggregate" and not _is_deterministic(below):
                return str(below.nodeName())
    return None


def wanders(frame: DataFrame, *, by_content: bool, by_value: bool = False) -> str | None:
    """Return the operator that may put a row into another lane when a batch is run again.

    What a row holds may change from run to run: its lane is written once or not at all. But where
    its lane follows from values, these must be the same. With `by_content` all of them count; with
    `by_value`, where records without a key are shared out, also those that depend on order.
    """
    plan = analyzed(frame)
    places = [plan] if by_content else _below_shuffles(plan)
    for place in places:
        for node in _nodes(place):
            if by_value and _varies(node):
                return str(node.nodeName())
            # What an aggregation makes of its rows may depend on their order; their keys do not.
            if str(node.nodeName()) != "Aggregate" and not _is_deterministic(node):
                return str(node.nodeName())
    return None


def repeats_exactly(frame: DataFrame) -> bool:
    """Whether the rows of a batch have the same values in every column when it is run again."""
    return not any(_varies(node) for node in _nodes(analyzed(frame)))


def _varies(node: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    name = str(node.nodeName())
    if not _is_deterministic(node) or name.startswith(_FIRST_COMES):
        return True
    # The sum of rounded numbers depends on their order.
    kinds = {str(item.dataType().typeName()) for item in items(node.output())}
    return name == "Aggregate" and not kinds.isdisjoint(("float", "double"))


def _below_shuffles(plan: Any) -> Iterable[Any]:  # noqa: ANN401 - objects of the JVM
    """Yield the plans that decide which share of a shuffle a row is in."""
    for node in _nodes(plan):
        if str(node.nodeName()) == "RepartitionByExpression":
            yield node
        elif _has_name(node, _SHUFFLING):
            yield from items(node.children())


def _keeps_state(node: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    if not _has_name(node, _STATEFUL):
        return False
    streaming = [bool(child.isStreaming()) for child in items(node.children())]
    return all(streaming) if str(node.nodeName()) == "Join" else any(streaming)


def _has_name(node: Any, names: frozenset[str]) -> bool:  # noqa: ANN401 - an object of the JVM
    name = str(node.nodeName())
    return name in names or name.startswith(("FlatMapGroups", "TransformWithState"))


def _is_deterministic(node: Any) -> bool:  # noqa: ANN401 - an object of the JVM
    return all(bool(expression.deterministic()) for expression in items(node.expressions()))


def _nodes(node: Any) -> Iterable[Any]:  # noqa: ANN401 - objects of the JVM
    yield node
    for child in items(node.children()):
        yield from _nodes(child)


def _share(partition: Any, count: int) -> Share | None:  # noqa: ANN401 - an object of the JVM
    kind = str(partition.getClass().getSimpleName())
    if kind in _SHUFFLED:
        return Share(str(partition.index()), 0, count)
    if kind == "UnionPartition":
        inner = _share(partition.parentPartition(), count)
        side = partition.parentRddIndex()
        return inner and replace(inner, name=f"{side}:{inner.name}")
    if kind != "DataSourceRDDPartition":
        return None
    read = partition.inputPartition()
    if read.isEmpty() or read.get().getClass().getSimpleName() != "KafkaBatchInputPartition":
        return None
    found = read.get().offsetRange()
    name = str(found.topicPartition().toString())
    return Share(name, int(found.fromOffset()), int(found.untilOffset()), in_order=True)


def _part_of(partition: Any) -> int:  # noqa: ANN401 - an object of the JVM
    (file,) = partition.files()
    name = str(file.toPath().getName())
    found = _PART.match(name)
    assert found is not None, name  # noqa: S101 - Spark named it
    return int(found[1])


def _partitions(records: DataFrame) -> Iterable[Any]:
    yield from records._jdf.queryExecution().toRdd().partitions()  # noqa: SLF001 - the only way in
