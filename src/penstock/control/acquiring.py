"""Coming by a lease: take it when nobody has it, wait for a silent holder, or be refused.

No clock of another machine is asked. A holder that is in doubt is watched with the own clock: one
that lives renews its lease within seconds, one that does not for the whole time to live is gone or
frozen. Only a process of the own machine is believed to be gone at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING

from penstock.control.errors import PipelineRunningError
from penstock.control.holders import ProcessState, process_state
from penstock.control.lease_records import (
    RENEW_SECONDS,
    TIME_TO_LIVE_SECONDS,
    LeaseRecord,
    decode_lease,
    encode_lease,
    lease_key,
)
from penstock.events import Emit, StepFinished, StepProgressed, StepStarted, ignore
from penstock.kafka import ClusterError
from penstock.kafka.tables import TableTimeoutError, VersionConflictError

if TYPE_CHECKING:
    from penstock.control.holders import Holder
    from penstock.kafka.tables import Entry, KafkaTable
    from penstock.names import PipelineName

_LOOK_SECONDS = 1.0
_SLOW_SECONDS = RENEW_SECONDS / 2
"""A table that takes so long to answer may have kept the holder from renewing too."""


class Verdict(StrEnum):
    """What is to be thought of a lease that is in the table."""

    FREE = "free"
    HELD = "held"
    DOUBTFUL = "doubtful"
    """Only time can tell whether its holder lives."""


def verdict_on(record: LeaseRecord | None, process: ProcessState, age: timedelta) -> Verdict:
    """Return what to think of a lease.

    Args:
        record: the lease; None: nobody ever had it.
        process: what can be seen of its holder.
        age: how long ago it was renewed, by clocks that may differ.
    """
    if record is None or record.holder is None or process is ProcessState.GONE:
        return Verdict.FREE
    is_recent = age < timedelta(seconds=TIME_TO_LIVE_SECONDS)
    return Verdict.HELD if process is ProcessState.ALIVE and is_recent else Verdict.DOUBTFUL


class AcquiringAbandoned(Exception):  # noqa: N818 - not a fault: nobody wants the lease any more
    """Whoever wanted the lease has gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """The attempt of one driver to come by the lease of one pipeline."""

    table: KafkaTable
    pipeline: PipelineName
    contender: Holder
    emit: Emit = ignore
    abandoned: Event = field(default_factory=Event)
    """Set it in another thread to end a wait."""

    def win(self) -> tuple[LeaseRecord, Entry]:
        """Return the lease and its entry in the table, once it is the contender's.

        Raises:
            PipelineRunningError: another driver has it and lives.
            AcquiringAbandoned: nobody wants it any more.
            PenstockError: Kafka cannot be used.
        """
        self.table.refresh()
        while True:
            entry = self.table.get(lease_key(self.pipeline))
            record = decode_lease(entry.value) if entry else None
            if entry is not None and record is not None and record.holder is not None:
                self._ensure_free(entry, record, record.holder)
            won = self._take(entry, record)
            if won is not None:
                return won

    def _ensure_free(self, entry: Entry, record: LeaseRecord, holder: Holder) -> None:
        """Return when the lease may be taken, or when it is another one by now."""
        age = datetime.now(UTC) - entry.written_at
        match verdict_on(record, process_state(holder), age):
            case Verdict.HELD:
                raise PipelineRunningError(self.pipeline, holder)
            case Verdict.DOUBTFUL:
                self._watch(entry, holder)
            case Verdict.FREE:
                pass

    def _take(
        self, entry: Entry | None, record: LeaseRecord | None
    ) -> tuple[LeaseRecord, Entry] | None:
        """Write the contender's lease in place of `entry`; None: it was given back meanwhile."""
        # An unreadable lease has some epoch, and none is above the number of its record.
        last = record.epoch if record else entry.version if entry else 0
        mine = LeaseRecord(epoch=last + 1, holder=self.contender)
        try:
            written = self.table.put_if(
                lease_key(self.pipeline),
                encode_lease(mine),
                version=entry.version if entry else None,
            )
        except VersionConflictError as conflict:
            found = decode_lease(conflict.found.value) if conflict.found else None
            if found is not None and found.holder is not None:
                # It was written a moment ago, so whoever did so lives.
                raise PipelineRunningError(self.pipeline, found.holder) from conflict
            return None
        return mine, written

    def _watch(self, entry: Entry, holder: Holder) -> None:
        """Return when the holder has been silent for long enough, has gone, or gave the lease back.

        Raises:
            PipelineRunningError: the lease was renewed.
            AcquiringAbandoned: nobody wants it any more.
        """
        step = f"waiting for process {holder.pid} on `{holder.host}`, the last to run this pipeline"
        limit = f"it is taken for dead when silent for {TIME_TO_LIVE_SECONDS:.0f} s"
        self.emit(StepFinished(step=step, detail=limit))
        self.emit(StepStarted(step=step))
        since = time.monotonic()
        while (silence := time.monotonic() - since) < TIME_TO_LIVE_SECONDS:
            self.emit(
                StepProgressed(step=step, done=round(silence), total=round(TIME_TO_LIVE_SECONDS))
            )
            if self.abandoned.is_set():
                raise AcquiringAbandoned
            if self._has_changed(entry):
                self._ensure_given_back()
                return
            if process_state(holder) is ProcessState.GONE:
                return
            if not self._kafka_answers():
                since = time.monotonic()

    def _has_changed(self, entry: Entry) -> bool:
        def is_another(found: Entry | None) -> bool:
            return found is None or found.version != entry.version

        try:
            self.table.wait_for(lease_key(self.pipeline), is_another, _LOOK_SECONDS)
        except TableTimeoutError:
            return False
        return True

    def _ensure_given_back(self) -> None:
        entry = self.table.get(lease_key(self.pipeline))
        record = decode_lease(entry.value) if entry else None
        if record is not None and record.holder is not None:
            raise PipelineRunningError(self.pipeline, record.holder)

    def _kafka_answers(self) -> bool:
        """Whether the silence is the holder's; without Kafka nobody can renew a lease."""
        asked = time.monotonic()
        try:
            self.table.refresh()
        except ClusterError as error:
            if not error.retryable:
                raise
            return False
        return time.monotonic() - asked < _SLOW_SECONDS
