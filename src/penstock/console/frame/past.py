"""How something did: graphs from the history that the console keeps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from penstock.console.frame.pages import Parameter
from penstock.monitoring.catalog import Metric, Unit  # noqa: TC001 - pydantic reads the fields' types
from penstock.monitoring.frames import FRAMES, Frame, frame_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.console.frame.asking import Ask


HistoryPoint = tuple[datetime, float | None]

FRAME = Parameter(
    name="frame", meaning=f"how far graphs go back: {', '.join(frame.name for frame in FRAMES)}"
)
SHORTEST = FRAMES[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One line of a graph."""

    name: str
    points: tuple[HistoryPoint, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryGraph:
    """Lines over the same time."""

    title: str
    unit: Unit
    kind: Literal["lines", "stacked"]
    since: datetime
    until: datetime
    lines: tuple[HistoryLine, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A graph to be drawn."""

    title: str
    metrics: tuple[tuple[Metric, str], ...]
    """Each with the name of its line, or the label that names its lines in braces."""

    kind: Literal["lines", "stacked"] = "lines"
    is_rare: bool = False
    """Whether most have none of it, so that a graph of zeros is left out."""

    @property
    def unit(self) -> Unit:
        """The unit of its lines: a count is drawn as its growth per second."""
        metric = self.metrics[0][0]
        return metric.unit.per_second if metric.grows else metric.unit


# `triggerExecution` is the sum of the other phases of a batch.
_LEFT_OUT = frozenset({"triggerExecution"})
_MOST_LINES = 8


def frame_of(ask: Ask) -> Frame:
    """Return the time that graphs show: the shortest, unless the query asks for another."""
    return frame_named(ask.query.get("frame", "")) or SHORTEST


def recent(at: datetime) -> tuple[datetime, datetime]:
    """Return the time of small lines: the shortest one, up to the last step that has begun.

    In between they look the same, so that a page does not change for them alone.
    """
    step = SHORTEST.step.total_seconds()
    until = datetime.fromtimestamp(at.timestamp() // step * step, UTC)
    return until - SHORTEST.length, until


def graphs(
    ask: Ask, wanted: Sequence[Wanted], labels: Mapping[str, str]
) -> tuple[HistoryGraph, ...]:
    """Return the graphs of what has these labels; those without any point are left out."""
    frame = frame_of(ask)
    found = (_graph(ask, item, labels, frame) for item in wanted)
    return tuple(graph for graph in found if graph.lines)


def _graph(ask: Ask, wanted: Wanted, labels: Mapping[str, str], frame: Frame) -> HistoryGraph:
    since = ask.at - frame.length
    lines: list[tuple[str, dict[datetime, float]]] = []
    for metric, name in wanted.metrics:
        found = ask.world.history.series(
            metric.name, labels, since=since, until=ask.at, step=frame.step
        )
        lines += [
            (name.format(**series.label), {point.at: point.value for point in series.points})
            for series in found
            if not _LEFT_OUT.intersection(series.label.values())
        ]
    if wanted.is_rare and not any(value for _, points in lines for value in points.values()):
        lines = []
    lines = _largest(lines)
    moments = sorted({at for _, points in lines for at in points})
    return HistoryGraph(
        title=wanted.title,
        unit=wanted.unit,
        kind=wanted.kind,
        since=since,
        until=ask.at,
        lines=tuple(
            HistoryLine(name=name, points=tuple((at, points.get(at)) for at in moments))
            for name, points in lines
        ),
    )


def _largest(
    lines: list[tuple[str, dict[datetime, float]]],
) -> list[tuple[str, dict[datetime, float]]]:
    """Return no more lines than have a colour of their own, the largest ones, in their order."""
    by_size = sorted(lines, key=lambda line: -sum(line[1].values()))[:_MOST_LINES]
    return [line for line in lines if line in by_size]
