"""Drawings of the graph: the text as a whole, and what must hold for every SVG."""

from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.pipeline import Edge, Graph, Node, NodeKind, graph_of
from penstock.pipeline.drawings import as_svg, as_text, lay_out
from support.declarations import declared

SVG = "{http://www.w3.org/2000/svg}"
FRAUD = """
LINE = "host string, seen timestamp"
ps.topic("iprecord", value=ps.json(LINE), event_time="seen")
ps.lookup("blocked", ps.csv_file("blocked.csv", "octet int"))
ps.topic("fraudip", value=ps.json(LINE), key="host", event_time="seen")
ps.topic("suspects", value=ps.json(LINE), key="host")
ps.topic("fraudcounts", value=ps.json("host string, hits bigint"), key="host", compacted=True)
ps.files("inbox", "in", value=ps.text())
ps.table("history")

@ps.view
def lines(iprecord, inbox): ...

@ps.flow(into={"hit": "fraudip", "maybe": "suspects"}, delivery="exactly_once")
def find(iprecord, blocked): ...

@ps.flow(into="fraudcounts", output_mode="update", delivery="at_most_once")
def count(fraudip, iprecord): ...

@ps.flow(into="history")
def land(lines): ...
"""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return a graph without circles; nodes are declared in any order, edges may be parallel."""
    count = draw(st.integers(0, 14))
    order = draw(st.permutations(range(count)))
    pairs = list(combinations(order, 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=25)) if pairs else []
    kinds = st.sampled_from(
        ["topic", "table", "watched folder", "socket", "view", "lookup", "flow"]
    )
    nodes = []
    for index in range(count):
        kind = draw(kinds)
        name = draw(st.from_regex(r"[a-z][a-z_]{0,20}", fullmatch=True))
        role = NodeKind.FLOW if kind == "flow" else NodeKind.DATASET
        nodes.append(Node(id=f"n{index}", name=name, kind=role, detail=kind))
    labels = st.sampled_from(["", "hit", "rest & <others>"])
    edges = [Edge(source=f"n{a}", target=f"n{b}", label=draw(labels)) for a, b in chosen]
    return Graph(nodes=tuple(nodes), edges=tuple(edges))


def test_the_text_is_a_tree_that_follows_the_data(tmp_path: Path) -> None:
    assert (
        as_text(graph_of(declared(tmp_path, FRAUD)))
        == """\
iprecord (topic)
├─▶ lines (view)
│   └─▶ land()
│       └─▶ history (table), exactly once
├─▶ find()
│   ├─ hit ─▶ fraudip (topic), exactly once
│   │   └─▶ count()
│   │       └─▶ fraudcounts (topic), at most once
│   └─ maybe ─▶ suspects (topic), exactly once
└─▶ [count]
blocked (lookup)
└─▶ [find]
inbox (watched folder)
└─▶ [lines]

[name] is drawn where the last of its inputs is"""
    )


def test_a_graph_without_joins_needs_no_brackets(tmp_path: Path) -> None:
    topics = 'ps.topic("a")\nps.topic("b")\n'
    text = f'{topics}@ps.flow(into="b", delivery="at_least_once")\ndef copy(a): ...\n'
    assert as_text(graph_of(declared(tmp_path, text))) == (
        "a (topic)\n└─▶ copy()\n    └─▶ b (topic), at least once"
    )


@settings(max_examples=30)
@given(graphs())
def test_the_text_draws_every_node_once_and_names_it_for_every_pair(graph: Graph) -> None:
    shown = as_text(graph).replace("[name] is drawn where the last of its inputs is", "")
    pairs = {(edge.source, edge.target) for edge in graph.edges}
    fed = {target for _, target in pairs}
    assert shown.count("(") == len(graph.nodes)
    assert shown.count("▶") == len(pairs)
    assert shown.count("[") == len(pairs) - len(fed)


@settings(max_examples=30)
@given(graphs())
def test_boxes_never_overlap_and_stay_inside(graph: Graph) -> None:
    layout = lay_out(graph)
    overlapping = [
        (one.node.id, other.node.id)
        for one, other in combinations(layout.nodes, 2)
        if one.left < other.left + other.width
        and other.left < one.left + one.width
        and one.top < other.top + other.height
        and other.top < one.top + one.height
    ]
    outside = [
        item.node.id
        for item in layout.nodes
        if item.left < 0
        or item.top < 0
        or item.left + item.width > layout.width
        or item.top + item.height > layout.height
    ]
    assert (overlapping, outside) == ([], [])


@settings(max_examples=30)
@given(graphs())
def test_edges_run_from_left_to_right_from_box_to_box(graph: Graph) -> None:
    layout = lay_out(graph)
    boxes = {item.node.id: item for item in layout.nodes}
    for edge in layout.edges:
        source, target = boxes[edge.source], boxes[edge.target]
        xs = [point.x for point in edge.points]
        assert xs == sorted(xs)
        assert xs[0] == source.left + source.width
        assert xs[-1] == target.left
        assert edge.points[0].y == source.top + source.height / 2
        assert edge.points[-1].y == target.top + target.height / 2


@settings(max_examples=30)
@given(graphs())
def test_the_svg_has_every_node_and_every_edge(graph: Graph) -> None:
    root = ET.fromstring(as_svg(graph, title="Pipeline <shop>"))  # noqa: S314 - our own text
    nodes = [item.get("data-node") for item in root.iter(f"{SVG}g") if item.get("data-node")]
    edges = {
        (item.get("data-source"), item.get("data-target"))
        for item in root.iter(f"{SVG}path")
        if item.get("data-source")
    }
    assert nodes == [node.id for node in graph.nodes]
    assert edges == {(edge.source, edge.target) for edge in graph.edges}


def test_the_svg_tells_its_title_its_routes_and_what_flows_do(tmp_path: Path) -> None:
    text = as_svg(graph_of(declared(tmp_path, FRAUD)), title="Pipeline <shop>")
    root = ET.fromstring(text)  # noqa: S314 - our own text
    described = root.findtext(f"{SVG}desc") or ""
    labels = [item.text for item in root.iter(f"{SVG}text") if item.get("class") == "label"]
    classes = {item.get("data-node"): item.get("class") for item in root.iter(f"{SVG}g")}
    style = root.findtext(f"{SVG}style") or ""
    assert (root.findtext(f"{SVG}title"), root.get("role")) == ("Pipeline <shop>", "img")
    assert described == (
        "The view lines reads iprecord, inbox."
        " Flow find reads iprecord, blocked and writes fraudip, suspects."
        " Flow count reads fraudip, iprecord and writes fraudcounts."
        " Flow land reads lines and writes history."
    )
    assert labels == ["hit", "maybe"]
    assert (classes["flow:find"], classes["dataset:history"], classes["dataset:inbox"]) == (
        "flow",
        "table",
        "source",
    )
    assert "prefers-color-scheme: dark" in style


def test_edges_that_need_not_cross_do_not(tmp_path: Path) -> None:
    """Two chains side by side, declared so that their order is mixed up."""
    text = """
ps.topic("a")
ps.topic("b")
ps.topic("a_out")
ps.topic("b_out")

@ps.flow(into="b_out")
def copy_b(b): ...

@ps.flow(into="a_out")
def copy_a(a): ...
"""
    layout = lay_out(graph_of(declared(tmp_path, text)))
    levels = [(edge.points[0].y, edge.points[-1].y) for edge in layout.edges]
    assert [abs(start - end) < 0.001 for start, end in levels] == [True] * 4
