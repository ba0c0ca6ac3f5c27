"""The events of a run folded into the record that its driver publishes.

Pure: no Kafka, no thread, no clock. Who publishes is in `publishing.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.control.status import PipelineStatus
from penstock.control.status_records import (
    Addresses,
    BatchRecord,
    ErrorRecord,
    FlowRecord,
    LagRecord,
    PipelineRecord,
    PipelineState,
    error_record,
)
from penstock.control.supervision import OVER, FlowState
from penstock.engine.events import BatchFinished, FlowFailed, FlowLag, FlowStopped

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from penstock.control.holders import Holder
    from penstock.control.status import FlowStatus
    from penstock.engine.events import PipelineEvent
    from penstock.names import FlowName, PipelineName

Clean = Callable[[str], str]
"""Removes secrets from a sentence."""

_MOST_FAILURES = 5

_NOT_BEGUN = frozenset({FlowState.PENDING, FlowState.STARTING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which driver of which pipeline speaks."""

    pipeline: PipelineName
    driver: Holder
    epoch: int
    profile: str


def state_while_running(flows: Collection[FlowState]) -> PipelineState:
    """Return the state of a pipeline whose driver lives and has not been told to stop."""
    living = [flow for flow in flows if flow not in OVER]
    if living and all(flow is FlowState.PAUSED for flow in living):
        return PipelineState.PAUSED
    has_begun = any(flow not in _NOT_BEGUN for flow in flows)
    return PipelineState.RUNNING if has_begun else PipelineState.STARTING


def why_of(flows: Collection[FlowState]) -> str | None:
    """Return what is to be said about a pipeline that runs; None: all is well."""
    if FlowState.NO_KAFKA in flows:
        return "no broker answers"
    parts = [
        f"{flows_in} of {len(flows)} flows {'is' if flows_in == 1 else 'are'} {state}"
        for state in (FlowState.FAILED, FlowState.RESTARTING, FlowState.PAUSED, FlowState.STOPPED)
        if (flows_in := sum(1 for flow in flows if flow is state))
    ]
    return ", ".join(parts) or None


class StatusFold:
    """What is known of a run so far. For one thread at a time."""

    def __init__(self, identity: Identity, *, at: datetime, clean: Clean = str) -> None:
        """Begin with a driver that is starting and whose flows are not known.

        Args:
            identity: who speaks.
            at: when the driver began.
            clean: removes secrets from sentences that others wrote.
        """
        self.addresses = Addresses()
        self._identity, self._clean = identity, clean
        self._status = PipelineStatus([])
        self._state, self._since = PipelineState.STARTING, at
        self._why: str | None = None
        self._error: ErrorRecord | None = None
        self._flow_states: dict[FlowName, tuple[FlowState, datetime]] = {}
        self._failures: dict[FlowName, tuple[ErrorRecord, ...]] = {}

    def begin(self, flows: Sequence[FlowName], *, at_first: FlowState, at: datetime) -> None:
        """The project is loaded: these flows are to be run."""
        self._status = PipelineStatus(flows, at_first=at_first)
        self._flow_states = dict.fromkeys(flows, (at_first, at))

    def apply(self, event: PipelineEvent) -> bool:
        """Take in an event; return whether a state has changed, which others should hear soon."""
        self._status.apply(event)
        if isinstance(event, FlowFailed | FlowStopped) and event.error is not None:
            self._note_failure(event, self._told(event.error, event.at))
        before = dict(self._flow_states)
        for flow, (known, _) in before.items():
            if (state := self._status.state_of(flow)) is not known:
                self._flow_states[flow] = state, event.at
        if self._state not in (PipelineState.STOPPING, PipelineState.STOPPED, PipelineState.FAILED):
            states = self._states()
            self._enter(state_while_running(states), why_of(states), event.at)
        return self._flow_states != before

    def stop(self, why: str | None, *, at: datetime) -> None:
        """Somebody wants the end; running batches are being finished."""
        self._enter(PipelineState.STOPPING, why, at)

    def end(self, error: BaseException | None, *, at: datetime) -> None:
        """The run is over; `error` is why, unless that was wanted."""
        if error is not None:
            self._error = self._told(error, at)
            self._enter(PipelineState.FAILED, self._error.message, at)
            return
        states = self._states()
        has_finished = bool(states) and all(state is FlowState.FINISHED for state in states)
        self._enter(
            PipelineState.STOPPED, "all flows have finished" if has_finished else self._why, at
        )

    def record(self, now: datetime) -> PipelineRecord:
        """Return what to publish at `now`."""
        identity = self._identity
        return PipelineRecord(
            pipeline=identity.pipeline,
            state=self._state,
            since=self._since,
            why=self._why,
            driver=identity.driver,
            epoch=identity.epoch,
            profile=identity.profile,
            addresses=self.addresses,
            error=self._error,
            flows=tuple(self._flow(flow, now) for flow in self._status.flows.values()),
        )

    def _flow(self, status: FlowStatus, now: datetime) -> FlowRecord:
        state, since = self._flow_states[status.flow]
        batch = status.last_batch
        failures = self._failures.get(status.flow, ())
        # Before the first event Spark's watermark is the beginning of time as it knows it.
        has_watermark = status.watermark_delay_seconds() is not None
        return FlowRecord(
            flow=status.flow,
            state=state,
            since=since,
            rates=status.rates(now),
            totals=replace(status.totals),
            lag=_lag_record(status.lag),
            last_batch=_batch_record(batch),
            watermark=batch.watermark if batch and has_watermark else None,
            latency=status.latency.record,
            last_error=failures[0] if failures else None,
            failures=failures,
            reads=status.reads,
            writes=dict(status.writes),
        )

    def _note_failure(self, event: FlowFailed | FlowStopped, failure: ErrorRecord) -> None:
        before = self._failures.get(event.flow, ())
        # A flow that stays down tells its last failure once more.
        is_known = (
            isinstance(event, FlowStopped) and before and before[0].message == failure.message
        )
        if not is_known:
            self._failures[event.flow] = (failure, *before)[:_MOST_FAILURES]

    def _states(self) -> list[FlowState]:
        return [state for state, _ in self._flow_states.values()]

    def _enter(self, state: PipelineState, why: str | None, at: datetime) -> None:
        if state is not self._state:
            self._state, self._since = state, at
        self._why = self._clean(why) if why else None

    def _told(self, error: BaseException, at: datetime) -> ErrorRecord:
        told = error_record(error, at)
        return replace(told, message=self._clean(told.message))


def _lag_record(lag: FlowLag | None) -> LagRecord | None:
    if lag is None:
        return None
    return LagRecord(
        records=lag.records,
        seconds=lag.seconds,
        held_records=lag.held_records,
        held_since=lag.held_since,
    )


def _batch_record(batch: BatchFinished | None) -> BatchRecord | None:
    if batch is None:
        return None
    return BatchRecord(
        batch_id=batch.batch_id,
        at=batch.at,
        seconds=batch.seconds,
        records_in=batch.input_rows,
        records_out=batch.output_rows,
        phases=dict(batch.phases),
        # Spark says 0 of rows that it does not count.
        state_rows=None if batch.state_bytes and not batch.state_rows else batch.state_rows,
        state_bytes=batch.state_bytes,
    )
