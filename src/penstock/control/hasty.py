"""Doing what may hang, and not waiting for it: Kafka may be away when something is cleaned up."""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


def done_within(seconds: float, act: Callable[[], None]) -> bool:
    """Do something in a thread, and return whether it was done within the time.

    What is not done then goes on until the process ends.
    """
    done = Event()

    def acting() -> None:
        try:
            act()
        except PenstockError as error:
            logger.warning("cleaning up failed", extra={"reason": error.message})
        else:
            done.set()

    thread = Thread(target=acting, name="penstock-hasty", daemon=True)
    thread.start()
    thread.join(seconds)
    return done.is_set()
