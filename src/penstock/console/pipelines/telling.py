"""What viewers are told of failures: that there was one, and of what kind.

The sentence of an error may quote the record that it is about, so viewers do not read it, wherever
it stands; neither do they read logs (`logs.py`). Each code has a page of its own that explains it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.console.access.roles import Role
from penstock.control.overviews import OverallState

if TYPE_CHECKING:
    from penstock.console.access.users import User
    from penstock.control.detached import KeptPipeline
    from penstock.control.fleet import PipelineView
    from penstock.control.overviews import Overview
    from penstock.control.status_records import ErrorRecord, FlowRecord

HIDDEN = "operators see why"

_FAILED = frozenset({OverallState.FAILED, OverallState.RESTARTING})
_OURS = frozenset({OverallState.STOPPED, OverallState.LOST})


def as_told(overview: Overview, user: User) -> Overview:
    """Return as much of a pipeline as `user` may know."""
    if user.role >= Role.OPERATOR:
        return overview
    return replace(
        overview,
        why=HIDDEN if overview.why and _may_quote(overview) else overview.why,
        view=_view(overview.view) if overview.view else None,
        kept=_kept(overview.kept) if overview.kept else None,
    )


def _may_quote(overview: Overview) -> bool:
    """Whether the reason of a state may be the sentence of an error: keepers go on telling it."""
    record = overview.kept.record if overview.kept else None
    is_from_keeper = record is not None and overview.why == record.why
    return overview.state in _FAILED or (is_from_keeper and overview.state not in _OURS)


def _view(view: PipelineView) -> PipelineView:
    record = view.record
    if record is None:
        return view
    told = replace(
        record,
        error=_error(record.error) if record.error else None,
        flows=tuple(_flow(flow) for flow in record.flows),
    )
    return replace(view, record=told)


def _flow(flow: FlowRecord) -> FlowRecord:
    return replace(
        flow,
        last_error=_error(flow.last_error) if flow.last_error else None,
        failures=tuple(_error(failure) for failure in flow.failures),
    )


def _error(error: ErrorRecord) -> ErrorRecord:
    # Where there is no code, the sentence begins with the kind of the exception.
    kind = error.message.partition(":")[0] if error.code is None else ""
    return replace(error, message=f"{kind}; {HIDDEN}" if kind.isidentifier() else HIDDEN)


def _kept(kept: KeptPipeline) -> KeptPipeline:
    exit_ = kept.record.last_exit if kept.record else None
    if kept.record is None or exit_ is None or exit_.error is None:
        return kept
    error = replace(exit_.error, message=HIDDEN)
    return replace(kept, record=replace(kept.record, last_exit=replace(exit_, error=error)))
