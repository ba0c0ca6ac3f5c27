"""Operating pipelines: look at them, command them, and wait until a command has taken effect.

A command goes through Kafka to the driver, wherever it runs. Where nobody answers and the pipeline
is detached on this machine, its keeper is told to end it: so `stop` and `kill` work between two
drivers, on a driver that hears nothing, and while Kafka is away.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from penstock.control.asking import ask
from penstock.control.command_errors import NobodyListensError
from penstock.control.commands import Kill, RescaleCores, Restart, Stop
from penstock.control.detached import (
    END_SECONDS,
    START_SECONDS,
    DriverEndedError,
    StartRefusedError,
    StillEndingError,
    StillStartingError,
)
from penstock.control.errors import UnknownPipelineError
from penstock.control.fleet import Fleet
from penstock.control.overviews import OverallState, Overview, advice, overview_of
from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, StepStarted, ignore

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.control.about import AboutRecord, PlanRecord
    from penstock.control.commands import Command
    from penstock.control.detached import Detached, KeptPipeline
    from penstock.kafka import Connection
    from penstock.names import FlowName, PipelineName

_PAUSE_SECONDS = 0.2
_OVER = frozenset({OverallState.STOPPED, OverallState.FAILED})


class PipelineNotRunningError(PenstockError):
    """A command needs a running driver, and the pipeline has none."""

    code = "PEN-246"

    def __init__(self, found: Overview) -> None:
        since = f"{found.since.astimezone():%Y-%m-%d %H:%M:%S}"
        why = f": {found.why}" if found.why else ""
        hint = "`penstock start` in its project starts it"
        if found.state is OverallState.RESTARTING:
            hint = f"its keeper starts it soon; `penstock show {found.pipeline}` says when"
        super().__init__(
            f"pipeline `{found.pipeline}` is {found.state} since {since}{why}", hint=hint
        )
        self.pipeline, self.state = found.pipeline, found.state


class PipelineLostError(PenstockError):
    """The driver of a pipeline has fallen silent: nobody would hear a command."""

    code = "PEN-247"

    def __init__(self, found: Overview) -> None:
        super().__init__(f"pipeline `{found.pipeline}` is lost: {found.why}", hint=advice(found))
        self.pipeline = found.pipeline


class Operator:
    """Looks at the pipelines of one cluster and commands them. Use it as a context manager."""

    def __init__(self, connection: Connection, detached: Detached) -> None:
        """Load what is known of all pipelines.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        self._connection, self._detached = connection, detached
        self._fleet = Fleet(connection)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what is open."""
        self._fleet.__exit__()

    def list(self) -> tuple[Overview, ...]:
        """Return all pipelines that ever ran on the cluster, or were started here, by name."""
        views = {view.pipeline: view for view in self._fleet.list()}
        kept = {item.pipeline: item for item in self._detached.all() if self._is_here(item)}
        found = [overview_of(views.get(name), kept.get(name)) for name in sorted({*views, *kept})]
        return tuple(item for item in found if item is not None)

    def show(self, pipeline: PipelineName) -> Overview:
        """Return one pipeline.

        Raises:
            UnknownPipelineError: there is none of that name.
        """
        known = {item.pipeline: item for item in self.list()}
        if pipeline not in known:
            raise UnknownPipelineError(pipeline, known=known)
        return known[pipeline]

    def about(self, found: Overview) -> AboutRecord | None:
        """Return what the driver of a pipeline tells of it once; None: it has told nothing."""
        record = found.view.record if found.view else None
        return self._fleet.about(record) if record else None

    def plan(self, found: Overview, flow: FlowName) -> PlanRecord | None:
        """Return what Spark does for a flow, as of its last start; None before its first batch."""
        record = found.view.record if found.view else None
        return self._fleet.plan(record, flow) if record else None

    def command(
        self,
        pipeline: PipelineName,
        command: Command,
        *,
        emit: Emit = ignore,
        begun: Callable[[str], None] = lambda _: None,
    ) -> str:
        """Have `command` carried out and return what was done.

        What ends the driver, or starts it again, returns when that is done; anything else with the
        driver's answer, which may be what it has begun. `begun` is told the answer when it comes.

        Raises:
            UnknownPipelineError: there is no pipeline of that name.
            PipelineNotRunningError, PipelineLostError, NobodyListensError: nobody would hear it.
            CommandRefusedError: the driver said why not.
            PenstockError: it was begun, and did not come to its end in time.
        """
        found = self.show(pipeline)
        said = self._said(found, command, None)
        if said is None:
            said = self._end_here(pipeline, command, emit)
            begun(said)
            return said
        begun(said)
        return self._await_effect(found, command, said, emit)

    def begin(self, pipeline: PipelineName, command: Command, *, by: str) -> str:
        """Have `command` begun for whoever `by` names, and return what the driver says.

        Otherwise as `command`. Where a keeper has to end the pipeline, that is waited for.
        """
        said = self._said(self.show(pipeline), command, by)
        return self._end_here(pipeline, command, ignore) if said is None else said

    def _said(self, found: Overview, command: Command, by: str | None) -> str | None:
        """Return the driver's answer; None when there is none, and the keeper here can do it."""
        by_keeper = found.has_keeper and ends_all(command)
        if by_keeper and _has_no_driver(found):
            return None
        self._require_driver(found)
        try:
            return ask(self._connection, found.pipeline, command, by=by).said()
        except NobodyListensError:
            if by_keeper:
                return None
            raise

    def _await_effect(self, found: Overview, command: Command, said: str, emit: Emit) -> str:
        """Wait for what takes longer than an answer, and return what has become of it."""
        match command:
            case Stop(flow=None):
                return self._await_end(found, END_SECONDS, said, emit)
            case Kill(flow=None, wait_seconds=seconds):
                return self._await_end(found, seconds + END_SECONDS, said, emit)
            case Restart(flow=None) | RescaleCores():
                return self._await_next_driver(found, said, emit)
            case _:
                return said

    def _await_end(self, found: Overview, seconds: float, step: str, emit: Emit) -> str:
        """Return when the driver that was asked, and its keeper here, have ended."""

        def has_ended(now: Overview) -> bool:
            if found.has_keeper:
                return not now.has_keeper
            is_another = _driver_id(now) != _driver_id(found)
            return is_another or now.state in _OVER or now.state is OverallState.LOST

        now = self._await(found.pipeline, has_ended, seconds, step, emit)
        if now is None:
            raise StillEndingError(found.pipeline, seconds=seconds)
        ended_badly = now.state in (OverallState.FAILED, OverallState.LOST)
        return f"{now.state}: {now.why}" if ended_badly else "stopped"

    def _await_next_driver(self, found: Overview, step: str, emit: Emit) -> str:
        """Return when a driver after the one that was asked runs."""

        def is_decided(now: Overview) -> bool:
            is_another = _driver_id(now) != _driver_id(found)
            runs = now.state in (OverallState.RUNNING, OverallState.PAUSED)
            # A keeper elsewhere is out of sight: between two drivers its pipeline is stopped.
            gave_up = found.has_keeper and not now.has_keeper and now.state in _OVER
            return (is_another and runs) or gave_up

        now = self._await(found.pipeline, is_decided, START_SECONDS, step, emit)
        if now is None:
            raise StillStartingError(found.pipeline, seconds=START_SECONDS)
        if now.state in _OVER or now.driver is None:
            raise _why_it_ended(now)
        return f"runs again, as process {now.driver.pid} on `{now.driver.host}`"

    def _await(
        self,
        pipeline: PipelineName,
        condition: Callable[[Overview], bool],
        seconds: float,
        step: str,
        emit: Emit,
    ) -> Overview | None:
        emit(StepStarted(step=step))
        deadline = time.monotonic() + seconds
        while not condition(now := self.show(pipeline)):
            if time.monotonic() > deadline:
                return None
            time.sleep(_PAUSE_SECONDS)
        emit(StepFinished(step=step))
        return now

    def _end_here(self, pipeline: PipelineName, command: Command, emit: Emit) -> str:
        return end_here(self._detached, pipeline, command, emit)

    @staticmethod
    def _require_driver(found: Overview) -> None:
        if found.state is OverallState.LOST:
            raise PipelineLostError(found)
        if found.state in _OVER or found.state is OverallState.RESTARTING:
            raise PipelineNotRunningError(found)

    def _is_here(self, kept: KeptPipeline) -> bool:
        """Whether `kept` is told of on this cluster."""
        try:
            return kept.folder.load_launch().cluster == self._connection.bootstrap
        except PenstockError:
            return False


def ends_all(command: Command) -> bool:
    """Return whether `command` ends a whole pipeline, which its keeper can do too."""
    return isinstance(command, Stop | Kill) and command.flow is None


def end_here(
    detached: Detached, pipeline: PipelineName, command: Command, emit: Emit = ignore
) -> str:
    """Have the keeper on this machine end a pipeline that cannot be asked; return what was done."""
    at_once = isinstance(command, Kill)
    detached.end(pipeline, at_once=at_once, emit=emit)
    return "killed by its keeper" if at_once else "stopped by its keeper"


def _has_no_driver(found: Overview) -> bool:
    return found.state in (OverallState.RESTARTING, OverallState.LOST) or found.driver is None


def _driver_id(overview: Overview) -> str | None:
    return overview.driver.driver_id if overview.driver else None


def _why_it_ended(now: Overview) -> PenstockError:
    record = now.kept.record if now.kept else None
    if now.kept is not None and record is not None and record.last_exit is not None:
        told = record.last_exit.error
        if told is not None:
            return StartRefusedError(told)
        return DriverEndedError(now.pipeline, why=record.last_exit.reason, log=now.kept.folder.log)
    return PipelineNotRunningError(now)
