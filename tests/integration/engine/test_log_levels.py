"""Levels of the loggers in a real JVM: changed, inherited, and back as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.control.commands import LogLevel, SetLogLevel
from penstock.control.log_levels import LogLevels
from penstock.engine.log_levels import ROOT, JvmLogLevels
from support.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE, CLASS = "org.apache.penstock.test", "org.apache.penstock.test.Valve"
OWN = "org.apache.hadoop.util.NativeCodeLoader"
"""Has a level of its own in `log4j2.properties`."""


def test_a_change_holds_for_what_is_below_and_goes_back_to_none(spark: SparkSession) -> None:
    loggers = JvmLogLevels(spark)
    before = loggers.level_of(CLASS)
    former = loggers.level_of(PACKAGE)
    loggers.change(PACKAGE, "debug")
    meanwhile = loggers.level_of(CLASS)
    writes = is_written(spark, CLASS)
    loggers.restore(former)

    assert (before.own, before.effective) == (None, "warn")
    assert (meanwhile.own, meanwhile.effective, writes) == (None, "debug", True)
    assert loggers.level_of(CLASS) == before
    assert not is_written(spark, CLASS)


def test_a_level_of_its_own_and_that_of_the_root_come_back(spark: SparkSession) -> None:
    loggers = JvmLogLevels(spark)
    own, root = loggers.level_of(OWN), loggers.level_of(ROOT)
    for former in (own, root):
        loggers.change(former.logger, "trace")
    changed = [loggers.level_of(name).effective for name in (OWN, ROOT, CLASS)]
    for former in (own, root):
        loggers.restore(former)

    assert changed == ["trace"] * 3
    assert (loggers.level_of(OWN).own, loggers.level_of(ROOT).own) == ("error", "warn")


def test_a_command_s_level_goes_back_by_itself(spark: SparkSession) -> None:
    command = SetLogLevel(logger=PACKAGE, level=LogLevel.INFO, for_seconds=5)
    loggers = JvmLogLevels(spark)
    with LogLevels(loggers) as levels:
        levels.set(command)
        meanwhile = loggers.level_of(PACKAGE).effective
        eventually(lambda: loggers.level_of(PACKAGE).own is None, within_seconds=60)

    assert meanwhile == "info"


def is_written(spark: SparkSession, logger: str) -> bool:
    """Whether the logger that code in the JVM has would write a line for debugging."""
    jvm = spark._jvm  # noqa: SLF001 - PySpark has no other way
    assert jvm is not None
    return bool(jvm.org.slf4j.LoggerFactory.getLogger(logger).isDebugEnabled())
