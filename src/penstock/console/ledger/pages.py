"""The pages of the ledger: all pipelines, the audit of one, the batches of a flow."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from penstock.console.errors import NotFoundError
from penstock.console.frame import Listing, Page, Parameter, listing
from penstock.console.frame.pages import LISTING
from penstock.control.auditing import audit
from penstock.delivery.history import HistoryLimits
from penstock.monitoring.frames import DEFAULT_FRAME, FRAMES, frame_named
from penstock.names import PipelineName

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.control.auditing import PipelineAudit
    from penstock.delivery.audit import Finding, FlowAudit
    from penstock.delivery.records import BatchRecord

_FRAME = Parameter(
    name="frame", meaning=f"batches of the last {', '.join(frame.name for frame in FRAMES)}"
)


_LIMITS = HistoryLimits(records=10_000, byte_count=4 * 1024 * 1024, seconds=5.0)
"""What a page may cost: some 30 MB of memory, and no longer than somebody waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """A pipeline whose batches may be audited."""

    pipeline: str
    state: str
    flows: int
    records_out: int | None
    dead_letters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """All pipelines."""

    pipelines: Listing[LedgerLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSums:
    """What became of the records of a flow."""

    flow: str
    batches: int
    records_in: int
    undecodable: int
    dead_letters: int
    duplicates: int
    late: int
    filtered: int | None
    """None where nobody can tell: rows in and out of state are not the same rows."""

    refused: int
    written: dict[str, int]
    ledger: dict[str, int] | None
    """What the lanes have written since their checkpoint began; None: it has no lanes."""

    notes: tuple[str, ...]
    findings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLine:
    """Something that does not add up."""

    flow: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The audit of a pipeline over a time."""

    pipeline: str
    frame: str
    since: datetime
    cut: datetime | None
    """Batches before that moment were left out, as there are too many for a page."""

    adds_up: bool
    flows: tuple[FlowSums, ...]
    findings: tuple[FindingLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """What a batch has read of one partition."""

    partition: str
    first: int
    after: int
    records: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLine:
    """One batch of a flow."""

    batch_id: int
    ended: datetime
    seconds: float
    records_in: int
    returned: int | None
    undecodable: int
    written: dict[str, int]
    reads: tuple[ReadLine, ...]
    delivery: str
    verdict: tuple[str, ...]
    """The kinds of what does not add up about it; empty: it adds up."""

    recounted: bool
    """Whether a later driver has counted it again, as its own had died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The batches of a flow over a time, the newest first."""

    pipeline: str
    flow: str
    frame: str
    cut: datetime | None
    """Batches before that moment were left out, as there are too many for a page."""

    query_id: str | None
    findings: tuple[FindingLine, ...]
    batches: Listing[BatchLine]


def load_all(ask: Ask) -> Ledger:
    """Return all pipelines."""
    lines = []
    for overview in ask.world.pipelines:
        record = overview.view.record if overview.view else None
        flows = record.flows if record else ()
        outputs = [flow.totals.records_out for flow in flows]
        known = [count for count in outputs if count is not None]
        lines.append(
            LedgerLine(
                pipeline=overview.pipeline,
                state=overview.state,
                flows=len(flows),
                records_out=sum(known) if len(known) == len(outputs) else None,
                dead_letters=sum(flow.totals.dead_letters for flow in flows),
            )
        )
    found = listing(
        lines,
        ask,
        text=lambda line: line.pipeline,
        columns={
            "pipeline": lambda line: line.pipeline,
            "state": lambda line: line.state,
            "written": lambda line: line.records_out,
        },
        sort="pipeline",
    )
    return Ledger(pipelines=found)


def load_pipeline(ask: Ask) -> Verdict:
    """Return the audit of a pipeline."""
    frame, found = _audited(ask)
    return Verdict(
        pipeline=found.pipeline,
        frame=frame,
        since=found.since or ask.at,
        cut=found.cut,
        adds_up=not found.findings,
        flows=tuple(_sums(flow) for flow in found.flows),
        findings=_findings(found),
    )


def load_batches(ask: Ask) -> Batches:
    """Return the batches of a flow."""
    frame, found = _audited(ask)
    name = ask.path["flow"]
    flow = next((item for item in found.flows if item.flow == name), None)
    known = any(
        item.flow == name
        for overview in ask.world.pipelines
        if overview.pipeline == found.pipeline and overview.view and overview.view.record
        for item in overview.view.record.flows
    )
    if flow is None and not known:
        raise NotFoundError(ask.url)
    batches = listing(
        reversed(flow.batches) if flow else (),
        ask,
        text=lambda batch: f"{batch.batch_id} {' '.join(batch.written)}",
        columns={
            "ended": lambda batch: batch.ended,
            "seconds": lambda batch: batch.ended - batch.started,
            "read": lambda batch: batch.input_rows,
        },
        sort="-ended",
    )
    return Batches(
        pipeline=found.pipeline,
        flow=name,
        frame=frame,
        cut=found.cut,
        query_id=flow.query_id if flow else None,
        findings=tuple(item for item in _findings(found) if item.flow == name),
        batches=batches.shown_as(lambda batch: _batch(batch, flow.findings if flow else ())),
    )


def _audited(ask: Ask) -> tuple[str, PipelineAudit]:
    frame = frame_named(ask.query.get("frame", "")) or DEFAULT_FRAME
    pipeline = PipelineName(ask.path["pipeline"])
    since = ask.at - timedelta(seconds=frame.length.total_seconds())
    return frame.name, audit(ask.world.connection, pipeline, since=since, limits=_LIMITS)


def _findings(found: PipelineAudit) -> tuple[FindingLine, ...]:
    return tuple(
        FindingLine(flow=item.flow, kind=item.kind, message=item.message) for item in found.findings
    )


def _sums(flow: FlowAudit) -> FlowSums:
    return FlowSums(
        flow=flow.flow,
        batches=len(flow.batches),
        records_in=sum(batch.input_rows for batch in flow.batches),
        undecodable=sum(batch.undecodable for batch in flow.batches),
        dead_letters=flow.dead_letters,
        duplicates=sum(batch.duplicates for batch in flow.batches),
        late=sum(batch.late for batch in flow.batches),
        filtered=flow.filtered,
        refused=sum(batch.refused for batch in flow.batches),
        written=dict(flow.written),
        ledger=None
        if flow.ledger is None
        else {str(name): count for name, count in flow.ledger.totals.items()},
        notes=flow.notes,
        findings=len(flow.findings),
    )


def _batch(batch: BatchRecord, findings: tuple[Finding, ...]) -> BatchLine:
    return BatchLine(
        batch_id=batch.batch_id,
        ended=batch.ended,
        seconds=(batch.ended - batch.started).total_seconds(),
        records_in=batch.input_rows,
        returned=batch.produced,
        undecodable=batch.undecodable,
        written=dict(batch.written),
        reads=tuple(
            ReadLine(partition=str(where), first=read.first, after=read.after, records=read.rows)
            for where, read in sorted(batch.reads.items())
        ),
        delivery=batch.delivery,
        verdict=tuple(
            dict.fromkeys(str(item.kind) for item in findings if item.batch_id == batch.batch_id)
        ),
        recounted=batch.recounted,
    )


LEDGER = Page(
    path="/ledger",
    name="list_ledger",
    summary="Pipelines whose batches can be audited.",
    template="ledger/ledger.html",
    model=Ledger,
    load=load_all,
    title=lambda _: "Ledger",
    command=lambda _ask, _model: "penstock list",
    parameters=LISTING,
    live=("pipelines",),
    menu="Ledger",
)
PIPELINE = Page(
    path="/ledger/{pipeline}",
    name="audit_pipeline",
    summary="Whether what the flows of a pipeline have read and written adds up.",
    template="ledger/pipeline.html",
    model=Verdict,
    load=load_pipeline,
    title=lambda model: f"Audit of {model.pipeline}",
    command=lambda _, model: f"penstock audit {shlex.quote(model.pipeline)} --from {model.frame}",
    parameters=(_FRAME,),
    live=("verdict",),
    menu="Ledger",
)
BATCHES = Page(
    path="/ledger/{pipeline}/{flow}",
    name="list_batches",
    summary="The batches of a flow: what each has read and written.",
    template="ledger/batches.html",
    model=Batches,
    load=load_batches,
    title=lambda model: f"Batches of {model.flow}",
    command=lambda _, model: (
        f"penstock audit {shlex.quote(model.pipeline)} --batches --from {model.frame}"
    ),
    parameters=(_FRAME, *LISTING),
    live=("verdict", "batches"),
    menu="Ledger",
)
