"""When an outage of Kafka is told, with a clock that the test turns."""

from __future__ import annotations

import pytest

from penstock.control.kafka_watch import Outage
from support.pipeline_events import HiccupError


class Clock:
    """Shows the time that the test has set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_short_silence_is_not_told(clock: Clock) -> None:
    outage = Outage(clock)
    told = [outage.silence(HiccupError(), patience_seconds=4)]
    clock.now += 3
    told.append(outage.silence(HiccupError(), patience_seconds=4))

    assert (told, outage.answer(), outage.is_away) == ([None, None], None, False)


def test_a_long_silence_is_told_once_and_its_end_with_its_length(clock: Clock) -> None:
    outage, error = Outage(clock), HiccupError()
    told = []
    for _ in range(8):
        told.append(outage.silence(error, patience_seconds=4))
        clock.now += 1
    back = outage.answer()

    assert [event.error for event in told if event] == [error]
    assert told.index(None) == 0
    assert told[4] is not None
    assert back is not None
    assert back.away_seconds == 8
    assert outage.answer() is None


def test_whoever_must_know_now_hears_of_the_first_silence(clock: Clock) -> None:
    outage = Outage(clock)

    assert outage.silence(HiccupError(), patience_seconds=0) is not None
    assert outage.is_away


def test_a_second_outage_is_measured_from_its_own_begin(clock: Clock) -> None:
    outage = Outage(clock)
    outage.silence(HiccupError(), patience_seconds=0)
    clock.now += 100
    outage.answer()
    clock.now += 100
    outage.silence(HiccupError(), patience_seconds=0)
    clock.now += 5
    back = outage.answer()

    assert back is not None
    assert back.away_seconds == 5
