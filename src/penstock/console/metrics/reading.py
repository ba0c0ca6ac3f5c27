"""What the explorer reads: a query of the query API, and its answer as lines of a graph."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.monitoring.catalog import SERIES, MetricName, Unit
from penstock.monitoring.querying import (
    LABEL_PREFIX,
    Aggregator,
    evaluated,
    parsed_question,
    usual_aggregator,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.monitoring.frames import Frame
    from penstock.monitoring.history import History

REFRESH_SECONDS = 10
"""How often the history has something new."""

MOST_POINTS = 50_000
"""That one graph is made from: a fraction of a second of work, each time that it is drawn."""

_MOST_ROWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One line of a graph, with a point for each step of the frame; None where nothing is known."""

    labels: Mapping[str, str]
    """What its series have in common; empty when it is all of them."""

    points: tuple[tuple[datetime, float | None], ...]
    now: float | None
    mean: float
    lowest: float
    highest: float

    @property
    def name(self) -> str:
        """The labels as people read them."""
        return ", ".join(f"{label} {value}" for label, value in self.labels.items()) or "all"


def shown_aggregator(metric: MetricName) -> Aggregator:
    """Return what a graph shows when nobody has said it: of counts how fast they grow."""
    return Aggregator.RATE if SERIES[metric].grows else usual_aggregator(metric)


def shown_unit(metric: MetricName, aggregator: Aggregator) -> Unit:
    """Return the unit of what a graph shows."""
    entry = SERIES[metric]
    is_count = metric.endswith(("_bucket", "_count")) and metric != entry.name
    unit = Unit.COUNT if is_count else entry.unit
    return unit.per_second if aggregator is Aggregator.RATE else unit


def query_of(
    metric: MetricName,
    aggregator: Aggregator,
    frame: Frame,
    *,
    where: Mapping[str, str],
    by: Sequence[str],
) -> dict[str, Any]:
    """Return the query whose answer a graph shows."""
    conditions = [
        {"field": LABEL_PREFIX + label, "op": "EQ", "value": value}
        for label, value in sorted(where.items())
    ]
    query: dict[str, Any] = {"aggregations": [{"metric": metric, "agg": aggregator.value}]}
    if conditions:
        query["filter"] = {"op": "AND", "filters": conditions}
    return {
        **query,
        "granularity": frame.granularity,
        "intervals": [frame.interval],
        "group_by": [LABEL_PREFIX + label for label in by],
        "limit": _MOST_ROWS,
    }


def drawn_lines(
    query: Mapping[str, Any], frame: Frame, history: History, *, cluster: str, now: datetime
) -> tuple[Drawn, ...]:
    """Return the lines of a graph, the highest ones first.

    Raises:
        QueryError: they would be made from too many points.
        PenstockError: the history cannot be read.
    """
    until = int(now.timestamp()) // REFRESH_SECONDS * REFRESH_SECONDS
    return _lines(json.dumps(query), frame, history, cluster, until)


@lru_cache(maxsize=64)
def _lines(
    query: str, frame: Frame, history: History, cluster: str, until: int
) -> tuple[Drawn, ...]:
    """Return the lines; pages are drawn again each second, the history changes each ten."""
    now = datetime.fromtimestamp(until, UTC)
    question = parsed_question(query.encode(), now=now)
    values = evaluated(question, history, cluster_id=cluster, most_points=MOST_POINTS)
    labels = [name.removeprefix(LABEL_PREFIX) for name in question.group_by]
    by_group: dict[tuple[str, ...], dict[datetime, float]] = {}
    for (at, group), value in values.items():
        by_group.setdefault(group, {})[at] = value
    steps = _steps(frame, now)
    lines = [
        _drawn(dict(zip(labels, group, strict=True)), steps, points)
        for group, points in by_group.items()
    ]
    return tuple(sorted(lines, key=lambda line: (-line.highest, line.name)))


def _drawn(
    labels: Mapping[str, str], steps: Sequence[datetime], points: Mapping[datetime, float]
) -> Drawn:
    values = list(points.values())
    return Drawn(
        labels=labels,
        points=tuple((at, points.get(at)) for at in steps),
        now=points[max(points)] if max(points) >= steps[-2] else None,
        mean=sum(values) / len(values),
        lowest=min(values),
        highest=max(values),
    )


def _steps(frame: Frame, now: datetime) -> list[datetime]:
    seconds = frame.step.total_seconds()
    first = int((now - frame.length).timestamp() // seconds) * seconds
    count = int((now.timestamp() - first) // seconds) + 1
    begin = datetime.fromtimestamp(first, UTC)
    return [begin + timedelta(seconds=seconds * number) for number in range(count)]
