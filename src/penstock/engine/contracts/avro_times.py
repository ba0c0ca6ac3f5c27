"""Times of day in milliseconds, which Spark leaves as numbers while it knows those in microseconds.

Data without such times is left alone: for it nothing is added to what Spark does. Within types that
contain themselves, and in unions of several types, they stay numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from penstock.schemas.avro.types import Array, Kind, Map, Primitive, Record, Union

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from penstock.schemas.avro.resolution import Graph
    from penstock.schemas.avro.types import FullName, Type

    Convert = Callable[[Column], Column]


def read_times(graph: Graph, data: Column) -> Column:
    """Return `data` of a schema with times in the place of numbers."""
    return _Times(graph, F.time_from_millis).converted(graph.root, data, ())


def written_times(graph: Graph, data: Column) -> Column:
    """Return `data` for a schema with numbers in the place of times."""
    return _Times(graph, lambda time: F.time_to_millis(time).cast("int")).converted(
        graph.root, data, ()
    )


class _Times:
    def __init__(self, graph: Graph, convert: Convert) -> None:
        self._graph, self._convert = graph, convert

    def converted(self, type_: Type, data: Column, within: tuple[FullName, ...]) -> Column:
        meant = self._meant(type_)
        if not self._holds(meant, within):
            return data
        match meant:
            case Primitive():
                return self._convert(data)
            case Record(name=name, fields=fields):
                parts = [
                    self.converted(item.type, data.getField(item.name), (*within, name))
                    for item in fields
                ]
                named = [part.alias(item.name) for part, item in zip(parts, fields, strict=True)]
                return F.when(data.isNotNull(), F.struct(*named))
            case Array(items=items):
                return F.transform(data, lambda item: self.converted(items, item, within))
            case Map(values=values):
                return F.transform_values(data, lambda _, it: self.converted(values, it, within))
            case _:
                return data

    def _holds(self, type_: Type, within: tuple[FullName, ...]) -> bool:
        """Tell whether there is a time in it that can be converted."""
        match self._meant(type_):
            case Primitive(kind=Kind.INT, attributes=attributes):
                return dict(attributes).get("logicalType") == "time-millis"
            case Record(name=name, fields=fields):
                inside = (*within, name)
                return name not in within and any(self._holds(it.type, inside) for it in fields)
            case Array(items=inner) | Map(values=inner):
                return self._holds(inner, within)
            case _:
                return False

    def _meant(self, type_: Type) -> Type:
        """Return a type where it is defined, and of an optional one the type itself."""
        found = self._graph.resolved(type_)
        if not isinstance(found, Union):
            return found
        branches = [self._graph.resolved(branch) for branch in found.branches]
        null = Primitive(kind=Kind.NULL)
        others = [branch for branch in branches if branch != null]
        return others[0] if len(others) == 1 else found
