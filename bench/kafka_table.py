"""How fast a `KafkaTable` loads, and what its writes cost.

A broker of its own. 100,000 entries of 100 bytes are loaded several times; then one writer writes
the same key again and again, plainly, conditionally, and in turn with a second table, so that each
write shuts the other table out first.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.machine import describe_machine

from penstock.kafka import Producer
from penstock.kafka.tables import KafkaTable
from penstock.local.cluster import KafkaCluster
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kafka.tables import Entry

TOPIC = TopicName("bench")
VALUE = b"x" * 100
ENTRIES = 100_000
LOADS = 5
WRITES = 200
TURNS = 30
LIMIT_SECONDS = 5.0


def main() -> int:
    """Measure, and compare loading with the limit."""
    print(describe_machine())
    with (
        TemporaryDirectory() as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder)) as kafka,
    ):
        fill(kafka)
        measure_writes(kafka)
        processor_before = time.process_time()
        loads = [load_seconds(kafka) for _ in range(LOADS)]
        processor = (time.process_time() - processor_before) / LOADS
    slowest = max(loads)
    verdict = "ok" if slowest <= LIMIT_SECONDS else "too slow"
    print(
        f"open with {ENTRIES:,} entries: median {statistics.median(loads):.2f} s, "
        f"slowest of {LOADS} {slowest:.2f} s, of which {processor:.2f} s on a processor  "
        f"(limit {LIMIT_SECONDS:g} s: {verdict})"
    )
    return 0 if slowest <= LIMIT_SECONDS else 1


def fill(kafka: KafkaCluster) -> None:
    """Write the entries."""
    KafkaTable.open(kafka.connection, TOPIC).close()
    with Producer(kafka.connection) as producer:
        for number in range(ENTRIES):
            producer.send(TOPIC, VALUE, key=f"key/{number}")


def load_seconds(kafka: KafkaCluster) -> float:
    """Return how long opening takes."""
    start = time.perf_counter()
    with KafkaTable.open(kafka.connection, TOPIC) as table:
        seconds = time.perf_counter() - start
        if len(table.snapshot()) != ENTRIES:
            sys.exit(f"only {len(table.snapshot())} of {ENTRIES} entries were loaded")
    return seconds


def measure_writes(kafka: KafkaCluster) -> None:
    """Print how long single writes take."""
    topic = TopicName("writes")
    with (
        KafkaTable.open(kafka.connection, topic) as table,
        KafkaTable.open(kafka.connection, topic) as other,
    ):
        newest: Entry | None = None

        def put_if(writer: KafkaTable) -> None:
            nonlocal newest
            version = newest.version if newest else None
            newest = writer.put_if("lease", VALUE, version=version)

        report("put", WRITES, lambda _: table.put("status", VALUE))
        report("put_if, the same writer", WRITES, lambda _: put_if(table))
        report("put_if, two in turn", TURNS, lambda number: put_if((table, other)[number % 2]))
        report("refresh", WRITES, lambda _: table.refresh())


def report(name: str, count: int, act: Callable[[int], object]) -> None:
    """Print the median and the 95th percentile of `count` calls."""
    act(0)
    seconds = []
    for number in range(count):
        start = time.perf_counter()
        act(number + 1)
        seconds.append(time.perf_counter() - start)
    late = statistics.quantiles(seconds, n=20)[-1]
    print(
        f"{name:<24} median {statistics.median(seconds) * 1000:6.1f} ms, p95 {late * 1000:6.1f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
