"""What one broker measures of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.monitoring.exporters import Shown

QUANTILES = ("0.5", "0.95", "0.99")

REQUESTS = ("Produce", "Fetch", "FetchConsumer")
"""Requests whose times are told: `Fetch` is of followers and consumers, the last of consumers."""

_PARTS_OF_FETCH = frozenset({"FetchConsumer", "FetchFollower"})
"""Brokers count these as `Fetch` as well: beside it, sums would have them twice."""

PARTS = {
    "request_queue": "requestqueuetimems",
    "local": "localtimems",
    "remote": "remotetimems",
    "throttle": "throttletimems",
    "response_queue": "responsequeuetimems",
    "response_send": "responsesendtimems",
    "total": "totaltimems",
}
"""The parts of a request's time in their order, the sum last, and what exporters call them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTimes:
    """How long requests of one kind took, since the broker started; newer ones count more."""

    request: str
    count: int
    seconds: Mapping[str, Mapping[str, float]]
    """By part and by quantile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerMeasures:
    """One look at a broker's exporter; None is what it does not show."""

    active_controller: bool | None
    under_replicated: int | None
    under_min_isr: int | None
    at_min_isr: int | None
    offline_replicas: int | None
    offline_partitions: int | None
    preferred_imbalance: int | None
    bytes_in: float | None
    bytes_out: float | None
    records_in: float | None
    isr_shrinks: int | None
    isr_expands: int | None
    connections: int | None
    authentications: int | None
    requests: Mapping[str, float]
    """How many requests of each kind there were since it started; `Fetch` is of all who fetch."""

    request_times: tuple[RequestTimes, ...]
    log_flushes: int | None
    log_flush_seconds: Mapping[str, float]
    heap_bytes: float | None
    heap_limit_bytes: float | None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    records_in_per_second: float | None = None
    requests_per_second: float | None = None

    @property
    def request_count(self) -> float | None:
        """How many requests there were of all kinds."""
        return sum(self.requests.values()) if self.requests else None

    def since(self, before: BrokerMeasures, *, seconds: float) -> BrokerMeasures:
        """Return these measures with what came per second since those of `before`."""

        def rate(now: float | None, then: float | None) -> float | None:
            if now is None or then is None or seconds <= 0 or now < then:  # it has started anew
                return None
            return (now - then) / seconds

        return replace(
            self,
            bytes_in_per_second=rate(self.bytes_in, before.bytes_in),
            bytes_out_per_second=rate(self.bytes_out, before.bytes_out),
            records_in_per_second=rate(self.records_in, before.records_in),
            requests_per_second=rate(self.request_count, before.request_count),
        )


def measures(shown: Shown) -> BrokerMeasures:
    """Return what an exporter's names mean."""
    replicas, controller = "kafka_server_replicamanager_", "kafka_controller_kafkacontroller_"
    traffic, sockets = "kafka_server_brokertopicmetrics_", "kafka_server_socketservermetrics_"
    flushes = "kafka_log_logflushstats_logflushrateandtimems"
    is_controller = shown.value(f"{controller}activecontrollercount")
    return BrokerMeasures(
        active_controller=None if is_controller is None else is_controller > 0,
        under_replicated=shown.count(f"{replicas}underreplicatedpartitions"),
        under_min_isr=shown.count(f"{replicas}underminisrpartitioncount"),
        at_min_isr=shown.count(f"{replicas}atminisrpartitioncount"),
        offline_replicas=shown.count(f"{replicas}offlinereplicacount"),
        offline_partitions=shown.count(f"{controller}offlinepartitionscount"),
        preferred_imbalance=shown.count(f"{controller}preferredreplicaimbalancecount"),
        bytes_in=shown.total(f"{traffic}bytesin"),
        bytes_out=shown.total(f"{traffic}bytesout"),
        records_in=shown.total(f"{traffic}messagesin"),
        isr_shrinks=shown.count(f"{replicas}isrshrinks"),
        isr_expands=shown.count(f"{replicas}isrexpands"),
        connections=shown.count(f"{sockets}connection_count"),
        authentications=shown.count(f"{sockets}successful_authentication"),
        requests={
            request: count
            for request, count in shown.by(
                "request", "kafka_network_requestmetrics_requests"
            ).items()
            if request not in _PARTS_OF_FETCH
        },
        request_times=tuple(_request_times(shown, request) for request in REQUESTS),
        log_flushes=shown.count(f"{flushes}_count"),
        log_flush_seconds=_seconds(shown.by("quantile", flushes)),
        # The first is the name since version 1 of the exporter.
        heap_bytes=_either(shown, "jvm_memory_used_bytes", "jvm_memory_bytes_used"),
        heap_limit_bytes=_either(shown, "jvm_memory_max_bytes", "jvm_memory_bytes_max"),
    )


def _request_times(shown: Shown, request: str) -> RequestTimes:
    prefix = "kafka_network_requestmetrics_"
    return RequestTimes(
        request=request,
        count=shown.count(f"{prefix}totaltimems_count", request=request) or 0,
        seconds={
            part: _seconds(shown.by("quantile", prefix + name, request=request))
            for part, name in PARTS.items()
        },
    )


def _seconds(milliseconds: Mapping[str, float]) -> dict[str, float]:
    """Return the quantiles that we tell: exporters write `0.50`, and more of them."""
    by_number = {f"{float(quantile):g}": value / 1000 for quantile, value in milliseconds.items()}
    return {quantile: by_number[quantile] for quantile in QUANTILES if quantile in by_number}


def _either(shown: Shown, *names: str) -> float | None:
    found = (shown.value(name, area="heap") for name in names)
    return next((value for value in found if value is not None), None)
