"""Stock statistics: ten tickers in windows of 5 s every second, against plain Python."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest

from support.example_runs import ExampleRuns, last_values, load_script
from support.producing import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)  # flows are started several times

SECOND = timedelta(seconds=1)
FLOWS = load_script("stock_statistics/flows.py")
TRADES = load_script("stock_statistics/trades.py")
TRADE_COUNT = 400
COLUMNS = "ticker string, askPrice double, askSize int, _record struct<timestamp: timestamp>"

Statistics = dict[tuple[str, datetime], tuple[int, float, float]]
"""Count, minimum and average by ticker and start of the window."""


@pytest.fixture
def runs(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Iterator[ExampleRuns]:
    with ExampleRuns.opened("stock_statistics", spark, kafka, tmp_path) as runs:
        yield runs


def test_a_trade_counts_in_the_five_windows_around_it(spark: SparkSession) -> None:
    minute = datetime(2026, 3, 2, 15, 30, tzinfo=UTC)
    prices = {4.0: 168.0, 7.25: 167.19, 7.75: 167.56}
    trades = spark.createDataFrame(
        [("IBM", price, 100, (minute + at * SECOND,)) for at, price in prices.items()], COLUMNS
    )

    found = {
        row["window_start"].astimezone(UTC): (row["trades"], row["minimum"], row["average"])
        for row in FLOWS.summarize(trades).collect()
    }

    all_three = (3, 167.19, pytest.approx(167.583, abs=0.001))
    last_two = (2, 167.19, pytest.approx(167.375))
    assert found == {
        **{minute + at * SECOND: (1, 168.0, 168.0) for at in (0, 1, 2)},
        **{minute + at * SECOND: all_three for at in (3, 4)},
        **{minute + at * SECOND: last_two for at in (5, 6, 7)},
    }


def test_every_window_of_every_ticker_comes_out_as_computed_by_hand(runs: ExampleRuns) -> None:
    """Windows that are open when the stream is stopped go on when it is started again."""
    # Near the present, because a broker deletes what is older than a topic's retention.
    start = datetime.now(UTC).replace(microsecond=0) - 120 * SECOND
    trades = [
        (start + number * SECOND / 10, trade)
        for number, trade in enumerate(TRADES.trades(TRADE_COUNT))
    ]
    for part in (trades[:190], trades[190:]):
        runs.send(
            "stocks",
            [
                Sent(key=trade["ticker"], value=json.dumps(trade), timestamp=at)
                for at, trade in part
            ],
        )
        runs.run_once()

    expected = statistics_of(trades)
    assert len({ticker for ticker, _ in expected}) == 10
    assert found_statistics(runs) == expected


def found_statistics(runs: ExampleRuns) -> Statistics:
    """Return the last value of each key, where key and value speak of the same window."""
    found: Statistics = {}
    for key, value in last_values(runs.records("statistics")).items():
        row, identity = json.loads(value), json.loads(key or b"")
        assert identity.items() <= row.items()
        window = identity["ticker"], datetime.fromisoformat(identity["window_start"])
        found[window] = row["trades"], row["minimum"], round(row["average"], 6)
    return found


def statistics_of(trades: Iterable[tuple[datetime, dict[str, Any]]]) -> Statistics:
    prices: dict[tuple[str, datetime], list[float]] = {}
    for at, trade in trades:
        second = at.replace(microsecond=0)
        for back in range(5):
            window = trade["ticker"], second - back * SECOND
            prices.setdefault(window, []).append(trade["askPrice"])
    return {key: (len(seen), min(seen), round(mean(seen), 6)) for key, seen in prices.items()}
