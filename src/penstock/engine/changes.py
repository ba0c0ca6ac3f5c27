"""Changes: a stream of inserts, updates and deletes becomes the newest row of each key in a table.

The newest change of a key counts, in whatever order and batch it comes. So the sequence of the last
change of every key is kept beside the checkpoint, in a Delta table; that of deleted keys too, or an
older change would bring them back. The target is written first: a batch that is run again after a
crash finds the old sequences and writes the same rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql import functions as F

from penstock.engine.schemas import named, quoted
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.pipeline import Changes, Flow

_SEQUENCE, _DELETED, _ROW = "__sequence", "__deleted", "__row"
_KEY = "__key_"


class ChangeWithoutPlaceError(PenstockError):
    """A change has no key or no sequence, so nobody can say what it changes."""

    code = "PEN-374"

    def __init__(self, flow: Flow, *, what: str, count: int) -> None:
        changes = "1 change" if count == 1 else f"{count} changes"
        super().__init__(
            f"flow `{flow.name}` met {changes} without {what}",
            hint="leave such rows out in a view, and let the flow read that",
            origin=flow.origin,
        )


def changed_columns(columns: Sequence[str], changes: Changes) -> list[str]:
    """Return those of the `columns` of a change that its table has."""
    if changes.columns is not None:
        return list(changes.columns)
    left_out = {name.lower() for name in changes.except_columns}
    return [name for name in columns if name.lower() not in left_out]


def apply_changes(frame: DataFrame, flow: Flow, *, table: str, sequences: str) -> None:
    """Apply a batch of changes to the Delta table at `table`; safe to repeat.

    Args:
        frame: the changes.
        flow: whose they are; its `changes` say what they mean.
        table: the path of the target.
        sequences: the path of the sequences of its keys.

    Raises:
        ChangeWithoutPlaceError: a change has no key or no sequence.
    """
    assert flow.changes is not None  # noqa: S101 - nobody else calls
    newest = _newest(frame, flow.changes).persist()
    try:
        _check(newest, flow)
        _ensure_sequences(newest, sequences)
        fresh = _fresh(newest, sequences).persist()
        try:
            _merge_rows(fresh, flow.changes, frame.columns, table)
            _merge_sequences(fresh, sequences)
        finally:
            fresh.unpersist()
    finally:
        newest.unpersist()


def _newest(frame: DataFrame, changes: Changes) -> DataFrame:
    """Return the last change of each key: its key, its sequence, whether it deletes, its row."""
    deleted = F.expr(changes.deletes) if changes.deletes else F.lit(False)  # noqa: FBT003 - Spark's
    keys = [named(key).alias(f"{_KEY}{number}") for number, key in enumerate(changes.keys)]
    rows = frame.select(
        *keys,
        F.expr(changes.sequence_by).alias(_SEQUENCE),
        F.coalesce(deleted, F.lit(False)).alias(_DELETED),  # noqa: FBT003
        F.struct(*(named(name) for name in frame.columns)).alias(_ROW),
    )
    names = _keys(rows)
    # A row without a sequence must not vanish behind one that has it: it is looked for below.
    order = F.struct(F.col(_SEQUENCE).isNull(), F.col(_SEQUENCE))
    last = F.max_by(F.struct(_SEQUENCE, _DELETED, _ROW), order).alias("last")
    return rows.groupBy(*names).agg(last).select(*names, "last.*")


def _check(newest: DataFrame, flow: Flow) -> None:
    without_key = F.count_if(F.greatest(*(F.col(name).isNull() for name in [*_keys(newest)] * 2)))
    without_sequence = F.count_if(F.col(_SEQUENCE).isNull())
    (found,) = newest.agg(without_key.alias("key"), without_sequence.alias("sequence")).collect()
    assert flow.changes is not None  # noqa: S101 - nobody else calls
    if found["key"]:
        listed = ", ".join(f"`{key}`" for key in flow.changes.keys)
        raise ChangeWithoutPlaceError(flow, what=f"a value in {listed}", count=found["key"])
    if found["sequence"]:
        what = f"a sequence (`{flow.changes.sequence_by}`)"
        raise ChangeWithoutPlaceError(flow, what=what, count=found["sequence"])


def _ensure_sequences(newest: DataFrame, path: str) -> None:
    columns = newest.select(*_keys(newest), _SEQUENCE).schema
    ddl = ", ".join(f"{quoted(item.name)} {item.dataType.simpleString()}" for item in columns)
    newest.sparkSession.sql(f"CREATE TABLE IF NOT EXISTS {_delta(path)} ({ddl}) USING DELTA")


def _fresh(newest: DataFrame, path: str) -> DataFrame:
    """Return the changes that are newer than what the table holds of their keys."""
    keys = _keys(newest)
    known = newest.sparkSession.read.format("delta").load(path)
    known = known.select(*keys, F.col(_SEQUENCE).alias("__known"))
    joined = newest.join(known, keys, "left")
    newer = F.col("__known").isNull() | (F.col(_SEQUENCE) > F.col("__known"))
    return joined.where(newer).drop("__known")


def _merge_rows(fresh: DataFrame, changes: Changes, columns: Sequence[str], path: str) -> None:
    written = changed_columns(columns, changes)
    same = " AND ".join(
        f"old.{quoted(key)} = new.{_KEY}{number}" for number, key in enumerate(changes.keys)
    )
    updates = ", ".join(f"old.{quoted(name)} = new.{_ROW}.{quoted(name)}" for name in written)
    names = ", ".join(quoted(name) for name in written)
    values = ", ".join(f"new.{_ROW}.{quoted(name)}" for name in written)
    _merge(
        fresh,
        f"MERGE INTO {_delta(path)} AS old USING {{rows}} AS new ON {same}"  # noqa: S608 - quoted
        f" WHEN MATCHED AND new.{_DELETED} THEN DELETE"
        f" WHEN MATCHED THEN UPDATE SET {updates}"
        f" WHEN NOT MATCHED AND NOT new.{_DELETED} THEN INSERT ({names}) VALUES ({values})",
    )


def _merge_sequences(fresh: DataFrame, path: str) -> None:
    keys = _keys(fresh)
    same = " AND ".join(f"old.{key} = new.{key}" for key in keys)
    _merge(
        fresh.select(*keys, _SEQUENCE),
        f"MERGE INTO {_delta(path)} AS old USING {{rows}} AS new ON {same}"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )


def _merge(rows: DataFrame, statement: str) -> None:
    spark: SparkSession = rows.sparkSession
    view = f"penstock_{uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        spark.sql(statement.replace("{rows}", view))
    finally:
        spark.catalog.dropTempView(view)


def _keys(frame: DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith(_KEY)]


def _delta(path: str) -> str:
    return f"delta.{quoted(path)}"
