"""Threads for what takes long: parsing schemas, and waiting for the log.

Both have their own, so that look-ups go on while writes wait for Kafka. What the state answers at
once runs on the event loop itself.
"""

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

_Result = TypeVar("_Result")

_READERS = 8
_WRITERS = 32
"""They take turns, and each may wait for a time-out of Kafka's."""


class Threads:
    """Runs functions beside the event loop."""

    def __init__(self) -> None:
        self._readers = CapacityLimiter(_READERS)
        self._writers = CapacityLimiter(_WRITERS)

    async def read(self, function: Callable[[], _Result]) -> _Result:
        """Return what `function`, which may parse schemas, returns."""
        return await to_thread.run_sync(function, limiter=self._readers)

    async def write(self, function: Callable[[], _Result]) -> _Result:
        """Return what `function`, which may write to the log, returns."""
        return await to_thread.run_sync(function, limiter=self._writers)
