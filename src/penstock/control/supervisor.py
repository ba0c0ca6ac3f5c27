"""The loop of a run: it starts flows, hears how they do, starts failed ones again, stops them.

Each start of a flow has a thread, which starts the query and waits for its end. All that happens
(events of queries, their ends, signals, commands) comes into one inbox and is handled by one loop,
in the order it came. So decisions need no locks, and whoever is notified is called by one thread.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from penstock.control.command_errors import NotNowError, UnknownRunningFlowError
from penstock.control.commands import Kill, Stop
from penstock.control.supervised import (
    MESSAGES,
    Begun,
    Commanded,
    Crashed,
    Ended,
    ReloadWanted,
    StopWanted,
)
from penstock.control.supervision import AT_REST, FlowState, FlowSupervision, Wish
from penstock.control.wishes import is_meant, refusal, told_together, wish_of
from penstock.engine.errors import DriverDiedError
from penstock.engine.events import (
    BatchFinished,
    FailureClass,
    FlowFailed,
    FlowIdle,
    FlowPaused,
    FlowRestarting,
    FlowStarted,
    FlowStarting,
    FlowStopped,
    KafkaBack,
)
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from penstock.control.commands import FlowCommand
    from penstock.control.supervised import Message, Query, QueryFailure, Restarts
    from penstock.engine.events import LookupReloaded, Notify, PipelineEvent
    from penstock.names import FlowName

logger = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 60.0
"""How long running batches may take to finish after the first wish to stop."""

GIVE_UP_SECONDS = 35.0
"""How long queries may take to stop at once; Spark's own limit is 30 seconds."""

_TICK_SECONDS = 0.2
"""How late a restart may be."""

