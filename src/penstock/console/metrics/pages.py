"""The explorer: any metric over any time frame, by its labels."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from penstock.console.frame import Page, Parameter
from penstock.console.frame.charts import Line
from penstock.console.metrics.endpoints import cluster_id
from penstock.console.metrics.reading import (
    Drawn,
    drawn_lines,
    query_of,
    shown_aggregator,
    shown_unit,
)
from penstock.errors import PenstockError
from penstock.monitoring.catalog import NOUNS, SERIES, MetricName, Unit
from penstock.monitoring.catalog.flows import INPUT_RATE
from penstock.monitoring.frames import DEFAULT_FRAME, FRAMES, frame_named
from penstock.monitoring.querying import Aggregator, QueryError, metric_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.console.frame import Ask
    from penstock.monitoring.frames import Frame

_WHERE = "where."
"""Before a label, in parameters that say what it must be."""

_EACH, _ALL = "each", "all"
_MOST_VALUES = 200
"""Of a label that can be chosen from a list; of more, one is typed."""

_MOST_LINES = 8
"""As many as there are colours."""

_MOST_ROWS = 100


_NOUNS = {
    noun: tuple(name for metric in metrics for name in metric.series)
    for noun, metrics in NOUNS.items()
    if metrics
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One label, and what it may be."""

    label: str
    chosen: str
    """Empty: anything."""

    values: tuple[str, ...]
    """Empty when there are too many to choose from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLink:
    """A time frame, and where the same graph is over it."""

    title: str
    url: str
    is_shown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """A metric over a time frame."""

    metric: MetricName
    kind: str
    unit: Unit
    """Of the values that are shown: growth per second of what only grows."""

    meaning: str
    frame: str
    frames: tuple[FrameLink, ...]
    since: datetime
    until: datetime
    aggregator: Aggregator
    by: str
    """`each` series has a line, `all` share one, or each value of this label has one."""

    choices: tuple[Choice, ...]
    lines: tuple[Drawn, ...]
    """The highest ones."""

    line_count: int
    refusal: str | None
    """Why there are no lines."""

    query: dict[str, Any]
    """What `/metrics/query` answers with the same values."""

    nouns: dict[str, tuple[MetricName, ...]]
    """What can be chosen: the names of all series, by what they are about."""

    @property
    def title(self) -> str:
        """What the graph shows."""
        return f"{self.metric}, {self.aggregator.value.lower()}"

    @property
    def drawn(self) -> Sequence[Line]:
        """The lines that the graph has room for."""
        return [Line(name=line.name, points=line.points) for line in self.lines[:_MOST_LINES]]

    @property
    def lines_left_out(self) -> int:
        """How many lines are in the table but not in the graph."""
        return max(0, self.line_count - _MOST_LINES)


def load(ask: Ask) -> Explorer:
    """Return the graph that the address describes.

    Raises:
        QueryError: there is no such metric, aggregation or label.
    """
    metric = metric_named(ask.query.get("metric") or INPUT_RATE.name)
    entry = SERIES[metric]
    labels = entry.series[metric]
    frame = frame_named(ask.query.get("frame", "")) or DEFAULT_FRAME
    aggregator = _aggregator(ask.query.get("agg"), metric)
    by = ask.query.get("by") or _EACH
    if by not in (_EACH, _ALL, *labels):
        by = _EACH
    where = {label: ask.query[_WHERE + label] for label in labels if ask.query.get(_WHERE + label)}
    grouped = {_EACH: labels, _ALL: ()}.get(by, (by,))
    query = query_of(metric, aggregator, frame, where=where, by=grouped)
    lines, refusal = _lines(ask, query, frame)
    return Explorer(
        metric=metric,
        kind=entry.kind,
        unit=shown_unit(metric, aggregator),
        meaning=entry.meaning,
        frame=frame.name,
        frames=tuple(
            FrameLink(title=each.title, url=_at_frame(ask, each.name), is_shown=each is frame)
            for each in FRAMES
        ),
        since=ask.at - frame.length,
        until=ask.at,
        aggregator=aggregator,
        by=by,
        choices=tuple(_choice(ask, metric, label, where.get(label, "")) for label in labels),
        lines=lines[:_MOST_ROWS],
        line_count=len(lines),
        refusal=refusal,
        query=query,
        nouns=_NOUNS,
    )


def _lines(
    ask: Ask, query: Mapping[str, Any], frame: Frame
) -> tuple[tuple[Drawn, ...], str | None]:
    try:
        lines = drawn_lines(
            query, frame, ask.world.history, cluster=cluster_id(ask.world), now=ask.at
        )
    except PenstockError as error:
        return (), error.message
    return lines, None


def _aggregator(asked: str | None, metric: MetricName) -> Aggregator:
    if not asked:
        return shown_aggregator(metric)
    try:
        return Aggregator(asked)
    except ValueError as err:
        known = ", ".join(f"`{each}`" for each in Aggregator)
        reason = f"`{asked}` is none of {known}"
        raise QueryError(reason) from err


def _choice(ask: Ask, metric: MetricName, label: str, chosen: str) -> Choice:
    found = {dict(labels)[label] for labels in ask.world.history.labels(metric)}
    values = tuple(sorted(found)) if len(found) <= _MOST_VALUES else ()
    return Choice(label=label, chosen=chosen, values=values)


def _at_frame(ask: Ask, frame: str) -> str:
    return "?" + urlencode({**ask.query, "frame": frame})


def curl(ask: Ask, model: Explorer) -> str:
    """Return the command that asks for the same values."""
    return shlex.join(
        [
            "curl",
            f"{ask.origin}/metrics/query",
            "-H",
            "Content-Type: application/json",
            "-d",
            json.dumps(model.query),
        ]
    )


EXPLORER = Page(
    path="/explorer",
    name="explore_metrics",
    summary="Any metric over a time frame, by its labels.",
    template="metrics/explorer.html",
    model=Explorer,
    load=load,
    title=lambda model: str(model.metric),
    command=curl,
    parameters=(
        Parameter(name="metric", meaning="the name of a metric"),
        Parameter(name="frame", meaning="10m, 1h, 3h, 6h, 24h or 7d"),
        Parameter(name="agg", meaning="SUM, RATE, AVG, MIN or MAX"),
        Parameter(name="by", meaning="`each`, `all`, or the label whose values have lines"),
        Parameter(name="where.LABEL", meaning="what a label must be"),
    ),
    live=("graph", "table"),
    menu="Metrics",
)
