"""What a producer counts: records, bytes, and how long acknowledgements take."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.producer.errors import DeliveriesFailedError

if TYPE_CHECKING:
    from penstock.kafka.client_figures import ProducerRates
    from penstock.kafka.producer.errors import DeliveryError

# A bucket is 2^(1/8) wide, about 9 %: fine enough for percentiles, and 240 integers span 10 µs
# to three hours.
_SMALLEST_SECONDS = 1e-5
_BUCKETS_PER_DOUBLING = 8
_BUCKET_COUNT = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long records took from being sent to being acknowledged, in seconds."""

    p50: float
    p95: float
    p99: float
    maximum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMetrics:
    """Counts since the producer was opened.

    `latency` is None until a record has been acknowledged; its percentiles are within 9 %.
    `spooled` counts the records on disk that are not acknowledged yet.
    """

    sent: int
    delivered: int
    failed: int
    sent_bytes: int
    spooled: int
    latency: Latency | None
    rates: ProducerRates | None
    """What it did in the last seconds; None in its first ten."""

    @property
    def in_flight(self) -> int:
        """Records whose fate is not known yet."""
        return self.sent - self.delivered - self.failed

    @property
    def average_record_bytes(self) -> float:
        """Mean size of key, value and headers of the records sent."""
        return self.sent_bytes / self.sent if self.sent else 0.0


class LatencyHistogram:
    """Counts latencies in buckets of growing width, so that its size does not grow with use.

    Only one thread may add; others may read at any time.
    """

    def __init__(self) -> None:
        self._counts = [0] * _BUCKET_COUNT
        self._maximum = 0.0

    def add(self, seconds: float) -> None:
        """Count one record that took `seconds`."""
        # Called for every record: comparisons instead of `min` and `max`.
        ratio = seconds / _SMALLEST_SECONDS
        index = int(math.log2(ratio) * _BUCKETS_PER_DOUBLING) if ratio > 1 else 0
        self._counts[index if index < _BUCKET_COUNT else -1] += 1
        if seconds > self._maximum:
            self._maximum = seconds

    def summary(self) -> Latency | None:
        """Return the percentiles so far, or None when nothing was counted."""
        counts = list(self._counts)
        if not any(counts):
            return None
        p50, p95, p99 = (self._percentile(counts, share) for share in (0.50, 0.95, 0.99))
        return Latency(p50=p50, p95=p95, p99=p99, maximum=self._maximum)

    def _percentile(self, counts: list[int], share: float) -> float:
        wanted = share * sum(counts)
        seen = 0
        for index, count in enumerate(counts):
            seen += count
            if seen >= wanted and count:
                upper = _SMALLEST_SECONDS * 2 ** ((index + 1) / _BUCKETS_PER_DOUBLING)
                return min(upper, self._maximum)
        return self._maximum


class Tally:
    """The running counts behind `ProducerMetrics`, and the failures nobody has been told of.

    A failed record is told to its `on_delivery` or to the waiting `send_and_wait`; one without
    either is kept here until `flush` or `close` raises it.
    """

    def __init__(self, *, sent: int) -> None:
        self._lock = threading.Lock()
        self._latency = LatencyHistogram()
        self._sent = sent
        self._sent_bytes = self._delivered = self._failed = self._unseen = 0
        self._first_unseen: DeliveryError | None = None

    @property
    def in_flight(self) -> int:
        """Records whose fate is not known yet."""
        with self._lock:
            return self._sent - self._delivered - self._failed

    def count_sent(self, byte_count: int) -> None:
        """Count a record that is being handed over."""
        with self._lock:
            self._sent += 1
            self._sent_bytes += byte_count

    def uncount_sent(self, byte_count: int) -> None:
        """Take back the count of a record that was not accepted."""
        with self._lock:
            self._sent -= 1
            self._sent_bytes -= byte_count

    def count_delivered(self, latency_seconds: float) -> None:
        """Count a record that was acknowledged; only the pump's thread may call this."""
        self._latency.add(latency_seconds)
        self._delivered += 1

    def count_failed(self, error: DeliveryError, *, told: bool) -> None:
        """Count a record that failed; `told` when its sender learns of it otherwise."""
        with self._lock:
            self._failed += 1
            if not told:
                self._unseen += 1
                self._first_unseen = self._first_unseen or error

    def take_unseen(self) -> DeliveriesFailedError | None:
        """Return the failures that nobody was told of, once."""
        with self._lock:
            count, first = self._unseen, self._first_unseen
            self._unseen, self._first_unseen = 0, None
        return DeliveriesFailedError(failed=count, first=first) if first else None

    def failed_count(self) -> int:
        """Return how many records were given up."""
        with self._lock:
            return self._failed

    def metrics(self, *, spooled: int, rates: ProducerRates | None) -> ProducerMetrics:
        """Return the counts as they are now."""
        with self._lock:
            return ProducerMetrics(
                sent=self._sent,
                delivered=self._delivered,
                failed=self._failed,
                sent_bytes=self._sent_bytes,
                spooled=spooled,
                latency=self._latency.summary(),
                rates=rates,
            )
