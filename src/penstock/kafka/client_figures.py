"""What a client measures of its own traffic, from the statistics that librdkafka gives it.

The client hands over a text every few seconds; the last two are kept, and read only when somebody
asks. Counts become rates between the two. Averages of times and sizes are the client's own, over
the seconds before the last text. The names are those of Java's clients.

`rates_of_open_clients` tells of all clients of the process, for whoever serves its metrics.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

STATISTICS_SECONDS = 5.0

_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerRates:
    """What a producer did in the last seconds; seconds, bytes, and numbers per second.

    Averages are 0 when nothing was sent.
    """

    record_error_rate: float
    """Records that were given up. Anything but 0 is a loss that somebody was told of."""

    record_retry_rate: float
    """Requests that were sent again; librdkafka does not count the records in them."""

    request_latency_avg: float
    outgoing_byte_rate: float
    record_send_rate: float
    request_rate: float
    response_rate: float
    """Smaller than the rate of requests while brokers fall behind, and with `acks` of 0."""

    request_size_avg: float
    batch_size_avg: float
    """A batch is of one partition."""

    record_size_avg: float
    records_per_request_avg: float
    record_queue_time_avg: float
    """How long records waited in the producer."""

    buffer_total_bytes: int
    """How much may wait there."""

    buffer_available_bytes: int
    """How much of that is free: at 0, sending waits."""

    compression_rate_avg: float
    """Bytes of batches by those of the keys and values in them: less is better. More than 1 of
    small records without compression, as a batch has a head, and each record a few bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRates:
    """What a consumer did in the last seconds; seconds, bytes, and numbers per second."""

    records_consumed_rate: float
    bytes_consumed_rate: float
    incoming_byte_rate: float
    """With everything that is not a record."""

    request_rate: float
    fetch_rate: float
    fetch_latency_avg: float
    """With the time that brokers wait for records to come."""

    fetch_latency_max: float
    fetch_size_avg: float
    records_per_request_avg: float
    record_size_avg: float
    records_lag_max: int
    """Of the partition that is furthest behind; only a part of the truth, as a consumer that is
    dead does not tell."""

    assigned_partitions: int
    heartbeat_rate: float
    commit_rate: float
    join_rate: float
    sync_rate: float
    """0 most of the time: a group that syncs does not read."""

    rebalances: int
    """Since the consumer was opened."""


class Statistics:
    """Keeps the last two texts of one client; `note` is its `stats_cb`, `end` follows its end."""

    def __init__(self, failed: Callable[[], int] = lambda: 0) -> None:
        """Keep nothing yet; `failed` counts the records of a producer that were given up."""
        self._failed = failed
        self._last: tuple[str, int] | None = None
        self._before: tuple[str, int] | None = None
        with _OPEN_LOCK:
            _OPEN.add(self)

    def end(self) -> None:
        """Leave the open clients: this one does nothing more."""
        with _OPEN_LOCK:
            _OPEN.discard(self)

    def note(self, text: str) -> None:
        """Keep a text."""
        self._before, self._last = self._last, (text, self._failed())

    def producer_rates(self) -> ProducerRates | None:
        """Return the rates of the last seconds; None until the client has told twice."""
        span = self._span()
        if span is None:
            return None
        records, requests = span.grown("txmsgs"), span.grown("tx")
        record_size = _ratio(span.grown("txmsg_bytes"), records)
        return ProducerRates(
            record_error_rate=span.failed / span.seconds,
            record_retry_rate=span.of_brokers("txretries") / span.seconds,
            request_latency_avg=span.average(span.brokers, "rtt") / _MICROSECONDS,
            outgoing_byte_rate=span.grown("tx_bytes") / span.seconds,
            record_send_rate=records / span.seconds,
            request_rate=requests / span.seconds,
            response_rate=span.grown("rx") / span.seconds,
            request_size_avg=_ratio(span.grown("tx_bytes"), requests),
            batch_size_avg=span.average(span.topics, "batchsize"),
            record_size_avg=record_size,
            records_per_request_avg=_ratio(records, span.of_requests("Produce")),
            record_queue_time_avg=span.average(span.brokers, "int_latency") / _MICROSECONDS,
            buffer_total_bytes=span.now["msg_size_max"],
            buffer_available_bytes=span.now["msg_size_max"] - span.now["msg_size"],
            compression_rate_avg=_ratio(
                span.average(span.topics, "batchsize"),
                span.average(span.topics, "batchcnt") * record_size,
            ),
        )

    def consumer_rates(self) -> ConsumerRates | None:
        """Return the rates of the last seconds; None until the client has told twice."""
        span = self._span()
        if span is None:
            return None
        records, fetches = span.grown("rxmsgs"), span.of_requests("Fetch")
        group = span.now.get("cgrp") or {}
        return ConsumerRates(
            records_consumed_rate=records / span.seconds,
            bytes_consumed_rate=span.grown("rxmsg_bytes") / span.seconds,
            incoming_byte_rate=span.grown("rx_bytes") / span.seconds,
            request_rate=span.grown("tx") / span.seconds,
            fetch_rate=fetches / span.seconds,
            fetch_latency_avg=span.average(span.brokers, "rtt") / _MICROSECONDS,
            fetch_latency_max=span.highest(span.brokers, "rtt") / _MICROSECONDS,
            fetch_size_avg=_ratio(span.grown("rxmsg_bytes"), fetches),
            records_per_request_avg=_ratio(records, fetches),
            record_size_avg=_ratio(span.grown("rxmsg_bytes"), records),
            records_lag_max=max((0, *span.lags())),
            assigned_partitions=group.get("assignment_size", 0),
            heartbeat_rate=_heartbeats(span) / span.seconds,
            commit_rate=span.of_requests("OffsetCommit") / span.seconds,
            join_rate=span.of_requests("JoinGroup") / span.seconds,
            sync_rate=span.of_requests("SyncGroup") / span.seconds,
            rebalances=group.get("rebalance_cnt", 0),
        )

    def named_rates(self) -> tuple[str, ProducerRates | ConsumerRates] | None:
        """Return the client's own name, such as `penstock#producer-1`, and its rates."""
        if self._last is None:
            return None
        told = json.loads(self._last[0])
        rates = self.producer_rates() if told["type"] == "producer" else self.consumer_rates()
        return None if rates is None else (told["name"], rates)

    def _span(self) -> _Span | None:
        last, before = self._last, self._before
        if last is None or before is None:
            return None
        return _Span(json.loads(before[0]), json.loads(last[0]), failed=last[1] - before[1])


