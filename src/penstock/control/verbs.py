"""What each command does to a run: to its flows, its driver, its log.

Whatever concerns flows is decided by the loop of the run (`supervisor.py`); here is the rest, and
who does what.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from penstock.control.command_errors import (
    FrozenByCheckpointError,
    NotKeptError,
    NotNowError,
    NotScalableError,
)
from penstock.control.commands import (
    Kill,
    RescaleCores,
    RescaleReading,
    RescaleShuffle,
    Restart,
    SetLogLevel,
    Stop,
)
from penstock.control.kept import kept_here
from penstock.control.log_levels import LogLevels
from penstock.control.supervision import AT_REST
from penstock.pipeline import RealTime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.commands import Command
    from penstock.control.log_levels import Loggers
    from penstock.control.options import RunOptions
    from penstock.control.supervisor import Supervisor
    from penstock.pipeline import Flow, Topic

_SOON = "`penstock show PIPELINE` tells when its flows run; ask again then"


class Starter(Protocol):
    """What starts the flows of a run; `starting.FlowStarter` does."""

    def topics_read(self, flow: Flow) -> tuple[Topic, ...]:
        """Return the topics that `flow` reads."""

    def rescale(self, flow: Flow, min_partitions: int) -> None:
        """Let each topic be read with at least so many tasks, from the next start of `flow` on."""

    def shuffle_partitions(self, flow: Flow) -> str | None:
        """Return how many shuffle partitions the checkpoint of `flow` was born with, if it was."""


class RunCommands:
    """Carries out the commands to one run, one after the other."""

    def __init__(self, options: RunOptions, supervisor: Supervisor) -> None:
        self._options, self._supervisor = options, supervisor
        self._kept = kept_here()
        self.starts_again = False
        """Whether the driver shall be started again when it has ended."""
        self._starter: Starter | None = None
        self._levels: LogLevels | None = None

    @contextmanager
    def during(self, starter: Starter, loggers: Loggers) -> Iterator[None]:
        """Let commands reach the flows while the block runs; before, they are being started."""
        with LogLevels(loggers) as self._levels:
            self._starter = starter
            yield

    def stay_ended(self) -> None:
        """Somebody wants the end for good, whatever was wanted before."""
        self.starts_again = False

    def carry_out(self, command: Command) -> str:
        """Carry out a command and return what was done or begun.

        Raises:
            PenstockError: it is refused; nothing has changed.
        """
        if self._starter is None or self._levels is None:
            return self._hear_early(command)
        match command:
            case RescaleCores(cores=cores):
                return self._start_again(f"run with {cores} cores", cores=cores)
            case Restart(flow=None):
                return self._start_again("restart")
            case RescaleReading():
                return self._rescale_reading(command, self._starter)
            case RescaleShuffle():
                return self._refuse_shuffle(command, self._starter)
            case SetLogLevel():
                return self._levels.set(command)
            case Stop(flow=None) | Kill(flow=None):
                self.stay_ended()
                return self._supervisor.command(command)
            case _:
                return self._supervisor.command(command)

    def _hear_early(self, command: Command) -> str:
        if isinstance(command, Stop | Kill) and command.flow is None:
            self._supervisor.stop()
            return "stopping as soon as the start that is under way has come to its flows"
        raise NotNowError(doing="starting", hint=_SOON)

    def _start_again(self, wish: str, *, cores: int | None = None) -> str:
        if self._kept is None:
            raise NotKeptError(self._options.pipeline.name, wish=wish)
        if self._supervisor.is_stopping:
            raise NotNowError(doing="stopping", hint="start it again when it has stopped")
        if cores is not None:
            self._kept.save_cores(cores)
        self.starts_again = True
        begun = self._supervisor.command(Stop())
        return f"{begun}; then the driver starts again" + (f" with {cores} cores" if cores else "")

    def _rescale_reading(self, command: RescaleReading, starter: Starter) -> str:
        name, count = command.flow, command.min_partitions
        state = self._supervisor.state_of(name)
        flow = self._options.pipeline.flow(name)
        if isinstance(flow.trigger, RealTime):
            raise NotScalableError(
                name, because="it runs in real time, one task for each partition"
            )
        if not starter.topics_read(flow):
            raise NotScalableError(name, because="it reads no topic")
        starter.rescale(flow, count)
        effect = f"it reads each topic with at least {count} tasks until the driver ends"
        if state in AT_REST:
            return f"`{name}` is {state}; from its next start on, {effect}"
        return f"{self._supervisor.command(Restart(flow=name))}; then {effect}"

    def _refuse_shuffle(self, command: RescaleShuffle, starter: Starter) -> str:
        self._supervisor.state_of(command.flow)
        found = starter.shuffle_partitions(self._options.pipeline.flow(command.flow))
        raise FrozenByCheckpointError(command.flow, found=found, wanted=command.shuffle_partitions)
