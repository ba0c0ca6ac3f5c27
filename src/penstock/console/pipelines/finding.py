"""The pipeline and the flow that an address names, as the world saw them last.

What a driver said last is true while it lives. Of a pipeline that is over, lost or between two
drivers the totals stay; what its flows were doing is not shown as if they still did, and how far
they are behind is what their groups say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.console.errors import NotFoundError
from penstock.console.pipelines.telling import as_told
from penstock.control.overviews import OverallState
from penstock.control.status import Rates
from penstock.control.status_records import ENDED, LagRecord, PipelineState
from penstock.control.supervision import OVER, FlowState
from penstock.monitoring.shadow_groups import shadow_group
from penstock.names import FlowName, PipelineName

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.control.overviews import Overview
    from penstock.control.status_records import FlowRecord

_SILENT = ENDED | {PipelineState.LOST}
_WITHOUT_DRIVER = {
    OverallState.STARTING: FlowState.STARTING,
    OverallState.RUNNING: FlowState.STARTING,
    OverallState.PAUSED: FlowState.STARTING,
    OverallState.RESTARTING: FlowState.RESTARTING,
    OverallState.STOPPING: FlowState.STOPPED,
    OverallState.STOPPED: FlowState.STOPPED,
    OverallState.FAILED: FlowState.STOPPED,
    OverallState.LOST: FlowState.LOST,
}
"""What has become of a flow that was not over when the driver that spoke last did so; where its
keeper says that the pipeline runs, the next driver has not said anything yet."""


def pipelines_of(ask: Ask) -> tuple[Overview, ...]:
    """Return all pipelines, as far as who asks may know them."""
    return tuple(as_told(overview, ask.user) for overview in ask.world.pipelines)


def pipeline_of(ask: Ask) -> Overview:
    """Return the pipeline that the path names, as far as who asks may know it.

    Raises:
        NotFoundError: there is none.
    """
    found = ask.world.overview(PipelineName(ask.path["pipeline"]))
    if found is None:
        raise NotFoundError(ask.url)
    return as_told(found, ask.user)


def flows_of(ask: Ask, overview: Overview) -> tuple[FlowRecord, ...]:
    """Return the flows of a pipeline as they can be believed to be."""
    view = overview.view
    if view is None or view.record is None:
        return ()
    if speaks(overview):
        return view.record.flows
    return tuple(_without_driver(ask, overview, flow) for flow in view.record.flows)


def speaks(overview: Overview) -> bool:
    """Return whether the driver that spoke last is the one that runs the pipeline."""
    view = overview.view
    return view is not None and view.state not in _SILENT and view.state.value == overview.state


def _without_driver(ask: Ask, overview: Overview, flow: FlowRecord) -> FlowRecord:
    shadow = shadow_group(overview.pipeline, flow.flow)
    group = ask.world.groups.snapshot().by_group.get(shadow)
    return replace(
        flow,
        state=flow.state if flow.state in OVER else _WITHOUT_DRIVER[overview.state],
        rates=Rates(records_in=0.0, records_out=None if flow.rates.records_out is None else 0.0),
        lag=LagRecord(records=group.lag, seconds=group.lag_seconds(ask.at)) if group else None,
        latency=None,
    )


def flow_of(ask: Ask, overview: Overview) -> FlowRecord:
    """Return the flow that the path names.

    Raises:
        NotFoundError: the pipeline has none of that name.
    """
    name = FlowName(ask.path["flow"])
    for flow in flows_of(ask, overview):
        if flow.flow == name:
            return flow
    raise NotFoundError(ask.url)
