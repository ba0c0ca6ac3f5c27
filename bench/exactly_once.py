"""Exactly once against at least once: lanes against Spark's own Kafka sink, in turn.

    python -m bench.exactly_once [copy] [fraud_filter] [windows] [one_record] [first_output]
        [--pairs 5] [--scale 1.0]

Both sides are the same pipeline with the same options of the source; only `delivery=` differs. A
speed is told only of sides that wrote the same records. The copy is of values of 100 bytes. Every
run has twenty batches or more, of which the last three fifths count: before, Java compiles.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.contents import Contents, contents
from bench.hand_written.program import MAX_OFFSETS_PER_TRIGGER
from bench.latency import Route, one_by_one
from bench.loading import Load, fill
from bench.machine import describe_machine
from bench.pipelines import PARTITIONS, Place, in_turn, running, until_first_output
from bench.steady_state import measure

from penstock.local.cluster import KafkaCluster

if TYPE_CHECKING:
    from bench.pipelines import Side

RECORDS = {"copy": 12_000_000, "fraud_filter": 12_000_000, "windows": 10_000_000}
_LIMITS = {"copy": 0.95, "fraud_filter": 0.97, "windows": 0.97}
_VALUE_BYTES = {"copy": 100}
_BATCHES = 20
_WARM_SHARE = 0.4
_LATENCY_LIMIT = 1.3
_LATER_SECONDS = 1.0
ONCE, AT_LEAST_ONCE = "exactly_once", "at_least_once"

Found = dict[str, list[float]]
"""What was measured, by the delivery."""


def throughput(place: Place, program: str, records: int, pairs: int) -> None:
    """Read a filled topic to its end, several times with each delivery."""
    print(f"\n{program}, {records:,} records: filling the topic", flush=True)
    source = place.topic("source")
    fill(
        Load(
            bootstrap=place.cluster.bootstrap,
            topic=source,
            records=records,
            value_bytes=_VALUE_BYTES.get(program),
        )
    )
    cpu: Found = {ONCE: [], AT_LEAST_ONCE: []}
    written: set[Contents] = set()

    def side(delivery: str) -> Side:
        def run() -> float:
            sink = place.topic("sink")
            command = place.project(
                program,
                source,
                sink,
                options=_option(delivery),
                most_per_trigger=min(MAX_OFFSETS_PER_TRIGGER, records // _BATCHES),
            )
            measured = measure(
                [*command, "--once"],
                place.cluster.connection,
                output=sink,
                input_records=records,
                warm_share=_WARM_SHARE,
            )
            print(f"    {delivery:<16} {measured}", flush=True)
            cpu[delivery].append(measured.cpu_seconds_per_million)
            # How often a window is told depends on how the batches fell.
            last = program == "windows"
            written.add(contents(place.cluster.connection, sink, last_of_each_key=last))
            return measured.steady_rate

        return run

    found = in_turn({name: side(name) for name in (ONCE, AT_LEAST_ONCE)}, pairs)
    if len(written) > 1:
        sys.exit(f"{program}: not all runs wrote the same records: {written}")
    [same] = written
    print(f"{program}: all runs wrote the same {same.records:,} records")
    print(_told(f"{program} records per second", found, f"at least {_LIMITS[program]}"))
    print(_told(f"{program} CPU seconds per million", cpu, "no limit"), flush=True)


def one_record(place: Place, pairs: int) -> None:
    """Measure the way of one record through a batch of its own."""
    print("\none record per batch: milliseconds at the median", flush=True)

    def side(delivery: str) -> Side:
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
    print(_told("one record per batch, ms", found, f"at most {_LATENCY_LIMIT}"), flush=True)


def first_output(place: Place, pairs: int) -> None:
    """Measure from the command to the first output on a small topic."""
    print("\nfrom command to first output: seconds", flush=True)
    source = place.topic("small")
    fill(Load(bootstrap=place.cluster.bootstrap, topic=source, records=1000))

    def side(delivery: str) -> Side:
        def run() -> float:
            sink = place.topic("sink")
            command = place.project("copy", source, sink, options=_option(delivery))
            return until_first_output(place, command, sink)

        return run

    sides = {name: side(name) for name in (ONCE, AT_LEAST_ONCE)}
    print("  first runs of all, not counted:")
    in_turn(sides, 1)
    found = in_turn(sides, pairs)
    later = [a - b for a, b in zip(found[ONCE], found[AT_LEAST_ONCE], strict=True)]
    print(_told("first output, s", found, f"at most {_LATER_SECONDS} s later"))
    print(f"first output: median {median(later):.2f} s later", flush=True)


def _option(delivery: str) -> str:
    return f', delivery="{delivery}"'


def _told(what: str, found: Found, limit: str) -> str:
    ratios = [a / b for a, b in zip(found[ONCE], found[AT_LEAST_ONCE], strict=True)]
    listed = " ".join(f"{ratio:.2f}" for ratio in ratios)
    sides = f"{median(found[ONCE]):,.2f} / {median(found[AT_LEAST_ONCE]):,.2f}"
    load = os.getloadavg()[0]
    return f"{what}: {sides}; ratio {median(ratios):.2f} ({limit}) of {listed}; load {load:.1f}"


def main() -> None:
    """Run the chosen measurements, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = (*RECORDS, "one_record", "first_output")
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
        if "first_output" in chosen:
            first_output(place, given.pairs)
        if "one_record" in chosen:
            one_record(place, given.pairs)
        for program, records in RECORDS.items():
            if program in chosen:
                throughput(place, program, int(records * given.scale), given.pairs)


if __name__ == "__main__":
    main()
