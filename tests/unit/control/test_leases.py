"""A process notices that it has slept through its lease."""

from __future__ import annotations

from penstock.control.leases import Vigil


def test_a_process_that_was_never_frozen_has_overslept_nothing() -> None:
    vigil = Vigil(0.0)

    assert [vigil.overslept_seconds(tick / 2) for tick in range(1, 9)] == [None] * 8


def test_a_process_that_was_frozen_through_its_lease_knows() -> None:
    vigil = Vigil(0.0)
    vigil.overslept_seconds(0.5)

    assert vigil.overslept_seconds(13.5) == 13.0


def test_a_short_freeze_is_forgiven_while_the_lease_lasts() -> None:
    vigil = Vigil(0.0)
    vigil.overslept_seconds(0.5)

    assert vigil.overslept_seconds(10.9) is None


def test_a_short_freeze_counts_when_the_lease_was_old_before_it() -> None:
    """Renewed at 0, frozen from 3 on: another may have watched the lease since 0."""
    vigil = Vigil(0.0)
    for now in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        vigil.overslept_seconds(now)

    assert vigil.overslept_seconds(11.0) == 8.0


def test_without_kafka_a_process_that_stays_awake_keeps_its_lease() -> None:
    """Nobody can take it over meanwhile; the first renewal afterwards tells."""
    vigil = Vigil(0.0)

    assert [vigil.overslept_seconds(tick / 2) for tick in range(1, 240)] == [None] * 239


def test_a_renewal_counts_from_when_it_was_begun() -> None:
    vigil = Vigil(0.0)
    vigil.renewed(4.0)
    vigil.overslept_seconds(4.5)

    assert (vigil.overslept_seconds(14.9), vigil.overslept_seconds(19.0)) == (None, 4.1)
