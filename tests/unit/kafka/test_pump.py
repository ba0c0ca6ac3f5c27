"""The thread that serves a producer's client, seen by whoever waits for it."""

from __future__ import annotations

import threading

import pytest

from penstock.kafka.complaints import Complaints
from penstock.kafka.producer.pump import Pump


class Interrupted(threading.Condition):
    """Is interrupted where `wait` has given its lock away and not taken it back yet."""

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - the signature of the original
        self.release()
        raise KeyboardInterrupt


def test_ctrl_c_is_an_interruption_at_every_step_of_waiting() -> None:
    pump = Pump(Complaints("127.0.0.1:9092", action="write"))
    pump.changed = Interrupted()

    with pytest.raises(KeyboardInterrupt):
        pump.wait_for_progress(1)
