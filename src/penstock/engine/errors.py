"""What can go wrong with the Spark session of a driver process."""

from collections.abc import Sequence
from pathlib import Path

from penstock.errors import PenstockError


class DriverNotStartedError(PenstockError):
    """The JVM of the driver ended, or did not answer, before Spark could be used."""

    code = "PEN-300"

    def __init__(self, *, status: int | None, last_words: Sequence[str], log_file: Path) -> None:
        how = "does not answer" if status is None else f"ended with status {status}"
        super().__init__(
            f"Spark's JVM {how} before it could be used{_said(last_words)}",
            hint=f"see `{log_file}`; it is started with `spark.driver_memory_mb` and `spark.conf`",
        )
        self.status, self.last_words, self.log_file = status, tuple(last_words), log_file


class DriverDiedError(PenstockError):
    """The JVM of the driver ended while Spark was in use."""

    code = "PEN-301"
    retryable = True

    def __init__(self, *, status: int | None, last_words: Sequence[str], log_file: Path) -> None:
        how = "does not answer" if status is None else f"ended with status {status}"
        super().__init__(
            f"Spark's JVM {how} while it was in use{_said(last_words)}",
            hint=f"see `{log_file}`; if it lacked memory, raise `spark.driver_memory_mb`",
        )
        self.status, self.last_words, self.log_file = status, tuple(last_words), log_file


class SparkNotOpenedError(PenstockError):
    """The JVM runs, and Spark in it could not begin: mostly its master cannot be had."""

    code = "PEN-399"
    retryable = True

    def __init__(self, *, master: str, last_words: Sequence[str], log_file: Path) -> None:
        super().__init__(
            f"Spark could not be opened on `{master}`{_said(last_words)}",
            hint=f"see `{log_file}`; `spark.master` must name a cluster that runs, and "
            "`spark.conf` what it can give",
        )
        self.master = master


class SessionOpenError(PenstockError):
    """A process has one driver at a time, and it has one already."""

    code = "PEN-302"

    def __init__(self) -> None:
        super().__init__(
            "this process has a Spark session already",
            hint="close it first, or take `newSession()` of the one that is open",
        )


def _said(last_words: Sequence[str]) -> str:
    return f": {last_words[-1].strip()}" if last_words else ""
