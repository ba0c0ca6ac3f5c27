"""Tables: where they are, how they come to be, and how a batch of rows gets into one."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql import functions as F

from penstock.engine.encoding import declared_columns, fitted
from penstock.engine.flow_errors import TableMissingError
from penstock.engine.schemas import named, quoted
from penstock.pipeline import RECORD_COLUMN, RESERVED_COLUMNS, OutputMode, TableFormat

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from penstock.pipeline import Table

_ORDER, _LAST = "__order", "__last"
_CREATING = Lock()

_MERGE_ID = "spark.databricks.delta.write.txnAppId"
_MERGE_VERSION = "spark.databricks.delta.write.txnVersion"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLocations:
    """Where the tables of a pipeline are kept."""

    warehouse: str
    """A folder or URI; each table without a path of its own is a folder in it."""

    project: Path
    """Where relative paths in declarations start."""

    def path(self, table: Table) -> str:
        """Return the folder or URI of `table`."""
        if table.path is None:
            return f"{self.warehouse.rstrip('/')}/{table.name}"
        return absolute(table.path, self.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchIdentity:
    """Which batch of which checkpoint is written, so that a batch run again changes nothing."""

    query_id: str
    batch_id: int


def absolute(path: str, folder: Path) -> str:
    """Return `path` as it is if it is a URI or absolute, otherwise below `folder`."""
    return path if "://" in path or path.startswith("file:") else str(folder / path)


def table_exists(spark: SparkSession, table: Table, path: str) -> bool:
    """Tell whether there is a table at `path`; a plain table is there once it has a folder."""
    jvm = spark._jvm  # noqa: SLF001 - Hadoop's file systems are Java's
    assert jvm is not None  # noqa: S101 - every session has one
    where = jvm.org.apache.hadoop.fs.Path(
        f"{path}/_delta_log" if table.format is TableFormat.DELTA else path
    )
    system = where.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
    return bool(system.exists(where))


def ensure_table(
    spark: SparkSession, table: Table, path: str, schema: StructType | None = None
) -> None:
    """Create the Delta table at `path` if it is not there, with its declared columns.

    Args:
        spark: the session.
        table: what to create.
        path: where.
        schema: the columns when the declaration names none.

    Raises:
        TableMissingError: it is not there and nobody knows its columns.
    """
    if table.format is not TableFormat.DELTA:
        return
    # Flows start side by side, and Delta refuses one of two that create a table at once.
    with _CREATING:
        if not table_exists(spark, table, path):
            _create(spark, table, path, schema)


def _create(spark: SparkSession, table: Table, path: str, schema: StructType | None) -> None:
    columns = table.schema or (None if schema is None else schema.toDDL())
    if columns is None:
        raise TableMissingError(table.name, path=path, origin=table.origin)
    parted = f"PARTITIONED BY ({_names(table.partition_by)})" if table.partition_by else ""
    if table.cluster_by:
        parted = f"CLUSTER BY ({_names(table.cluster_by)})"
    pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in table.properties.items())
    properties = f"TBLPROPERTIES ({pairs})" if pairs else ""
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {_delta(path)} ({columns}) USING DELTA {parted} {properties}"
    )


def table_rows(frame: DataFrame, table: Table) -> DataFrame:
    """Return the columns that `table` holds, in its types."""
    declared = declared_columns(table)
    if declared is not None:
        return frame.select(*fitted(frame.schema, declared))
    return frame.drop(*(name for name in RESERVED_COLUMNS if name in frame.columns))


def write_rows(
    frame: DataFrame,
    table: Table,
    path: str,
    *,
    mode: OutputMode,
    identity: BatchIdentity | None,
) -> None:
    """Write a batch of rows: replace the whole, replace by key, or append.

    Writing the same batch of the same query again changes nothing in a Delta table.
    """
    rows = table_rows(frame, table)
    ensure_table(frame.sparkSession, table, path, rows.schema)
    if table.key and mode is not OutputMode.COMPLETE:
        _merge(last_per_key(frame, table), table, path, identity)
        return
    writer = rows.write.format(table.format).partitionBy(*table.partition_by)
    if identity is not None and table.format is TableFormat.DELTA:
        writer = writer.option("txnAppId", identity.query_id)
        writer = writer.option("txnVersion", identity.batch_id)
    writer.mode("overwrite" if mode is OutputMode.COMPLETE else "append").save(path)


def last_per_key(frame: DataFrame, table: Table) -> DataFrame:
    """Return the last row of each key: the newest record, or else the last of its partition."""
    ordered = frame.select(
        F.struct(*(named(name) for name in table_rows(frame, table).columns)).alias(_LAST),
        _order(frame).alias(_ORDER),
    )
    keys = [F.col(_LAST)[name].alias(f"__key_{number}") for number, name in enumerate(table.key)]
    newest = ordered.groupBy(*keys).agg(F.max_by(_LAST, _ORDER).alias(_LAST))
    return table_rows(newest.select(f"{_LAST}.*"), table)


def _order(frame: DataFrame) -> Column:
    if RECORD_COLUMN in frame.columns:
        record = named(RECORD_COLUMN)
        return F.struct(record["timestamp"], record["partition"], record["offset"])
    return F.monotonically_increasing_id()


def _merge(rows: DataFrame, table: Table, path: str, identity: BatchIdentity | None) -> None:
    spark, view = rows.sparkSession, f"penstock_{uuid4().hex}"
    rows.createOrReplaceTempView(view)
    same = " AND ".join(f"old.{quoted(key)} <=> new.{quoted(key)}" for key in table.key)
    # A merge has no options: Delta looks for the identity of its transaction in the session.
    if identity is not None:
        spark.conf.set(_MERGE_ID, identity.query_id)
        spark.conf.set(_MERGE_VERSION, str(identity.batch_id))
    try:
        spark.sql(
            f"MERGE INTO {_delta(path)} AS old USING {view} AS new ON {same}"
            " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    finally:
        spark.conf.unset(_MERGE_ID)
        spark.conf.unset(_MERGE_VERSION)
        spark.catalog.dropTempView(view)


def _delta(path: str) -> str:
    return f"delta.{quoted(path)}"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(quoted(column) for column in columns)
