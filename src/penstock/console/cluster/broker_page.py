"""The page of one broker: what it measures of itself, over time, and its log directories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.cluster.lines import BrokerLine, TimesLine, broker_line, times_lines
from penstock.console.errors import NotFoundError
from penstock.console.frame import Page
from penstock.console.frame.past import FRAME, HistoryGraph, Wanted, frame_of, graphs
from penstock.kafka import UnknownBrokerError
from penstock.monitoring.broker_measures import PARTS
from penstock.monitoring.catalog import brokers as catalog
from penstock.monitoring.findings import of_broker

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.kafka import LogDirectory
    from penstock.monitoring.brokers import BrokerFigures

_GRAPHS = (
    Wanted(
        "Traffic", ((catalog.BROKER_BYTES_IN_RATE, "in"), (catalog.BROKER_BYTES_OUT_RATE, "out"))
    ),
    Wanted("Records in", ((catalog.BROKER_RECORDS_IN_RATE, "records"),)),
    Wanted("Partitions", ((catalog.BROKER_LEADERS, "led"), (catalog.BROKER_PARTITIONS, "held"))),
    Wanted(
        "Partitions in danger",
        (
            (catalog.BROKER_UNDER_REPLICATED, "under-replicated"),
            (catalog.BROKER_UNDER_MIN_ISR, "under min ISR"),
        ),
    ),
    Wanted("Connections", ((catalog.BROKER_CONNECTIONS, "open"),)),
    Wanted("Java heap", ((catalog.BROKER_HEAP, "used"), (catalog.BROKER_HEAP_LIMIT, "limit"))),
    Wanted("Space on disk", ((catalog.BROKER_DISK_BYTES, "replicas"),)),
)
_TIMES = tuple(
    Wanted(f"99 % of {request} requests", ((catalog.BROKER_REQUEST_SECONDS, "{part}"),))
    for request in ("Produce", "FetchConsumer")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryLine:
    """A folder in which the broker keeps replicas."""

    path: str
    replicas: int
    used_bytes: int
    total_bytes: int | None
    usable_bytes: int | None
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPage:
    """Everything that is known of one broker."""

    at: datetime
    broker: BrokerLine
    findings: tuple[str, ...]
    times: tuple[TimesLine, ...]
    parts: tuple[str, ...]
    authentications: int | None
    at_min_isr: int | None
    preferred_imbalance: int | None
    log_flushes: int | None
    log_flush_seconds: dict[str, float]
    """By quantile."""

    directories: tuple[DirectoryLine, ...]
    frame: str
    graphs: tuple[HistoryGraph, ...]


def load(ask: Ask) -> BrokerPage:
    """Return the broker as of the last look.

    Raises:
        UnknownBrokerError: there is none of that number.
    """
    figures = figures_of(ask)
    found = figures.measured
    number = str(figures.broker_id)
    return BrokerPage(
        at=ask.at,
        broker=broker_line(figures),
        findings=tuple(item.what for item in of_broker(figures)),
        times=times_lines(figures),
        parts=tuple(PARTS),
        authentications=found.authentications if found else None,
        at_min_isr=found.at_min_isr if found else None,
        preferred_imbalance=found.preferred_imbalance if found else None,
        log_flushes=found.log_flushes if found else None,
        log_flush_seconds=dict(found.log_flush_seconds) if found else {},
        directories=tuple(_directory(item) for item in figures.directories or ()),
        frame=frame_of(ask).name,
        graphs=(
            *graphs(ask, _GRAPHS, {"broker": number}),
            *(
                graph
                for wanted, request in zip(_TIMES, ("Produce", "FetchConsumer"), strict=True)
                for graph in graphs(
                    ask, (wanted,), {"broker": number, "request": request, "quantile": "0.99"}
                )
            ),
        ),
    )


def figures_of(ask: Ask) -> BrokerFigures:
    """Return what was sampled of the broker that the address names.

    Raises:
        UnknownBrokerError, NotFoundError: there is none.
    """
    snapshot = ask.world.brokers.snapshot()
    known = {str(item.broker_id): item for item in (snapshot.brokers if snapshot else ())}
    asked = ask.path["broker"]
    if asked in known:
        return known[asked]
    if not asked.isdecimal():
        raise NotFoundError(ask.url)
    raise UnknownBrokerError(int(asked), known=[item.broker_id for item in known.values()])


def _directory(item: LogDirectory) -> DirectoryLine:
    return DirectoryLine(
        path=item.path,
        replicas=len(item.replicas),
        used_bytes=item.used_bytes,
        total_bytes=item.total_bytes,
        usable_bytes=item.usable_bytes,
        failed=item.failed,
    )


BROKER = Page(
    path="/cluster/brokers/{broker}",
    name="show_broker",
    summary="One broker: rates, request times by part, log directories, and all of it over time.",
    template="cluster/broker.html",
    model=BrokerPage,
    load=load,
    title=lambda model: f"Broker {model.broker.broker}",
    command=lambda _ask, _model: "penstock cluster describe",
    parameters=(FRAME,),
    live=("findings", "figures", "graphs", "times", "directories"),
    menu="Cluster",
)
