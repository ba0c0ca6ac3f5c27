"""Pipelines against the same logic written by hand in PySpark, in turn, on topics filled before.

    python -m bench.pipelines [filter] [windows] [one_record] [real_time] [first_output]
        [--pairs 5] [--scale 1.0]

Both sides have two task slots, two shuffle partitions, RocksDB, 3 GB of heap and the same limit per
trigger. The hand-written side runs with the default options of source and client, and with those
that Penstock sets.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING
from uuid import uuid4

from bench.hand_written.program import BLOCKED_OCTETS, MAX_OFFSETS_PER_TRIGGER, Options
from bench.latency import Latencies, Route, one_by_one, paced
from bench.loading import Load, fill
from bench.machine import describe_machine
from bench.steady_state import Measurement, measure
from bench.topics import partitions_of, record_count

from penstock.kafka import Admin
from penstock.local.cluster import KafkaCluster

if TYPE_CHECKING:
    from penstock.names import TopicName

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
PARTITIONS = 4

FLOWS = {
    "fraud_filter": """
        ps.topic("sink", kafka_name="{sink}", value=ps.text(), key="host", external=True)
        ps.lookup("blocked", ps.csv_file("blocked.csv", "octet string"))

        @ps.flow(into="sink"{options})
        def find(source, blocked):
            hosts = source.selectExpr("value", "substring_index(value, ' ', 1) AS host")
            octets = hosts.selectExpr("*", "substring_index(host, '.', 1) AS octet")
            return octets.join(blocked, "octet", "left_semi").select("host", "value")
        """,
    "windows": """
        ps.topic(
            "sink",
            kafka_name="{sink}",
            value=ps.json("octet string, start timestamp, requests bigint"),
            key="key",
            external=True,
        )

        @ps.flow(into="sink", output_mode="update"{options})
        def count(source):
            octets = source.selectExpr(
                "substring_index(value, '.', 1) AS octet", "_record.timestamp AS timestamp"
            )
            return (
                octets.withWatermark("timestamp", "1 minute")
                .groupBy("octet", F.window("timestamp", "10 seconds").alias("window"))
                .agg(F.count("*").alias("requests"))
                .selectExpr(
                    "concat(octet, '@', window.start) AS key",
                    "octet",
                    "window.start AS start",
                    "requests",
                )
            )
        """,
    "copy": """
        ps.topic("sink", kafka_name="{sink}", value=ps.bytes(), key="id", key_format=ps.bytes(),
                 external=True)

        @ps.flow(into="sink"{options})
        def copy(source):
            return source.selectExpr("value", "_record.key AS id")
        """,
}
SOURCES = {
    "fraud_filter": 'ps.topic("source", kafka_name="{source}", external=True{limited})',
    "windows": 'ps.topic("source", kafka_name="{source}", external=True{limited})',
    "copy": 'ps.topic("source", kafka_name="{source}", value=ps.bytes(), key_format=ps.bytes(),'
    " external=True{limited})",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster, and a folder for everything else."""

    cluster: KafkaCluster
    folder: Path

    def topic(self, name: str) -> TopicName:
        """Return a new topic."""
        return self.cluster.create_topic(f"{name}-{uuid4().hex[:8]}", partition_count=PARTITIONS)

    def by_hand(
        self, program: str, source: str, sink: str, options: Options, master: str = "local[2]"
    ) -> list[str]:
        """Return the command of a hand-written program on a new checkpoint."""
        return [
            *(sys.executable, "-m", f"bench.hand_written.{program}"),
            *("--bootstrap", self.cluster.bootstrap, "--source", source, "--sink", sink),
            *("--checkpoint", str(self.folder / uuid4().hex), "--options", options),
            *("--master", master),
        ]

    def project(
        self,
        flows: str,
        source: str,
        sink: str,
        *,
        options: str = "",
        slots: int = 2,
        most_per_trigger: int = MAX_OFFSETS_PER_TRIGGER,
    ) -> list[str]:
        """Write a project on a new checkpoint and return the command that runs it."""
        folder = self.folder / uuid4().hex
        folder.mkdir()
        # Real-time mode refuses limits.
        limited = "" if "real_time" in options else f", most_per_trigger={most_per_trigger}"
        names = {"source": source, "sink": sink, "limited": limited}
        declared = [
            "import penstock as ps",
            "from pyspark.sql import functions as F",
            SOURCES[flows].format(**names),
            dedent(FLOWS[flows]).replace("{options}", options).replace("{sink}", sink),
        ]
        (folder / "flows.py").write_text("\n".join(declared))
        (folder / "blocked.csv").write_text("\n".join(map(str, BLOCKED_OCTETS)))
        (folder / "penstock.toml").write_text(
            f'[profiles.local]\nbootstrap = "{self.cluster.bootstrap}"\n'
            f'[pipeline]\nname = "bench-{folder.name}"\n'
            f'[spark]\nmaster = "local[{slots},4]"\ndriver_memory_mb = 3072\n'
            f'checkpoint_root = "{folder}/checkpoints"\nwarehouse = "{folder}/tables"\n'
        )
        return [PENSTOCK, "run", str(folder)]


Side = Callable[[], float]


