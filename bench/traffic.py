"""The rate of the demonstration's generator, from the first line to the last acknowledgement.

A broker of its own. The limit is what `penstock demo` may be asked for.
"""

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.machine import describe_machine

from penstock.demo import Traffic, generate
from penstock.local.cluster import KafkaCluster

RUNS = 5
LIMIT = 20_000
# More than any sender reaches: the pace never waits.
UNPACED = 1_000_000.0


def main() -> int:
    """Measure, and compare with the limit."""
    print(describe_machine())
    with (
        TemporaryDirectory() as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder)) as kafka,
    ):
        topic = kafka.create_topic("iprecord", partition_count=4)
        traffic = Traffic(topic=topic, rate=UNPACED, duration_seconds=0.2, broken_share=0.01)
        tallies = [generate(kafka.connection, traffic) for _ in range(RUNS)]
    rate = statistics.median(tally.sent / tally.seconds for tally in tallies)
    verdict = "ok" if rate >= LIMIT else "too slow"
    print(f"generator: median {rate:,.0f} lines/s of {RUNS}  (limit {LIMIT:,}: {verdict})")
    return 0 if rate >= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
