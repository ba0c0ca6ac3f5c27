"""Waiting for something to become true, instead of sleeping and hoping."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], *, within_seconds: float) -> None:
    """Return as soon as `condition()` is true; fail when it is not within the time."""
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_seconds} s: {condition}"
        time.sleep(0.05)
