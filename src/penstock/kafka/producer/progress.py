"""Telling those who wait that something has happened, in spite of Ctrl-C.

`with condition` of the standard library runs Python code when it already has its lock: an
interrupt there leaves the lock held by nobody who would ever release it, and the thread behind it
stands still. `with` on a lock itself is one step.
"""

from __future__ import annotations

import threading


class Progress:
    """A condition that an interrupted thread leaves as it was."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Guards whatever those who share it agree on."""
        self._changed = threading.Condition(self.lock)

    def announce(self) -> None:
        """Wake all who wait."""
        with self.lock:
            self._changed.notify_all()

    def wait(self, limit_seconds: float) -> None:
        """Wait for the next announcement; the lock is free meanwhile, if this thread has it."""
        try:
            with self.lock:
                self._changed.wait(limit_seconds)
        except RuntimeError as err:
            # An interrupt between two steps of `wait` leaves the condition without its lock.
            if isinstance(err.__context__, KeyboardInterrupt):
                raise err.__context__ from None
            raise
