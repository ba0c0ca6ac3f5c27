"""Schemas as Spark knows them: read from DDL, compared, and their columns addressed by name."""

from typing import cast

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType


def struct_of(ddl: str) -> StructType:
    """Return the columns that `ddl` declares; needs a session, because Spark's JVM reads it."""
    return cast("StructType", StructType.fromDDL(ddl))


def named(name: str) -> Column:
    """Return the top-level column of that name, whatever characters are in it."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """Return `name` as SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def same_type(found: DataType, declared: DataType) -> bool:
    """Tell whether two types are the same but for where nulls may stand."""
    return found.simpleString() == declared.simpleString()


def fits(found: DataType, declared: DataType) -> bool:
    """Tell whether every value of `found` is one of `declared`, as Spark itself judges it.

    Spark would also turn anything into a string; that is left to the user, who knows the form.
    """
    if same_type(found, declared):
        return True
    if isinstance(declared, StringType):
        return False
    spark = SparkSession.active()
    java = spark._jsparkSession  # noqa: SLF001 - Spark's Python does not have the rule
    types = java.parseDataType(found.json()), java.parseDataType(declared.json())
    jvm = spark._jvm  # noqa: SLF001
    assert jvm is not None  # noqa: S101 - an active session has one
    return bool(jvm.org.apache.spark.sql.catalyst.expressions.Cast.canUpCast(*types))
