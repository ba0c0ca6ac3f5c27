"""Trends: where a lag goes over ten minutes."""

import pytest

from penstock.monitoring.groups.trend import LagHistory, Trend, trend_of


def per_second(lags: dict[int, int]) -> float | None:
    history = LagHistory()
    for at, lag in lags.items():
        history.note(lag, at=float(at))
    return history.per_second()


def test_a_lag_that_grows_by_ten_a_second_does_so_at_every_pace_of_looking() -> None:
    assert per_second({at: at * 10 for at in range(0, 301, 2)}) == pytest.approx(10, rel=0.02)


def test_what_was_before_the_last_ten_minutes_does_not_count() -> None:
    grown = {at: min(at, 600) for at in range(0, 1_801, 10)}
    assert per_second(grown) == pytest.approx(0, abs=0.01)


def test_one_look_is_no_direction() -> None:
    assert per_second({0: 10}) is None
    assert trend_of(10, None) is None


@pytest.mark.parametrize(
    ("rate", "trend"),
    [(1.0, Trend.GROWING), (-1.0, Trend.SHRINKING), (0.0, Trend.STEADY), (0.001, Trend.STEADY)],
)
def test_a_small_change_of_a_large_lag_is_steady(rate: float, trend: Trend) -> None:
    assert trend_of(10_000, rate) is trend