_OPEN: WeakSet[Statistics] = WeakSet()
"""Of this process. Weak, as a client that is dropped without being closed is gone as well."""

_OPEN_LOCK = Lock()


def rates_of_open_clients() -> dict[str, ProducerRates | ConsumerRates]:
    """Return what each client of this process did lately; of a new one nothing is known yet.

    Those that tell: every `Producer` and `Consumer`, and what follows a `KafkaTable`.
    """
    with _OPEN_LOCK:
        known = list(_OPEN)
    named = (statistics.named_rates() for statistics in known)
    return dict(sorted(item for item in named if item is not None))


class _Span:
    """The time between two texts."""

    def __init__(self, before: dict[str, Any], now: dict[str, Any], *, failed: int) -> None:
        self.before, self.now, self.failed = before, now, failed
        self.seconds = max(1, now["ts"] - before["ts"]) / _MICROSECONDS
        self.brokers: list[dict[str, Any]] = list(now["brokers"].values())
        self.topics: list[dict[str, Any]] = list(now["topics"].values())

    def grown(self, name: str) -> int:
        return _integer(self.now[name]) - _integer(self.before[name])

    def of_brokers(self, name: str) -> int:
        return _sum_of(self.now, name) - _sum_of(self.before, name)

    def of_requests(self, kind: str) -> int:
        return _requests(self.now, kind) - _requests(self.before, kind)

    def average(self, windows: Iterable[Mapping[str, Any]], name: str) -> float:
        """Return the average of a window that each broker or topic has."""
        found = [window[name] for window in windows]
        return _ratio(sum(each["sum"] for each in found), sum(each["cnt"] for each in found))

    def highest(self, windows: Iterable[Mapping[str, Any]], name: str) -> float:
        """Return the highest value of a window that each broker or topic has."""
        return max((window[name]["max"] for window in windows), default=0.0)

    def lags(self) -> Iterable[int]:
        partitions = chain.from_iterable(topic["partitions"].values() for topic in self.topics)
        return (partition["consumer_lag"] for partition in partitions)


def _heartbeats(span: _Span) -> int:
    # The newer protocol has heartbeats of its own, which do all that joins and syncs did.
    return span.of_requests("Heartbeat") + span.of_requests("ConsumerGroupHeartbeat")


def _sum_of(told: Mapping[str, Any], name: str) -> int:
    return sum(_integer(broker[name]) for broker in told["brokers"].values())


def _requests(told: Mapping[str, Any], kind: str) -> int:
    return sum(broker["req"].get(kind, 0) for broker in told["brokers"].values())


def _integer(value: object) -> int:
    assert isinstance(value, int)  # noqa: S101 - of librdkafka's own format
    return value


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
