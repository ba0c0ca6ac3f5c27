"""The loop of a run: it starts flows, hears how they do, starts failed ones again, stops them.

Each start of a flow has a thread, which starts the query and waits for its end. All that happens
(events of queries, their ends, signals) comes into one inbox and is handled by one loop, in the
order it came. So decisions need no locks, and whoever is notified is called by one thread.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from penstock.control.supervision import FlowState, FlowSupervision
from penstock.engine.errors import DriverDiedError
from penstock.engine.events import (
    BatchFinished,
    FailureClass,
    FlowFailed,
    FlowIdle,
    FlowRestarting,
    FlowStarted,
    FlowStopped,
    KafkaBack,
)
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.control.supervision import Dice, RestartPolicy
    from penstock.engine.events import LookupReloaded, Notify, PipelineEvent
    from penstock.names import FlowName

logger = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 60.0
"""How long running batches may take to finish after the first wish to stop."""

GIVE_UP_SECONDS = 35.0
"""How long queries may take to stop at once; Spark's own limit is 30 seconds."""

_TICK_SECONDS = 0.2
"""How late a restart may be."""


class QueryFailure(Protocol):
    """Why a query ended; `engine.failures.Failure` is one."""

    @property
    def failure(self) -> FailureClass:
        """Where the cause lies."""

    @property
    def error(self) -> PenstockError:
        """What went wrong."""


