"""The example `top_gainers`: two stages find the ten best of each day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from support.example_runs import ExampleRuns, load_example, load_script, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(300)  # queries start slowly on a busy machine

DAY = datetime(2030, 1, 30, tzinfo=UTC)
TRADES: list[dict[str, Any]] = list(load_script("top_gainers/trades.py").trades(DAY))


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("top_gainers", spark, kafka, tmp_path) as runs:
        yield runs


def ranked(spark: SparkSession, gains: list[tuple[str, datetime, float]]) -> list[Row]:
    frame = spark.createDataFrame(gains, "ticker string, day timestamp, gain double")
    return rows_of(load_example("top_gainers"), "rank_gains", gains=frame)


def best_of(day: str) -> list[tuple[str, float]]:
    """Return the ten stocks that gained most on a day, from the trades themselves."""
    gains = {}
    for ticker in {item["ticker"] for item in TRADES}:
        prices = [
            item["price"]
            for item in TRADES
            if item["ticker"] == ticker and item["at"].startswith(day)
        ]
        gains[ticker] = prices[-1] / prices[0] - 1
    return sorted(gains.items(), key=lambda item: (-item[1], item[0]))[:10]


def test_the_gain_of_a_day_is_from_its_first_to_its_last_price(spark: SparkSession) -> None:
    """Trades come in any order; free shares have no gain."""
    hours = [(16, 12.0), (9, 10.0), (11, 40.0), (24 + 9, 30.0), (24 + 16, 15.0)]
    trades = [("T01", price, DAY + timedelta(hours=hour)) for hour, price in hours]
    trades.append(("T02", 0.0, DAY))

    found = rows_of(
        load_example("top_gainers"),
        "gains_of_a_day",
        trades=spark.createDataFrame(trades, "ticker string, price double, at timestamp"),
    )

    assert sorted((row["opened"], row["closed"], round(row["gain"], 9)) for row in found) == [
        (10.0, 12.0, 0.2),
        (30.0, 15.0, -0.5),
    ]


def test_ten_of_many_are_ranked_and_a_repeated_gain_counts_once(spark: SparkSession) -> None:
    """The first stage may write its gains twice after a crash. T11 and T12 are equally good."""
    gains = [(f"T{number:02}", DAY, min(number, 11) / 100) for number in range(13)]

    found = ranked(spark, gains + gains)

    assert [(row["rank"], row["ticker"], row["gain"]) for row in found] == [
        (1, "T11", 0.11),
        (2, "T12", 0.11),
        *((3 + place, f"T{10 - place:02}", (10 - place) / 100) for place in range(8)),
    ]


def test_days_are_ranked_by_themselves_also_with_fewer_than_ten_stocks(
    spark: SparkSession,
) -> None:
    tomorrow = DAY + timedelta(days=1)

    found = ranked(spark, [("T01", DAY, -0.1), ("T02", DAY, 0.1), ("T01", tomorrow, 0.3)])

    assert [(row["rank"], row["ticker"]) for row in sorted(found, key=lambda row: row["day"])] == [
        (1, "T02"),
        (2, "T01"),
        (1, "T01"),
    ]


def test_the_sample_gives_the_ten_best_of_both_days_that_are_over(runs: ExampleRuns) -> None:
    runs.send_json("trades", TRADES, key="ticker")

    runs.run_once()

    found = sorted(runs.rows("top_gainers"), key=lambda row: (row["day"], row["rank"]))
    days = ["2030-01-30", "2030-01-31"]
    assert [row["day"] for row in found] == [
        f"{day}T00:00:00.000000Z" for day in days for _ in range(10)
    ]
    assert [row["rank"] for row in found] == [*range(1, 11)] * 2
    expected = [entry for day in days for entry in best_of(day)]
    assert [row["ticker"] for row in found] == [ticker for ticker, _ in expected]
    assert [row["gain"] for row in found] == pytest.approx([gain for _, gain in expected])
    assert len(runs.rows("gains")) == 60
