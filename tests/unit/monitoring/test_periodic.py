"""Work on a thread of its own."""

import logging
from threading import Event

import pytest

from penstock.monitoring.periodic import Periodic


def test_a_failing_call_is_logged_and_the_next_one_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    again = Event()

    def fail() -> None:
        if caplog.records:
            again.set()
        raise ZeroDivisionError

    periodic = Periodic(fail, seconds=0.001, name="dividing")
    with caplog.at_level(logging.ERROR):
        periodic.start()
        assert again.wait(10)
        periodic.stop(wait_seconds=10)

    assert caplog.records[0].__dict__["work"] == "dividing"


def test_after_a_stop_no_call_begins() -> None:
    called = Event()

    periodic = Periodic(called.set, seconds=0.001, name="counting")
    periodic.start()
    assert called.wait(10)
    periodic.stop(wait_seconds=10)
    called.clear()

    assert not called.wait(0.05)


def test_what_was_never_started_can_be_stopped() -> None:
    Periodic(lambda: None, seconds=1, name="idle").stop(wait_seconds=1)
