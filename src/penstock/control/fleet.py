"""All pipelines of a cluster, as whoever asks may believe: what drivers say, and their silence.

A driver that lives writes every few seconds. One that has not ended and has fallen silent is lost,
whatever its last record says. Ages are by the clock of the broker, which stamps the records, so
that the clock of whoever asks may be wrong.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from penstock.control.about import about_key, decode_about, decode_plan, plan_key
from penstock.control.errors import UnknownPipelineError
from penstock.control.lease_records import decode_lease, pipeline_of_lease
from penstock.control.status_records import (
    ENDED,
    SILENCE_SECONDS,
    STATUS_TOPIC,
    PipelineState,
    decode_status,
    status_of_key,
)
from penstock.errors import PenstockError
from penstock.kafka.tables import KafkaTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.control.about import AboutRecord, PlanRecord
    from penstock.control.holders import Holder
    from penstock.control.lease_records import LeaseRecord
    from penstock.control.status_records import PipelineRecord
    from penstock.kafka import Connection
    from penstock.kafka.tables import Entry
    from penstock.names import FlowName, PipelineName

_CLOCK_KEY = "clock"
"""What is written there does not matter: its time is the broker's."""

_CLOCK_SECONDS = 30.0
"""How long the broker is not asked for its time again: who looks every second writes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineView:
    """A pipeline as it can be believed to be."""

    pipeline: PipelineName
    state: PipelineState
    since: datetime
    why: str | None
    driver: Holder | None
    """The driver that runs it, or ran it last."""

    seen_at: datetime
    """The last sign of life."""

    record: PipelineRecord | None
    """What the driver said last; None when it has not said anything that can be read."""


class Fleet:
    """The pipelines of one cluster. Use it as a context manager."""

    def __init__(self, connection: Connection) -> None:
        """Load the statuses.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        self._table = KafkaTable.open(connection, STATUS_TOPIC)
        self._ahead: timedelta | None = None
        self._ask_again_at = 0.0

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the table."""
        self._table.close()

    def list(self) -> tuple[PipelineView, ...]:
        """Return all pipelines that ever ran here, by name.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        self._table.refresh()
        entries = self._table.snapshot()
        now = self._now(entries)
        views = [view_of(name, known, now) for name, known in sorted(known_of(entries).items())]
        return tuple(view for view in views if view is not None)

    def show(self, pipeline: PipelineName) -> PipelineView:
        """Return one pipeline.

        Raises:
            UnknownPipelineError: none of that name ever ran here.
            PenstockError: Kafka cannot be used.
        """
        views = {view.pipeline: view for view in self.list()}
        if pipeline not in views:
            raise UnknownPipelineError(pipeline, known=views)
        return views[pipeline]

    def about(self, record: PipelineRecord) -> AboutRecord | None:
        """Return what the driver of `record` tells of its pipeline; None: nothing readable."""
        entry = self._table.get(about_key(record.pipeline, record.epoch))
        return decode_about(entry.value) if entry else None

    def plan(self, record: PipelineRecord, flow: FlowName) -> PlanRecord | None:
        """Return what Spark does for a flow; None before its first batch."""
        entry = self._table.get(plan_key(record.pipeline, record.epoch, flow))
        return decode_plan(entry.value) if entry else None

    def _now(self, entries: Mapping[str, Entry]) -> datetime:
        """Return the time by the broker's clock; where nobody may have died, any will do."""
        if all(_has_ended(key, entry) for key, entry in entries.items()):
            return datetime.now(UTC)
        if self._ahead is None or time.monotonic() >= self._ask_again_at:
            self._ahead = self._broker_ahead()
            self._ask_again_at = time.monotonic() + _CLOCK_SECONDS
        return datetime.now(UTC) + self._ahead

    def _broker_ahead(self) -> timedelta:
        """Return how far the broker's clock is ahead of this machine's."""
        try:
            return self._table.put(_CLOCK_KEY, b"{}").written_at - datetime.now(UTC)
        except PenstockError:
            # Whoever may only read relies on a clock of his own.
            return timedelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the table has of one pipeline, and when the broker wrote it."""

    lease: LeaseRecord | None = None
    lease_at: datetime | None = None
    status: PipelineRecord | None = None
    status_at: datetime | None = None

    @property
    def newcomer(self) -> Holder | None:
        """The driver that has the lease and has not said anything yet."""
        if self.lease is None or (self.status and self.status.epoch >= self.lease.epoch):
            return None
        return self.lease.holder

    @property
    def is_renewed_by_speaker(self) -> bool:
        """Whether the driver that spoke last still has the lease."""
        holder = self.lease.holder if self.lease else None
        if holder is None or self.status is None:
            return False
        return holder.driver_id == self.status.driver.driver_id


def known_of(entries: Mapping[str, Entry]) -> Mapping[PipelineName, Known]:
    """Return what `entries` have of each pipeline: its lease, and its last driver's word."""
    leases = {name: entry for key, entry in entries.items() if (name := pipeline_of_lease(key))}
    statuses: dict[PipelineName, tuple[int, Entry]] = {}
    for key, entry in entries.items():
        if (said_by := status_of_key(key)) is not None:
            pipeline, epoch = said_by
            if pipeline not in statuses or statuses[pipeline][0] < epoch:
                statuses[pipeline] = epoch, entry
    return {
        pipeline: _known(
            leases.get(pipeline), statuses[pipeline][1] if pipeline in statuses else None
        )
        for pipeline in leases.keys() | statuses.keys()
    }


