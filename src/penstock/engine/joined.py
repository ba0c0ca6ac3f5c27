"""The driver of a cluster: a JVM that was there first and has started this Python.

In cluster mode Spark starts a JVM on a machine of the cluster, and the JVM starts Python and tells
it where it listens. Its life is the cluster manager's business: it ends when Python has.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine.driver import GatewayAddress
from penstock.engine.errors import DriverDiedError

if TYPE_CHECKING:
    from collections.abc import Mapping

PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
"""The variables by which Spark tells a Python that it starts where its JVM listens."""

_LOOK_SECONDS = 0.1
_CONTAINER_LOG = Path("stderr")
"""Where the log is depends on the cluster manager, which collects what a container prints."""


def gateway_of_parent(environ: Mapping[str, str] = os.environ) -> GatewayAddress | None:
    """Return where the JVM listens that has started this process; None when none has."""
    if PORT not in environ:
        return None
    return GatewayAddress(int(environ[PORT]), environ.get(SECRET, ""))


class JoinedProcess:
    """A driver's JVM that is the parent of this process: watched, and left alone."""

    def __init__(self, address: GatewayAddress) -> None:
        self._address = address
        self.pid = os.getppid()
        """The id of the process."""

    @property
    def is_alive(self) -> bool:
        """Whether the JVM runs: a process whose parent dies gets another."""
        return os.getppid() == self.pid

    def lives_for(self, seconds: float) -> bool:
        """Return whether the JVM runs and still does after `seconds`."""
        deadline = time.monotonic() + seconds
        while self.is_alive and time.monotonic() < deadline:
            time.sleep(min(_LOOK_SECONDS, seconds))
        return self.is_alive

    def died(self) -> DriverDiedError:
        """Return the error that tells how the JVM ended: its parent knows, we do not."""
        return DriverDiedError(status=None, last_words=(), log_file=_CONTAINER_LOG)

    def last_words(self) -> tuple[str, ...]:
        """Return nothing: what the JVM wrote is with the cluster manager."""
        return ()

    def wait_for_gateway(self) -> GatewayAddress:
        """Return where the JVM listens."""
        return self._address

    def kill(self) -> None:
        """Kill the JVM, and return before it is gone: the cluster manager starts it anew."""
        os.kill(self.pid, signal.SIGKILL)

    def end(self, *, within_seconds: float) -> int:  # noqa: ARG002 - as for a JVM of our own
        """Leave the JVM alone: it ends after this process."""
        return 0
