"""Print made-up trades of ten tickers, one JSON object per line.

    python trades.py 3000 | penstock produce stocks --format json --key-pointer /ticker --rate 50

The price of a ticker wanders by up to 1 % from trade to trade. The same seed gives the same trades.
"""

import argparse
import json
from collections.abc import Iterator
from random import Random

FIRST_PRICES = {
    "AMT": 212.5,
    "BLU": 48.0,
    "CNL": 9.75,
    "DAM": 133.2,
    "FLM": 71.0,
    "GAT": 305.4,
    "IBM": 167.5,
    "MIL": 22.3,
    "RVR": 88.8,
    "WHL": 14.6,
}
"""The price at which each ticker begins."""


def trades(count: int, *, seed: int = 0) -> Iterator[dict[str, object]]:
    """Return so many trades of tickers chosen at random."""
    dice = Random(seed)  # noqa: S311 - prices, not secrets
    prices = dict(FIRST_PRICES)
    for _ in range(count):
        ticker = dice.choice([*prices])
        prices[ticker] = round(prices[ticker] * dice.uniform(0.99, 1.01), 2)
        yield {
            "ticker": ticker,
            "askPrice": prices[ticker],
            "askSize": dice.randrange(100, 1_000, 100),
        }


def main() -> None:
    """Print as many trades as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many trades")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other trades")
    asked = parser.parse_args()
    for trade in trades(asked.count, seed=asked.seed):
        print(json.dumps(trade))


if __name__ == "__main__":
    main()
