"""The dashboard for Grafana, made from metrics of the catalog: names, meanings and units are its.

`metrics.py` writes it; what is on it stands in `ROWS`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.monitoring.catalog import (
    Metric,
    MetricKind,
    Unit,
    brokers,
    flows,
    groups,
    hosts,
    topics,
)
from penstock.monitoring.catalog import service_levels as levels

VARIABLES = ("pipeline", "group", "broker", "topic", "host")
"""Labels that are chosen at the top of the dashboard."""

MOST_LINES = 12
"""Of labels with thousands of values."""

_CROWDED = ("group", "topic")
_WIDTH, _HEIGHT, _PER_ROW = 8, 7, 3

_UNITS: Mapping[Unit, str] = {
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "Bps",
    Unit.SECONDS: "s",
    Unit.RATIO: "percentunit",
    Unit.RECORDS_PER_SECOND: "cps",
    Unit.PER_SECOND: "cps",
}
_RATES: Mapping[Unit, str] = {Unit.BYTES: "Bps"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One graph: metrics of one unit, each a query."""

    title: str
    metrics: Sequence[Metric]
    quantiles: Sequence[float] = ()
    """Of a histogram."""

    where: Mapping[str, str] = field(default_factory=dict)
    least_first: bool = False
    """Whether the lowest values are the most urgent ones, where not all fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Graphs that belong together, under a heading."""

    title: str
    panels: Sequence[Panel]


ROWS = (
    Row(
        title="Pipelines",
        panels=(
            Panel(title="Read", metrics=(flows.INPUT_RECORDS,)),
            Panel(title="Written", metrics=(flows.OUTPUT_RECORDS,)),
            Panel(title="Lag", metrics=(flows.FLOW_LAG,)),
            Panel(title="Age of the oldest unread record", metrics=(flows.FLOW_LAG_SECONDS,)),
            Panel(
                title="From a record's timestamp to its commit",
                metrics=(flows.LATENCY,),
                quantiles=(0.5, 0.95, 0.99),
            ),
            Panel(title="Batches by phase", metrics=(flows.PHASE_SECONDS,)),
            Panel(title="State", metrics=(flows.STATE_ROWS,)),
            Panel(title="Watermark behind the clock", metrics=(flows.WATERMARK_DELAY,)),
            Panel(
                title="Lost to the output",
                metrics=(flows.UNDECODABLE, flows.DEAD_LETTERS, flows.LATE),
            ),
            Panel(title="Restarts", metrics=(flows.RESTARTS,)),
            Panel(title="Service levels: kept", metrics=(levels.COMPLIANCE,)),
            Panel(title="Service levels: budget left", metrics=(levels.BUDGET_LEFT,)),
        ),
    ),
    Row(
        title="Consumer groups",
        panels=(
            Panel(title="Lag", metrics=(groups.GROUP_SUM_LAG,)),
            Panel(title="Age of the oldest unread record", metrics=(groups.GROUP_MAX_LAG_SECONDS,)),
            Panel(
                title="Time to data loss", metrics=(groups.GROUP_TIME_TO_LOSS,), least_first=True
            ),
        ),
    ),
    Row(
        title="Cluster and brokers",
        panels=(
            Panel(
                title="Partitions in trouble",
                metrics=(brokers.CLUSTER_UNDER_REPLICATED, brokers.CLUSTER_OFFLINE),
            ),
            Panel(title="Active controllers", metrics=(brokers.CLUSTER_CONTROLLERS,)),
            Panel(title="ISR shrinks", metrics=(brokers.BROKER_ISR_SHRINKS,)),
            Panel(title="Bytes in", metrics=(brokers.BROKER_BYTES_IN,)),
            Panel(title="Bytes out", metrics=(brokers.BROKER_BYTES_OUT,)),
            Panel(title="Records in", metrics=(brokers.BROKER_RECORDS_IN,)),
            Panel(
                title="Request times by part, 99 %",
                metrics=(brokers.BROKER_REQUEST_SECONDS,),
                where={"quantile": "0.99"},
            ),
            Panel(title="Leaders", metrics=(brokers.BROKER_LEADERS,)),
            Panel(title="Disk in use", metrics=(brokers.BROKER_DISK_USED,)),
        ),
    ),
    Row(
        title="Topics",
        panels=(
            Panel(title="Records in", metrics=(topics.TOPIC_RECORDS,)),
            Panel(title="Size", metrics=(topics.TOPIC_BYTES,)),
            Panel(title="Hot partitions", metrics=(topics.TOPIC_HOT,)),
        ),
    ),
    Row(
        title="Hosts",
        panels=(
            Panel(title="Processors", metrics=(hosts.HOST_CPU,)),
            Panel(title="Memory available", metrics=(hosts.HOST_MEMORY_AVAILABLE,)),
            Panel(title="Disk in use", metrics=(hosts.HOST_DISK_USED,)),
        ),
    ),
)


