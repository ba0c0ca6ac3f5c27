"""An audit for people, and as JSON for programs (`docs/audit.md`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import table
from penstock.delivery.records import payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.control.auditing import PipelineAudit
    from penstock.delivery.audit import Finding, FlowAudit
    from penstock.delivery.deep import TopicAudit
    from penstock.delivery.records import BatchRecord
    from penstock.names import TopicName

_FLOW_COLUMNS = (
    "flow",
    "batches",
    "read",
    "undecodable",
    "duplicates",
    "late",
    "filtered",
    "refused",
    "written",
    "ledger",
)
_TOPIC_COLUMNS = ("flow", "topic", "written", "found", "compared", "note")
_BATCH_COLUMNS = ("flow", "batch", "ended", "read", "from", "returned", "written", "told by")


def print_audit(audit: PipelineAudit, *, by_batch: bool) -> None:
    """Print an audit for people; findings last, a line each."""
    if not audit.flows:
        click.echo(f"the history has no such batches of `{audit.pipeline}`")
        _print_findings(audit)
        return
    table(_FLOW_COLUMNS, [_flow_row(flow) for flow in audit.flows])
    if by_batch:
        click.echo()
        table(_BATCH_COLUMNS, [_batch_row(it) for flow in audit.flows for it in flow.batches])
    click.echo()
    if audit.topics is not None:
        table(_TOPIC_COLUMNS, [_topic_row(topic) for topic in audit.topics])
        click.echo()
    for flow in audit.flows:
        for note in flow.notes:
            click.echo(f"note: {flow.flow}: {note}")
    for name, batch_id in audit.unproven.items():
        click.echo(f"note: {name}: the history has none of its batches, the ledger has {batch_id}")
    _print_findings(audit)
    click.echo("it does not add up" if audit.findings else "it adds up")


def _print_findings(audit: PipelineAudit) -> None:
    for finding in audit.findings:
        click.echo(f"{finding.kind}: {finding.flow}: {finding.message}")


def audit_payload(audit: PipelineAudit, *, by_batch: bool) -> dict[str, object]:
    """Return an audit as JSON has it."""
    return {
        "pipeline": audit.pipeline,
        "from": audit.since,
        "to": audit.to,
        "adds_up": not audit.findings,
        "flows": [_flow(flow, by_batch=by_batch) for flow in audit.flows],
        "unproven": dict(audit.unproven),
        "topics": None if audit.topics is None else [_topic(topic) for topic in audit.topics],
        "findings": [_finding(finding) for finding in audit.findings],
    }


def _flow(flow: FlowAudit, *, by_batch: bool) -> dict[str, object]:
    rows = flow.rows
    told: dict[str, object] = {
        "flow": flow.flow,
        "query_id": flow.query_id,
        "first_batch_id": flow.batches[0].first_batch_id,
        "last_batch_id": flow.batches[-1].batch_id,
        "batches": len(flow.batches),
        "recounted": sum(batch.recounted for batch in flow.batches),
        "read": {str(where): count for where, count in sorted(rows.items())},
        "input_rows": _sum(flow, "input_rows"),
        "undecodable": _sum(flow, "undecodable"),
        "dead_letters": flow.dead_letters,
        "duplicates": _sum(flow, "duplicates"),
        "late": _sum(flow, "late"),
        "refused": _sum(flow, "refused"),
        "is_stateful": flow.is_stateful,
        "filtered": flow.filtered,
        "written": flow.written,
        "ledger": None if flow.ledger is None else dict(flow.ledger.totals),
        "notes": list(flow.notes),
    }
    if by_batch:
        told["batch_list"] = [payload(batch) for batch in flow.batches]
    return told


def _finding(finding: Finding) -> dict[str, object]:
    where = finding.partition
    return {
        "flow": finding.flow,
        "kind": str(finding.kind),
        "message": finding.message,
        "batch_id": finding.batch_id,
        "topic": where.topic if where else None,
        "partition": where.partition if where else None,
        "from": finding.first,
        "to": finding.after,
    }


def _topic(topic: TopicAudit) -> dict[str, object]:
    return {
        "flow": topic.flow,
        "topic": topic.topic,
        "written": topic.expected,
        "found": topic.found,
        "compared": _compared(topic),
        "note": topic.note,
    }


def _topic_row(topic: TopicAudit) -> list[object]:
    return [*_topic(topic).values()]


def _compared(topic: TopicAudit) -> str:
    if topic.found is None:
        return "nothing"
    return "contents" if topic.has_fingerprints else "counts"


def _flow_row(flow: FlowAudit) -> list[object]:
    filtered: object = flow.filtered
    if flow.is_stateful:
        filtered = "aggregated"
    return [
        flow.flow,
        len(flow.batches),
        _sum(flow, "input_rows"),
        _sum(flow, "undecodable"),
        _sum(flow, "duplicates"),
        _sum(flow, "late"),
        filtered,
        _sum(flow, "refused"),
        _listed(flow.written),
        None if flow.ledger is None else _listed(flow.ledger.totals),
    ]


def _batch_row(batch: BatchRecord) -> list[object]:
    first = batch.first_batch_id
    ranges = ", ".join(
        f"{where} {read.first}-{read.after}"
        for where, read in sorted(batch.reads.items())
        if read.after != read.first
    )
    return [
        batch.flow,
        str(batch.batch_id) if first == batch.batch_id else f"{first}-{batch.batch_id}",
        batch.ended,
        batch.input_rows,
        ranges or None,
        batch.produced,
        _listed(batch.written),
        "a later driver" if batch.recounted else "its driver",
    ]


def _listed(counts: Mapping[str, int] | Mapping[TopicName, int]) -> str | None:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or None


def _sum(flow: FlowAudit, field: str) -> int:
    return sum(int(getattr(batch, field)) for batch in flow.batches)
