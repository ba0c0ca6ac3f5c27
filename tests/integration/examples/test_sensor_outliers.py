"""The example `sensor_outliers`: five standard deviations, and alerts for few readings."""

from __future__ import annotations

import statistics
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from support.example_runs import ExampleRuns, load_example, load_script, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(300)  # queries start slowly on a busy machine

START = datetime(2030, 1, 31, 12, tzinfo=UTC)
FLOWS = load_script("sensor_outliers/flows.py")
READINGS: list[dict[str, Any]] = list(load_script("sensor_outliers/readings.py").readings(START))
SCHEMA = (
    "device_id string, timestamp timestamp, sensor_type string, value double,"
    " _record struct<offset bigint>"
)

DISTRIBUTIONS: dict[str, Callable[[Random, int], float]] = {
    "bell": lambda dice, _: dice.gauss(20, 0.5),
    "even": lambda dice, _: dice.uniform(-1, 1),
    "waiting times": lambda dice, _: dice.expovariate(3),
    "rare giants": lambda dice, _: dice.paretovariate(1.1),
    "two levels": lambda dice, _: dice.choice([0.0, 100.0]) + dice.gauss(),
    "a spike in 30": lambda dice, number: 1_000.0 if number % 30 == 0 else dice.gauss(),
    "another level in the middle": lambda dice, number: dice.gauss() + (number > 1_000) * 1_000,
    "drift": lambda dice, number: number / 10 + dice.gauss(),
    "a constant": lambda _, number: 7.0 if number != 1_500 else 7.1,
}


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("sensor_outliers", spark, kafka, tmp_path) as runs:
        yield runs


def chance(seed: int) -> Random:
    """Return dice that fall the same way every time."""
    return Random(seed)  # noqa: S311 - made-up readings, not secrets


def outliers(values: list[float]) -> list[int]:
    """Return which of the values of one sensor raise an alert."""
    seen, found = FLOWS.Seen(), []
    for number, value in enumerate(values):
        seen = seen.with_reading(value)
        if seen.is_outlier(value):
            found.append(number)
    return found


def is_spike(reading: dict[str, Any]) -> bool:
    """Tell what the sample has put there: no vibration of about 3 reaches 5 by chance."""
    return bool(reading["sensor_type"] == "vibration" and reading["value"] > 5)


def test_mean_and_deviation_are_those_of_all_readings_so_far() -> None:
    """Large values close to each other: the case in which sums of squares lose their digits."""
    dice = chance(3)
    values = [1e9 + dice.gauss() for _ in range(200)]
    seen = FLOWS.Seen()
    for value in values:
        seen = seen.with_reading(value)

    assert seen.count == 200
    assert seen.mean == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert seen.deviation == pytest.approx(statistics.pstdev(values), rel=1e-6)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_alerts_are_below_five_percent_of_the_readings(name: str) -> None:
    dice = chance(1)
    values = [DISTRIBUTIONS[name](dice, number) for number in range(2_000)]

    assert len(outliers(values)) / len(values) < 0.05


def test_one_reading_unlike_the_others_raises_an_alert_when_there_are_enough_others() -> None:
    assert outliers([7.0] * 24 + [8.0]) == []
    assert outliers([7.0] * 26 + [8.0]) == [26]


def test_sensors_are_judged_by_themselves_and_what_is_no_number_is_left_out(
    spark: SparkSession,
) -> None:
    """What is normal for one sensor is far out for the other; rows come in no order."""
    quiet = [("a", START, "vibration", 3.0 + number % 2, (number,)) for number in range(40)]
    strange = [
        ("a", START, "vibration", value, (40 + number,))
        for number, value in enumerate([None, float("nan"), float("inf"), 300.0, 3.0])
    ]
    loud = [("b", START, "vibration", 300.0 + number % 2, (number,)) for number in range(40)]
    rows = [*quiet, *strange, *loud]
    chance(2).shuffle(rows)

    found = rows_of(
        load_example("sensor_outliers"),
        "find_outliers",
        readings=spark.createDataFrame(rows, SCHEMA),
    )

    expected = [3.0, 4.0] * 20 + [300.0]
    assert [(row["device_id"], row["value"]) for row in found] == [("a", 300.0)]
    assert found[0]["mean"] == pytest.approx(statistics.fmean(expected))
    assert found[0]["deviation"] == pytest.approx(statistics.pstdev(expected))


@pytest.mark.long
def test_the_spikes_of_the_sample_are_found_and_nothing_else(runs: ExampleRuns) -> None:
    """Two runs: the second goes on with the numbers that the first has left."""
    half = len(READINGS) // 2
    runs.send_json("readings", READINGS[:half], key="device_id")
    runs.run_once()
    before = len(runs.rows("alerts"))
    runs.send_json("readings", READINGS[half:], key="device_id")

    runs.run_once()

    spikes = [(item["device_id"], item["value"]) for item in READINGS if is_spike(item)]
    alerts = runs.rows("alerts")
    assert before == 0
    assert len(alerts) == len(spikes) == 50
    assert sorted((row["device_id"], row["value"]) for row in alerts) == sorted(spikes)
    assert len(alerts) / len(READINGS) < 0.05
