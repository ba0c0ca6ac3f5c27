"""The graph of a pipeline with what flows through it, and its drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

from penstock.console.frame.words import amount
from penstock.monitoring.catalog import Unit
from penstock.names import DatasetName
from penstock.pipeline import Edge, Graph, Node, NodeKind
from penstock.pipeline.drawings import as_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.control.about import AboutRecord
    from penstock.control.status_records import FlowRecord

_FLOW, _VIEW, _LOOKUP = "flow:", "view", "lookup"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveNode:
    """A dataset or a flow of the graph."""

    id: str
    name: str
    kind: str
    told: str | None
    """The state of a flow."""

    href: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEdge:
    """Data goes from one node to the other."""

    source: str
    target: str
    label: str
    """How many records a second, where that is known for this edge alone, and the route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGraph:
    """The graph of a pipeline with the rates of this moment."""

    pipeline: str
    nodes: tuple[LiveNode, ...]
    edges: tuple[LiveEdge, ...]

    @property
    def drawing(self) -> Markup:
        """The drawing."""
        graph = Graph(
            nodes=tuple(
                Node(
                    id=node.id,
                    name=node.name,
                    kind=NodeKind.FLOW if node.id.startswith(_FLOW) else NodeKind.DATASET,
                    detail=node.kind,
                )
                for node in self.nodes
            ),
            edges=tuple(
                Edge(source=edge.source, target=edge.target, label=edge.label)
                for edge in self.edges
            ),
        )
        # Names are escaped by whoever writes the XML.
        return Markup(  # noqa: S704
            as_part(
                graph,
                title=f"Graph of {self.pipeline}",
                links={node.id: node.href for node in self.nodes if node.href},
                told={node.id: node.told for node in self.nodes if node.told},
            )
        )


def live_graph(pipeline: str, about: AboutRecord, flows: Mapping[str, FlowRecord]) -> LiveGraph:
    """Return the graph with the rates of its flows."""
    graph = about.graph
    nodes = tuple(
        LiveNode(
            id=node.id,
            name=node.name,
            kind=node.detail,
            told=str(flows[node.name].state)
            if node.kind is NodeKind.FLOW and node.name in flows
            else None,
            href=_href(pipeline, node.name, node.kind, about),
        )
        for node in graph.nodes
    )
    return LiveGraph(pipeline=pipeline, nodes=nodes, edges=tuple(_edges(graph, about, flows)))


def _href(pipeline: str, name: str, kind: NodeKind, about: AboutRecord) -> str | None:
    if kind is NodeKind.FLOW:
        return f"/pipelines/{quote(pipeline, safe='')}/flows/{quote(name, safe='')}"
    topic = about.topics.get(name)
    return f"/topics/{quote(topic, safe='')}" if topic else None


def _edges(graph: Graph, about: AboutRecord, flows: Mapping[str, FlowRecord]) -> list[LiveEdge]:
    rates = _Rates(graph, about, flows)
    edges: dict[tuple[str, str], LiveEdge] = {}
    for edge in graph.edges:
        ends = edge.source, edge.target
        routes = [edge.label] if edge.label else []
        if ends in edges:
            routes = [edges[ends].label, *routes]
        else:
            rate = rates.along(edge)
            routes += [] if rate is None else [amount(rate, Unit.RECORDS_PER_SECOND)]
        label = " ".join(route for route in routes if route)
        edges[ends] = LiveEdge(source=edge.source, target=edge.target, label=label)
    return list(edges.values())


class _Rates:
    """How many records a second go along an edge, as far as flows tell it.

    Views are no places: what goes into one is what the flows behind it read through it, together.
    """

    def __init__(self, graph: Graph, about: AboutRecord, flows: Mapping[str, FlowRecord]) -> None:
        self._edges = {(edge.source, edge.target) for edge in graph.edges}
        self._by_id = {node.id: node for node in graph.nodes}
        self._about, self._flows = about, flows

    def along(self, edge: Edge) -> float | None:
        """Return the rate along an edge; None where nobody can tell."""
        if edge.source.startswith(_FLOW):
            return self._written(edge.source, edge.target)
        streams, flows = self._streams_before(edge.source), self._flows_behind(edge.target)
        if not streams or not flows:
            return None
        found = [self._read(stream, flow) for stream in streams for flow in flows]
        known = [rate for rate in found if rate is not None]
        return sum(known) if len(known) == len(found) else None

    def _written(self, flow: str, target: str) -> float | None:
        record = self._flows.get(self._by_id[flow].name)
        if record is None:
            return None
        rates = record.rates
        if len({end for begin, end in self._edges if begin == flow}) == 1 or not rates.records_out:
            return rates.records_out
        name = self._by_id[target].name
        return rates.by_target.get(self._about.topics.get(name, name))

    def _read(self, stream: str, flow: str) -> float | None:
        record = self._flows.get(self._by_id[flow].name)
        if record is None or self._ways(stream, flow) != 1:
            return None
        if self._streams_before(flow) == [stream] or not record.rates.records_in:
            return record.rates.records_in
        return record.rates.by_source.get(DatasetName(self._by_id[stream].name))

    def _streams_before(self, node: str) -> list[str]:
        """Return what is read as a stream through `node`; lookups are read whole and no stream."""
        kind = self._by_id[node].detail
        if kind == _LOOKUP:
            return []
        if kind != _VIEW and not node.startswith(_FLOW):
            return [node]
        before = (begin for begin, end in sorted(self._edges) if end == node)
        return list(dict.fromkeys(one for item in before for one in self._streams_before(item)))

    def _flows_behind(self, node: str) -> list[str]:
        if node.startswith(_FLOW):
            return [node]
        if self._by_id[node].detail != _VIEW:
            return []
        behind = (end for begin, end in sorted(self._edges) if begin == node)
        return list(dict.fromkeys(one for item in behind for one in self._flows_behind(item)))

    def _ways(self, stream: str, flow: str) -> int:
        """Return on how many ways through views a flow reads a stream."""
        ends = [end for begin, end in self._edges if begin == stream]
        views = [end for end in ends if self._by_id[end].detail == _VIEW]
        return ends.count(flow) + sum(self._ways(view, flow) for view in views)
