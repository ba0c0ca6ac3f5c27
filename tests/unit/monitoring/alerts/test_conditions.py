"""What rules compare: numbers from series."""

from datetime import datetime
from pathlib import Path

import pytest

from penstock.monitoring.alerts import HistoryReadings
from penstock.monitoring.alerts.conditions import (
    Condition,
    Growth,
    Increase,
    Latest,
    Mean,
    Share,
)
from penstock.monitoring.catalog import Labels, MetricName, sample
from penstock.monitoring.catalog.flows import INPUT_RECORDS, UNDECODABLE
from penstock.monitoring.catalog.groups import GROUP_SUM_LAG
from penstock.monitoring.history import History
from support.alerting import NOON, WrittenReadings, after, labels_of

ONE, TWO = MetricName("one"), MetricName("two")
SERIES = labels_of(flow="detect")
WINDOW = 600.0


def course(*values: float) -> list[tuple[datetime, float]]:
    """Return points from the beginning of the window to its end, evenly."""
    step = WINDOW / (len(values) - 1)
    return [(after(-WINDOW + step * index), value) for index, value in enumerate(values)]


def numbers(condition: Condition, **courses: list[tuple[datetime, float]]) -> dict[Labels, float]:
    kept = {MetricName(name): {SERIES: points} for name, points in courses.items()}
    latest = {name: {SERIES: series[SERIES][-1][1]} for name, series in kept.items()}
    return dict(condition.numbers(WrittenReadings(latest, kept), NOON))


@pytest.mark.parametrize(
    ("values", "growth"),
    [
        ((0, 0, 0, 0, 0, 0, 0), 1.0),
        ((100, 100, 100, 100, 100, 100, 100), 1.0),
        ((100, 100, 200, 200, 300, 300, 400), 2.5),
        ((400, 300, 300, 200, 200, 100, 100), 1.0),
        ((0, 0, 1, 2, 3, 4, 5), 1.0),
        ((0, 0, 1000, 1000, 5000, 5000, 5000), 15.0),
        ((100, 900, 100, 900, 100, 900, 100), 1.0),
    ],
)
def test_growth_is_what_rises_from_third_to_third(values: tuple[float, ...], growth: float) -> None:
    found = numbers(Growth(ONE, WINDOW, floor=100), one=course(*values))

    assert found[SERIES] == pytest.approx(growth)


def test_an_increase_survives_a_counter_that_begins_anew() -> None:
    assert numbers(Increase(ONE, WINDOW), one=course(10, 20, 5, 6)) == {SERIES: 16.0}


def test_a_share_is_that_of_what_was_counted_in_the_window() -> None:
    found = numbers(Share(ONE, TWO, WINDOW), one=course(3, 5), two=course(1000, 1100))

    assert found == {SERIES: 0.02}
    assert numbers(Share(ONE, TWO, WINDOW), one=course(3, 3), two=course(7, 7)) == {}


def test_a_mean_is_that_of_the_window() -> None:
    assert numbers(Mean(ONE, WINDOW), one=course(1, 2, 3)) == {SERIES: 2.0}


def test_nothing_is_said_of_a_window_that_was_not_seen() -> None:
    young = [(after(-300), 1.0), (after(0), 100.0)]
    conditions = (Mean(ONE, WINDOW), Increase(ONE, WINDOW), Growth(ONE, WINDOW, 1))

    assert [numbers(condition, one=young) for condition in conditions] == [{}, {}, {}]


def test_a_history_answers_what_conditions_ask(tmp_path: Path) -> None:
    flow = {"pipeline": "shop", "flow": "detect"}
    with History.open(tmp_path / "history.sqlite") as history:
        for second in range(0, 901, 10):
            lag = 100.0 if second < 300 else 500.0 if second < 600 else 2000.0
            read, undecodable = float(second), second // 100
            history.add(
                after(second),
                [
                    sample(GROUP_SUM_LAG, lag, group="orders"),
                    sample(INPUT_RECORDS, read, **flow),
                    sample(UNDECODABLE, undecodable, **flow),
                ],
            )
        readings, now = HistoryReadings(history), after(900)
        conditions = (
            Latest(GROUP_SUM_LAG.name),
            Growth(GROUP_SUM_LAG.name, 900, floor=10),
            Increase(INPUT_RECORDS.name, 600),
            Share(UNDECODABLE.name, INPUT_RECORDS.name, 600),
        )

        found = [list(item.numbers(readings, now).items()) for item in conditions]

    orders, detect = labels_of(group="orders"), labels_of(**flow)
    assert found == [
        [(orders, 2000)],
        [(orders, pytest.approx(20, rel=0.1))],
        [(detect, pytest.approx(600, rel=0.05))],
        [(detect, pytest.approx(0.01, rel=0.1))],
    ]
