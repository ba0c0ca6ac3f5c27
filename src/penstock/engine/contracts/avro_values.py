"""Whether a row has an Avro form: Spark's encoder fails at the first row that has none.

A null where the schema has none, a text that is no symbol of an enum and bytes of another length
than a fixed has: each is found by an expression, with the place, before the row is encoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

from penstock.schemas.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from penstock.schemas.avro.resolution import Graph
    from penstock.schemas.avro.types import Type


def misfit(graph: Graph, data: Column, kind: DataType) -> Column:
    """Return why `data` of this type has no Avro of the schema, null if it has."""
    return _first(_Checks(graph).of(graph.root, data, kind, ""))


class _Checks:
    """Expressions that are a text where something is wrong, and null where not."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def of(self, type_: Type, column: Column, kind: DataType, path: str) -> Iterator[Column]:
        actual = self._graph.resolved(type_)
        if isinstance(actual, Union):
            yield from self._of_union(actual, column, kind, path)
            return
        yield F.when(column.isNull(), _told(path, "is null, which its schema does not allow"))
        yield from self._of_value(actual, column, kind, path)

    def _of_union(
        self, union: Union, column: Column, kind: DataType, path: str
    ) -> Iterator[Column]:
        branches = [self._graph.resolved(branch) for branch in union.branches]
        others = [branch for branch in branches if not _is_null(branch)]
        if len(others) == len(branches):
            yield F.when(column.isNull(), _told(path, "is null, which its schema does not allow"))
        if len(others) == 1:
            yield from self._of_value(others[0], column, kind, path)
        elif isinstance(kind, StructType) and len(kind) == len(others):
            # One member for each branch; numbers of two widths are one column of the wider.
            given = F.array_compact(
                F.array(*(F.when(column[name].isNotNull(), 1) for name in kind.names))
            )
            wrong = column.isNotNull() & (F.size(given) != 1)
            yield F.when(wrong, _told(path, "must have exactly one of its members"))

    def _of_value(self, type_: Type, column: Column, kind: DataType, path: str) -> Iterator[Column]:
        match type_, kind:
            case Record(fields=fields), StructType():
                known = [field for field in fields if field.name in kind.names]
                for field in known:  # types within themselves end where Spark's do
                    where, part = f"{path}/{field.name}", column.getField(field.name)
                    found = self.of(field.type, part, kind[field.name].dataType, where)
                    yield F.when(column.isNotNull(), _first(found))
            case Enum(symbols=symbols), StringType():
                yield F.when(~column.isin(list(symbols)), _told(path, "is no symbol of its enum"))
            case Fixed(size=size), BinaryType():
                wrong = F.octet_length(column) != size
                yield F.when(wrong, _told(path, f"does not have {size} bytes"))
            case Array(items=items), ArrayType(elementType=inner):
                yield _first_of_all(
                    column, lambda item: self.of(items, item, inner, f"{path}/items")
                )
            case Map(values=values), MapType(valueType=inner):
                yield _first_of_all(
                    F.map_values(column),
                    lambda item: self.of(values, item, inner, f"{path}/values"),
                )
            case _:
                return


def _first(checks: Iterator[Column]) -> Column:
    return F.coalesce(F.lit(None).cast("string"), *checks)


def _first_of_all(items: Column, check: Callable[[Column], Iterator[Column]]) -> Column:
    """Return the first complaint about an item of an array."""
    found = F.filter(
        F.transform(items, lambda item: _first(check(item))), lambda it: it.isNotNull()
    )
    return F.try_element_at(found, F.lit(1))


def _told(path: str, what: str) -> Column:
    return F.lit(f"`{path or '/'}` {what}")


def _is_null(type_: Type) -> bool:
    return isinstance(type_, Primitive) and type_.kind is Kind.NULL
