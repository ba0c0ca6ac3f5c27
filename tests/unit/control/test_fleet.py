"""What may be believed of a pipeline: its driver's last word, or its silence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.control.errors import UnknownPipelineError
from penstock.control.fleet import Known, known_of, view_of
from penstock.control.lease_records import LeaseRecord
from penstock.control.status_records import PipelineState, encode_status, status_key
from penstock.kafka.tables import Entry
from penstock.names import Version
from support.drivers import SHOP, driver, status
from support.pipeline_events import NOON, at

if TYPE_CHECKING:
    from datetime import datetime

    from penstock.control.status_records import PipelineRecord

STARTING, RUNNING, PAUSED = PipelineState.STARTING, PipelineState.RUNNING, PipelineState.PAUSED
STOPPING, STOPPED = PipelineState.STOPPING, PipelineState.STOPPED
FAILED, LOST = PipelineState.FAILED, PipelineState.LOST

SPEAKER = LeaseRecord(epoch=1, holder=driver())
GIVEN_BACK = LeaseRecord(epoch=1, holder=None)
NEWCOMER = LeaseRecord(epoch=2, holder=driver(driver_id="d2", pid=78))
NEWCOMER_GONE = LeaseRecord(epoch=2, holder=None)


@pytest.mark.parametrize(
    ("said", "said_at", "lease", "lease_at", "shown"),
    [
        # The driver speaks and holds its lease; 12 seconds of silence are too many.
        (STARTING, 0, SPEAKER, 0, STARTING),
        (RUNNING, -4, SPEAKER, -4, RUNNING),
        (RUNNING, -11.9, SPEAKER, -11.9, RUNNING),
        (RUNNING, -12, SPEAKER, -12, LOST),
        (STARTING, -12, SPEAKER, -12, LOST),
        (PAUSED, -4, SPEAKER, -4, PAUSED),
        (PAUSED, -12, SPEAKER, -12, LOST),
        (STOPPING, -4, SPEAKER, -4, STOPPING),
        (STOPPING, -12, SPEAKER, -12, LOST),
        # Either sign of life will do.
        (RUNNING, -60, SPEAKER, -4, RUNNING),
        (RUNNING, -4, SPEAKER, -60, RUNNING),
        # Who has said how it ended may be silent.
        (STOPPED, -9999, GIVEN_BACK, -9999, STOPPED),
        (FAILED, -9999, GIVEN_BACK, -9999, FAILED),
        (STOPPED, -1, SPEAKER, -1, STOPPED),
        # It gave the lease back and its last word was never written.
        (RUNNING, -4, GIVEN_BACK, -4, RUNNING),
        (RUNNING, -12, GIVEN_BACK, -1, LOST),
        # Another driver has taken over, and has not said anything yet.
        (RUNNING, -60, NEWCOMER, -1, STARTING),
        (STOPPED, -60, NEWCOMER, -1, STARTING),
        (FAILED, -60, NEWCOMER, -12, LOST),
        # A driver that woke up speaks before the newcomer does.
        (RUNNING, 0, NEWCOMER, -1, STARTING),
        # The newcomer ended before it had said anything.
        (STOPPED, -60, NEWCOMER_GONE, -1, STOPPED),
        (RUNNING, -60, NEWCOMER_GONE, -1, LOST),
        # No lease, or no word.
        (RUNNING, -4, None, None, RUNNING),
        (RUNNING, -12, None, None, LOST),
        (None, None, SPEAKER, -4, STARTING),
        (None, None, SPEAKER, -12, LOST),
        (None, None, GIVEN_BACK, -4, None),
        (None, None, None, None, None),
        # The clock of the broker went back.
        (RUNNING, 30, SPEAKER, 30, RUNNING),
    ],
)
def test_a_state_is_believed_or_the_driver_is_lost(
    said: PipelineState | None,
    said_at: float | None,
    lease: LeaseRecord | None,
    lease_at: float | None,
    shown: PipelineState | None,
) -> None:
    view = view_of(SHOP, known(said, said_at, lease, lease_at), NOON)

    assert (view.state if view else None) is shown


def known(
    said: PipelineState | None,
    said_at: float | None,
    lease: LeaseRecord | None,
    lease_at: float | None,
) -> Known:
    def moment(seconds: float | None) -> datetime | None:
        return None if seconds is None else at(seconds)

    record: PipelineRecord | None = status(said) if said else None
    return Known(status=record, status_at=moment(said_at), lease=lease, lease_at=moment(lease_at))


def test_a_lost_driver_is_lost_since_its_last_sign_of_life() -> None:
    view = view_of(SHOP, known(RUNNING, -37, SPEAKER, -36), NOON)

    assert view is not None
    assert (view.since, view.seen_at, view.driver) == (at(-36), at(-36), driver())
    assert view.why == "no sign of life for 36 s from process 77 on `far`"
    assert view.record == status(RUNNING)


def test_the_word_of_the_latest_epoch_counts_whoever_spoke_last() -> None:
    """A driver that was frozen wakes up, and says once more what it knew."""

    def said(state: PipelineState, epoch: int, seconds: float) -> dict[str, Entry]:
        value = encode_status(replace(status(state), epoch=epoch))
        entry = Entry(value=value, version=Version(1), written_at=at(seconds))
        return {status_key(SHOP, epoch): entry}

    successor, sleeper = said(STOPPED, 10, 5), said(RUNNING, 9, 7)
    for entries in (successor | sleeper, sleeper | successor):
        view = view_of(SHOP, known_of(entries)[SHOP], at(8))

        assert view is not None
        assert view.state is STOPPED


def test_a_newcomer_is_shown_in_place_of_the_last_driver() -> None:
    view = view_of(SHOP, known(STOPPED, -60, NEWCOMER, -1), NOON)

    assert view is not None
    assert view.driver is not None
    assert (view.driver.pid, view.record) == (78, None)


def test_an_unknown_pipeline_has_a_nearest_name() -> None:
    error = UnknownPipelineError("shpo", known=["shop", "fraud"])

    assert (error.nearest, error.hint) == ("shop", "did you mean `shop`?")


def test_an_unknown_pipeline_that_resembles_none_is_not_guessed() -> None:
    assert UnknownPipelineError("x", known=[]).hint == "`penstock list` shows those that have"
