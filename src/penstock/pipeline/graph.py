"""The graph of a pipeline: what feeds what. Drawings of it are in `drawings`."""

from dataclasses import dataclass
from enum import StrEnum

from penstock.pipeline.datasets import Lookup, View, kind_of
from penstock.pipeline.guarantees import Guarantee, guarantees
from penstock.pipeline.pipeline import Pipeline


class NodeKind(StrEnum):
    """Whether a node keeps data or computes it."""

    DATASET = "dataset"
    FLOW = "flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A dataset or a flow; `detail` is its kind in the user's words."""

    id: str
    name: str
    kind: NodeKind
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Data goes from one node to the other; `label` is the route, if there is one."""

    source: str
    target: str
    label: str = ""
    guarantee: Guarantee | None = None
    """How often a row is there after a failure; None for what is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Nodes and edges, in the order of the declarations."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(pipeline: Pipeline) -> Graph:
    """Return the graph of `pipeline`."""
    nodes = [
        Node(id=f"dataset:{item.name}", name=item.name, kind=NodeKind.DATASET, detail=kind_of(item))
        for item in pipeline.datasets
    ]
    nodes += [
        Node(id=f"flow:{flow.name}", name=flow.name, kind=NodeKind.FLOW, detail="flow")
        for flow in pipeline.flows
    ]
    edges: list[Edge] = []
    for item in pipeline.datasets:
        reads = (*item.reads, *item.consults) if isinstance(item, View) else ()
        if isinstance(item, Lookup) and isinstance(item.source, str):
            reads = (item.source,)
        edges += [Edge(source=f"dataset:{name}", target=f"dataset:{item.name}") for name in reads]
    for flow in pipeline.flows:
        offers = guarantees(flow, pipeline)
        edges += [
            Edge(source=f"dataset:{name}", target=f"flow:{flow.name}")
            for name in dict.fromkeys((*flow.reads, *flow.consults))
        ]
        edges += [
            Edge(
                source=f"flow:{flow.name}",
                target=f"dataset:{name}",
                label=route,
                guarantee=offers[name],
            )
            for route, name in flow.targets.items()
        ]
    return Graph(nodes=tuple(nodes), edges=tuple(edges))
