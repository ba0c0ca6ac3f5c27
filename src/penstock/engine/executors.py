"""Giving executors back to the cluster while no flow needs them, and getting them again.

Executors of a static application stay for as long as the driver lives, however little it does.
With dynamic allocation Spark gives back idle ones by itself, and a local master has none.
"""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_AS_MANY_AS_THERE_ARE = 2**31 - 1
_USUAL = {"yarn": 2, "k8s": 2}
"""What cluster managers give when `spark.executor.instances` is not set; standalone gives all."""

_RETURN_SECONDS = 60.0
"""How long to wait for executors to come back; a flow that has none by then waits in Spark."""

_LOOK_SECONDS = 0.1


class Executors:
    """The executors of one driver; for any thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._lock = spark, Lock()
        self._conf = spark.sparkContext.getConf()
        self._master = spark.sparkContext.master or ""
        self._freed: int | None = None
        """How many there were before they were given back."""

    @property
    def can_be_freed(self) -> bool:
        """Whether there are executors that stay until they are given back."""
        is_dynamic = self._conf.get("spark.dynamicAllocation.enabled", "false")
        return not self._master.startswith("local") and is_dynamic != "true"

    def free(self, is_wanted: Callable[[], bool]) -> bool:
        """Give all executors back if that is still wanted; return whether they were.

        A driver whose cluster manager does not answer keeps them, and goes on.
        """
        with self._lock:
            if self._freed is not None or not is_wanted() or not self.can_be_freed:
                return False
            try:
                self._freed = self._count()
                self._request(0)
                self._kill_all()
            except Py4JError:
                logger.warning("executors could not be given back", exc_info=True)
                return False
            return True

    def ensure(self) -> None:
        """Get the executors again that were given back, and wait until they are there.

        A cluster manager that is away is asked until it answers, within the same time.
        """
        with self._lock:
            if self._freed is None:
                return
            is_requested, deadline = False, time.monotonic() + _RETURN_SECONDS
            while not is_requested or self._count() < self._freed:
                if time.monotonic() > deadline:
                    return
                is_requested = is_requested or self._request(self._usual_count())
                time.sleep(_LOOK_SECONDS)
            self._freed = None

    def _count(self) -> int:
        return int(self._scala_context.getExecutorIds().size())

    def _usual_count(self) -> int:
        usual = _USUAL.get(self._master.partition(":")[0], _AS_MANY_AS_THERE_ARE)
        return int(self._conf.get("spark.executor.instances") or usual)

    def _request(self, count: int) -> bool:
        """Say how many are wanted; return whether the cluster manager has heard it."""
        utils = self._jvm.org.apache.spark.api.python.PythonUtils
        nowhere = utils.toScalaMap({})
        return bool(self._scala_context.requestTotalExecutors(count, 0, nowhere))

    def _kill_all(self) -> None:
        self._scala_context.killExecutors(self._scala_context.getExecutorIds())

    @property
    def _jvm(self) -> Any:  # noqa: ANN401 - an object of the JVM
        return self._spark._jvm  # noqa: SLF001 - PySpark has no other way

    @property
    def _scala_context(self) -> Any:  # noqa: ANN401 - an object of the JVM
        return self._spark._jsc.sc()  # noqa: SLF001 - as above