def in_turn(sides: dict[str, Side], pairs: int) -> dict[str, list[float]]:
    """Measure each side once per round, in another order each time."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(pairs):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            found[name].append(sides[name]())
            print(f"  round {number + 1} {name:<24} {found[name][-1]:,.2f}", flush=True)
    return found


def ratios(found: dict[str, list[float]], ours: str, theirs: str) -> str:
    """Return the ratio of ours to theirs, round by round and at the median."""
    pairs = [a / b for a, b in zip(found[ours], found[theirs], strict=True)]
    listed = " ".join(f"{ratio:.2f}" for ratio in pairs)
    return f"{ours} / {theirs}: median {median(pairs):.2f} of {listed}"


def throughput(place: Place, program: str, records: int, pairs: int) -> None:
    """Read a filled topic to its end, several times on each side."""
    print(f"\n{program}, {records:,} records: filling the topic", flush=True)
    source = place.topic("source")
    fill(Load(bootstrap=place.cluster.bootstrap, topic=source, records=records))
    details: dict[str, list[Measurement]] = {}

    def side(name: str, command: Callable[[str], list[str]]) -> Side:
        def run() -> float:
            sink = place.topic("sink")
            measured = measure(
                command(sink), place.cluster.connection, output=sink, input_records=records
            )
            print(f"    {name:<24} {measured}", flush=True)
            details.setdefault(name, []).append(measured)
            return measured.steady_rate

        return run

    found = in_turn(
        {
            "penstock": side(
                "penstock", lambda sink: [*place.project(program, source, sink), "--once"]
            ),
            "by hand, default": side(
                "by hand, default",
                lambda sink: place.by_hand(program, source, sink, Options.DEFAULT),
            ),
            "by hand, tuned": side(
                "by hand, tuned", lambda sink: place.by_hand(program, source, sink, Options.TUNED)
            ),
        },
        pairs,
    )
    for theirs in ("by hand, default", "by hand, tuned"):
        print(f"{program} steady state: {ratios(found, 'penstock', theirs)}")
        whole = {name: [item.whole_rate for item in items] for name, items in details.items()}
        print(f"{program} whole run:    {ratios(whole, 'penstock', theirs)}")
        cpu = {
            name: [item.cpu_seconds_per_million for item in items]
            for name, items in details.items()
        }
        print(f"{program} CPU seconds:  {ratios(cpu, 'penstock', theirs)}", flush=True)


@contextmanager
def running(command: list[str]) -> Iterator[None]:
    """Run a program that does not end by itself while the block runs."""
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def one_record(place: Place, pairs: int) -> None:
    """Measure the way of one record through a batch of its own."""
    print("\none record per batch: milliseconds at the median", flush=True)

    def side(command: Callable[[str, str], list[str]]) -> Side:
        def run() -> float:
            source, sink = place.topic("source"), place.topic("sink")
            route = _route(place, source, sink)
            with running(command(source, sink)):
                return one_by_one(route, records=100, warm_up=30).percentile(50) * 1000

        return run

    found = in_turn(
        {
            "penstock": side(lambda source, sink: place.project("copy", source, sink)),
            "by hand": side(
                lambda source, sink: place.by_hand("one_record", source, sink, Options.DEFAULT)
            ),
        },
        pairs,
    )
    print(ratios(found, "penstock", "by hand"), flush=True)


def real_time(place: Place, pairs: int) -> None:
    """Measure the way of records through Spark's real-time mode."""
    print("\nreal time, 50 records a second", flush=True)
    for number in range(pairs):
        source, sink = place.topic("source"), place.topic("sink")
        command = place.project(
            "copy", source, sink, options=', trigger="real_time"', slots=PARTITIONS + 1
        )
        with running(command):
            one_by_one(_route(place, source, sink), records=100, warm_up=100)
            latencies: Latencies = paced(
                _route(place, source, sink), records=6000, warm_up=300, pause_seconds=0.02
            )
        print(f"  round {number + 1}: {latencies}", flush=True)


def first_output(place: Place, pairs: int) -> None:
    """Measure from the command to the first output on a small topic."""
    print("\nfrom command to first output: seconds", flush=True)
    source = place.topic("small")
    fill(Load(bootstrap=place.cluster.bootstrap, topic=source, records=1000))

    def side(command: Callable[[str], list[str]]) -> Side:
        def run() -> float:
            sink = place.topic("sink")
            return until_first_output(place, command(sink), sink)

        return run

    sides = {
        "penstock": side(lambda sink: place.project("fraud_filter", source, sink)),
        "by hand": side(lambda sink: place.by_hand("first_output", source, sink, Options.DEFAULT)),
    }
    print("  first runs of all, not counted:")
    in_turn(sides, 1)
    print(ratios(in_turn(sides, pairs), "penstock", "by hand"), flush=True)


def until_first_output(place: Place, command: list[str], sink: TopicName) -> float:
    """Return the seconds from the start of `command` to its first output."""
    started = time.monotonic()
    with running(command):
        _await_output(place, sink)
        return time.monotonic() - started


def _await_output(place: Place, sink: TopicName) -> None:
    with Admin(place.cluster.connection) as admin:
        partitions = partitions_of(admin, sink)
        deadline = time.monotonic() + 300
        while record_count(admin, partitions) == 0:
            if time.monotonic() > deadline:
                sys.exit("nothing came out within five minutes")
            time.sleep(0.02)


def _route(place: Place, source: str, sink: str) -> Route:
    return Route(
        bootstrap=place.cluster.bootstrap, source=source, sink=sink, sink_partitions=PARTITIONS
    )


def main() -> None:
    """Run the chosen measurements, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = ("filter", "windows", "one_record", "real_time", "first_output")
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
        if "real_time" in chosen:
            real_time(place, 1)
        if "filter" in chosen:
            throughput(place, "fraud_filter", int(10_000_000 * given.scale), given.pairs)
        if "windows" in chosen:
            throughput(place, "windows", int(5_000_000 * given.scale), given.pairs)


if __name__ == "__main__":
    main()
