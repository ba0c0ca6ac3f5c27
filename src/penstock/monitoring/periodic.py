"""Something done every few seconds, on a thread of its own that no failure ends."""

import logging
from collections.abc import Callable
from threading import Event, Thread

logger = logging.getLogger(__name__)


class Periodic:
    """Calls `action` every `seconds` between `start` and `stop`."""

    def __init__(self, action: Callable[[], None], *, seconds: float, name: str) -> None:
        self._action, self._seconds = action, seconds
        self._over = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; the first call comes after one interval."""
        self._thread.start()

    def stop(self, *, wait_seconds: float) -> None:
        """Begin no further call, and wait a while for the one under way."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(wait_seconds)

    def _run(self) -> None:
        while not self._over.wait(self._seconds):
            try:
                self._action()
            except Exception:  # the top of a thread: the next call may succeed
                logger.exception("periodic work failed", extra={"work": self._thread.name})
