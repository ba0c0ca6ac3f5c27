"""Levels of the loggers in the driver's JVM, changed while it runs.

A logger without a level of its own has that of the nearest above it. Undoing a change restores
just that: the level it had, or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = "root"
"""What users call the logger above all others; log4j's name for it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerLevel:
    """What a logger had before it was changed."""

    logger: str
    own: str | None
    """The level of its own, in log4j's spelling; None: it had none."""

    effective: str
    """The level that it wrote with."""


class JvmLogLevels:
    """The loggers of one driver's JVM; executors have their own, which are left alone."""

    def __init__(self, spark: SparkSession) -> None:
        # PySpark has no other way to the JVM; its type for it is unknown.
        self._jvm: Any = spark._jvm  # noqa: SLF001

    def level_of(self, logger: str) -> FormerLevel:
        """Return the level of a logger, whether it is its own or inherited."""
        name = _own_name(logger)
        found = self._configuration().getLoggerConfig(name)
        level = found.getLevel().name().lower()
        is_own = found.getName() == name
        return FormerLevel(logger=logger, own=level if is_own else None, effective=level)

    def change(self, logger: str, level: str) -> None:
        """Let a logger and all below it write with `level`."""
        log4j = self._jvm.org.apache.logging.log4j
        log4j.core.config.Configurator.setLevel(
            _own_name(logger), log4j.Level.toLevel(level.upper())
        )

    def restore(self, former: FormerLevel) -> None:
        """Let a logger be as it was."""
        if former.own is not None:
            self.change(former.logger, former.own)
            return
        self._configuration().removeLogger(_own_name(former.logger))
        self._context().updateLoggers()

    def _configuration(self) -> Any:  # noqa: ANN401 - an object of the JVM
        return self._context().getConfiguration()

    def _context(self) -> Any:  # noqa: ANN401 - an object of the JVM
        return self._jvm.org.apache.logging.log4j.core.LoggerContext.getContext(False)  # noqa: FBT003


def _own_name(logger: str) -> str:
    return "" if logger == ROOT else logger
