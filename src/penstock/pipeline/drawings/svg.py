"""The graph as an SVG file that needs nothing else: readable on light and on dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from penstock.pipeline.drawings.layout import lay_out
from penstock.pipeline.graph import NodeKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.pipeline.drawings.layout import Layout, PlacedEdge, PlacedNode, Point
    from penstock.pipeline.graph import Graph, Node

# Fill, stroke and ink by class, on light and on dark pages. Rules name colors and no variables,
# which programs other than browsers do not know.
_LIGHT = {
    "flow": ("#1f2933", "#1f2933", "#ffffff"),
    "lookup": ("#fdf3d7", "#96700f", "#1f2933"),
    "source": ("#eceff3", "#5f6c7b", "#1f2933"),
    "table": ("#e4f5e9", "#2c7a4b", "#1f2933"),
    "topic": ("#e3f0ff", "#2f6fb5", "#1f2933"),
    "view": ("#f1ecfb", "#6b4fa8", "#1f2933"),
}
_DARK = {
    "flow": ("#e4e7eb", "#e4e7eb", "#14181d"),
    "lookup": ("#3d3214", "#d3ad4b", "#e4e7eb"),
    "source": ("#262c34", "#9aa5b1", "#e4e7eb"),
    "table": ("#14382a", "#62b88a", "#e4e7eb"),
    "topic": ("#14304e", "#6aa9e9", "#e4e7eb"),
    "view": ("#2c2445", "#a78fe0", "#e4e7eb"),
}
_COMMON_RULES = """
text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px;
       text-anchor: middle; }
