"""How the console looks at the world: when, how often, and how old what it saw is."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from penstock.console.world import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.monitoring.catalog import Sample

SECONDS = 10.0
"""Nothing here takes so long: it is what a test that fails waits for."""

NEVER = 3600.0
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Looks:
    """Something to look at: a look ends when the test lets it."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.count = Event(), Event(), 0

    def __call__(self) -> list[Sample]:
        self.count += 1
        self.begun.set()
        assert self.may_end.wait(SECONDS)
        self.may_end.clear()
        return []

    def finish_one(self) -> None:
        """Wait until a look is under way, and let it end."""
        assert self.begun.wait(SECONDS)
        self.begun.clear()
        self.may_end.set()


@contextmanager
def watching(
    watch: Watch, looks: Looks, is_followed: Callable[[], bool] = lambda: False
) -> Iterator[Thread]:
    thread = Thread(target=watch.run, args=(lambda _: None, is_followed), daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        watch.end()
        looks.may_end.set()
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_what_somebody_has_changed_is_looked_at_without_waiting_for_the_next_time() -> None:
    looks = Looks()
    watch = Watch("topics", looks, NEVER)
    with watching(watch, looks):
        looks.finish_one()
        watch.hasten()
        looks.finish_one()

    assert looks.count == 2


def test_what_is_changed_during_a_look_is_looked_at_again() -> None:
    """The look that is under way may have asked before the change."""
    looks = Looks()
    watch = Watch("topics", looks, NEVER)
    with watching(watch, looks):
        assert looks.begun.wait(SECONDS)
        watch.hasten()
        looks.finish_one()
        looks.finish_one()

    assert looks.count == 2


def test_a_hastened_look_leaves_nothing_out() -> None:
    hastened: list[str] = []
    watch = Watch("topics", list, NEVER, hasten_look=lambda: hastened.append("topics"))
    watch.wake()
    assert hastened == []

    watch.hasten()
    assert hastened == ["topics"]


def test_while_a_page_is_followed_looks_come_sooner() -> None:
    looks = Looks()
    watch = Watch("brokers", looks, NEVER, followed_seconds=0.01)
    with watching(watch, looks, lambda: True):
        looks.finish_one()
        looks.finish_one()


def test_a_watch_ends_without_waiting_for_its_next_look() -> None:
    looks = Looks()
    watch = Watch("topics", looks, NEVER)
    with watching(watch, looks) as thread:
        looks.finish_one()
        watch.end()
        thread.join(SECONDS)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("seconds", "fault", "is_late"),
    [(1, None, False), (30, None, True), (1, "no broker answers", True)],
)
def test_figures_are_old_when_looks_fail_or_do_not_end(
    seconds: float, fault: str | None, *, is_late: bool
) -> None:
    watch = Watch("brokers", list, 5, at=NOW - timedelta(seconds=seconds), fault=fault)

    assert watch.is_late(NOW) == is_late
