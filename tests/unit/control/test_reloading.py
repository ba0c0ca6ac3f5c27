"""When a flow is restarted because a lookup has changed."""

from __future__ import annotations

from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING

import penstock as ps
from penstock.control.reloading import LookupWatch
from penstock.engine.lookups import LookupChange
from penstock.names import DatasetName, FlowName, PipelineName
from penstock.pipeline import Pipeline, collecting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

IDS = DatasetName("ids")
FIRST, SECOND = {IDS: "1"}, {IDS: "2"}


def declared() -> Pipeline:
    with collecting() as collected:
        ps.topic("orders")
        ps.topic("wanted")
        ps.lookup("ids", ps.csv_file("ids.csv", "id bigint"), reload_every="10 milliseconds")

        @ps.flow(into="wanted")
        def find(orders: object, ids: object) -> tuple[object, object]:
            return orders, ids

    assert collected.problems == []
    return Pipeline(
        name=PipelineName("trial"),
        folder=Path(),
        datasets=tuple(collected.datasets),
        flows=tuple(collected.flows),
    )


class Source:
    """Has the second version; tells of each look, and waits until it may answer."""

    def __init__(self) -> None:
        self.looks: Queue[Mapping[DatasetName, str]] = Queue()
        self.answers: Queue[None] = Queue()

    def changes(self, used: Mapping[DatasetName, str]) -> list[LookupChange]:
        self.looks.put(used)
        self.answers.get()
        return [
            LookupChange(lookup=name, old_version=old, new_version="2")
            for name, old in used.items()
            if old != "2"
        ]


def test_a_flow_that_was_started_with_the_new_version_meanwhile_is_left_alone() -> None:
    """Else a lookup that changes as a flow restarts would make it restart once more."""
    pipeline, source, reloaded = declared(), Source(), Queue[FlowName]()
    (flow,) = pipeline.flows

    def reload(name: FlowName, changes: Sequence[LookupChange]) -> None:
        assert changes
        reloaded.put(name)

    with LookupWatch(pipeline, source.changes, reload) as watch:
        watch.use(flow, FIRST)
        assert source.looks.get(timeout=5) == FIRST
        source.answers.put(None)
        assert reloaded.get(timeout=5) == "find"

        assert source.looks.get(timeout=5) == FIRST
        watch.use(flow, SECOND)
        source.answers.put(None)
        assert source.looks.get(timeout=5) == SECOND
        assert reloaded.empty()
        source.answers.put(None)
