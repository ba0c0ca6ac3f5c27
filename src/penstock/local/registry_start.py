"""Starting the registry of a platform: on which port, and when it is ready.

These functions run in the command's process; the registry belongs to the supervisor. It starts
beside the brokers and waits for them, so that `penstock up` takes hardly longer with it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, StepStarted
from penstock.local.control import BrokerState, RegistryStatus, Verb, ask
from penstock.local.ports import free_ports, is_free, require_free
from penstock.local.processes import find_processes
from penstock.local.registry_part import REGISTRY, RegistryShape

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.folder import PlatformFolder

DEFAULT_PORT = 8081
"""Where people look for a registry first."""

_READY_SECONDS = 60
_PAUSE_SECONDS = 0.02
_MODULE = "penstock.local.registry_process"


class RegistryStartError(PenstockError):
    """The registry of a platform ended before it was ready, or does not get ready."""

    code = "PEN-515"

    def __init__(self, *, reason: str, log: Path) -> None:
        super().__init__(
            f"the registry could not start: {reason}",
            hint=f"its log is `{log}`; `registry.port` chooses another port",
        )


def record_registry(folder: PlatformFolder, *, port: int | None, any_port: bool) -> None:
    """Record where the registry shall listen.

    Args:
        folder: the platform.
        port: the wish; 0 for any free one; None for where it was, or the usual one if it is new.
        any_port: a new registry without a wish takes any free port.

    Raises:
        PortInUseError: somebody else listens on the port that was asked for.
    """
    before = folder.load_registry().port if folder.has_registry else None
    usual = free_ports(1)[0] if any_port or port == 0 else DEFAULT_PORT
    if port:
        require_free((port,))
    chosen = port or before or usual
    if not is_free(chosen):
        chosen = free_ports(1)[0]
    folder.save_registry(RegistryShape(port=chosen))


def begin_registry(folder: PlatformFolder) -> None:
    """Have the supervisor start the registry if it does not run; returns at once."""
    ask(folder.load_contact(), Verb.START_REGISTRY)


def await_registry(folder: PlatformFolder, emit: Emit) -> None:
    """Return when the registry answers.

    Raises:
        RegistryStartError: it ended, or did not get ready in time.
    """
    step = "starting the registry"
    emit(StepStarted(step=step))
    started = time.monotonic()
    while True:
        status = ask(folder.load_contact(), Verb.STATUS).registry
        if status is not None and status.state is BrokerState.RUNNING:
            break
        late = time.monotonic() - started > _READY_SECONDS
        if late or (status is not None and status.state is BrokerState.RESTARTING):
            ended = status.last_exit if status is not None else None
            reason = ended or f"it does not answer after {_READY_SECONDS} s"
            raise RegistryStartError(reason=reason, log=folder.folders.log(REGISTRY))
        time.sleep(_PAUSE_SECONDS)
    emit(StepFinished(step=step, detail=f"ready after {time.monotonic() - started:.1f} s"))


def registry_orphan(folder: PlatformFolder) -> RegistryStatus | None:
    """Return the state of the registry while nobody supervises it; None if there is none."""
    if not folder.has_registry:
        return None
    shape = folder.load_registry()
    found = [item for item in find_processes(folder.root) if _MODULE in item.cmdline()]
    return RegistryStatus(
        port=shape.port,
        url=shape.url,
        state=BrokerState.ORPHANED if found else BrokerState.STOPPED,
        pid=found[0].pid if found else None,
    )
