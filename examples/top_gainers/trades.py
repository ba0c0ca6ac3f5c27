"""Prints trades as JSON lines: 30 stocks on two days, and what opens the third."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

TICKERS = tuple(f"T{number:02}" for number in range(30))
DAYS = 2
OPENING = timedelta(hours=9, minutes=30)
TRADES = 14
"""Of each stock on a day, one every half an hour."""


def trades(first_day: datetime) -> Iterator[dict[str, object]]:
    """Return the trades in the order of time; the same prices in every call.

    A day ends for the pipeline when a trade of the next one comes.
    """
    dice = random.Random(10)  # noqa: S311 - these are no secrets
    prices = {ticker: dice.uniform(10, 200) for ticker in TICKERS}
    for day in range(DAYS + 1):
        for number in range(TRADES if day < DAYS else 1):
            at = first_day + timedelta(days=day) + OPENING + number * timedelta(minutes=30)
            for ticker in TICKERS:
                prices[ticker] *= dice.uniform(0.99, 1.01)
                yield {"ticker": ticker, "price": round(prices[ticker], 2), "at": at.isoformat()}


if __name__ == "__main__":
    today = datetime.combine(datetime.now(UTC).date(), time(), UTC)
    for trade in trades(today - timedelta(days=DAYS)):
        print(json.dumps(trade))
