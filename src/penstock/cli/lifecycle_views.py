"""What commands show of pipelines: tables and lines for people, JSON for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from penstock.cli.live import compact_number, compact_seconds
from penstock.cli.rendering import table
from penstock.cli.run_events import held, offers
from penstock.control.overviews import OverallState, advice
from penstock.control.supervision import FlowState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.control.commands import Command
    from penstock.control.detached import KeptPipeline
    from penstock.control.overviews import Overview
    from penstock.control.status_records import ErrorRecord, FlowRecord
    from penstock.names import PipelineName

_STYLES = {
    OverallState.RUNNING: "green",
    OverallState.RESTARTING: "yellow",
    OverallState.PAUSED: "yellow",
    OverallState.FAILED: "red",
    OverallState.LOST: "red",
}
_AT_WORK = frozenset({FlowState.RUNNING, FlowState.IDLE})


def print_list(found: Sequence[Overview]) -> None:
    """Print a line for each pipeline, and below what to do about those that are lost."""
    columns = ("pipeline", "state", "since", "flows", "in/s", "lag", "driver", "code")
    table(columns, [_row(item) for item in found])
    if not found:
        click.echo("no pipeline has run on this cluster; `penstock start` starts one", err=True)
    for item in found:
        if item.state is OverallState.LOST:
            click.echo(f"`{item.pipeline}` is lost: {item.why}; {advice(item)}", err=True)


def _row(item: Overview) -> tuple[object, ...]:
    flows = _flows(item)
    driver = item.driver
    rates = [flow.rates.records_in for flow in flows]
    lags = [flow.lag.records for flow in flows if flow.lag and flow.lag.records is not None]
    return (
        item.pipeline,
        str(item.state),
        _moment(item.since),
        f"{sum(_is_alive(item) and flow.state in _AT_WORK for flow in flows)}/{len(flows)}",
        compact_number(sum(rates)) if rates and _is_alive(item) else None,
        compact_number(sum(lags)) if lags else None,
        f"{driver.host}:{driver.pid}" if driver else None,
        driver.code_version if driver else None,
    )


def print_started(item: Overview) -> None:
    """Print what runs since a moment ago, where its log is, and how to stop it."""
    flows = ", ".join(flow.flow for flow in _flows(item))
    click.echo(f"`{item.pipeline}` is {item.state}" + (f": {flows}" if flows else ""))
    _print_facts([*_driver_facts(item), *_kept_facts(item)])
    name = item.pipeline
    click.echo(f"next: penstock show {name}, penstock logs {name} -f, penstock stop {name}")


def print_overview(item: Overview) -> None:
    """Print all that is known of a pipeline."""
    state = click.style(item.state, fg=_STYLES.get(item.state))
    age = compact_seconds((datetime.now(UTC) - item.since).total_seconds())
    why = f": {item.why}" if item.why else ""
    click.echo(f"`{item.pipeline}` is {state} since {_moment(item.since)} ({age}){why}")
    if item.state is OverallState.LOST:
        click.echo(f"what to do: {advice(item)}")
    _print_facts([*_driver_facts(item), *_kept_facts(item)])
    if flows := _flows(item):
        click.echo()
        _print_flows(flows)


def _print_facts(facts: Sequence[tuple[str, str]]) -> None:
    width = max((len(name) for name, _ in facts), default=0)
    for name, fact in facts:
        click.echo(f"  {name.ljust(width)}  {fact}")


def _driver_facts(item: Overview) -> Iterator[tuple[str, str]]:
    driver, record = item.driver, item.view.record if item.view else None
    if driver is not None:
        begun = _moment(driver.started_at)
        yield "driver", f"process {driver.pid} on {driver.host}, since {begun}"
        yield "code", driver.code_version
    if record is None:
        return
    yield "profile", record.profile
    addresses = record.addresses
    if addresses.spark_application_id is not None:
        ui = f", {addresses.spark_ui}" if addresses.spark_ui else ""
        yield "Spark", f"{addresses.spark_application_id}{ui}"
    if addresses.health is not None:
        yield "health", addresses.health
    if record.error is not None:
        yield "error", _error(record.error)


def _kept_facts(item: Overview) -> Iterator[tuple[str, str]]:
    kept = item.kept
    if kept is None or kept.record is None:
        return
    record = kept.record
    yield "keeper", _keeper(kept)
    if record.last_exit is not None:
        yield "last exit", f"{_moment(record.last_exit.at)}: {record.last_exit.reason}"
    if record.next_start_at is not None:
        yield "next start", _moment(record.next_start_at)
    yield "log", str(kept.folder.log)
    yield "Java's log", str(kept.folder.java_log)


def _keeper(kept: KeptPipeline) -> str:
    record = kept.record
    if record is None:
        return "-"
    restarts = f"{record.restarts} restart" + ("" if record.restarts == 1 else "s")
    if kept.is_kept:
        return f"process {record.keeper_pid} on this machine, {restarts}"
    return f"died, {restarts}" if kept.is_abandoned else f"ended, {restarts}"


def _print_flows(flows: Sequence[FlowRecord]) -> None:
    rates = ("in/s", "out/s", "lag", "behind", "batch", "took")
    totals = ("in", "out", "dead", "duplicates", "restarts", "watermark")
    table(("flow", "state", "since", *rates, *totals), [_flow_row(flow) for flow in flows])
    for flow in flows:
        if flow.lag is not None and (waits := held(flow.lag, datetime.now(UTC))):
            click.echo(f"{flow.flow}: {waits}")
        if flow.writes:
            click.echo(f"{flow.flow}: writes {offers(flow.writes)}")
        if flow.last_error is not None:
            click.echo(f"{flow.flow}: last error {_error(flow.last_error)}")


def _flow_row(flow: FlowRecord) -> tuple[object, ...]:
    batch, lag, totals = flow.last_batch, flow.lag, flow.totals
    return (
        flow.flow,
        str(flow.state),
        _moment(flow.since),
        compact_number(flow.rates.records_in),
        compact_number(flow.rates.records_out),
        compact_number(lag.records if lag else None),
        compact_seconds(lag.seconds if lag else None),
        batch.batch_id if batch else None,
        compact_seconds(batch.seconds if batch else None),
        totals.records_in,
        totals.records_out,
        totals.dead_letters,
        totals.duplicates,
        totals.restarts,
        _moment(flow.watermark) if flow.watermark and flow.watermark.timestamp() > 0 else None,
    )


def _error(error: ErrorRecord) -> str:
    code = f"[{error.code}] " if error.code else ""
    return f"{code}{error.message} at {_moment(error.at)}"


def overview_payload(item: Overview) -> dict[str, object]:
    """Return a pipeline for `--json`."""
    view, kept = item.view, item.kept
    return {
        "pipeline": item.pipeline,
        "state": item.state,
        "since": item.since,
        "why": item.why,
        "what_to_do": advice(item) if item.state is OverallState.LOST else None,
        "seen_at": view.seen_at if view else None,
        "driver": asdict(item.driver) if item.driver else None,
        "status": asdict(view.record) if view and view.record else None,
        "keeper": _kept_payload(kept) if kept else None,
    }


def _kept_payload(kept: KeptPipeline) -> dict[str, object]:
    record = kept.record
    fields = asdict(record) if record else {}
    if record is not None and record.last_exit is not None:
        fields["last_exit"] |= {"reason": record.last_exit.reason}
    paths = {"log": kept.folder.log, "java_log": kept.folder.java_log}
    return {"is_alive": kept.is_kept, **fields, **paths}


def command_payload(pipeline: PipelineName, command: Command, said: str) -> dict[str, object]:
    """Return what a command did for `--json`."""
    return {"pipeline": pipeline, **asdict(command), "done": said}


def log_line(line: str, *, as_json: bool) -> str:
    """Return a line of a log as it was written, or as JSON with its time apart."""
    if not as_json:
        return line
    at, _, text = line.partition(" ")
    return json.dumps({"at": at, "text": text})


def _flows(item: Overview) -> tuple[FlowRecord, ...]:
    return item.view.record.flows if item.view and item.view.record else ()


def _is_alive(item: Overview) -> bool:
    return item.state in (OverallState.RUNNING, OverallState.STOPPING)


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
