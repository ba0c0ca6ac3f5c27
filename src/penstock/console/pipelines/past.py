"""How flows did: lines from the history that the console keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.console.frame.past import SHORTEST, HistoryGraph, HistoryPoint, Wanted, graphs
from penstock.monitoring.catalog import flows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from penstock.console.frame import Ask

_OF_A_FLOW = (
    Wanted("Rates", ((flows.INPUT_RATE, "reads"), (flows.OUTPUT_RATE, "writes"))),
    Wanted("What it could read", ((flows.PROCESSED_RATE, "records in a batch by its time"),)),
    Wanted("Batch by phase", ((flows.PHASE_SECONDS, "{phase}"),), kind="stacked"),
    Wanted("Watermark behind the clock", ((flows.WATERMARK_DELAY, "watermark"),)),
    Wanted("Latency from timestamp to commit", ((flows.LATENCY_QUANTILE, "{quantile}"),)),
    Wanted("Lag", ((flows.FLOW_LAG, "records"), (flows.FLOW_HELD, "behind a transaction"))),
    Wanted(
        "Undecodable and late",
        ((flows.UNDECODABLE, "undecodable"), (flows.LATE, "late")),
        is_rare=True,
    ),
    Wanted("State in memory", ((flows.STATE_BYTES, "memory"),), is_rare=True),
    Wanted("Rows of state", ((flows.STATE_ROWS, "rows"),), is_rare=True),
)


def graphs_of_flow(ask: Ask, labels: Mapping[str, str]) -> tuple[HistoryGraph, ...]:
    """Return the graphs of one flow; those without any point are left out."""
    return graphs(ask, _OF_A_FLOW, labels)


def input_rates(ask: Ask, pipelines: Iterable[str]) -> dict[str, tuple[HistoryPoint, ...]]:
    """Return what each pipeline has read per second in the last minutes, all flows together."""
    shown = frozenset(pipelines)
    found = ask.world.history.series(
        flows.INPUT_RATE.name,
        lambda labels: labels["pipeline"] in shown,
        since=ask.at - SHORTEST.length,
        until=ask.at,
        step=SHORTEST.step,
    )
    sums: dict[str, dict[datetime, float]] = {}
    for series in found:
        of_pipeline = sums.setdefault(series.label["pipeline"], {})
        for point in series.points:
            of_pipeline[point.at] = of_pipeline.get(point.at, 0.0) + point.value
    return {name: tuple(sorted(points.items())) for name, points in sums.items()}
