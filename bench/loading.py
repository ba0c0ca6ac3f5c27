"""Topics filled before a measurement: web-log lines, as many as wanted, in well under a minute.

Several processes send in parallel, since one core of Python is slower than the broker. Lines are
assembled from parts made once (`penstock.demo`); event time advances by a fixed step, so that a
topic filled in seconds holds minutes of traffic.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from typing import TYPE_CHECKING

import confluent_kafka
from bench.topics import partitions_of, record_count

from penstock.demo import LineMaker
from penstock.kafka import Admin, Connection

if TYPE_CHECKING:
    from penstock.names import TopicName

_POOL = 50_000


def _an_hour_ago() -> datetime:
    """Return a moment that neither lies in the future at the end nor falls to retention."""
    return datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to fill a topic with.

    Args:
        bootstrap: where the cluster is.
        topic: has to exist.
        records: how many.
        records_per_second: of event time, in the lines and as the records' timestamps.
        processes: how many send side by side; each covers the whole span of event time.
        first_moment: the event time of the first records. Retention goes by it: the broker deletes
            what is a week old.
        value_bytes: cut or fill each line to so many; None leaves it as it is.
    """

    bootstrap: str
    topic: TopicName
    records: int
    records_per_second: int = 50_000
    processes: int = 2
    first_moment: datetime = field(default_factory=_an_hour_ago)
    value_bytes: int | None = None


def fill(load: Load) -> None:
    """Send all records of `load`; returns when the topic holds them."""
    shares = [
        replace(
            load,
            records=load.records // load.processes + (number < load.records % load.processes),
            records_per_second=max(1, load.records_per_second // load.processes),
        )
        for number in range(load.processes)
    ]
    with Admin(Connection(bootstrap=load.bootstrap)) as admin:
        partitions = partitions_of(admin, load.topic)
        before = record_count(admin, partitions)
        with ProcessPoolExecutor(load.processes, mp_context=get_context("spawn")) as pool:
            list(pool.map(_fill_share, shares, range(load.processes)))
        arrived = record_count(admin, partitions) - before
    if arrived != load.records:
        sys.exit(f"only {arrived} of {load.records} records arrived in {load.topic}")


def _fill_share(load: Load, seed: int) -> None:
    parts = _parts(seed, load.first_moment)
    client = confluent_kafka.Producer(
        {
            "bootstrap.servers": load.bootstrap,
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
            "linger.ms": 50,
            "batch.num.messages": 20_000,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 500_000,
        }
    )
    for second, start in enumerate(range(0, load.records, load.records_per_second)):
        moment = load.first_moment + timedelta(seconds=second)
        stamp = f" - - [{moment:%d/%b/%Y:%H:%M:%S} +0000] ".encode()
        milliseconds = round(moment.timestamp() * 1000)
        for number in range(start, min(load.records, start + load.records_per_second)):
            host, tail = parts[number % _POOL]
            line = host + stamp + tail
            if load.value_bytes is not None:
                line = line[: load.value_bytes].ljust(load.value_bytes)
            _produce(client, load.topic, line, host, milliseconds)
    client.flush(120)


def _produce(
    client: confluent_kafka.Producer, topic: str, value: bytes, key: bytes, milliseconds: int
) -> None:
    while True:
        try:
            client.produce(topic, value, key, timestamp=milliseconds)
        except BufferError:
            client.poll(0.1)
        else:
            return


def _parts(seed: int, moment: datetime) -> list[tuple[bytes, bytes]]:
    """Return hosts, and what follows the time in their lines."""
    maker = LineMaker(seed=seed, broken_share=0.0, domain_share=0.0)
    lines = (maker.line(moment).value for _ in range(_POOL))
    return [(line.split(b" ", 1)[0], line.split(b"] ", 1)[1]) for line in lines]
