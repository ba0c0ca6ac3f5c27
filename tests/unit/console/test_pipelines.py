"""What the pages of pipelines show, from the records of drivers; no cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree as ET

import pytest

from penstock.console.access import Role
from penstock.console.access.users import User
from penstock.console.frame import Ask
from penstock.console.pipelines.finding import flows_of
from penstock.console.pipelines.graphs import live_graph
from penstock.console.pipelines.logs import log_of
from penstock.console.pipelines.pages import entry_of
from penstock.console.pipelines.past import graphs_of_flow, input_rates
from penstock.control.about import AboutRecord
from penstock.control.figures import samples_of
from penstock.control.kept import KeeperState, KeptFolder
from penstock.control.overviews import Overview, overview_of
from penstock.control.status import Rates
from penstock.control.status_records import BatchRecord, PipelineState
from penstock.control.supervision import FlowState
from penstock.kafka import GroupState, GroupType
from penstock.monitoring.catalog import Unit
from penstock.monitoring.groups import GroupFigures, GroupsSnapshot, Verdict
from penstock.monitoring.history import History
from penstock.monitoring.shadow_groups import shadow_group
from penstock.names import DatasetName, TopicName
from penstock.pipeline import Edge, Graph, Node, NodeKind
from support.overviews import CLEAN, COUNT, NOON, RECORD, SHOP, kept, seen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from penstock.console.world import World
    from penstock.control.status_records import FlowRecord

SVG = "{http://www.w3.org/2000/svg}"


def dataset(name: str, kind: str = "topic") -> Node:
    return Node(id=f"dataset:{name}", name=name, kind=NodeKind.DATASET, detail=kind)


def flow(name: str) -> Node:
    return Node(id=f"flow:{name}", name=name, kind=NodeKind.FLOW, detail="flow")


def edge(source: Node, target: Node, label: str = "") -> Edge:
    return Edge(source=source.id, target=target.id, label=label)


LINES, MORE, CLEANED = dataset("lines"), dataset("more"), dataset("cleaned")
ABOUT = AboutRecord(
    graph=Graph(
        nodes=(LINES, MORE, CLEANED, dataset("counts", "table"), flow("clean"), flow("count")),
        edges=(
            edge(LINES, flow("clean")),
            edge(flow("clean"), CLEANED),
            edge(CLEANED, flow("count")),
            edge(MORE, flow("count")),
            edge(flow("count"), dataset("counts"), "all"),
        ),
    ),
    topics={"lines": TopicName("shop.lines"), "cleaned": TopicName("shop/cleaned")},
    settings=(),
)
FLOWS = {"clean": CLEAN, "count": COUNT}


def overview(state: PipelineState = PipelineState.RUNNING) -> Overview:
    found = overview_of(seen(state), kept(KeeperState.RUNNING))
    assert found is not None
    return found


def test_a_pipeline_adds_up_what_its_flows_do() -> None:
    entry = entry_of(asking(), overview())

    assert (entry.name, entry.state, entry.flows) == ("shop", "running", 2)
    assert (entry.input_per_second, entry.output_per_second) == (1234, None)
    assert (entry.lag_records, entry.lag_seconds) == (70, 0.25)
    assert entry.restarts == 2  # one of a flow, one of its driver
    assert not entry.is_in_trouble


@pytest.mark.parametrize("state", [FlowState.FAILED, FlowState.RESTARTING])
def test_a_flow_in_trouble_is_trouble_of_its_pipeline(state: FlowState) -> None:
    view = seen(PipelineState.RUNNING)
    view = replace(view, record=replace(RECORD, flows=(replace(CLEAN, state=state), COUNT)))
    found = overview_of(view, None)

    assert found is not None
    assert entry_of(asking(), found).is_in_trouble


LIVING = {
    PipelineState.STARTING,
    PipelineState.RUNNING,
    PipelineState.PAUSED,
    PipelineState.STOPPING,
}


@pytest.mark.parametrize("state", list(PipelineState))
def test_rates_are_those_of_a_driver_that_lives(state: PipelineState) -> None:
    """What a driver said last is in the cluster for ever."""
    found = overview_of(seen(state), None)
    assert found is not None
    entry = entry_of(asking(), found)
    clean, _ = flows_of(asking(), found)
    graph = live_graph("shop", ABOUT, {"clean": clean})
    edges = {(edge.source, edge.target): edge.label for edge in graph.edges}

    lives = state in LIVING
    assert entry.input_per_second == (1234 if lives else 0)
    assert edges["dataset:lines", "flow:clean"] == ("1.23 k/s" if lives else "0/s")
    assert (clean.state is FlowState.RUNNING) == lives
    assert (entry.lag_records, entry.lag_seconds) == ((70, 0.25) if lives else (None, None))
    assert clean.totals == CLEAN.totals


def group_of(flow: FlowRecord, *, lag: int) -> GroupFigures:
    """Return what is known of the group of a flow that has not read for two minutes."""
    return GroupFigures(
        group=shadow_group(SHOP, flow.flow),
        type=GroupType.CLASSIC,
        state=GroupState.EMPTY,
        member_count=0,
        topics=(TopicName("shop.lines"),),
        partition_count=1,
        lag=lag,
        max_lag=lag,
        unread_since=NOON,
        age_known=True,
        losses=(),
        worst=None,
        expired=0,
        lag_per_second=None,
        verdict=Verdict.STOP,
        moved_at=NOON,
        flow=None,
    )


def test_how_far_a_flow_without_a_driver_is_behind_is_what_its_group_says() -> None:
    found = overview_of(seen(PipelineState.STOPPED), None)
    assert found is not None
    entry = entry_of(asking(groups=[group_of(CLEAN, lag=900)]), found)

    assert (entry.lag_records, entry.lag_seconds) == (900, 120)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (PipelineState.STOPPED, ["stopped", "stopped"]),
        (PipelineState.FAILED, ["stopped", "stopped"]),
        (PipelineState.LOST, ["lost", "lost"]),
    ],
)
def test_flows_do_not_outlive_their_driver(told: PipelineState, shown: list[str]) -> None:
    found = overview_of(seen(told), None)
    assert found is not None

    assert [flow.state for flow in flows_of(asking(), found)] == shown


def test_a_driver_that_dies_again_and_again_is_trouble() -> None:
    """Its keeper knows at once; the cluster takes the last driver for alive for a while."""
    found = overview_of(seen(PipelineState.FAILED), kept(KeeperState.WAITING))
    assert found is not None
    entry = entry_of(asking(), found)

    assert (entry.state, entry.is_in_trouble, entry.input_per_second) == ("restarting", True, 0)
    assert {flow.state for flow in flows_of(asking(), found)} == {FlowState.RESTARTING}


def test_edges_have_the_rates_that_are_known_for_them_alone() -> None:
    """Of two inputs nobody knows how much each gave; `count` does not say what it writes."""
    count = replace(COUNT, rates=Rates(records_in=5, records_out=None))
    graph = live_graph("shop", ABOUT, {**FLOWS, "count": count})

    assert {(edge.source, edge.target): edge.label for edge in graph.edges} == {
        ("dataset:lines", "flow:clean"): "1.23 k/s",
        ("flow:clean", "dataset:cleaned"): "12/s",
        ("dataset:cleaned", "flow:count"): "",
        ("dataset:more", "flow:count"): "",
        ("flow:count", "dataset:counts"): "all",
    }


def test_edges_have_the_rates_of_each_input_and_output_that_flows_tell_apart() -> None:
    rates = Rates(
        records_in=50,
        records_out=30,
        by_source={DatasetName("cleaned"): 40, DatasetName("more"): 10},
        by_target={"shop.lines": 20, "counts": 10},
    )
    edges = tuple(edge for edge in ABOUT.graph.edges if edge.target != LINES.id)
    about = replace(
        ABOUT, graph=replace(ABOUT.graph, edges=(*edges[2:], edge(flow("count"), LINES)))
    )
    graph = live_graph("shop", about, {"count": replace(COUNT, rates=rates)})

    assert {(edge.source, edge.target): edge.label for edge in graph.edges} == {
        ("dataset:cleaned", "flow:count"): "40/s",
        ("dataset:more", "flow:count"): "10/s",
        ("flow:count", "dataset:counts"): "all 10/s",
        ("flow:count", "dataset:lines"): "20/s",
    }


def test_what_goes_into_a_view_is_what_flows_read_through_it() -> None:
    """Of two ways from a topic to a flow nobody knows how much went along which."""
    view = dataset("parsed", "view")
    nodes = (LINES, view, MORE, dataset("blocked", "lookup"), flow("clean"), flow("count"))
    edges = (
        edge(LINES, view),
        edge(view, flow("clean")),
        edge(view, flow("count")),
        edge(nodes[3], view),
    )
    rates = {"clean": CLEAN, "count": replace(COUNT, rates=Rates(records_in=6, records_out=0))}

    def labels(*more: Edge) -> list[str]:
        graph = Graph(nodes=nodes, edges=(*edges, *more))
        return [edge.label for edge in live_graph("shop", replace(ABOUT, graph=graph), rates).edges]

    assert labels() == ["1.24 k/s", "1.23 k/s", "6/s", ""]
    assert labels(edge(LINES, flow("count"))) == ["", "1.23 k/s", "", "", ""]


def test_a_lookup_beside_a_stream_does_not_hide_its_rate() -> None:
    nodes = (LINES, CLEANED, dataset("blocked", "lookup"), flow("clean"))
    edges = (edge(LINES, nodes[3]), edge(nodes[2], nodes[3]), edge(nodes[3], CLEANED))
    graph = live_graph("shop", replace(ABOUT, graph=Graph(nodes=nodes, edges=edges)), FLOWS)

    assert [edge.label for edge in graph.edges] == ["1.23 k/s", "", "12/s"]


def test_the_drawing_leads_to_flows_and_topics_and_names_are_escaped() -> None:
    hostile = replace(LINES, name="<script>alert(1)</script>")
    about = replace(ABOUT, graph=replace(ABOUT.graph, nodes=(hostile, *ABOUT.graph.nodes[1:])))
    drawing = live_graph("shop", about, FLOWS).drawing

    assert "<script>" not in drawing
    root = ET.fromstring(drawing)  # noqa: S314 - our own drawing
    assert [link.get("href") for link in root.iter("a")] == [
        "/topics/shop%2Fcleaned",
        "/pipelines/shop/flows/clean",
        "/pipelines/shop/flows/count",
    ]
    texts = [text.text for text in root.iter("text")]
    assert {"clean", "running", "paused", "1.23 k/s", "<script>alert(1)</script>"} <= set(texts)


class SmallWorld:
    """As much of the world as these pages ask for."""

    def __init__(self, history: History | None, groups: Sequence[GroupFigures]) -> None:
        if history is not None:
            self.history = history
        self._groups = {group.group: group for group in groups}

    @property
    def groups(self) -> SmallWorld:
        return self

    def snapshot(self) -> GroupsSnapshot:
        return GroupsSnapshot(at=NOON, complete=True, by_group=self._groups)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "history.sqlite") as history:
        for second in range(0, 120, 10):
            batch = BatchRecord(
                batch_id=second,
                at=NOON,
                seconds=0.5,
                records_in=1,
                records_out=1,
                phases={"addBatch": 400, "walCommit": 50, "triggerExecution": 500},
            )
            clean = replace(CLEAN, last_batch=batch, rates=Rates(records_in=100, records_out=10))
            record = replace(RECORD, flows=(clean, replace(COUNT, rates=Rates(
                records_in=11, records_out=None
            ))))  # fmt: skip
            history.add(NOON + timedelta(seconds=second), samples_of(record))
        yield history


def asking(
    history: History | None = None,
    role: Role = Role.OPERATOR,
    groups: Sequence[GroupFigures] = (),
    **query: str,
) -> Ask:
    return Ask(
        world=cast("World", SmallWorld(history, groups)),
        user=User(name="alice", role=role),
        at=NOON + timedelta(seconds=120),
        url="/pipelines/shop/flows/clean",
        query=query,
    )


def test_a_flow_shows_how_it_did(history: History) -> None:
    graphs = graphs_of_flow(asking(history), {"pipeline": "shop", "flow": "clean"})

    by_title = {graph.title: graph for graph in graphs}
    assert [line.name for line in by_title["Rates"].lines] == ["reads", "writes"]
    phases = by_title["Batch by phase"]
    assert (phases.kind, [line.name for line in phases.lines]) == (
        "stacked",
        ["addBatch", "walCommit"],
    )
    assert {len(line.points) for line in phases.lines} == {6}
    assert phases.lines[0].points[0][1] == pytest.approx(0.4)


def test_undecodable_and_late_records_are_drawn_when_there_are_some(tmp_path: Path) -> None:
    with History.open(tmp_path / "history.sqlite") as history:
        for second in range(0, 120, 10):
            broken = replace(CLEAN, totals=replace(CLEAN.totals, undecodable=3 * second))
            record = replace(RECORD, flows=(broken, COUNT))
            history.add(NOON + timedelta(seconds=second), samples_of(record))
        graphs, other = (
            graphs_of_flow(asking(history), {"pipeline": "shop", "flow": flow})
            for flow in ("clean", "count")
        )

    (drawn,) = [graph for graph in graphs if graph.title == "Undecodable and late"]
    assert drawn.unit is Unit.RECORDS_PER_SECOND
    by_name = {line.name: [value for _, value in line.points] for line in drawn.lines}
    assert by_name["undecodable"][1:-1] == pytest.approx([3] * len(by_name["undecodable"][1:-1]))
    assert set(by_name["late"]) == {0}
    assert drawn.title not in {graph.title for graph in other}


def test_graphs_go_back_as_far_as_the_address_says(history: History) -> None:
    labels = {"pipeline": "shop", "flow": "clean"}
    hour = graphs_of_flow(asking(history, frame="1h"), labels)[0]
    none = graphs_of_flow(asking(history, frame="a lifetime"), labels)[0]

    assert hour.until - hour.since == timedelta(hours=1)
    assert none.until - none.since == timedelta(minutes=10)


def test_sparklines_are_of_all_flows_together(history: History) -> None:
    rates = input_rates(asking(history), ["shop", "other"])

    assert set(rates) == {"shop"}
    assert {value for _, value in rates["shop"]} == {111}


def test_the_log_is_its_last_lines_and_not_for_viewers(tmp_path: Path) -> None:
    folder = KeptFolder(tmp_path / "shop")
    folder.root.mkdir()
    folder.log.write_text("".join(f"line {number}\n" for number in range(5000)))
    found = kept(KeeperState.RUNNING)
    here = replace(overview(), kept=replace(found, folder=folder))

    operator, viewer = log_of(asking(), here), log_of(asking(role=Role.VIEWER), here)

    assert (len(operator.lines), operator.lines[-1]) == (100, "line 4999")
    assert (viewer.lines, viewer.why_not) == ((), "operators see it")


def test_a_pipeline_of_another_machine_says_where_its_log_is() -> None:
    view = log_of(asking(), replace(overview(), kept=None))

    assert view.lines == ()
    assert view.why_not is not None
    assert "`node-1`" in view.why_not
