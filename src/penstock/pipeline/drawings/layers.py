"""Layers: which column of a drawing each node stands in, and in which order within it.

Nodes stand right of all that feeds them. An edge that crosses a layer gets a waypoint there, so
that it is ordered among the nodes and passes between them. The order comes from the barycenter
heuristic: each node moves towards the mean place of its neighbors in the next layer, back and
forth, and the order with the fewest crossings is kept.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.pipeline.graph import Edge, Graph

# Four times back and forth; small graphs do not get better after that.
_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Waypoint:
    """Where an edge crosses a layer."""

    source: str
    target: str
    layer: int


Item = str | Waypoint
"""What stands in a layer: a node by its id, or a waypoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Nodes and waypoints in columns, and the ways of all edges through them."""

    columns: tuple[tuple[Item, ...], ...]
    ways: Mapping[tuple[str, str], tuple[Item, ...]]
    """By source and target of an edge: both of them, and the waypoints between."""

    def steps(self) -> list[tuple[Item, Item]]:
        """Return the pieces of all ways; each leads from a column to the next."""
        return [step for way in self.ways.values() for step in pairwise(way)]


def layers_of(graph: Graph) -> Layers:
    """Return the nodes of an acyclic graph in layers with few crossings."""
    layer = _by_longest_path(graph)
    ways: dict[tuple[str, str], tuple[Item, ...]] = {
        (edge.source, edge.target): (
            edge.source,
            *(
                Waypoint(edge.source, edge.target, index)
                for index in range(layer[edge.source] + 1, layer[edge.target])
            ),
            edge.target,
        )
        for edge in graph.edges
    }
    columns: list[list[Item]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in graph.nodes:
        columns[layer[node.id]].append(node.id)
    for way in ways.values():
        for item in way[1:-1]:
            assert isinstance(item, Waypoint)  # noqa: S101 - the inner items are, by the above
            columns[item.layer].append(item)
    unordered = Layers(columns=tuple(map(tuple, columns)), ways=ways)
    return Layers(columns=_ordered(unordered), ways=ways)


def feeds(edges: Iterable[Edge]) -> dict[str, list[str]]:
    """Return what each node feeds directly, each once."""
    found: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge.target not in found[edge.source]:
            found[edge.source].append(edge.target)
    return found


def depths(graph: Graph) -> dict[str, int]:
    """Return for each node the length of the longest way that leads to it."""
    after = feeds(graph.edges)
    waiting = dict.fromkeys((node.id for node in graph.nodes), 0)
    for targets in after.values():
        for target in targets:
            waiting[target] += 1
    depth = dict.fromkeys(waiting, 0)
    ready = [name for name, count in waiting.items() if count == 0]
    for name in ready:
        for target in after[name]:
            depth[target] = max(depth[target], depth[name] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return depth


def _by_longest_path(graph: Graph) -> dict[str, int]:
    """Return the layer of each node; what nothing feeds stands close to what it feeds."""
    layer, after = depths(graph), feeds(graph.edges)
    fed = {edge.target for edge in graph.edges}
    for node in graph.nodes:
        if node.id not in fed and after[node.id]:
            layer[node.id] = min(layer[target] for target in after[node.id]) - 1
    return layer


def _ordered(layers: Layers) -> tuple[tuple[Item, ...], ...]:
    steps = layers.steps()
    before: dict[Item, list[Item]] = defaultdict(list)
    after: dict[Item, list[Item]] = defaultdict(list)
    for source, target in steps:
        before[target].append(source)
        after[source].append(target)
    columns = [list(column) for column in layers.columns]
    best, fewest = layers.columns, crossings(columns, steps)
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        indices = range(1, len(columns)) if forwards else range(len(columns) - 2, -1, -1)
        for index in indices:
            fixed = columns[index - 1] if forwards else columns[index + 1]
            columns[index] = _by_barycenter(columns[index], fixed, before if forwards else after)
        count = crossings(columns, steps)
        if count < fewest:
            best, fewest = tuple(map(tuple, columns)), count
    return best


def _by_barycenter(
    column: Sequence[Item], fixed: Sequence[Item], neighbors: Mapping[Item, Sequence[Item]]
) -> list[Item]:
    """Return `column` by the mean place of neighbors; items without any keep their places."""
    place = {item: index for index, item in enumerate(fixed)}
    mean = {
        item: sum(place[other] for other in neighbors[item]) / len(neighbors[item])
        for item in column
        if neighbors.get(item)
    }
    moved = iter(sorted(mean, key=mean.__getitem__))
    return [next(moved) if item in mean else item for item in column]


def crossings(columns: Iterable[Sequence[Item]], steps: Iterable[tuple[Item, Item]]) -> int:
    """Return how many pairs of steps cross when the columns are in this order."""
    place = {
        item: (layer, index)
        for layer, column in enumerate(columns)
        for index, item in enumerate(column)
    }
    by_layer: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for source, target in steps:
        by_layer[place[source][0]].append((place[source][1], place[target][1]))
    return sum(
        (a[0] - b[0]) * (a[1] - b[1]) < 0
        for pairs in by_layer.values()
        for index, a in enumerate(pairs)
        for b in pairs[index + 1 :]
    )