class Query(Protocol):
    """A started query; `engine.queries.FlowQuery` is one."""

    @property
    def failure(self) -> QueryFailure | None:
        """Why it ended, once it has; None when it was stopped or has read all there was."""

    def await_end(self) -> None:
        """Wait for the end, until nothing more will be told of the query."""

    def stop_after_batch(self, timeout_seconds: float) -> None:
        """Let the running batch finish, for so long at most, and stop; waits for that."""

    def stop_now(self) -> None:
        """Stop without waiting for the batch, which will be run again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """When failed flows are started again, by which clock and dice."""

    policy: RestartPolicy
    dice: Dice
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    flow: FlowName
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    flow: FlowName
    failure: QueryFailure | None
    kafka_is_away: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crashed:
    """A thread met something that nobody foresaw."""

    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReloadWanted:
    flow: FlowName
    because: tuple[LookupReloaded, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StopWanted:
    pass


_Message = _Begun | _Ended | _Crashed | _ReloadWanted | _StopWanted
_MESSAGES = (_Begun, _Ended, _Crashed, _ReloadWanted, _StopWanted)


class Supervisor:
    """Runs flows until all of them are over."""

    def __init__(
        self,
        flows: Sequence[FlowName],
        start: Callable[[FlowName], Query],
        *,
        restarts: Restarts,
        notify: Notify,
        kafka_is_away: Callable[[], bool],
        on_stop: Callable[[], None] = lambda: None,
        after: Mapping[FlowName, frozenset[FlowName]] | None = None,
    ) -> None:
        """Prepare to run `flows`.

        Args:
            flows: their names.
            start: starts the query of a flow; may take seconds, and raise PenstockError through
                `failure_of`.
            restarts: when failed flows start again.
            notify: hears of everything, from the thread that calls `run`.
            kafka_is_away: asks, in the thread of a flow that failed, whether a broker answers.
            on_stop: called when the first wish to stop has come in.
            after: the flows that must be over before a flow starts; those not named start at once.
        """
        self._start, self._notify, self._kafka_is_away = start, notify, kafka_is_away
        self._on_stop, self._after = on_stop, after or {}
        self._clock = restarts.clock
        self._flows = {
            flow: FlowSupervision(restarts.policy, clock=restarts.clock, dice=restarts.dice)
            for flow in flows
        }
        self._inbox: SimpleQueue[_Message | PipelineEvent] = SimpleQueue()
        self._queries: dict[FlowName, Query] = {}
        self._reloading: dict[FlowName, tuple[LookupReloaded, ...]] = {}
        self._stop_wishes = 0
        self._stop_deadline, self._is_pressing = float("inf"), False

    def receive(self, event: PipelineEvent) -> None:
        """Take an event from any thread."""
        self._inbox.put(event)

    def stop(self) -> None:
        """Ask for the end: after the running batches, and when asked again, at once.

        May be called from a signal handler: this queue is made for that.
        """
        self._inbox.put(_StopWanted())

    def reload(self, flow: FlowName, because: Sequence[LookupReloaded]) -> None:
        """Let `flow` finish its batch and start again on its checkpoint, then tell `because`."""
        self._inbox.put(_ReloadWanted(flow=flow, because=tuple(because)))

    def run(self) -> dict[FlowName, PenstockError]:
        """Run until all flows are over; return why those that failed for good did so.

        Raises:
            DriverDiedError: Spark's JVM is gone, and with it all queries.
        """
        self._start_due()
        while not all(flow.is_over for flow in self._flows.values()) or self._queries:
            happened = self._next(timeout_seconds=_TICK_SECONDS)
            if happened is not None:
                self._handle(happened)
            self._start_due()
            if self._clock() > self._stop_deadline:
                self._press_for_the_end()
        self._tell_the_rest()
        return {
            name: flow.error
            for name, flow in self._flows.items()
            if flow.state is FlowState.FAILED and flow.error is not None
        }

    def _start_due(self) -> None:
        for name, flow in self._flows.items():
            if flow.is_due or (flow.state is FlowState.PENDING and self._may_start(name)):
                flow.begin()
                Thread(
                    target=self._serve, args=(name,), name=f"penstock-flow-{name}", daemon=True
                ).start()

    def _may_start(self, flow: FlowName) -> bool:
        return all(self._flows[other].is_over for other in self._after.get(flow, ()))

    def _serve(self, flow: FlowName) -> None:
        """Start the query of `flow` and wait for its end, in a thread of its own."""
        from penstock.engine.failures import failure_of

        failure: QueryFailure | None
        try:
            query = self._start(flow)
            self._inbox.put(_Begun(flow=flow, query=query))
            query.await_end()
            failure = query.failure
        except PenstockError as error:
            failure = failure_of(flow, error)
        except Exception as error:  # the top of a thread: the loop raises it
            logger.exception("flow ended unforeseen", extra={"flow": flow})
            self._inbox.put(_Crashed(error=error))
            return
        away = failure is not None and self._is_an_outage(failure)
        self._inbox.put(_Ended(flow=flow, failure=failure, kafka_is_away=away))

    def _is_an_outage(self, failure: QueryFailure) -> bool:
        return failure.failure is FailureClass.KAFKA and self._kafka_is_away()

    def _handle(self, happened: _Message | PipelineEvent) -> None:
        match happened:
            case _Begun():
                self._begun(happened)
            case _Ended():
                self._ended(happened)
            case _Crashed(error=error):
                raise error
            case _ReloadWanted():
                self._begin_reload(happened)
            case _StopWanted():
                self._hear_stop()
            case _:
                self._take(happened)

    def _take(self, event: PipelineEvent) -> None:
        match event:
            case FlowStarted() | BatchFinished():
                self._flows[event.flow].run()
            case FlowIdle():
                self._flows[event.flow].idle()
            case KafkaBack():
                for flow in self._flows.values():
                    flow.kafka_is_back()
            case _:
                pass
        self._notify(event)

    def _begun(self, begun: _Begun) -> None:
        self._queries[begun.flow] = begun.query
        self._flows[begun.flow].run()
        for event in self._reloading.pop(begun.flow, ()):
            self._notify(event)
        if self._stop_wishes:
            self._finish_batch(begun.query)

    def _ended(self, ended: _Ended) -> None:
        self._queries.pop(ended.flow, None)
        flow = self._flows[ended.flow]
        if ended.failure is not None:
            self._failed(ended.flow, ended.failure, kafka_is_away=ended.kafka_is_away)
        elif self._stop_wishes:
            flow.stop()
        elif ended.flow in self._reloading:
            flow.restart_now()
            return
        else:
            flow.finish()
        if flow.is_over:
            finished = flow.state is FlowState.FINISHED
            error = flow.error if flow.state is FlowState.FAILED else None
            self._notify(FlowStopped(flow=ended.flow, at=_now(), error=error, finished=finished))

    def _failed(self, name: FlowName, failure: QueryFailure, *, kafka_is_away: bool) -> None:
        if isinstance(failure.error, DriverDiedError):
            raise failure.error
        flow = self._flows[name]
        self._notify(FlowFailed(flow=name, at=_now(), failure=failure.failure, error=failure.error))
        flow.fail(failure.error, kafka_is_away=kafka_is_away)
        if self._stop_wishes:
            flow.stop()
        elif flow.state is FlowState.RESTARTING:
            self._notify(
                FlowRestarting(
                    flow=name, at=_now(), attempt=flow.failures, after_seconds=flow.pause_seconds
                )
            )

    def _begin_reload(self, wanted: _ReloadWanted) -> None:
        query = self._queries.get(wanted.flow)
        if query is not None and wanted.flow not in self._reloading and not self._stop_wishes:
            self._reloading[wanted.flow] = wanted.because
            self._finish_batch(query)

    def _hear_stop(self) -> None:
        self._stop_wishes += 1
        if self._stop_wishes == 1:
            self._stop_after_batches()
        else:
            self._press_for_the_end()

    def _stop_after_batches(self) -> None:
        self._stop_deadline = self._clock() + STOP_TIMEOUT_SECONDS + GIVE_UP_SECONDS
        self._on_stop()
        for name, flow in self._flows.items():
            if name in self._queries:
                self._finish_batch(self._queries[name])
            elif flow.state is not FlowState.STARTING:
                self._mark_stopped(name)

    def _press_for_the_end(self) -> None:
        """Stop queries in the middle of their batches; those that hang even then are left.

        Either is safe: a batch that was not finished is run again by the next start.
        """
        if self._is_pressing:
            self._queries.clear()
        self._is_pressing = True
        self._stop_deadline = self._clock() + GIVE_UP_SECONDS
        for name in self._flows:
            if name in self._queries:
                self._in_background(self._queries[name].stop_now)
            else:
                self._mark_stopped(name)

    def _mark_stopped(self, name: FlowName) -> None:
        if not self._flows[name].is_over:
            self._flows[name].stop()
            self._notify(FlowStopped(flow=name, at=_now()))

    def _finish_batch(self, query: Query) -> None:
        self._in_background(lambda: query.stop_after_batch(STOP_TIMEOUT_SECONDS))

    def _in_background(self, act: Callable[[], None]) -> None:
        """Do what may wait for a batch, while the loop goes on."""

        def acting() -> None:
            try:
                act()
            except Exception as error:  # the top of a thread: the loop raises it
                logger.exception("stopping a query failed")
                self._inbox.put(_Crashed(error=error))

        Thread(target=acting, name="penstock-stopping", daemon=True).start()

    def _tell_the_rest(self) -> None:
        """Hand over what was said while the last flow ended."""
        while (happened := self._next(timeout_seconds=0)) is not None:
            if not isinstance(happened, _MESSAGES):
                self._take(happened)

    def _next(self, *, timeout_seconds: float) -> _Message | PipelineEvent | None:
        try:
            return self._inbox.get(timeout=timeout_seconds)
        except Empty:
            return None


def _now() -> datetime:
    return datetime.now(UTC)
