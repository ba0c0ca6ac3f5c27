"""What the loop of a run deals with: queries, when to start them again, and its messages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from penstock.control.commands import FlowCommand
    from penstock.control.supervision import Dice, RestartPolicy
    from penstock.engine.events import FailureClass, LookupReloaded
    from penstock.errors import PenstockError
    from penstock.names import FlowName


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
class Begun:
    """The query of a flow has been started."""

    flow: FlowName
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The query of a flow has ended, or could not be started."""

    flow: FlowName
    failure: QueryFailure | None
    kafka_is_away: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """A thread met something that nobody foresaw."""

    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadWanted:
    """A flow shall start again with new versions of its lookups."""

    flow: FlowName
    because: tuple[LookupReloaded, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWanted:
    """Somebody wants the end of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commanded:
    """Somebody has asked for something and waits for what is done about it."""

    command: FlowCommand
    reply: Future[str]


Message = Begun | Ended | Crashed | ReloadWanted | StopWanted | Commanded
MESSAGES = (Begun, Ended, Crashed, ReloadWanted, StopWanted, Commanded)
