"""The claim of a process to run a pipeline, from its first step to its last word.

It comes by the pipeline's lease in a thread, so that Spark starts and the project is imported
meanwhile. Once it has the lease it publishes the pipeline's status, and when all is over, Spark
included, it says how the run ended and gives the lease back.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Self

from penstock.control.hasty import done_within
from penstock.control.holders import this_process
from penstock.control.leases import Lease
from penstock.control.publishing import StatusPublisher
from penstock.control.status_fold import Identity
from penstock.control.status_records import STATUS_TOPIC
from penstock.events import Emit, ignore
from penstock.kafka import ensure_reachable
from penstock.kafka.tables import KafkaTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from penstock.control.errors import LeaseLostError
    from penstock.control.status_fold import Clean
    from penstock.kafka import Connection
    from penstock.names import PipelineName

_ABANDON_SECONDS = 3.0
_LAST_WORD_SECONDS = 5.0
_END_SECONDS = 8.0
"""How long the end of a run may take because Kafka is away; then the lease runs out by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who wants to run what, in which version and under which profile."""

    pipeline: PipelineName
    profile: str
    code_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    table: KafkaTable
    lease: Lease
    publisher: StatusPublisher


class Claim:
    """A claim; entering the `with` block begins it, leaving it ends it.

    Enter it before Spark's driver and leave it after: the lease is to outlive what it protects.
    """

    def __init__(
        self,
        connection: Connection,
        claimant: Claimant,
        *,
        clean: Clean = str,
        emit: Emit = ignore,
    ) -> None:
        """Prepare a claim; nothing happens yet.

        Args:
            connection: the cluster that keeps the lease.
            claimant: who wants to run what.
            clean: removes secrets from sentences that become part of the status.
            emit: hears of a wait for a driver that has died.
        """
        self._connection, self._claimant = connection, claimant
        self._clean, self._emit = clean, emit
        self._abandoned, self._lock = Event(), Lock()
        self._lost: LeaseLostError | None = None
        self._guard: Callable[[LeaseLostError], None] | None = None
        self._held: Future[_Held] = Future()
        self._thread = Thread(target=self._come_by, name="penstock-claim", daemon=True)

    def __enter__(self) -> Self:
        """Begin to come by the lease."""
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Say how the run ended and give the lease back, within seconds."""
        self._abandoned.set()
        self._thread.join(_ABANDON_SECONDS)
        if self._held.done() and self._held.exception() is None:
            held = self._held.result()
            done_within(_END_SECONDS, lambda: self._end(held, _fault(error)))

    @property
    def lost(self) -> LeaseLostError | None:
        """Why the lease is not held any more."""
        return self._lost

    def guard(self, act: Callable[[LeaseLostError], None]) -> None:
        """Let `act` be called as soon as the lease is lost, at once when it is lost already.

        It is called in another thread, and must first of all kill what the lease protects.
        """
        with self._lock:
            self._guard, lost = act, self._lost
        if lost is not None:
            act(lost)

    def await_lease(self) -> StatusPublisher:
        """Return when the pipeline is ours to run, with what makes its status known.

        Raises:
            PipelineRunningError: another process runs it.
            PenstockError: Kafka cannot be used.
        """
        return self._held.result().publisher

    def _come_by(self) -> None:
        try:
            held = self._acquired()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the lease raises it
            self._held.set_exception(error)
        else:
            self._held.set_result(held)

    def _acquired(self) -> _Held:
        ensure_reachable(self._connection)
        holder, claimant = this_process(self._claimant.code_version), self._claimant
        table = KafkaTable.open(self._connection, STATUS_TOPIC)
        try:
            lease = Lease.acquire(
                table,
                claimant.pipeline,
                holder,
                on_lost=self._lose,
                emit=self._emit,
                abandoned=self._abandoned,
            )
        except BaseException:
            table.close()
            raise
        identity = Identity(
            pipeline=claimant.pipeline, driver=holder, epoch=lease.epoch, profile=claimant.profile
        )
        publisher = StatusPublisher(table, identity, clean=self._clean)
        return _Held(table=table, lease=lease, publisher=publisher)

    def _lose(self, error: LeaseLostError) -> None:
        with self._lock:
            self._lost, guard = error, self._guard
        if guard is not None:
            guard(error)
        if self._held.done() and self._held.exception() is None:
            self._held.result().publisher.fall_silent()

    def _end(self, held: _Held, error: BaseException | None) -> None:
        if self._lost is None:
            held.publisher.end(error, within_seconds=_LAST_WORD_SECONDS)
        held.lease.release()
        held.table.close()


def _fault(error: BaseException | None) -> BaseException | None:
    """Return what went wrong; a wish to end is no fault."""
    return error if isinstance(error, Exception) else None
