"""Drawings of figures over time, as SVG made on the server: no script, no style attribute.

Points are `(moment, value)`; None is a gap. Colours are classes `series-0` to `series-7` of the
style sheet, so that they follow light and dark.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from penstock.console.frame.words import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.monitoring.catalog import Unit

Point = tuple[datetime, float | None]

_COLOURS = 8
_SPARK_WIDTH, _SPARK_HEIGHT = 120, 28
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 640, 220, 64, 24, 10, 8
_TICKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One series of a chart."""

    name: str
    points: Sequence[Point]


def sparkline(points: Sequence[Point], *, title: str, since: datetime, until: datetime) -> Markup:
    """Return a small line without axes from `since` to `until`; `title` says what it shows."""
    known = [(at, value) for at, value in points if value is not None]
    if not known:
        return Markup('<span class="nothing">no figures yet</span>')
    top = max(value for _, value in known) or 1.0
    path = " ".join(
        f"{_share(at, since, until) * _SPARK_WIDTH:.1f},"
        f"{_SPARK_HEIGHT - 1 - value / top * (_SPARK_HEIGHT - 2):.1f}"
        for at, value in known
    )
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
        'aria-label="{title}"><polyline class="series-0" points="{path}"/></svg>'
    ).format(w=_SPARK_WIDTH, h=_SPARK_HEIGHT, title=title, path=path)


def line_chart(
    lines: Sequence[Line], *, unit: Unit, title: str, since: datetime, until: datetime
) -> Markup:
    """Return lines over time with axes and a legend."""
    top = _nice(max((v for line in lines for _, v in line.points if v is not None), default=0.0))
    place = _Place(since, until, top)
    drawn = Markup("").join(
        Markup('<polyline class="series-{n}" points="{points}"/>').format(
            n=number % _COLOURS, points=points
        )
        for number, line in enumerate(lines)
        for points in place.runs(line.points)
    )
    return _chart(drawn, lines, place, unit, title)


def stacked_chart(
    lines: Sequence[Line], *, unit: Unit, title: str, since: datetime, until: datetime
) -> Markup:
    """Return areas on top of each other; all lines have their points at the same moments."""
    count = max((len(line.points) for line in lines), default=0)
    sums = [0.0] * count
    layers: list[tuple[list[Point], list[Point]]] = []
    for line in lines:
        below = [(at, sums[i]) for i, (at, _) in enumerate(line.points)]
        for i, (_, value) in enumerate(line.points):
            sums[i] += value or 0.0
        above: list[Point] = [(at, sums[i]) for i, (at, _) in enumerate(line.points)]
        layers.append((list(below), above))
    place = _Place(since, until, _nice(max(sums, default=0.0)))
    drawn = Markup("").join(
        Markup('<polygon class="series-{n}" points="{points}"/>').format(
            n=number % _COLOURS, points=place.path([*above, *reversed(below)])
        )
        for number, (below, above) in enumerate(layers)
        if above
    )
    return _chart(drawn, lines, place, unit, title)


class _Place:
    """Where moments and values are on the drawing."""

    def __init__(self, since: datetime, until: datetime, top: float) -> None:
        self.since, self.until, self.top = since, until, top

    def x(self, at: datetime) -> float:
        return _LEFT + _share(at, self.since, self.until) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _HEIGHT - _BOTTOM - value / self.top * (_HEIGHT - _BOTTOM - _TOP)

    def path(self, points: Sequence[Point]) -> str:
        return " ".join(
            f"{self.x(at):.1f},{self.y(value):.1f}" for at, value in points if value is not None
        )

    def runs(self, points: Sequence[Point]) -> list[str]:
        """Return the lines between gaps."""
        runs: list[list[Point]] = [[]]
        for at, value in points:
            if value is None:
                runs.append([])
            else:
                runs[-1].append((at, value))
        return [self.path(run) for run in runs if run]


def _chart(drawn: Markup, lines: Sequence[Line], place: _Place, unit: Unit, title: str) -> Markup:
    ticks = Markup("").join(
        Markup(
            '<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
            '<text x="{x}" y="{ty:.1f}" class="tick tick-y">{label}</text>'
        ).format(
            left=_LEFT,
            right=_WIDTH - _RIGHT,
            y=place.y(value),
            ty=place.y(value) + 4,
            x=_LEFT - 6,
            label=amount(value, unit),
        )
        for value in (place.top * step / _TICKS for step in range(_TICKS + 1))
    )
    legend = Markup("").join(
        Markup('<li><span class="swatch series-{n}"></span>{name}</li>').format(
            n=number % _COLOURS, name=line.name
        )
        for number, line in enumerate(lines)
    )
    return Markup(
        '<figure class="chart"><figcaption>{title}</figcaption>'
        '<svg viewBox="0 0 {w} {h}" role="img" aria-label="{told}">{ticks}{drawn}{times}</svg>'
        '<ul class="legend">{legend}</ul></figure>'
    ).format(
        title=title,
        w=_WIDTH,
        h=_HEIGHT,
        told=_told(lines, unit, title),
        ticks=ticks,
        drawn=drawn,
        times=_times(place),
        legend=legend,
    )


def _times(place: _Place) -> Markup:
    pattern = "%H:%M" if (place.until - place.since).total_seconds() <= 86_400 else "%m-%d %H:%M"
    return Markup(
        '<text x="{left}" y="{y}" class="tick">{first}</text>'
        '<text x="{right}" y="{y}" class="tick tick-end">{last}</text>'
    ).format(
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        y=_HEIGHT - 6,
        first=f"{place.since.astimezone(UTC):{pattern}}",
        last=f"{place.until.astimezone(UTC):{pattern}} UTC",
    )


def _told(lines: Sequence[Line], unit: Unit, title: str) -> str:
    """Return what a chart shows for those who do not see it."""
    told = []
    for line in lines:
        known = [value for _, value in line.points if value is not None]
        told.append(
            f"{line.name}: now {amount(known[-1], unit)}, at most {amount(max(known), unit)}"
            if known
            else f"{line.name}: no figures"
        )
    return str(escape(f"{title}. {'; '.join(told) or 'no figures'}").unescape())


def _share(at: datetime, since: datetime, until: datetime) -> float:
    """Return how much of the time has passed at a moment: from 0 to 1."""
    seconds = max((until - since).total_seconds(), 1.0)
    return min(1.0, max(0.0, (at - since).total_seconds() / seconds))


def _nice(value: float) -> float:
    """Return a round number that is not below `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * step for step in (1, 2, 2.5, 5, 10) if power * step >= value)
