"""What viewers are told of failures: errors may quote records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.console.access import Role
from penstock.console.access.users import User
from penstock.console.pipelines.telling import as_told
from penstock.control.kept import DriverExit, KeeperState, ToldError
from penstock.control.overviews import Overview, overview_of
from penstock.control.status_records import ErrorRecord, PipelineState
from support.overviews import CLEAN, NOON, RECORD, kept, seen

QUOTE = "cannot read card 4711"
VIEWER = User(name="grafana", role=Role.VIEWER)
OPERATOR = User(name="alice", role=Role.OPERATOR)


def failed(keeper: KeeperState) -> Overview:
    """Return a pipeline whose driver and flow failed with a sentence that quotes a record."""
    coded = ErrorRecord(code="PEN-347", message=QUOTE, at=NOON)
    foreign = ErrorRecord(code=None, message=f"ValueError: {QUOTE}", at=NOON)
    flow = replace(CLEAN, last_error=coded, failures=(coded, foreign))
    view = seen(PipelineState.FAILED, why=QUOTE)
    view = replace(view, record=replace(RECORD, why=QUOTE, error=foreign, flows=(flow,)))
    told = ToldError(code="PEN-347", message=QUOTE, hint="look")
    keeping = kept(keeper, why=f"[PEN-347] {QUOTE}")
    assert keeping.record is not None
    ended = replace(keeping.record, last_exit=DriverExit(at=NOON, status=1, error=told))
    found = overview_of(view, replace(keeping, record=ended))
    assert found is not None
    return found


@pytest.mark.parametrize("keeper", [state for state in KeeperState if state != "stopped"])
def test_no_sentence_of_an_error_reaches_viewers(keeper: KeeperState) -> None:
    overview = failed(keeper)

    told = as_told(overview, VIEWER)

    assert QUOTE in (overview.why or "")
    assert told.why == "operators see why"
    assert told.view is not None
    assert told.view.record is not None
    assert told.view.record.error is not None
    assert told.view.record.error.message == "ValueError; operators see why"
    (flow,) = told.view.record.flows
    assert [(item.code, item.message) for item in flow.failures] == [
        ("PEN-347", "operators see why"),
        (None, "ValueError; operators see why"),
    ]
    assert flow.last_error == flow.failures[0]
    assert told.kept is not None
    assert told.kept.record is not None
    assert told.kept.record.last_exit is not None
    assert told.kept.record.last_exit.reason == "[PEN-347] operators see why"


def test_operators_are_told_all() -> None:
    overview = failed(KeeperState.WAITING)

    assert as_told(overview, OPERATOR) is overview


@pytest.mark.parametrize("state", [PipelineState.RUNNING, PipelineState.STOPPED])
def test_reasons_in_words_of_ours_are_for_everybody(state: PipelineState) -> None:
    overview = overview_of(seen(state, why="1 of 2 flows is paused"), None)
    assert overview is not None

    assert as_told(overview, VIEWER).why == "1 of 2 flows is paused"
