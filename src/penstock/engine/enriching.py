"""Enriching: adding the columns of reference data to the rows of a flow.

`penstock.engine` offers `enrich`, so Spark is imported by the functions here and not with the
module: the driver's JVM should be starting before Python loads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.engine.flow_errors import LookupColumnsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.names import DatasetName
    from penstock.pipeline import LookupFunction


_FETCHED = "__fetched"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionLookup:
    """Reference data that a function of the user fetches, as a flow gets it for its parameter."""

    name: DatasetName
    source: LookupFunction


class LookupFunctionFailed(RuntimeError):  # noqa: N818 - it crosses from a worker as a text
    """The user's function raised, or returned something else than was declared."""


def enrich(
    frame: DataFrame, lookup: DataFrame | FunctionLookup, on: str | Sequence[str] | None = None
) -> DataFrame:
    """Return the rows of `frame` with the columns of `lookup`, null where it knows nothing.

    No row is lost. A DataFrame is joined by the columns that both have; a function gets the
    distinct keys of some thousand rows at a time, in Spark's Python workers.

    Args:
        frame: the rows.
        lookup: the parameter of a flow that names a lookup.
        on: the columns to join on; for a function the one column that holds its keys.

    Raises:
        LookupColumnsError: the columns to join on are not in both.
    """
    if isinstance(lookup, FunctionLookup):
        return _by_function(frame, lookup, on)
    return _by_join(frame, lookup, on)


def _by_join(frame: DataFrame, lookup: DataFrame, on: str | Sequence[str] | None) -> DataFrame:
    from pyspark.sql import functions as F

    wanted = _names(on)
    shared = wanted or [name for name in lookup.columns if name in frame.columns]
    missing = [n for n in shared if n not in frame.columns or n not in lookup.columns]
    if missing or not shared:
        raise LookupColumnsError(wanted=wanted, frame=frame.columns, lookup=lookup.columns)
    return frame.join(F.broadcast(lookup), on=shared, how="left")


def _by_function(
    frame: DataFrame, lookup: FunctionLookup, on: str | Sequence[str] | None
) -> DataFrame:
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.pandas.types import to_arrow_type

    from penstock.engine.schemas import named, struct_of

    wanted = _names(on) or [lookup.source.key]
    added = struct_of(lookup.source.schema)
    taken = [name for name in added.names if name in frame.columns]
    if len(wanted) != 1 or wanted[0] not in frame.columns or taken:
        columns = [lookup.source.key, *added.names]
        raise LookupColumnsError(wanted=wanted, frame=frame.columns, lookup=columns)
    fetch = _fetcher(lookup.name, lookup.source.function, to_arrow_type(added, timezone="UTC"))
    # Only the keys go through Python. Spark may evaluate what it holds for deterministic again,
    # for a filter on the new columns, and so call the user's function twice.
    # PySpark's types ask for the kind of function, which it takes from annotations otherwise.
    udf = arrow_udf(fetch, added)  # type: ignore[call-overload]
    fetched = udf.asNondeterministic()
    return frame.withColumn(_FETCHED, fetched(named(wanted[0]))).select(
        *(named(name) for name in frame.columns), f"{_FETCHED}.*"
    )


def _fetcher(
    name: str,
    function: Callable[[list[Any]], Mapping[Any, Mapping[str, object]]],
    struct: pa.StructType,
) -> Callable[[pa.Array], pa.Array]:
    """Return a function of the keys of a batch of rows, for Spark's workers.

    It must be pickled, so what it uses travels inside it.
    """
    import pyarrow as pa

    def fetch(keys: pa.Array) -> pa.Array:
        return _fetched(name, function, struct, keys)

    # Spark knows by these what kind of function it is; as text they would name what it cannot see.
    fetch.__annotations__ = {"keys": pa.Array, "return": pa.Array}
    return fetch


def _fetched(
    name: str,
    function: Callable[[list[Any]], Mapping[Any, Mapping[str, object]]],
    struct: pa.StructType,
    keys: pa.Array,
) -> pa.Array:
    import pyarrow as pa

    encoded = keys.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    try:
        known = function(distinct) if distinct else {}
        rows = [_row(known.get(key), struct) for key in distinct]
        values = pa.array(rows, type=struct)
    except Exception as err:
        reason = f"lookup `{name}`: its function failed for {len(distinct)} keys: {err!r}"
        raise LookupFunctionFailed(reason) from err
    return values.take(encoded.indices)


def _row(found: Mapping[str, object] | None, struct: pa.StructType) -> dict[str, object] | None:
    if found is None:
        return None
    unknown = set(found) - {field.name for field in struct}
    if unknown:
        reason = f"it returned the column `{min(unknown)}`, which it does not declare"
        raise ValueError(reason)
    return dict(found)


def _names(on: str | Sequence[str] | None) -> list[str]:
    if on is None:
        return []
    return [on] if isinstance(on, str) else list(on)
