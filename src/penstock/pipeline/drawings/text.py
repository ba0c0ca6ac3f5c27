"""The graph as text: a tree that follows the data, as wide as any terminal.

A node that several others feed is drawn below the one that is farthest down the stream, where all
it needs has been drawn; in the other places it stands in brackets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.pipeline.drawings.layers import depths, feeds
from penstock.pipeline.graph import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.pipeline.graph import Graph, Node

_ELSEWHERE = "[name] is drawn where the last of its inputs is"


def as_text(graph: Graph) -> str:
    """Return the drawing of an acyclic graph, without a line break at its end."""
    tree = _Tree(graph)
    lines = [line for root in tree.roots() for line in tree.lines(root)]
    if any(source != tree.home[edge.target] for edge in graph.edges for source in [edge.source]):
        lines += ["", _ELSEWHERE]
    return "\n".join(lines)


class _Tree:
    def __init__(self, graph: Graph) -> None:
        self._nodes = {node.id: node for node in graph.nodes}
        self._feeds = feeds(graph.edges)
        self._guarantees: dict[tuple[str, str], str] = {}
        self._labels: dict[tuple[str, str], list[str]] = {}
        for edge in graph.edges:
            self._labels.setdefault((edge.source, edge.target), []).append(edge.label)
            if edge.guarantee is not None:
                self._guarantees[edge.source, edge.target] = f", {edge.guarantee}"
        self.home = _homes(graph)

    def roots(self) -> Iterator[str]:
        """Yield the nodes that nothing feeds."""
        return (name for name in self._nodes if name not in self.home)

    def lines(self, name: str, indent: str = "") -> Iterator[str]:
        """Yield the lines of a node and of what is drawn below it."""
        if not indent:
            yield _shown(self._nodes[name])
        targets = self._feeds[name]
        for target in targets:
            last = target == targets[-1]
            label = " ".join(filter(None, self._labels[name, target]))
            arm = f"{'└' if last else '├'}─{f' {label} ─' if label else ''}▶ "
            offered = self._guarantees.get((name, target), "")
            if self.home[target] == name:
                yield f"{indent}{arm}{_shown(self._nodes[target])}{offered}"
                yield from self.lines(target, f"{indent}{' ' if last else '│'}   ")
            else:
                yield f"{indent}{arm}[{self._nodes[target].name}]{offered}"


def _homes(graph: Graph) -> Mapping[str, str]:
    """Return for each node that others feed below which of them it is drawn."""
    depth = depths(graph)
    home: dict[str, str] = {}
    for edge in graph.edges:
        known = home.get(edge.target)
        if known is None or depth[edge.source] > depth[known]:
            home[edge.target] = edge.source
    return home


def _shown(node: Node) -> str:
    return f"{node.name} ({node.detail})" if node.kind is NodeKind.DATASET else f"{node.name}()"