.name { font-weight: 600; }
.detail, .label { font-size: 11px; }
.label { paint-order: stroke; stroke-width: 4; }
.shape, .line, .edge { stroke-width: 1.5; }
.line, .edge { fill: none; }
.edge { stroke: #7b8794; }
.arrow { fill: #7b8794; }
.view .shape { stroke-dasharray: 5 3; }
"""

_CORNER = 8.0
_CAP = 10.0


def as_svg(graph: Graph, *, title: str) -> str:
    """Return the drawing of an acyclic graph; `title` names it for readers and screen readers."""
    layout = lay_out(graph)
    root = _root(layout, graph, title)
    edges = ET.SubElement(root, "g")
    for edge in layout.edges:
        _draw_edge(edges, edge)
    nodes = ET.SubElement(root, "g")
    for placed in layout.nodes:
        _draw_node(nodes, placed)
    # Labels come last, so that no edge runs through them.
    for edge in layout.edges:
        if edge.label:
            _draw_label(nodes, edge)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def as_part(graph: Graph, *, title: str, links: Mapping[str, str], told: Mapping[str, str]) -> str:
    """Return the drawing as a part of a page whose style sheet has its looks.

    Args:
        graph: an acyclic graph; the labels of its edges are shown.
        title: names it for screen readers.
        links: where the boxes of nodes lead, by id.
        told: what stands in a box below its name instead of its kind, by id.
    """
    layout = lay_out(graph)
    root = ET.Element(
        "svg",
        {
            "viewBox": f"0 0 {layout.width:g} {layout.height:g}",
            "width": f"{layout.width:g}",
            "height": f"{layout.height:g}",
            "role": "group",
            "aria-label": title,
        },
    )
    ET.SubElement(root, "desc").text = _described(graph)
    _add_arrow(root)
    edges = ET.SubElement(root, "g")
    for edge in layout.edges:
        _draw_edge(edges, edge)
    nodes = ET.SubElement(root, "g")
    for placed in layout.nodes:
        link = links.get(placed.node.id)
        parent = nodes if link is None else ET.SubElement(nodes, "a", href=link)
        _draw_node(parent, placed, told.get(placed.node.id))
    for edge in layout.edges:
        if edge.label:
            _draw_label(nodes, edge)
    return ET.tostring(root, encoding="unicode", xml_declaration=False)


def _add_arrow(root: ET.Element) -> None:
    marker = ET.SubElement(
        ET.SubElement(root, "defs"),
        "marker",
        {"id": "arrow", "viewBox": "0 0 8 8", "refX": "8", "refY": "4", "orient": "auto"}
        | {"markerWidth": "7", "markerHeight": "7"},
    )
    ET.SubElement(marker, "path", {"class": "arrow", "d": "M0 0 L8 4 L0 8 Z"})


def _root(layout: Layout, graph: Graph, title: str) -> ET.Element:
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {layout.width:g} {layout.height:g}",
            "width": f"{layout.width:g}",
            "height": f"{layout.height:g}",
            "role": "img",
            "aria-labelledby": "title description",
        },
    )
    ET.SubElement(root, "title", id="title").text = title
    ET.SubElement(root, "desc", id="description").text = _described(graph)
    ET.SubElement(root, "style").text = _style()
    _add_arrow(root)
    ET.SubElement(root, "rect", {"class": "page", "width": "100%", "height": "100%"})
    return root


def _style() -> str:
    light = _rules(_LIGHT, page="#ffffff", label="#3e4c59")
    dark = _rules(_DARK, page="#14181d", label="#cbd2d9")
    return f"{_COMMON_RULES}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _rules(colors: Mapping[str, tuple[str, str, str]], *, page: str, label: str) -> str:
    rules = [f".page {{ fill: {page}; }}", f".label {{ fill: {label}; stroke: {page}; }}"]
    for name, (fill, stroke, ink) in colors.items():
        rules.append(f".{name} .shape {{ fill: {fill}; stroke: {stroke}; }}")
        rules.append(f".{name} .line {{ stroke: {stroke}; }}")
        rules.append(f".{name} text {{ fill: {ink}; }}")
    return "".join(f"{rule}\n" for rule in rules)


def _described(graph: Graph) -> str:
    """Return what each flow and view does, in words."""
    names = {node.id: node.name for node in graph.nodes}
    sentences = []
    for node in graph.nodes:
        reads = [names[edge.source] for edge in graph.edges if edge.target == node.id]
        writes = [names[edge.target] for edge in graph.edges if edge.source == node.id]
        if node.kind is NodeKind.FLOW:
            sentences.append(f"Flow {node.name} reads {', '.join(reads)}")
            sentences[-1] += f" and writes {', '.join(dict.fromkeys(writes))}."
        elif node.detail in ("view", "lookup") and reads:
            sentences.append(f"The {node.detail} {node.name} reads {', '.join(reads)}.")
    return " ".join(sentences)


def _draw_edge(parent: ET.Element, edge: PlacedEdge) -> None:
    ET.SubElement(
        parent,
        "path",
        {
            "class": "edge",
            "d": _curves(edge.points),
            "marker-end": "url(#arrow)",
            "data-source": edge.source,
            "data-target": edge.target,
        },
    )


def _curves(points: Sequence[Point]) -> str:
    """Return a path that leaves and enters every column horizontally."""
    parts = [f"M{points[0].x:g} {points[0].y:g}"]
    for start, end in zip(points[::2], points[1::2], strict=True):
        if start is not points[0]:
            parts.append(f"L{start.x:g} {start.y:g}")
        middle = (start.x + end.x) / 2
        parts.append(f"C{middle:g} {start.y:g} {middle:g} {end.y:g} {end.x:g} {end.y:g}")
    return " ".join(parts)


def _draw_label(parent: ET.Element, edge: PlacedEdge) -> None:
    start, end = edge.points[0], edge.points[1]
    place = {"x": f"{(start.x + end.x) / 2:g}", "y": f"{(start.y + end.y) / 2 + 4:g}"}
    ET.SubElement(parent, "text", {"class": "label"} | place).text = edge.label


def _draw_node(parent: ET.Element, placed: PlacedNode, told: str | None = None) -> None:
    node = placed.node
    group = ET.SubElement(parent, "g", {"class": _class_of(node), "data-node": node.id})
    ET.SubElement(group, "title").text = f"{node.detail} {node.name}"
    for css, path in _SHAPES.get(node.detail, _sheet)(placed):
        ET.SubElement(group, "path", {"class": css, "d": path})
    mouth = _CAP if node.detail == "topic" else 0  # no text belongs there
    center, top = placed.left + (placed.width - mouth) / 2, placed.top
    detail = told or node.detail
    for css, text, y in (("name", node.name, top + 21), ("detail", detail, top + 36)):
        ET.SubElement(group, "text", {"class": css, "x": f"{center:g}", "y": f"{y:g}"}).text = text


def _class_of(node: Node) -> str:
    return node.detail if node.detail in _LIGHT else "source"


def _rounded(placed: PlacedNode) -> list[tuple[str, str]]:
    return [("shape", _box(placed, _CORNER))]


def _sheet(placed: PlacedNode) -> list[tuple[str, str]]:
    return [("shape", _box(placed, 2))]


def _pipe(placed: PlacedNode) -> list[tuple[str, str]]:
    """A cylinder on its side, as topics are often drawn."""
    left, top, width, height = placed.left, placed.top, placed.width, placed.height
    right, bend = left + width - _CAP, f"{_CAP:g} {height / 2:g} 0 0"
    body = (
        f"M{left + _CAP:g} {top:g} H{right:g} A{bend} 1 {right:g} {top + height:g}"
        f" H{left + _CAP:g} A{bend} 1 {left + _CAP:g} {top:g} Z"
    )
    mouth = f"M{right:g} {top:g} A{bend} 0 {right:g} {top + height:g}"
    return [("shape", body), ("line", mouth)]


def _grid(placed: PlacedNode) -> list[tuple[str, str]]:
    """A sheet with a head line and a first column."""
    left, top = placed.left, placed.top
    head = f"M{left:g} {top + 6:g} H{left + placed.width:g}"
    column = f"M{left + 6:g} {top:g} V{top + placed.height:g}"
    return [("shape", _box(placed, 2)), ("line", f"{head} {column}")]


def _hexagon(placed: PlacedNode) -> list[tuple[str, str]]:
    left, top, right = placed.left, placed.top, placed.left + placed.width
    middle, bottom = top + placed.height / 2, top + placed.height
    return [
        (
            "shape",
            f"M{left:g} {middle:g} L{left + _CAP:g} {top:g} H{right - _CAP:g} L{right:g} {middle:g}"
            f" L{right - _CAP:g} {bottom:g} H{left + _CAP:g} Z",
        )
    ]


def _folder(placed: PlacedNode) -> list[tuple[str, str]]:
    left, top, right = placed.left, placed.top, placed.left + placed.width
    tab, bottom = left + placed.width / 3, top + placed.height
    path = f"M{left:g} {top:g} H{tab:g} l6 6 H{right:g} V{bottom:g} H{left:g} Z"
    return [("shape", path)]


def _box(placed: PlacedNode, corner: float) -> str:
    left, top, right = placed.left, placed.top, placed.left + placed.width
    bottom, arc = top + placed.height, f"{corner:g} {corner:g} 0 0 1"
    return (
        f"M{left + corner:g} {top:g} H{right - corner:g} A{arc} {right:g} {top + corner:g}"
        f" V{bottom - corner:g} A{arc} {right - corner:g} {bottom:g} H{left + corner:g}"
        f" A{arc} {left:g} {bottom - corner:g} V{top + corner:g} A{arc} {left + corner:g} {top:g} Z"
    )


_SHAPES: dict[str, Callable[[PlacedNode], list[tuple[str, str]]]] = {
    "flow": _rounded,
    "lookup": _hexagon,
    "table": _grid,
    "topic": _pipe,
    "view": _rounded,
    "watched folder": _folder,
}
