"""Ending a reading loop from outside: Ctrl-C and the termination signal become a clean stop."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stoppable(Protocol):
    """Something that runs until it is told to stop, such as a `Consumer`."""

    def stop(self) -> None:
        """Ask for the end and return at once; called from a signal handler."""


@contextmanager
def stopping_on_signals(running: Stoppable) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop `running` while the block runs; for the main thread.

    The record in hand is finished first. A second signal has its usual effect, so that a user
    whose handler hangs is not trapped.
    """
    usual = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    def stop(_number: int, _frame: FrameType | None) -> None:
        restore()
        running.stop()

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()
