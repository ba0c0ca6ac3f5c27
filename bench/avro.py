"""Avro by a registry's schemas, against the same logic written by hand in PySpark, in turn.

    python -m bench.avro [--pairs 3] [--scale 1.0]

One topic has orders of one schema, another of four generations mixed. By hand, Spark's own
function reads the first, with the default options of source and client and with those that Penstock
sets; and fastavro decodes it in Python, in Arrow batches.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING
from uuid import uuid4

import confluent_kafka
from bench.hand_written.orders import encoded, generation
from bench.hand_written.program import MAX_OFFSETS_PER_TRIGGER, Options
from bench.machine import describe_machine
from bench.pipelines import PENSTOCK, Place, in_turn
from bench.steady_state import measure

from penstock.local.cluster import KafkaCluster
from penstock.names import Subject
from penstock.registry.client import RegistryAddress, RegistryClient
from penstock.schemas import SchemaText, SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from penstock.names import TopicName

RECORDS = 4_000_000
_POOL = 20_000
_LIMITS = {
    "by hand, default": 1.3,
    "by hand, tuned": 0.95,
    "by hand, in Python": 5.0,
}
_MIXED_LIMIT = 0.85

_FLOWS = """
    import penstock as ps

    ps.topic("orders", kafka_name="{source}", value=ps.avro("Order"), external=True,
             most_per_trigger={limit})
    ps.topic("sink", kafka_name="{sink}", value=ps.json("id bigint, amount double"), external=True)

    @ps.flow(into="sink")
    def german(orders):
        return orders.where("country = 'DE'").select("id", "amount")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one process sends: values of these generations under their ids, in turn."""

    bootstrap: str
    topic: TopicName
    records: int
    ids: tuple[tuple[int, int], ...]
    """Generation and id."""

    seed: int


def fill(share: Share) -> None:
    """Send all records of a share."""
    pools = [
        [b"\x00" + key.to_bytes(4, "big") + data for data in encoded(number, _POOL, share.seed)]
        for number, key in share.ids
    ]
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": share.bootstrap,
            "linger.ms": 50,
            "batch.num.messages": 20_000,
            "queue.buffering.max.messages": 500_000,
        }
    )
    for number in range(share.records):
        value = pools[number % len(pools)][number // len(pools) % _POOL]
        while True:
            try:
                client.produce(share.topic, value)
                break
            except BufferError:
                client.poll(0.1)
    client.flush(120)


class Orders:
    """A cluster with a registry, and topics of orders."""

    def __init__(self, place: Place, url: str) -> None:
        self._place, self._url = place, url

    def filled(self, generations: Sequence[int], records: int) -> TopicName:
        """Return a new topic with orders of these generations."""
        topic = self._place.topic("orders")
        with RegistryClient(RegistryAddress(url=self._url)) as client:
            subject = Subject(f"{topic}-value")
            texts = {
                number: SchemaText(type=SchemaType.AVRO, text=json.dumps(generation(number)))
                for number in generations
            }
            ids = tuple((item, client.register(subject, text)) for item, text in texts.items())
        shares = [
            Share(
                bootstrap=self._place.cluster.bootstrap,
                topic=topic,
                records=records // 2,
                ids=ids,
                seed=seed,
            )
            for seed in range(2)
        ]
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            list(pool.map(fill, shares))
        return topic

    def project(self, source: str, sink: str) -> list[str]:
        """Write a project on a new checkpoint and return the command that runs it."""
        folder = self._place.folder / uuid4().hex
        (folder / "schemas").mkdir(parents=True)
        (folder / "schemas" / "Order.avsc").write_text(json.dumps(generation(4)))
        text = dedent(_FLOWS).replace("{source}", source).replace("{sink}", sink)
        (folder / "flows.py").write_text(text.replace("{limit}", str(MAX_OFFSETS_PER_TRIGGER)))
        (folder / "penstock.toml").write_text(
            f'[profiles.local]\nbootstrap = "{self._place.cluster.bootstrap}"\n'
            f'[registry]\nurl = "{self._url}"\n'
            f'[pipeline]\nname = "bench-{folder.name}"\n'
            f'[spark]\nmaster = "local[2,4]"\ndriver_memory_mb = 3072\n'
            f'checkpoint_root = "{folder}/checkpoints"\nwarehouse = "{folder}/tables"\n'
        )
        return [PENSTOCK, "run", str(folder), "--once"]


def compare(place: Place, orders: Orders, records: int, pairs: int) -> bool:
    """Measure all sides in turn; return whether all limits were kept."""
    print(f"\n{records:,} records of one schema and of four: filling topics", flush=True)
    one, four = orders.filled([4], records), orders.filled([1, 2, 3, 4], records)

    def side(command: Callable[[str], list[str]]) -> Callable[[], float]:
        def run() -> float:
            sink = place.topic("sink")
            found = measure(
                command(sink), place.cluster.connection, output=sink, input_records=records
            )
            print(f"    {found}", flush=True)
            return found.steady_rate

        return run

    def by_hand(program: str, options: Options) -> Callable[[], float]:
        return side(lambda sink: place.by_hand(program, one, sink, options))

    found = in_turn(
        {
            "penstock": side(lambda sink: orders.project(one, sink)),
            "penstock, four schemas": side(lambda sink: orders.project(four, sink)),
            "by hand, default": by_hand("avro_filter", Options.DEFAULT),
            "by hand, tuned": by_hand("avro_filter", Options.TUNED),
            "by hand, in Python": by_hand("avro_in_python", Options.TUNED),
        },
        pairs,
    )
    kept = [judged("penstock", theirs, found, limit) for theirs, limit in _LIMITS.items()]
    mixed = judged("penstock, four schemas", "by hand, tuned", found, _MIXED_LIMIT)
    return all(kept) and mixed


def judged(ours: str, theirs: str, found: dict[str, list[float]], limit: float) -> bool:
    """Print the ratio of two sides and return whether it is as high as it should be."""
    pairs = [a / b for a, b in zip(found[ours], found[theirs], strict=True)]
    listed = " ".join(f"{ratio:.2f}" for ratio in pairs)
    print(f"{ours} / {theirs}: median {median(pairs):.2f} (limit {limit}) of {listed}", flush=True)
    return median(pairs) >= limit


@contextmanager
def registry(bootstrap: str) -> Iterator[str]:
    """Run a registry and yield its address."""
    command = [PENSTOCK, "registry", "serve", "--port", "0", "--bootstrap", bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            words = process.stdout.readline().split()
            yield next(word.rstrip(";") for word in words if "http://" in word)
        finally:
            process.terminate()


def main() -> None:
    """Measure, and end with a non-zero status when a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of records")
    given = parser.parse_args()
    print(describe_machine(), flush=True)
    with (
        TemporaryDirectory(prefix="penstock-bench-") as folder,
        KafkaCluster.start(brokers=1, data_dir=Path(folder) / "kafka", heap_mb=1024) as cluster,
        registry(cluster.bootstrap) as url,
    ):
        place = Place(cluster, Path(folder))
        records = int(RECORDS * given.scale)
        sys.exit(0 if compare(place, Orders(place, url), records, given.pairs) else 1)


if __name__ == "__main__":
    main()
