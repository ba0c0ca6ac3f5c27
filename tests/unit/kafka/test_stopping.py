"""Signals end a reading loop once, and have their usual effect the second time."""

import signal

import pytest

from penstock.kafka import stopping_on_signals


class Loop:
    """Counts how often it was told to stop."""

    def __init__(self) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_loop(number: signal.Signals) -> None:
    loop = Loop()

    with stopping_on_signals(loop):
        signal.raise_signal(number)

    assert loop.stops == 1


def test_a_second_signal_interrupts_as_usual() -> None:
    loop = Loop()

    with stopping_on_signals(loop):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    assert loop.stops == 1


def test_the_usual_handlers_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    with stopping_on_signals(Loop()):
        pass

    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
