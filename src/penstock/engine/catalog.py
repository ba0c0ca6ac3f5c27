"""Tables in Spark's catalog, so that functions and SQL find them by name.

The catalog belongs to the driver and is empty when it starts. A table is put there when the first
flow that reads it by name is built; its rows are where Penstock keeps them.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from penstock.engine.schemas import quoted
from penstock.engine.tables import ensure_table
from penstock.pipeline import TableFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Table

_registering = Lock()
"""Flows are built at the same time, and share the catalog."""


def use_database(spark: SparkSession, database: str) -> None:
    """Let plain names of tables in `spark` mean those of `database`."""
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")
    spark.sql(f"USE {quoted(database)}")


def register_table(spark: SparkSession, table: Table, path: str, *, database: str) -> None:
    """Let `table`, which is at `path`, be found by its name in `database`.

    Raises:
        TableMissingError: it is not there and nobody knows its columns.
    """
    ensure_table(spark, table, path)
    name = f"{quoted(database)}.{quoted(table.name)}"
    with _registering:
        if _is_at(spark, table.name, database, path):
            return
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        if table.format is TableFormat.DELTA:
            spark.sql(f"CREATE TABLE {name} USING DELTA LOCATION '{_escaped(path)}'")
            return
        _make_folder(spark, path)
        # The catalog would keep its own list of partitions, which flows do not write to.
        spark.conf.set("spark.sql.hive.manageFilesourcePartitions", "false")
        columns = ", ".join(quoted(column) for column in table.partition_by)
        parted = f"PARTITIONED BY ({columns})" if columns else ""
        spark.sql(
            f"CREATE TABLE {name} ({table.schema}) USING {table.format} {parted}"
            f" LOCATION '{_escaped(path)}'"
        )


def _is_at(spark: SparkSession, table: str, database: str, path: str) -> bool:
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark does not tell where a table is
    catalog = spark._jsparkSession.sessionState().catalog()  # noqa: SLF001
    name = jvm.org.apache.spark.sql.catalyst.TableIdentifier(
        table, jvm.scala.Option.apply(database)
    )
    if not catalog.tableExists(name):
        return False
    found = jvm.org.apache.hadoop.fs.Path(catalog.getTableMetadata(name).location())
    wanted = jvm.org.apache.hadoop.fs.Path(path)
    system = wanted.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001
    return bool(system.makeQualified(wanted).equals(system.makeQualified(found)))


def _make_folder(spark: SparkSession, path: str) -> None:
    jvm: Any = spark._jvm  # noqa: SLF001 - Hadoop's file systems are Java's
    folder = jvm.org.apache.hadoop.fs.Path(path)
    folder.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()).mkdirs(folder)  # noqa: SLF001


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
