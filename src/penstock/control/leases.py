"""The lease of a pipeline: one driver at a time runs it, whatever machines they are on.

A holder renews its lease as long as it lives. Each renewal is a conditional write, so it is refused
as soon as another driver has taken over, and each holder has a higher epoch than the one before.

While no broker answers, a lease can neither be renewed nor be taken over: the holder goes on. A
holder that was frozen cannot know what has happened meanwhile: when it finds that it has slept
through its lease, it has lost it, without asking. Coming by a lease is in `acquiring.py`.
"""

from __future__ import annotations

import logging
import time
from threading import Event, Lock, Thread, current_thread
from typing import TYPE_CHECKING, Self

from penstock.control.acquiring import Contest
from penstock.control.errors import LeaseLostError
from penstock.control.lease_records import (
    RENEW_SECONDS,
    TIME_TO_LIVE_SECONDS,
    LeaseRecord,
    decode_lease,
    encode_lease,
    lease_key,
)
from penstock.errors import PenstockError
from penstock.events import Emit, ignore
from penstock.kafka.tables import TableClosedError, TableLostError, VersionConflictError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.control.holders import Holder
    from penstock.kafka.tables import Entry, KafkaTable
    from penstock.names import PipelineName

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
_TICK_SECONDS = 0.5
_JOIN_SECONDS = 2.0

_WAKE_UP_SECONDS = TIME_TO_LIVE_SECONDS - 1.0
"""Who wakes up before has a second left in which to renew."""


class Vigil:
    """Notices that the process has slept through its lease. The clock is handed in."""

    def __init__(self, now: float) -> None:
        self._renewed, self._last = now, now

    def renewed(self, asked: float) -> None:
        """The lease was renewed; `asked` is when that was begun."""
        self._renewed = asked

    def overslept_seconds(self, now: float) -> float | None:
        """Return for how long the process was frozen, if another may have the lease by now.

        Call it often: a long time between two calls is how a frozen process knows that it was.
        """
        gap, self._last = now - self._last, now
        is_too_late = now - self._renewed >= _WAKE_UP_SECONDS
        return gap if gap > RENEW_SECONDS and is_too_late else None


class Lease:
    """A lease while it is held. Use it as a context manager; leaving it gives the lease back."""

    def __init__(
        self,
        table: KafkaTable,
        pipeline: PipelineName,
        won: tuple[LeaseRecord, Entry],
        *,
        on_lost: Callable[[LeaseLostError], None],
    ) -> None:
        """Hold a lease that was won; `acquire` is the way to call this."""
        self._table, self._pipeline, self._on_lost = table, pipeline, on_lost
        self._record, entry = won
        self._version = entry.version
        self._vigil = Vigil(time.monotonic())
        self._over, self._lock = Event(), Lock()
        self._lost: LeaseLostError | None = None
        self._threads = [
            Thread(target=self._keep_renewing, name="penstock-lease", daemon=True),
            Thread(target=self._keep_watch, name="penstock-lease-watch", daemon=True),
        ]

    @classmethod
    def acquire(
        cls,
        table: KafkaTable,
        pipeline: PipelineName,
        holder: Holder,
        *,
        on_lost: Callable[[LeaseLostError], None],
        emit: Emit = ignore,
        abandoned: Event | None = None,
    ) -> Self:
        """Return the lease of `pipeline` when `holder` has it.

        That takes a moment, or the time to live of a lease whose holder has died elsewhere.

        Args:
            table: the table `_penstock.status`; stays open.
            pipeline: what is to be run.
            holder: who wants to run it.
            on_lost: called once, from a thread of the lease, when it is lost. Whoever holds a lease
                must end there and then whatever it protects.
            emit: hears of a wait.
            abandoned: set it in another thread to end a wait.

        Raises:
            PipelineRunningError: another driver has it and lives.
            AcquiringAbandoned: nobody wants it any more.
            PenstockError: Kafka cannot be used.
        """
        contest = Contest(
            table=table,
            pipeline=pipeline,
            contender=holder,
            emit=emit,
            abandoned=abandoned or Event(),
        )
        lease = cls(table, pipeline, contest.win(), on_lost=on_lost)
        for thread in lease._threads:
            thread.start()
        return lease

    @property
    def epoch(self) -> int:
        """The number of this lease: higher than that of every earlier one of the pipeline."""
        return self._record.epoch

    @property
    def lost(self) -> LeaseLostError | None:
        """Why the lease is not held any more, when it was not given back."""
        return self._lost

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lease back."""
        self.release()

    def release(self) -> None:
        """Give the lease back, so that the next driver need not wait; safe to repeat.

        Without Kafka it stays with this process, which is found to be gone.
        """
        with self._lock:
            is_first = not self._over.is_set()
            self._over.set()
        for thread in self._threads:
            if thread is not current_thread():
                thread.join(_JOIN_SECONDS)
        if not is_first or self._lost is not None:
            return
        try:
            self._write(LeaseRecord(epoch=self.epoch, holder=None))
        except PenstockError as error:
            logger.warning(
                "lease not given back",
                extra={"pipeline": self._pipeline, "reason": error.message},
            )

    def _keep_renewing(self) -> None:
        pause = RENEW_SECONDS
        while not self._over.wait(pause):
            try:
                pause = self._renew()
            except Exception:  # the top of a thread: a lease that nobody renews is lost to others
                logger.exception("renewing the lease failed", extra={"pipeline": self._pipeline})
                pause = _RETRY_SECONDS

    def _renew(self) -> float:
        """Renew the lease, or lose it; return how long to wait before the next time."""
        asked = time.monotonic()
        try:
            self._write(self._record)
        except VersionConflictError as conflict:
            self._lose(_taken_by(decode_lease(conflict.found.value) if conflict.found else None))
        except (TableLostError, TableClosedError) as error:
            self._lose(error.message)
        except PenstockError:
            # No broker answers, and nobody else can take the lease meanwhile.
            return _RETRY_SECONDS
        else:
            self._vigil.renewed(asked)
        return RENEW_SECONDS

    def _write(self, record: LeaseRecord) -> None:
        key, value = lease_key(self._pipeline), encode_lease(record)
        try:
            entry = self._table.put_if(key, value, version=self._version)
        except VersionConflictError as conflict:
            found = conflict.found
            if found is None or not self._is_mine(found):
                raise
            # An earlier renewal was done, and its confirmation was lost.
            entry = self._table.put_if(key, value, version=found.version)
        self._version = entry.version

    def _is_mine(self, entry: Entry) -> bool:
        found = decode_lease(entry.value)
        return found is not None and found.epoch == self.epoch and found.holder is not None

    def _keep_watch(self) -> None:
        while not self._over.wait(_TICK_SECONDS):
            overslept = self._vigil.overslept_seconds(time.monotonic())
            if overslept is not None:
                self._lose(f"it was frozen for {overslept:.0f} s")
                return
            try:
                self._look()
            except PenstockError as error:
                self._lose(error.message)
                return

    def _look(self) -> None:
        """Notice another holder before the next renewal does."""
        entry = self._table.get(lease_key(self._pipeline))
        record = decode_lease(entry.value) if entry else None
        if record is not None and record.epoch > self.epoch:
            self._lose(_taken_by(record))

    def _lose(self, reason: str) -> None:
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
            self._lost = LeaseLostError(self._pipeline, reason=reason)
        self._on_lost(self._lost)


def _taken_by(record: LeaseRecord | None) -> str:
    if record is None or record.holder is None:
        return "somebody has removed it"
    return f"process {record.holder.pid} on `{record.holder.host}` has taken over"
