"""Samplers take no more than their share."""

import time

import pytest

from penstock.monitoring.pace import Pace


def _work() -> None:
    until = time.thread_time() + 0.01
    while time.thread_time() < until:
        pass


def test_a_look_is_followed_by_none_for_a_hundred_times_what_it_took() -> None:
    now = 0.0
    pace = Pace(clock=lambda: now)
    assert pace.is_due

    with pace.measured():
        _work()
    now = 0.9
    assert not pace.is_due
    now = 60.0
    assert pace.is_due


def _fail() -> None:
    reason = "away"
    raise OSError(reason)


def test_a_look_that_failed_may_be_repeated_at_once() -> None:
    pace = Pace(clock=lambda: 0.0)

    with pytest.raises(OSError, match="away"), pace.measured():
        _fail()

    assert pace.is_due


def test_what_changes_while_a_look_is_under_way_is_looked_at_after_it() -> None:
    pace = Pace(clock=lambda: 0.0)
    with pace.measured():
        _work()
        pace.hasten()

    assert pace.is_due
    with pace.measured():
        _work()
    assert not pace.is_due


def test_a_hastened_look_that_failed_is_due_again() -> None:
    pace = Pace(clock=lambda: 0.0)
    with pace.measured():
        _work()
    pace.hasten()

    with pytest.raises(OSError, match="away"), pace.measured():
        _fail()

    assert pace.is_due


def test_looks_come_sooner_while_somebody_waits_for_them() -> None:
    now, is_followed = 0.0, False
    pace = Pace(is_followed=lambda: is_followed, clock=lambda: now)
    with pace.measured():
        _work()
    now = 0.5
    assert not pace.is_due

    is_followed = True
    assert pace.is_due
