"""The traffic of the demonstration: web-log lines at an even pace, counted by their sender.

`generate` sends lines (`lines.py`) and returns a `Tally` of what the cluster has acknowledged. The
tally comes from the dice, not from the lines, so a pipeline that reads the topic can be checked
against it.

Windows are those of the lines' own times, in whole seconds since 1970, as Spark's `window` cuts
them. Every record's timestamp is the moment in its line, so both give the same windows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from penstock.demo.lines import Breakage, Line, LineMaker
from penstock.kafka import Connection, Delivery, OutgoingRecord, Producer
from penstock.names import TopicName

if TYPE_CHECKING:
    from penstock.kafka import DeliveryReport

Clock = Callable[[], datetime]

IPRECORD = TopicName("iprecord")

# A hundred small bursts a second look even to a pipeline whose batches take longer than that.
_TICK_SECONDS = 0.01
# Between two looks at the clock; at full speed this is a few milliseconds of lines.
_LINES_PER_LOOK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What to send.

    Args:
        topic: where to.
        rate: lines per second.
        duration_seconds: how long; the number of lines is their product.
        seed: the same seed gives the same lines, apart from their times.
        broken_share: which part of all lines is broken, from 0 to 1.
        domain_share: which part of the good lines has a domain name as host, from 0 to 1.
        window_seconds: the length of the tumbling windows that the tally counts in.
    """

    topic: TopicName = IPRECORD
    rate: float = 1_000.0
    duration_seconds: float = 30.0
    seed: int = 0
    broken_share: float = 0.0
    domain_share: float = 0.1
    window_seconds: int = 10

    @property
    def line_count(self) -> int:
        """How many lines are sent in all."""
        return round(self.rate * self.duration_seconds)


@dataclass(frozen=True, slots=True)
class HostWindow:
    """A host in a window; `start` is when the window begins."""

    host: str
    start: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What the cluster has acknowledged, as its sender knows it.

    `sent` counts good and broken lines. Hits, hosts and windows are those of good lines only.
    `failed` lines were given up by the client; they are in no other count.
    """

    sent: int
    failed: int
    seconds: float
    broken: Mapping[Breakage, int]
    hits_by_host: Mapping[str, int]
    hits_by_window: Mapping[HostWindow, int]
    lines_by_window: Mapping[datetime, int]

    @property
    def broken_count(self) -> int:
        """How many lines were broken on purpose."""
        return sum(self.broken.values())

    @property
    def good_count(self) -> int:
        """How many lines were whole."""
        return self.sent - self.broken_count

    @property
    def hit_count(self) -> int:
        """How many lines came from blocked addresses."""
        return sum(self.hits_by_host.values())


def utc_now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def generate(
    connection: Connection | str,
    traffic: Traffic,
    *,
    clock: Clock = utc_now,
    stop: Event | None = None,
) -> Tally:
    """Send `traffic` and return what arrived; returns when the last line is acknowledged.

    Args:
        connection: how to reach the cluster; a string is its bootstrap addresses.
        traffic: what to send. The topic has to exist.
        clock: gives lines their time. The pace follows the machine's own clock.
        stop: once set, no more lines are sent; those that were count as usual.

    Raises:
        PenstockError: what `Producer.send` raises, such as for an unknown topic.
    """
    maker = LineMaker(
        seed=traffic.seed, broken_share=traffic.broken_share, domain_share=traffic.domain_share
    )
    counts = _Counts(traffic.window_seconds)
    started = time.monotonic()
    with Producer(connection) as producer:
        for _ in _paced(traffic, stop or Event()):
            line = maker.line(clock())
            record = OutgoingRecord(
                topic=traffic.topic,
                key=None if line.host is None else line.host.encode(),
                value=line.value,
                timestamp=line.moment,
            )
            producer.send_record(record, on_delivery=partial(counts.settle, line))
    return counts.tally(seconds=time.monotonic() - started)


class _Counts:
    """Counts lines as they are acknowledged, in the one thread that reports deliveries."""

    def __init__(self, window_seconds: int) -> None:
        self._window_seconds = window_seconds
        self._sent = self._failed = 0
        self._broken: Counter[Breakage] = Counter()
        self._hits: Counter[tuple[str, int]] = Counter()
        self._lines: Counter[int] = Counter()

    def settle(self, line: Line, report: DeliveryReport) -> None:
        """Count `line` as what became of it."""
        if not isinstance(report, Delivery):
            self._failed += 1
            return
        self._sent += 1
        if line.breakage is not None:
            self._broken[line.breakage] += 1
            return
        seconds = int(line.moment.timestamp())
        window = seconds - seconds % self._window_seconds
        self._lines[window] += 1
        if line.is_hit and line.host is not None:
            self._hits[line.host, window] += 1

    def tally(self, *, seconds: float) -> Tally:
        hosts: Counter[str] = Counter()
        for (host, _), hits in self._hits.items():
            hosts[host] += hits
        return Tally(
            sent=self._sent,
            failed=self._failed,
            seconds=seconds,
            broken=dict(self._broken),
            hits_by_host=dict(hosts),
            hits_by_window={
                HostWindow(host, _moment(start)): hits for (host, start), hits in self._hits.items()
            },
            lines_by_window={_moment(start): count for start, count in self._lines.items()},
        )


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _paced(traffic: Traffic, stop: Event) -> Iterator[None]:
    """Yield once for every line, when it is due, until all are sent or `stop` is set.

    A sender that falls behind, because the machine or the cluster is slow, catches up.
    """
    sent, started = 0, time.monotonic()
    while sent < traffic.line_count and not stop.is_set():
        due = min(traffic.line_count, int((time.monotonic() - started) * traffic.rate) + 1)
        burst = min(due - sent, _LINES_PER_LOOK)
        for _ in range(burst):
            yield
        sent += burst
        if burst < _LINES_PER_LOOK:
            stop.wait(_TICK_SECONDS)