def _known(lease: Entry | None, status: Entry | None) -> Known:
    return Known(
        lease=decode_lease(lease.value) if lease else None,
        lease_at=lease.written_at if lease else None,
        status=decode_status(status.value) if status else None,
        status_at=status.written_at if status else None,
    )


def view_of(pipeline: PipelineName, known: Known, now: datetime) -> PipelineView | None:
    """Return how a pipeline is at `now`, by the broker's clock; None when nothing is known."""
    if known.newcomer is not None and known.lease_at is not None:
        return _view_of_newcomer(pipeline, known.newcomer, known.lease_at, now)
    record, seen_at = known.status, known.status_at
    if record is None or seen_at is None:
        return None
    if known.is_renewed_by_speaker and known.lease_at is not None:
        seen_at = max(seen_at, known.lease_at)
    silence = now - seen_at
    is_lost = record.state not in ENDED and silence >= timedelta(seconds=SILENCE_SECONDS)
    return PipelineView(
        pipeline=pipeline,
        state=PipelineState.LOST if is_lost else record.state,
        since=seen_at if is_lost else record.since,
        why=_silence(record.driver, silence) if is_lost else record.why,
        driver=record.driver,
        seen_at=seen_at,
        record=record,
    )


def _view_of_newcomer(
    pipeline: PipelineName, driver: Holder, seen_at: datetime, now: datetime
) -> PipelineView:
    """Return a pipeline whose driver has the lease and nothing more."""
    silence = now - seen_at
    is_lost = silence >= timedelta(seconds=SILENCE_SECONDS)
    return PipelineView(
        pipeline=pipeline,
        state=PipelineState.LOST if is_lost else PipelineState.STARTING,
        since=seen_at if is_lost else driver.started_at,
        why=_silence(driver, silence) if is_lost else None,
        driver=driver,
        seen_at=seen_at,
        record=None,
    )


def _silence(driver: Holder, silence: timedelta) -> str:
    seconds = silence.total_seconds()
    return f"no sign of life for {seconds:.0f} s from process {driver.pid} on `{driver.host}`"


def _has_ended(key: str, entry: Entry) -> bool:
    """Whether time makes no difference to what `entry` says."""
    if pipeline_of_lease(key):
        lease = decode_lease(entry.value)
        return lease is None or lease.holder is None
    if status_of_key(key):
        record = decode_status(entry.value)
        return record is None or record.state in ENDED
    return True
