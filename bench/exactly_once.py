"""Exactly once against at least once: lanes against Spark's own Kafka sink, in turn.

    python -m bench.exactly_once [copy] [fraud_filter] [windows] [one_record]
        [--pairs 5] [--scale 1.0]

Both sides are the same pipeline with the same options of the source; only `delivery=` differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.latency import Route, one_by_one
from bench.loading import Load, fill
from bench.machine import describe_machine
from bench.pipelines import PARTITIONS, Place, in_turn, running
from bench.steady_state import measure

from penstock.local.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = {"copy": 12_000_000, "fraud_filter": 12_000_000, "windows": 5_000_000}
_LIMITS = {"copy": 0.95, "fraud_filter": 0.97, "windows": 0.97}
_LATENCY_LIMIT = 1.3
ONCE, AT_LEAST_ONCE = "exactly_once", "at_least_once"


def throughput(place: Place, program: str, records: int, pairs: int) -> None:
    """Read a filled topic to its end, several times with each delivery."""
    print(f"\n{program}, {records:,} records: filling the topic", flush=True)
    source = place.topic("source")
    fill(Load(bootstrap=place.cluster.bootstrap, topic=source, records=records))
    cpu: dict[str, list[float]] = {ONCE: [], AT_LEAST_ONCE: []}

    def side(delivery: str) -> Callable[[], float]:
        def run() -> float:
            sink = place.topic("sink")
            command = place.project(program, source, sink, options=_option(delivery))
            measured = measure(
                [*command, "--once"],
                place.cluster.connection,
                output=sink,
                input_records=records,
            )
            print(f"    {delivery:<16} {measured}", flush=True)
            cpu[delivery].append(measured.cpu_seconds_per_million)
            return measured.steady_rate

        return run

    found = in_turn({name: side(name) for name in (ONCE, AT_LEAST_ONCE)}, pairs)
    print(_told(f"{program} steady state", found, f"at least {_LIMITS[program]}"))
    print(_told(f"{program} CPU seconds", cpu, "no limit"), flush=True)


def one_record(place: Place, pairs: int) -> None:
    """Measure the way of one record through a batch of its own."""
    print("\none record per batch: milliseconds at the median", flush=True)

    def side(delivery: str) -> Callable[[], float]:
        def run() -> float:
            source, sink = place.topic("source"), place.topic("sink")
            route = Route(
                bootstrap=place.cluster.bootstrap,
                source=source,
                sink=sink,
                sink_partitions=PARTITIONS,
            )
            with running(place.project("copy", source, sink, options=_option(delivery))):
                return one_by_one(route, records=100, warm_up=30).percentile(50) * 1000

        return run

    found = in_turn({name: side(name) for name in (ONCE, AT_LEAST_ONCE)}, pairs)
    print(_told("one record per batch", found, f"at most {_LATENCY_LIMIT}"), flush=True)


def _option(delivery: str) -> str:
    return f', delivery="{delivery}"'


def _told(what: str, found: dict[str, list[float]], limit: str) -> str:
    pairs = [a / b for a, b in zip(found[ONCE], found[AT_LEAST_ONCE], strict=True)]
    listed = " ".join(f"{ratio:.2f}" for ratio in pairs)
    return f"{what}: median {median(pairs):.2f} ({limit}) of {listed}"


def main() -> None:
    """Run the chosen measurements, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = (*RECORDS, "one_record")
    parser.add_argument("which", nargs="*", help=f"any of {', '.join(known)}; default: all")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of records")
    given = parser.parse_args()
    chosen = given.which or known
    print(describe_machine(), flush=True)
    with (
        TemporaryDirectory(prefix="penstock-bench-") as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder) / "kafka", heap_mb=1024) as cluster,
    ):
        place = Place(cluster, Path(folder))
        if "one_record" in chosen:
            one_record(place, given.pairs)
        for program, records in RECORDS.items():
            if program in chosen:
                throughput(place, program, int(records * given.scale), given.pairs)


if __name__ == "__main__":
    main()
