"""What pages show of brokers."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.monitoring.broker_measures import QUANTILES

if TYPE_CHECKING:
    from penstock.monitoring.broker_measures import RequestTimes
    from penstock.monitoring.brokers import BrokerFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLine:
    """One broker; what is not known is null."""

    broker: int
    address: str | None
    rack: str | None
    is_reachable: bool
    is_controller: bool | None
    leaders: int
    replicas: int
    under_replicated: int | None
    """Partitions that it leads and of which a follower is missing or behind."""

    under_min_isr: int | None
    bytes_in_per_second: float | None
    bytes_out_per_second: float | None
    records_in_per_second: float | None
    requests_per_second: float | None
    connections: int | None
    isr_shrinks: int | None
    isr_expands: int | None
    heap_bytes: float | None
    heap_limit_bytes: float | None
    disk_bytes: int | None
    disk_used: float | None
    fault: str | None
    """Why it tells no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesLine:
    """How long requests of one kind took, by part."""

    broker: int
    request: str
    quantile: str
    count: int
    """How many there were since the broker started."""

    seconds: Mapping[str, float]
    """By part: where the time went, and `total`."""


def broker_line(broker: BrokerFigures) -> BrokerLine:
    """Return what lists show of a broker."""
    found = broker.measured
    return BrokerLine(
        broker=broker.broker_id,
        address=None if broker.host is None else f"{broker.host}:{broker.port}",
        rack=broker.rack,
        is_reachable=broker.is_reachable,
        is_controller=broker.is_controller,
        leaders=broker.leader_count,
        replicas=broker.replica_count,
        under_replicated=found.under_replicated if found else None,
        under_min_isr=found.under_min_isr if found else None,
        bytes_in_per_second=found.bytes_in_per_second if found else None,
        bytes_out_per_second=found.bytes_out_per_second if found else None,
        records_in_per_second=found.records_in_per_second if found else None,
        requests_per_second=found.requests_per_second if found else None,
        connections=found.connections if found else None,
        isr_shrinks=found.isr_shrinks if found else None,
        isr_expands=found.isr_expands if found else None,
        heap_bytes=found.heap_bytes if found else None,
        heap_limit_bytes=found.heap_limit_bytes if found else None,
        disk_bytes=broker.disk_bytes,
        disk_used=broker.disk_used,
        fault=broker.fault,
    )


def times_lines(
    broker: BrokerFigures, quantiles: tuple[str, ...] = QUANTILES
) -> tuple[TimesLine, ...]:
    """Return where the time of requests went, of those kinds that there were."""
    every = broker.measured.request_times if broker.measured else ()
    return tuple(
        _times(broker, times, quantile) for times in every if times.count for quantile in quantiles
    )


def _times(broker: BrokerFigures, times: RequestTimes, quantile: str) -> TimesLine:
    return TimesLine(
        broker=broker.broker_id,
        request=times.request,
        quantile=quantile,
        count=times.count,
        seconds={
            part: by_quantile[quantile]
            for part, by_quantile in times.seconds.items()
            if quantile in by_quantile
        },
    )
