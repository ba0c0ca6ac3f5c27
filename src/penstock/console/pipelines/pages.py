"""The pages: all pipelines, one of them, one flow."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.frame import Listing, Page, listing
from penstock.console.frame.pages import LISTING
from penstock.console.frame.past import FRAME, HistoryGraph, HistoryPoint, frame_of
from penstock.console.pipelines.finding import (
    flow_of,
    flows_of,
    pipeline_of,
    pipelines_of,
    speaks,
)
from penstock.console.pipelines.graphs import LiveGraph, live_graph
from penstock.console.pipelines.logs import LogView, log_of
from penstock.console.pipelines.output import OutputModel, load_output
from penstock.console.pipelines.past import graphs_of_flow, input_rates
from penstock.control.about import PlanRecord, SettingRecord  # noqa: TC001 - as above
from penstock.control.overviews import OverallState
from penstock.control.status_records import ErrorRecord, FlowRecord  # noqa: TC001 - as above
from penstock.control.supervision import FlowState
from penstock.monitoring.shadow_groups import shadow_group
from penstock.names import PipelineName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.console.frame import Ask
    from penstock.control.about import AboutRecord
    from penstock.control.overviews import Overview

NEAR_LOSS = 0.25
"""Less of the retention than this share is left: as the ready-made rule of alerts has it."""

_TROUBLED = frozenset({FlowState.FAILED, FlowState.RESTARTING})
_BAD = frozenset({OverallState.RESTARTING, OverallState.FAILED, OverallState.LOST})


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEntry:
    """A pipeline in the list."""

    name: str
    state: str
    since: datetime
    why: str | None
    is_in_trouble: bool
    flows: int
    input_per_second: float
    output_per_second: float | None
    lag_records: int | None
    lag_seconds: float | None
    restarts: int
    dead_letters: int
    input_rates: tuple[HistoryPoint, ...] = ()
    """Of the last ten minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineList:
    """All pipelines that ever ran on the cluster."""

    pipelines: Listing[PipelineEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverView:
    """The process that runs a pipeline, or ran it last."""

    host: str
    pid: int
    started_at: datetime
    code_version: str
    profile: str | None
    spark_application_id: str | None
    spark_ui: str | None
    health: str | None
    restarts: int | None
    """How often its keeper started it again; None: no keeper is on this machine."""

    last_exit: str | None
    next_start_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineModel:
    """One pipeline."""

    at: datetime
    entry: PipelineEntry
    seen_at: datetime | None
    driver: DriverView | None
    error: ErrorRecord | None
    graph: LiveGraph | None
    """None: its driver has not told it yet."""

    flows: tuple[FlowRecord, ...]
    settings: tuple[SettingRecord, ...]
    log: LogView


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowModel:
    """One flow."""

    at: datetime
    pipeline: str
    pipeline_state: str
    flow: FlowRecord
    group: str | None
    """The consumer group that shows how far it has read; None: there is none yet."""

    next_loss_seconds: float | None
    """For how long all that it has not read is there for certain."""

    is_loss_near: bool
    """Whether less than a quarter of the retention is left until then."""

    watermark_delay_seconds: float | None
    """How far the watermark was behind the clock at the last batch; None: nobody runs the flow."""

    frame: str
    graphs: tuple[HistoryGraph, ...]
    reads: tuple[FlowSource, ...]
    writes: tuple[FlowTarget, ...]
    plan: PlanRecord | None
    settings: tuple[SettingRecord, ...]
    log: LogView


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSource:
    """What a flow reads."""

    dataset: str
    topic: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTarget:
    """What a flow writes."""

    dataset: str
    topic: str | None
    guarantee: str


def load_list(ask: Ask) -> PipelineList:
    """Return a page of all pipelines."""
    found = listing(
        (entry_of(ask, overview) for overview in pipelines_of(ask)),
        ask,
        text=lambda entry: f"{entry.name} {entry.state} {entry.why or ''}",
        columns={
            "name": lambda entry: entry.name,
            "state": lambda entry: (not entry.is_in_trouble, entry.state),
            "since": lambda entry: entry.since,
            "reading": lambda entry: entry.input_per_second,
            "writing": lambda entry: entry.output_per_second,
            "lag": lambda entry: entry.lag_records,
            "age": lambda entry: entry.lag_seconds,
            "restarts": lambda entry: entry.restarts,
            "dead": lambda entry: entry.dead_letters,
        },
        sort="state",
    )
    rates = input_rates(ask, (entry.name for entry in found.items))
    shown = (replace(entry, input_rates=rates.get(entry.name, ())) for entry in found.items)
    return PipelineList(pipelines=replace(found, items=tuple(shown)))


def load_pipeline(ask: Ask) -> PipelineModel:
    """Return one pipeline.

    Raises:
        NotFoundError: there is none of that name.
        PenstockError: Kafka cannot be used.
    """
    overview = pipeline_of(ask)
    record = overview.view.record if overview.view else None
    about, flows = ask.world.operator().about(overview), flows_of(ask, overview)
    return PipelineModel(
        at=ask.at,
        entry=entry_of(ask, overview),
        seen_at=overview.view.seen_at if overview.view else None,
        driver=_driver(overview),
        error=record.error if record else None,
        graph=live_graph(overview.pipeline, about, {str(flow.flow): flow for flow in flows})
        if about
        else None,
        flows=flows,
        settings=about.settings if about else (),
        log=log_of(ask, overview),
    )


def load_flow(ask: Ask) -> FlowModel:
    """Return one flow.

    Raises:
        NotFoundError: there is no such pipeline, or no such flow in it.
        PenstockError: Kafka cannot be used, or the history cannot be read.
    """
    overview = pipeline_of(ask)
    flow = flow_of(ask, overview)
    operator = ask.world.operator()
    about, batch = operator.about(overview), flow.last_batch
    shadow = shadow_group(PipelineName(overview.pipeline), flow.flow)
    group = ask.world.groups.snapshot().by_group.get(shadow)
    margin = group.loss_margin(ask.at) if group else None
    return FlowModel(
        at=ask.at,
        pipeline=overview.pipeline,
        pipeline_state=overview.state,
        flow=flow,
        group=group.group if group else None,
        next_loss_seconds=group.seconds_to_loss(ask.at) if group else None,
        is_loss_near=margin is not None and margin < NEAR_LOSS,
        watermark_delay_seconds=(batch.at - flow.watermark).total_seconds()
        if speaks(overview) and batch and flow.watermark
        else None,
        frame=frame_of(ask).name,
        graphs=graphs_of_flow(ask, {"pipeline": overview.pipeline, "flow": flow.flow}),
        reads=_reads(flow, about),
        writes=_writes(flow, about),
        plan=operator.plan(overview, flow.flow),
        settings=about.settings if about else (),
        log=log_of(ask, overview),
    )


def entry_of(ask: Ask, overview: Overview) -> PipelineEntry:
    """Return a pipeline as the list shows it."""
    flows = flows_of(ask, overview)
    lags = [flow.lag for flow in flows if flow.lag is not None]
    outputs = [flow.rates.records_out for flow in flows]
    kept = overview.kept.record if overview.kept else None
    troubled = overview.state in _BAD or any(flow.state in _TROUBLED for flow in flows)
    return PipelineEntry(
        name=overview.pipeline,
        state=overview.state,
        since=overview.since,
        why=overview.why,
        is_in_trouble=troubled,
        flows=len(flows),
        input_per_second=sum(flow.rates.records_in for flow in flows),
        output_per_second=_sum(outputs) if None not in outputs else None,
        lag_records=_sum(lag.records for lag in lags),
        lag_seconds=max((lag.seconds for lag in lags if lag.seconds is not None), default=None),
        restarts=sum(flow.totals.restarts for flow in flows) + (kept.restarts if kept else 0),
        dead_letters=sum(flow.totals.dead_letters for flow in flows),
    )


def _sum(values: Iterable[float | None]) -> int | None:
    known = [value for value in values if value is not None]
    return round(sum(known)) if known else None


def _driver(overview: Overview) -> DriverView | None:
    driver, record = overview.driver, overview.view.record if overview.view else None
    if driver is None:
        return None
    addresses = record.addresses if record else None
    kept = overview.kept.record if overview.kept else None
    return DriverView(
        host=driver.host,
        pid=driver.pid,
        started_at=driver.started_at,
        code_version=driver.code_version,
        profile=record.profile if record else None,
        spark_application_id=addresses.spark_application_id if addresses else None,
        spark_ui=addresses.spark_ui if addresses else None,
        health=addresses.health if addresses else None,
        restarts=kept.restarts if kept else None,
        last_exit=kept.last_exit.reason if kept and kept.last_exit else None,
        next_start_at=kept.next_start_at if kept else None,
    )


def _reads(flow: FlowRecord, about: AboutRecord | None) -> tuple[FlowSource, ...]:
    if about is None:
        return ()
    names = {node.id: node.name for node in about.graph.nodes}
    found = [names[it.source] for it in about.graph.edges if it.target == f"flow:{flow.flow}"]
    return tuple(FlowSource(dataset=name, topic=about.topics.get(name)) for name in found)


def _writes(flow: FlowRecord, about: AboutRecord | None) -> tuple[FlowTarget, ...]:
    """Return what a flow writes: as it was told at its start, before that as it was declared."""
    topics = about.topics if about else {}
    writes: dict[str, str] = {name: str(offer) for name, offer in flow.writes.items()}
    if not writes and about is not None:
        names = {node.id: node.name for node in about.graph.nodes}
        writes = {
            names[edge.target]: str(edge.guarantee)
            for edge in about.graph.edges
            if edge.source == f"flow:{flow.flow}"
        }
    return tuple(
        FlowTarget(dataset=name, topic=topics.get(name), guarantee=offer)
        for name, offer in writes.items()
    )


def _show(ask: Ask, _model: object) -> str:
    return shlex.join(["penstock", "show", ask.path["pipeline"]])


def _consume(ask: Ask, model: OutputModel) -> str:
    if not model.samples:
        return _show(ask, model)
    return shlex.join(["penstock", "consume", model.samples[0].topic, "--last", "5"])


PIPELINES = Page(
    path="/pipelines",
    name="list_pipelines",
    summary="All pipelines that ever ran on the cluster, with rates, lag and restarts.",
    template="pipelines/list.html",
    model=PipelineList,
    load=load_list,
    title=lambda _: "Pipelines",
    command=lambda _ask, _model: "penstock list",
    parameters=LISTING,
    live=("pipelines",),
    menu="Pipelines",
)

PIPELINE = Page(
    path="/pipelines/{pipeline}",
    name="show_pipeline",
    summary="One pipeline: its graph with live rates, its flows, its driver, settings and log.",
    template="pipelines/pipeline.html",
    model=PipelineModel,
    load=load_pipeline,
    title=lambda model: model.entry.name,
    command=_show,
    live=("state", "graph", "flows", "driver", "log"),
    menu="Pipelines",
)

FLOW = Page(
    path="/pipelines/{pipeline}/flows/{flow}",
    name="show_flow",
    summary="One flow: progress now and before, failures, plan, settings, log.",
    template="pipelines/flow.html",
    model=FlowModel,
    load=load_flow,
    title=lambda model: f"{model.flow.flow} of {model.pipeline}",
    command=_show,
    parameters=(FRAME,),
    live=("state", "graphs", "batch", "failures", "log"),
    menu="Pipelines",
)

OUTPUT = Page(
    path="/pipelines/{pipeline}/flows/{flow}/output",
    name="show_flow_output",
    summary="The last records that a flow has written to its topics.",
    template="pipelines/output.html",
    model=OutputModel,
    load=load_output,
    title=lambda model: f"Output of {model.flow} of {model.pipeline}",
    command=_consume,
    menu="Pipelines",
)
