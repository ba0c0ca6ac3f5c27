"""What to think of a lease that somebody has, or had."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.control.acquiring import Verdict, verdict_on
from penstock.control.holders import ProcessState
from penstock.control.lease_records import LeaseRecord
from support.drivers import driver

HELD = LeaseRecord(epoch=3, holder=driver())
GIVEN_BACK = LeaseRecord(epoch=3, holder=None)

ALIVE, FROZEN = ProcessState.ALIVE, ProcessState.FROZEN
GONE, OUT_OF_SIGHT = ProcessState.GONE, ProcessState.OUT_OF_SIGHT


@pytest.mark.parametrize(
    ("record", "process", "age_seconds", "verdict"),
    [
        (None, OUT_OF_SIGHT, 0, Verdict.FREE),
        (GIVEN_BACK, OUT_OF_SIGHT, 0, Verdict.FREE),
        (HELD, GONE, 0, Verdict.FREE),
        (HELD, GONE, 99, Verdict.FREE),
        (HELD, ALIVE, 0, Verdict.HELD),
        (HELD, ALIVE, 11.9, Verdict.HELD),
        (HELD, ALIVE, 12, Verdict.DOUBTFUL),
        (HELD, FROZEN, 0, Verdict.DOUBTFUL),
        (HELD, FROZEN, 99, Verdict.DOUBTFUL),
        (HELD, OUT_OF_SIGHT, 0, Verdict.DOUBTFUL),
        (HELD, OUT_OF_SIGHT, 99, Verdict.DOUBTFUL),
        # The clocks of the broker and of this machine differ.
        (HELD, OUT_OF_SIGHT, -60, Verdict.DOUBTFUL),
    ],
)
def test_a_lease_is_free_held_or_doubtful(
    record: LeaseRecord | None, process: ProcessState, age_seconds: float, verdict: Verdict
) -> None:
    assert verdict_on(record, process, timedelta(seconds=age_seconds)) is verdict