_HEAR_SECONDS = 1.5
"""How soon a command must be heard: whoever asked waits for two seconds."""


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
        on_rest: Callable[[], None] = lambda: None,
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
            on_rest: called, in a thread of its own, when the last running flow has come to rest.
            after: the flows that must be over before a flow starts; those not named start at once.
        """
        self._start, self._notify, self._kafka_is_away = start, notify, kafka_is_away
        self._on_stop, self._on_rest, self._after = on_stop, on_rest, after or {}
        self._clock = restarts.clock
        self._flows = {
            flow: FlowSupervision(restarts.policy, clock=restarts.clock, dice=restarts.dice)
            for flow in flows
        }
        self._inbox: SimpleQueue[Message | PipelineEvent] = SimpleQueue()
        self._queries: dict[FlowName, Query] = {}
        self._starting: set[FlowName] = set()
        """Whose query may run, though the loop does not have it: events of it can come earlier."""
        self._reloading: dict[FlowName, tuple[LookupReloaded, ...]] = {}
        self._stop_wishes = 0
        self._stop_deadline, self._is_pressing = float("inf"), False
        self._ticked: float | None = None

    def receive(self, event: PipelineEvent) -> None:
        """Take an event from any thread."""
        self._inbox.put(event)

    def stop(self) -> None:
        """Ask for the end: after the running batches, and when asked again, at once.

        May be called from a signal handler: this queue is made for that.
        """
        self._inbox.put(StopWanted())

    def abort(self, error: PenstockError) -> None:
        """Let `run` raise `error` at once, from any thread; queries are left as they are."""
        self._inbox.put(Crashed(error=error))

    def reload(self, flow: FlowName, because: Sequence[LookupReloaded]) -> None:
        """Let `flow` finish its batch and start again on its checkpoint, then tell `because`."""
        self._inbox.put(ReloadWanted(flow=flow, because=tuple(because)))

    def command(self, command: FlowCommand) -> str:
        """Carry out a command, from any thread, and return what was done or begun.

        Raises:
            UnknownRunningFlowError: there is no such flow.
            WrongStateError: it means nothing for the flow in its state.
            NotNowError: the run is ending, or so busy that it has not heard in time.
        """
        reply: Future[str] = Future()
        self._inbox.put(Commanded(command=command, reply=reply))
        try:
            return reply.result(_HEAR_SECONDS)
        except TimeoutError:
            if reply.cancel():
                raise NotNowError(doing="busy", hint="ask again in some seconds") from None
            return reply.result()

    @property
    def is_at_rest(self) -> bool:
        """Whether no flow runs or is about to; for any thread."""
        return not self._queries and all(flow.state in AT_REST for flow in self._flows.values())

    @property
    def is_stopping(self) -> bool:
        """Whether the end of the run is under way; for any thread."""
        return self._stop_wishes > 0

    @property
    def states(self) -> dict[FlowName, FlowState]:
        """The state of each flow; for any thread."""
        return {name: flow.state for name, flow in self._flows.items()}

    @property
    def silent_seconds(self) -> float:
        """How long ago the loop last went round, 0 before it begins; for any thread."""
        return 0.0 if self._ticked is None else self._clock() - self._ticked

    def state_of(self, flow: FlowName) -> FlowState:
        """Return the state of a flow; for any thread.

        Raises:
            UnknownRunningFlowError: there is no such flow.
        """
        return self._supervision(flow).state

    def run(self) -> dict[FlowName, PenstockError]:
        """Run until all flows are over; return why those that failed for good did so.

        Raises:
            DriverDiedError: Spark's JVM is gone, and with it all queries.
        """
        self._hear_the_early()
        self._start_due()
        while not self._has_ended:
            happened = self._next(timeout_seconds=_TICK_SECONDS)
            self._ticked = self._clock()
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

    @property
    def _has_ended(self) -> bool:
        is_held = not self._stop_wishes and any(flow.is_held for flow in self._flows.values())
        is_over = all(flow.is_over for flow in self._flows.values())
        return is_over and not is_held and not self._queries

    def _hear_the_early(self) -> None:
        """Take in what was said before the loop began: a wish to stop comes before any start."""
        while (happened := self._next(timeout_seconds=0)) is not None:
            self._handle(happened)

    def _start_due(self) -> None:
        for name, flow in self._flows.items():
            if (flow.is_due or flow.state is FlowState.PENDING) and self._may_start(name):
                flow.begin()
                self._starting.add(name)
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
            self._inbox.put(Begun(flow=flow, query=query))
            query.await_end()
            failure = query.failure
        except PenstockError as error:
            failure = failure_of(flow, error)
        except Exception as error:  # the top of a thread: the loop raises it
            logger.exception("flow ended unforeseen", extra={"flow": flow})
            self._inbox.put(Crashed(error=error))
            return
        away = failure is not None and self._is_an_outage(failure)
        self._inbox.put(Ended(flow=flow, failure=failure, kafka_is_away=away))

    def _is_an_outage(self, failure: QueryFailure) -> bool:
        return failure.failure is FailureClass.KAFKA and self._kafka_is_away()

    def _handle(self, happened: Message | PipelineEvent) -> None:
        match happened:
            case Begun():
                self._begun(happened)
            case Ended():
                self._ended(happened)
            case Crashed(error=error):
                raise error
            case ReloadWanted():
                self._begin_reload(happened)
            case StopWanted():
                self._hear_stop()
            case Commanded():
                self._hear_command(happened)
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

    def _begun(self, begun: Begun) -> None:
        self._starting.discard(begun.flow)
        self._queries[begun.flow] = begun.query
        self._flows[begun.flow].run()
        for event in self._reloading.pop(begun.flow, ()):
            self._notify(event)
        if self._stop_wishes or self._flows[begun.flow].wish is not None:
            self._finish_batch(begun.query)

    def _ended(self, ended: Ended) -> None:
        self._starting.discard(ended.flow)
        self._queries.pop(ended.flow, None)
        flow = self._flows[ended.flow]
        if ended.failure is not None:
            self._failed(ended.flow, ended.failure, kafka_is_away=ended.kafka_is_away)
            return
        if self._stop_wishes:
            flow.stop()
        elif flow.wish is not None:
            self._fulfil(ended.flow)
            return
        elif ended.flow in self._reloading:
            flow.restart_now()
            return
        else:
            flow.finish()
        self._tell_end(ended.flow)

    def _tell_end(self, name: FlowName) -> None:
        """Tell of a flow that is over, if it is."""
        flow = self._flows[name]
        if flow.is_over:
            finished = flow.state is FlowState.FINISHED
            error = flow.error if flow.state is FlowState.FAILED else None
            self._notify(FlowStopped(flow=name, at=_now(), error=error, finished=finished))

    def _failed(self, name: FlowName, failure: QueryFailure, *, kafka_is_away: bool) -> None:
        if isinstance(failure.error, DriverDiedError):
            raise failure.error
        flow = self._flows[name]
        self._notify(FlowFailed(flow=name, at=_now(), failure=failure.failure, error=failure.error))
        flow.fail(failure.error, kafka_is_away=kafka_is_away)
        if self._stop_wishes:
            flow.stop()
        elif flow.wish in (Wish.PAUSE, Wish.STOP) and not flow.is_over:
            self._fulfil(name)
            return
        elif flow.state is FlowState.RESTARTING:
            self._notify(
                FlowRestarting(
                    flow=name, at=_now(), attempt=flow.failures, after_seconds=flow.pause_seconds
                )
            )
        flow.wish = None
        self._tell_end(name)

    def _begin_reload(self, wanted: ReloadWanted) -> None:
        query = self._queries.get(wanted.flow)
        if query is not None and wanted.flow not in self._reloading and not self._stop_wishes:
            self._reloading[wanted.flow] = wanted.because
            self._finish_batch(query)

    def _hear_command(self, heard: Commanded) -> None:
        if not heard.reply.set_running_or_notify_cancel():
            return
        try:
            heard.reply.set_result(self._carry_out(heard.command))
        except PenstockError as error:
            heard.reply.set_exception(error)

    def _carry_out(self, command: FlowCommand) -> str:
        if command.flow is None and isinstance(command, Stop | Kill):
            return self._command_the_end(command)
        if self._stop_wishes:
            raise NotNowError(doing="stopping", hint="`penstock kill PIPELINE` stops it at once")
        if command.flow is not None:
            return told_together([(command.flow, self._want(command, command.flow))])
        meant = [name for name, flow in self._flows.items() if is_meant(command, flow)]
        if not meant:
            raise refusal(command, *next(iter(self._flows.items())))
        return told_together([(name, self._want(command, name)) for name in meant])

    def _command_the_end(self, command: Stop | Kill) -> str:
        if isinstance(command, Kill):
            self._kill_after(command.wait_seconds)
            return _ending(command.wait_seconds)
        if self._stop_wishes:
            return "stopping already"
        self._hear_stop()
        return _ending(STOP_TIMEOUT_SECONDS)

    def _kill_after(self, seconds: float) -> None:
        if not self._stop_wishes:
            self._stop_wishes = 1
            self._stop_after_batches(seconds)
        if not self._is_pressing:
            self._stop_deadline = min(self._stop_deadline, self._clock() + seconds)

    def _want(self, command: FlowCommand, name: FlowName) -> str:
        """Begin what is wanted of a flow and return a phrase for it."""
        flow = self._supervision(name)
        was_stopping = flow.wish is not None
        flow.wish = wish_of(command, name, flow)
        doing = "resuming" if command.verb == "resume" else str(flow.wish)
        query = self._queries.get(name)
        if query is not None:
            wait = command.wait_seconds if isinstance(command, Kill) else STOP_TIMEOUT_SECONDS
            if not was_stopping or isinstance(command, Kill):
                self._finish_batch(query, wait)
            return f"{doing} {{}} after the running batch" if wait else f"{doing} {{}} at once"
        if name in self._starting:
            if command.verb == "resume":  # what had been wished before is no longer
                flow.wish = None
                return "resuming {}"
            return f"{doing} {{}} as soon as it has started"
        if not self._fulfil(name):
            return f"{{}}: {flow.state} already"
        return f"{doing} {{}}" if flow.state is FlowState.RESTARTING else f"{flow.state} {{}}"

    def _fulfil(self, name: FlowName) -> bool:
        """Do what is wished of a flow without a query, and tell of it if that changes anything."""
        flow = self._flows[name]
        if not flow.fulfil():
            return False
        match flow.state:
            case FlowState.PAUSED:
                self._notify(FlowPaused(flow=name, at=_now()))
            case FlowState.STOPPED:
                self._notify(FlowStopped(flow=name, at=_now()))
            case _:
                self._notify(FlowStarting(flow=name, at=_now()))
        if self.is_at_rest:
            self._in_background(self._on_rest)
        return True

    def _supervision(self, flow: FlowName) -> FlowSupervision:
        if flow not in self._flows:
            raise UnknownRunningFlowError(flow, known=list(self._flows))
        return self._flows[flow]

    def _hear_stop(self) -> None:
        self._stop_wishes += 1
        if self._stop_wishes == 1:
            self._stop_after_batches()
        else:
            self._press_for_the_end()

    def _stop_after_batches(self, seconds: float = STOP_TIMEOUT_SECONDS) -> None:
        self._stop_deadline = self._clock() + seconds + GIVE_UP_SECONDS
        self._on_stop()
        for name in self._flows:
            if name in self._queries:
                self._finish_batch(self._queries[name], seconds)
            elif name not in self._starting:
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

    def _finish_batch(self, query: Query, seconds: float = STOP_TIMEOUT_SECONDS) -> None:
        if seconds:
            self._in_background(lambda: query.stop_after_batch(seconds))
        else:
            self._in_background(query.stop_now)

    def _in_background(self, act: Callable[[], None]) -> None:
        """Do what may wait for a batch, while the loop goes on."""

        def acting() -> None:
            try:
                act()
            except Exception as error:  # the top of a thread: the loop raises it
                logger.exception("stopping a query failed")
                self._inbox.put(Crashed(error=error))

        Thread(target=acting, name="penstock-stopping", daemon=True).start()

    def _tell_the_rest(self) -> None:
        """Hand over what was said while the last flow ended."""
        while (happened := self._next(timeout_seconds=0)) is not None:
            if not isinstance(happened, MESSAGES):
                self._take(happened)

    def _next(self, *, timeout_seconds: float) -> Message | PipelineEvent | None:
        try:
            return self._inbox.get(timeout=timeout_seconds)
        except Empty:
            return None


def _now() -> datetime:
    return datetime.now(UTC)


def _ending(seconds: float) -> str:
    if not seconds:
        return "stopping at once"
    return f"stopping after the running batches, {seconds:g} s at most"