def dashboard() -> str:
    """Return the dashboard as Grafana imports it."""
    return (
        json.dumps(
            {
                "title": "Penstock",
                "uid": "penstock",
                "tags": ["kafka", "spark", "penstock"],
                "schemaVersion": 39,
                "editable": True,
                "refresh": "30s",
                "time": {"from": "now-1h", "to": "now"},
                "templating": {"list": [_datasource(), *(_variable(label) for label in VARIABLES)]},
                "panels": list(_panels()),
            },
            indent=1,
        )
        + "\n"
    )


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for row in ROWS:
        number += 1
        place = {"x": 0, "y": top, "w": _WIDTH * _PER_ROW, "h": 1}
        yield {"id": number, "type": "row", "title": row.title, "gridPos": place, "panels": []}
        top += 1
        for index, panel in enumerate(row.panels):
            number += 1
            place = {
                "x": index % _PER_ROW * _WIDTH,
                "y": top + index // _PER_ROW * _HEIGHT,
                "w": _WIDTH,
                "h": _HEIGHT,
            }
            yield {"id": number, "gridPos": place, **_graph(panel)}
        top += -(-len(row.panels) // _PER_ROW) * _HEIGHT


def _graph(panel: Panel) -> dict[str, Any]:
    first = panel.metrics[0]
    unit = _UNITS.get(first.unit, "short")
    if first.kind is MetricKind.COUNTER:
        unit = _RATES.get(first.unit, "cps")
    targets = [
        {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
        for index, (expression, legend) in enumerate(_queries(panel))
    ]
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": " ".join(dict.fromkeys(metric.meaning for metric in panel.metrics)),
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": targets,
    }


def _queries(panel: Panel) -> Iterator[tuple[str, str]]:
    for metric in panel.metrics:
        chosen = [f'{label}=~"${label}"' for label in metric.labels if label in VARIABLES]
        fixed = [f'{label}="{value}"' for label, value in panel.where.items()]
        inside = "{" + ",".join([*chosen, *fixed]) + "}" if chosen or fixed else ""
        shown = [label for label in metric.labels if label not in panel.where]
        legend = " ".join(f"{{{{{label}}}}}" for label in shown)
        if metric.kind is MetricKind.HISTOGRAM:
            by = ", ".join([*metric.labels, "le"])
            for share in panel.quantiles:
                rate = f"sum by ({by}) (rate({metric.name}_bucket{inside}[$__rate_interval]))"
                yield f"histogram_quantile({share:g}, {rate})", f"{legend} {share * 100:g} %"
            continue
        expression = f"{metric.name}{inside}"
        if metric.kind is MetricKind.COUNTER:
            expression = f"rate({expression}[$__rate_interval])"
        if any(label in _CROWDED for label in metric.labels):
            chooser = "bottomk" if panel.least_first else "topk"
            expression = f"{chooser}({MOST_LINES}, {expression})"
        name = metric.name.removeprefix("penstock_").removesuffix("_total")
        yield expression, legend if len(panel.metrics) == 1 else f"{name} {legend}".strip()


def _datasource() -> dict[str, Any]:
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
    }


def _variable(label: str) -> dict[str, Any]:
    query = f"label_values({_first_with(label).name}, {label})"
    return {
        "name": label,
        "label": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": {"query": query, "refId": label},
        "definition": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _first_with(label: str) -> Metric:
    """Return the metric of the dashboard that has a label and the fewest others."""
    found = [
        metric
        for row in ROWS
        for panel in row.panels
        for metric in panel.metrics
        if label in metric.labels and metric.kind is not MetricKind.HISTOGRAM
    ]
    return min(found, key=lambda metric: len(metric.labels))
