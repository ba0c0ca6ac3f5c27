"""Which datasets a query reads, found in the plan that Spark has made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

_TABLE_PARTS = 2
"""A table's alias says in which catalog and database it is; an alias of the user's does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A table or view that a query names, and whether as a stream."""

    name: str
    database: str | None
    """None: a temporary view."""
    is_stream: bool


def readings(frame: DataFrame) -> list[Reading]:
    """Return the tables and temporary views that `frame` names, each way once."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - the only way in
    return list(dict.fromkeys(_found(plan)))


def _found(node: Any) -> Iterator[Reading]:  # noqa: ANN401 - an object of the JVM
    operator = str(node.nodeName())
    if operator == "View":
        name = node.desc().identifier()
        database = name.database()
        yield Reading(
            name=str(name.table()),
            database=str(database.get()) if database.isDefined() else None,
            is_stream=bool(node.isStreaming()),
        )
        return
    if operator == "SubqueryAlias" and node.identifier().qualifier().size() == _TABLE_PARTS:
        identifier = node.identifier()
        yield Reading(
            name=str(identifier.name()),
            database=str(identifier.qualifier().apply(1)),
            is_stream=bool(node.isStreaming()),
        )
    for inner in (node.children(), node.subqueries()):
        for index in range(inner.size()):
            yield from _found(inner.apply(index))
