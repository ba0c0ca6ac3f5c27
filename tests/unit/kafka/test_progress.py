"""Whoever waits is interrupted at any step, and never leaves a lock behind."""

from __future__ import annotations

import random
import signal
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from penstock.kafka.complaints import Complaints
from penstock.kafka.producer.pump import Pump

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERRUPTS = 1000
"""With the conditions of the standard library, one of a hundred leaves its lock behind."""


@pytest.fixture
def pump() -> Pump:
    return Pump(Complaints("127.0.0.1:9092", action="write"))


@pytest.fixture(autouse=True)
def alarms_interrupt() -> Iterator[None]:
    """A timer sends a signal of its own, which is taken as Ctrl-C would be."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_ctrl_c_leaves_no_lock_behind_at_any_step_of_waiting(pump: Pump) -> None:
    dice = random.Random(7)  # noqa: S311 - nothing secret
    left_behind = 0
    for _ in range(INTERRUPTS):
        with pytest.raises(KeyboardInterrupt):
            wait_until_interrupted(pump, dice.uniform(5e-6, 300e-6))
        left_behind += not is_free(pump)

    assert left_behind == 0


def wait_until_interrupted(pump: Pump, seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        with pump.hurrying():
            pump.wait_for_progress(20e-6)


def is_free(pump: Pump) -> bool:
    """Whether another thread can have the lock."""
    found: list[bool] = []

    def look() -> None:
        found.append(pump.progress.lock.acquire(timeout=2))
        if found[-1]:
            pump.progress.lock.release()

    other = Thread(target=look)
    other.start()
    other.join()
    return found == [True]
