"""What it costs to keep the history of 30,000 series, of which few or many change in each round.

Rounds are ten seconds of the history's time apart and follow each other at once. The processor
time of a round is given as a share of those ten seconds.
"""

import random
import statistics
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.machine import describe_machine

from penstock.monitoring.catalog import Sample, sample
from penstock.monitoring.catalog.groups import GROUP_PARTITION_LAG
from penstock.monitoring.history import History

SERIES = 30_000
ROUND_SECONDS = 10
START = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT_SHARE = 0.005
"""Of a processor, with few changes: half of what all sampling may take on an idle platform."""


def main() -> int:
    """Measure, print, and fail when the quiet platform costs too much."""
    print(describe_machine())
    quiet = measure(changes=300, hours=3.5)
    measure(changes=3_000, hours=1)
    return 0 if quiet <= LIMIT_SHARE else 1


def measure(*, changes: int, hours: float) -> float:
    """Print the costs of some hours; return the mean share of a processor."""
    dice, at = random.Random(1), START  # noqa: S311 - the same numbers each time
    samples = [
        sample(
            GROUP_PARTITION_LAG,
            1,
            group=f"group-{number // 30}",
            topic=f"topic-{number // 6}",
            partition=str(number % 6),
        )
        for number in range(SERIES)
    ]
    seconds = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite"
        with History.open(path) as history:
            for _ in range(int(hours * 3600 / ROUND_SECONDS)):
                for number in range(changes):
                    place = number * 7 % SERIES
                    old = samples[place]
                    samples[place] = Sample(
                        metric=old.metric, labels=old.labels, value=dice.random()
                    )
                begun = time.process_time()
                history.add(at, samples)
                seconds.append(time.process_time() - begun)
                at += timedelta(seconds=ROUND_SECONDS)
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
            begun = time.perf_counter()
            read = history.series(
                GROUP_PARTITION_LAG.name,
                {"group": "group-3"},
                since=at - timedelta(hours=1),
                until=at,
                step=timedelta(minutes=1),
            )
            taken = time.perf_counter() - begun
    # The first round writes every series and comes once per start.
    mean = statistics.mean(seconds[1:])
    print(
        f"{SERIES:,} series, {changes:,} change: first round {seconds[0] * 1000:.0f} ms, then "
        f"median {statistics.median(seconds[1:]) * 1000:.1f} ms, mean {mean * 1000:.1f} ms, "
        f"slowest {max(seconds[1:]) * 1000:.0f} ms: {mean / ROUND_SECONDS:.2%} of a processor; "
        f"{size / 1e6:.0f} MB after {hours} h; an hour of {len(read)} series read in "
        f"{taken * 1000:.0f} ms"
    )
    return mean / ROUND_SECONDS


if __name__ == "__main__":
    sys.exit(main())
