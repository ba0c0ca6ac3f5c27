"""An audit of a pipeline: read its history and the ledger, and do the sums. Changes nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.control.errors import UnknownPipelineError
from penstock.control.fleet import Fleet
from penstock.delivery.audit import LETTERS_TIME, Finding, FindingKind, audit_flow, behind_by
from penstock.delivery.deep import compare
from penstock.delivery.history import HistoryReader, read_ledger
from penstock.delivery.records import BatchRecord
from penstock.kafka.lanes.ledger import is_of_letters, letters_of
from penstock.names import FlowName, dead_letters_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.delivery.audit import FlowAudit
    from penstock.delivery.deep import TopicAudit
    from penstock.delivery.history import HistoryLimits
    from penstock.delivery.records import HistoryRecord
    from penstock.kafka import Connection
    from penstock.kafka.lanes.ledger import LaneEntry
    from penstock.names import PipelineName

_LATE_SECONDS = 10.0
"""How long the history may be behind the ledger: Spark tells of a batch some time after it."""

_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineAudit:
    """What became of the records of a pipeline."""

    pipeline: PipelineName
    since: datetime | None
    to: datetime | None
    flows: tuple[FlowAudit, ...]
    topics: tuple[TopicAudit, ...] | None = None
    """What output topics hold; None when nobody looked."""

    unproven: Mapping[FlowName, int] = field(default_factory=dict)
    """The last batch in the ledger of flows of which the history has none."""

    cut: datetime | None = None
    """Batches before that moment were left out, as there are too many; None: none was."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that does not add up."""
        noted = [finding for flow in self.flows for finding in flow.findings]
        held = [topic.finding for topic in self.topics or () if topic.finding is not None]
        return (*noted, *held, *(() if self.flows else self._nothing_noted()))

    def _nothing_noted(self) -> Iterator[Finding]:
        """Say that nothing is known of what the ledger says is written: that proves nothing."""
        for flow, batch_id in self.unproven.items():
            yield Finding(
                flow=flow,
                kind=FindingKind.MISSING_BATCH,
                message=f"the ledger has batch {batch_id}, and the history none at all",
                batch_id=batch_id,
            )


def audit(
    connection: Connection,
    pipeline: PipelineName,
    *,
    since: datetime | None = None,
    to: datetime | None = None,
    deep: bool = False,
    limits: HistoryLimits | None = None,
) -> PipelineAudit:
    """Audit the batches that ended from `since` to `to`; None: all that are remembered.

    With `deep` the output topics are read as well. With `limits` the oldest batches are left out
    where there are too many.

    Raises:
        UnknownPipelineError: no pipeline of that name has ever run on the cluster.
        ClusterError: the cluster is away, or refuses.
    """
    records, ledger, cut = _read(connection, pipeline, since, limits)
    with_lanes = {flow for flow, own in records.items() if any(it.totals for it in _batches(own))}
    declared = None
    if not records or with_lanes - ledger.keys():
        declared = _declared(connection, pipeline, is_known=bool(records or ledger))
    settled = datetime.now(UTC) - LETTERS_TIME
    audited = (
        audit_flow(
            flow,
            own,
            _entries(flow, ledger, declared),
            ledger.get(FlowName(letters_of(flow))),
            settled=settled,
            to=to,
        )
        for flow, own in sorted(records.items())
    )
    flows = tuple(flow for flow in audited if flow is not None)
    return PipelineAudit(
        pipeline=pipeline,
        since=since,
        to=to,
        flows=flows,
        topics=compare(connection, flows, dead_letters=dead_letters_topic(pipeline))
        if deep
        else None,
        unproven=_unproven(records, ledger) if since is None and to is None else {},
        cut=cut,
    )


def _unproven(records: Records, ledger: Ledger) -> dict[FlowName, int]:
    """Return the last batch in the ledger of flows without any in the history."""
    noted = {flow for flow, own in records.items() if _batches(own)}
    newest = {
        flow: max(entry.batch_id for entry in entries.values())
        for flow, entries in ledger.items()
        if entries and flow not in noted and not is_of_letters(flow)
    }
    # The first batch may be under way.
    return {flow: batch_id for flow, batch_id in sorted(newest.items()) if batch_id > 0}


def _declared(
    connection: Connection, pipeline: PipelineName, *, is_known: bool
) -> frozenset[FlowName] | None:
    """Return the flows that the last driver ran; None when it has not said.

    Raises:
        UnknownPipelineError: nobody knows a pipeline of that name.
    """
    try:
        with Fleet(connection) as fleet:
            record = fleet.show(pipeline).record
    except UnknownPipelineError:
        if is_known:
            return None
        raise
    return None if record is None else frozenset(flow.flow for flow in record.flows)


def _entries(
    flow: FlowName, ledger: Ledger, declared: frozenset[FlowName] | None
) -> dict[str, LaneEntry] | None:
    """Return the entries of a flow; None when they were forgotten because it is no more."""
    is_gone = declared is not None and flow not in declared
    return ledger.get(flow, None if is_gone else {})


Records = dict["FlowName", "list[HistoryRecord]"]
Ledger = dict["FlowName", "dict[str, LaneEntry]"]


def _read(
    connection: Connection,
    pipeline: PipelineName,
    since: datetime | None,
    limits: HistoryLimits | None,
) -> tuple[Records, Ledger, datetime | None]:
    """Return history, ledger and where the history was cut; the history as of a later moment."""
    records: Records = {}
    with HistoryReader(connection, pipeline, since=since, limits=limits) as history:

        def read_on() -> None:
            for record in history.read():
                records.setdefault(record.flow, []).append(record)

        read_on()
        ledger = read_ledger(connection, pipeline)
        deadline = time.monotonic() + _LATE_SECONDS
        read_on()
        while _is_behind(records, ledger) and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
            read_on()
    return records, ledger, history.cut


def _is_behind(records: Records, ledger: Ledger) -> bool:
    return any(
        behind_by(ledger.get(flow, {}).values(), _batches(own)) > 0 for flow, own in records.items()
    )


def _batches(records: list[HistoryRecord]) -> list[BatchRecord]:
    return [record for record in records if isinstance(record, BatchRecord)]
