"""Layout: where the boxes of a drawing stand, and along which points its edges run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from penstock.pipeline.drawings.layers import Waypoint, layers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.pipeline.drawings.layers import Item, Layers
    from penstock.pipeline.graph import Graph, Node

BOX_HEIGHT = 46.0
# A monospaced font of 13 pixels has characters 7.8 wide; a little more for fonts that are broader.
_CHARACTER_WIDTH = 8.0
_BOX_PADDING = 36.0
_ROW_GAP = 22.0
_WAYPOINT_HEIGHT = 8.0
_COLUMN_GAP = 72.0
_LABEL_CHARACTER_WIDTH = 7.0
_MARGIN = 24.0
# Rounds of moving boxes towards their neighbors; later ones move nothing that the eye would see.
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a drawing, in pixels from its upper left corner."""

    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedNode:
    """A node and its box."""

    node: Node
    left: float
    top: float
    width: float
    height: float = BOX_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedEdge:
    """All edges between two nodes, and the points at which they enter and leave columns."""

    source: str
    target: str
    label: str
    points: tuple[Point, ...]
    """Pairs: a curve leads from the first point of a pair to the second, a line to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A drawing without its looks."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]


def lay_out(graph: Graph) -> Layout:
    """Return the layout of an acyclic graph, from left to right; boxes never overlap."""
    layers = layers_of(graph)
    by_id = {node.id: node for node in graph.nodes}
    widths = [_column_width(column, by_id) for column in layers.columns]
    lefts = _lefts(widths, graph, layers)
    middles = _middles(layers)
    span = {
        item: (lefts[index], lefts[index] + widths[index])
        for index, column in enumerate(layers.columns)
        for item in column
    }
    nodes = tuple(
        PlacedNode(
            node=node,
            left=span[node.id][0],
            top=middles[node.id] - BOX_HEIGHT / 2,
            width=span[node.id][1] - span[node.id][0],
        )
        for node in graph.nodes
    )
    edges = tuple(
        PlacedEdge(
            source=source,
            target=target,
            label=_label(graph, source, target),
            points=_points(way, span, middles),
        )
        for (source, target), way in layers.ways.items()
    )
    width = (lefts[-1] + widths[-1] if widths else _MARGIN) + _MARGIN
    height = max(middles.values(), default=0.0) + BOX_HEIGHT / 2 + _MARGIN
    return Layout(width=width, height=height, nodes=nodes, edges=edges)


def _column_width(column: Sequence[Item], by_id: Mapping[str, Node]) -> float:
    nodes = [by_id[item] for item in column if isinstance(item, str)]
    longest = max((max(len(node.name), len(node.detail)) for node in nodes), default=0)
    return longest * _CHARACTER_WIDTH + _BOX_PADDING


def _lefts(widths: Sequence[float], graph: Graph, layers: Layers) -> list[float]:
    """Return where each column begins; labels get the room they need in the gap before."""
    column_of = {item: index for index, column in enumerate(layers.columns) for item in column}
    gaps = [_COLUMN_GAP] * len(widths)
    for source, target in layers.ways:
        room = len(_label(graph, source, target)) * _LABEL_CHARACTER_WIDTH + _COLUMN_GAP / 2
        after = column_of[source] + 1
        gaps[after] = max(gaps[after], room)
    lefts, at = [], _MARGIN
    for index, width in enumerate(widths):
        at += gaps[index] if index else 0
        lefts.append(at)
        at += width
    return lefts


def _label(graph: Graph, source: str, target: str) -> str:
    return ", ".join(
        edge.label
        for edge in graph.edges
        if (edge.source, edge.target) == (source, target) and edge.label
    )


def _points(
    way: Sequence[Item], span: Mapping[Item, tuple[float, float]], middles: Mapping[Item, float]
) -> tuple[Point, ...]:
    points: list[Point] = []
    for item, following in pairwise(way):
        points += [
            Point(span[item][1], middles[item]),
            Point(span[following][0], middles[following]),
        ]
    return tuple(points)


def _middles(layers: Layers) -> dict[Item, float]:
    """Return the height at which each item stands: in order, apart, and near its neighbors."""
    near: dict[Item, list[Item]] = {item: [] for column in layers.columns for item in column}
    for source, target in layers.steps():
        near[source].append(target)
        near[target].append(source)
    middles: dict[Item, float] = {}
    for column in layers.columns:
        middles |= _apart(column, dict.fromkeys(column, 0.0))
    for round_ in range(_ROUNDS):
        columns = layers.columns if round_ % 2 == 0 else tuple(reversed(layers.columns))
        for column in columns:
            wanted = {
                item: sum(middles[other] for other in near[item]) / len(near[item])
                if near[item]
                else middles[item]
                for item in column
            }
            middles |= _apart(column, wanted)
    highest = min((at - _height(item) / 2 for item, at in middles.items()), default=0.0)
    return {item: at - highest + _MARGIN for item, at in middles.items()}


def _apart(column: Sequence[Item], wanted: Mapping[Item, float]) -> dict[Item, float]:
    """Return places in the order of `column`, far enough apart, closest to the wanted ones.

    With the distances subtracted, the places must only not decrease, and the best such places are
    means of runs: neighbors that would stand in each other's way are merged (isotonic regression).
    """
    offsets, at = [], 0.0
    for index, item in enumerate(column):
        if index:
            at += (_height(column[index - 1]) + _height(item)) / 2 + _ROW_GAP
        offsets.append(at)
    runs: list[tuple[float, int]] = []
    for item, offset in zip(column, offsets, strict=True):
        mean, count = wanted[item] - offset, 1
        while runs and runs[-1][0] > mean:
            other, size = runs.pop()
            mean, count = (mean * count + other * size) / (count + size), count + size
        runs.append((mean, count))
    starts = [mean for mean, count in runs for _ in range(count)]
    return {
        item: start + offset for item, start, offset in zip(column, starts, offsets, strict=True)
    }


def _height(item: Item) -> float:
    return _WAYPOINT_HEIGHT if isinstance(item, Waypoint) else BOX_HEIGHT
