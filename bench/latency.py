"""How long a record takes through a running program, from one topic to another, seen from outside.

Values carry the moment they were sent, and the program copies them. Sender and reader are this one
process, so one clock tells both times.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass
from uuid import uuid4

import confluent_kafka
from confluent_kafka import OFFSET_END, TopicPartition

_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where records go in and come out."""

    bootstrap: str
    source: str
    sink: str
    sink_partitions: int


@dataclass(frozen=True, slots=True)
class Latencies:
    """Seconds of every record that came out, in ascending order."""

    seconds: tuple[float, ...]

    def percentile(self, percent: int) -> float:
        """Return the time within which `percent` of the records came out."""
        return statistics.quantiles(self.seconds, n=100)[percent - 1]

    def __str__(self) -> str:
        """Return the line that a benchmark prints."""
        p50, p99 = self.percentile(50) * 1000, self.percentile(99) * 1000
        return f"p50 {p50:.1f} ms   p99 {p99:.1f} ms   of {len(self.seconds)} records"


def one_by_one(route: Route, *, records: int, warm_up: int) -> Latencies:
    """Send a record, wait until it has come out, send the next; the first `warm_up` are left out.

    With micro-batches each record has a batch of its own.
    """
    sender, reader = _clients(route)
    try:
        seconds = [_round_trip(sender, reader, route.source) for _ in range(warm_up + records)]
    finally:
        reader.close()
    return Latencies(tuple(sorted(seconds[warm_up:])))


def paced(route: Route, *, records: int, warm_up: int, pause_seconds: float) -> Latencies:
    """Send at an even pace without waiting for what comes out; the first `warm_up` are left out."""
    sender, reader = _clients(route)
    seconds: list[float] = []
    due = time.monotonic()
    try:
        for _ in range(warm_up + records):
            sender.produce(route.source, repr(time.time()), uuid4().bytes)
            sender.poll(0)
            due += pause_seconds
            while (left := due - time.monotonic()) > 0:
                seconds += _arrived(reader, left)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(seconds) < warm_up + records and time.monotonic() < deadline:
            seconds += _arrived(reader, 0.1)
    finally:
        reader.close()
    if len(seconds) < warm_up + records:
        sys.exit(f"only {len(seconds)} of {warm_up + records} records came out")
    return Latencies(tuple(sorted(seconds[warm_up:])))


def _clients(route: Route) -> tuple[confluent_kafka.Producer, confluent_kafka.Consumer]:
    address = {"bootstrap.servers": route.bootstrap}
    sender = confluent_kafka.Producer(address | {"linger.ms": 0})
    reader = confluent_kafka.Consumer(
        address | {"group.id": uuid4().hex, "enable.auto.commit": False, "fetch.wait.max.ms": 10}
    )
    partitions = [
        TopicPartition(route.sink, number, OFFSET_END) for number in range(route.sink_partitions)
    ]
    reader.assign(partitions)
    for partition in partitions:  # the end is the end of now, not that of the first fetch
        reader.get_watermark_offsets(partition)
    reader.poll(1.0)
    return sender, reader


def _round_trip(
    sender: confluent_kafka.Producer, reader: confluent_kafka.Consumer, topic: str
) -> float:
    sender.produce(topic, repr(time.time()), uuid4().bytes)
    sender.flush()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        arrived = _arrived(reader, 1.0)
        if arrived:
            return arrived[0]
    sys.exit(f"nothing came out within {_PATIENCE_SECONDS:g} s")


def _arrived(reader: confluent_kafka.Consumer, timeout_seconds: float) -> list[float]:
    message = reader.poll(timeout_seconds)
    if message is None or message.error():
        return []
    return [time.time() - float(message.value() or b"nan")]
