"""Starting registry and console of a platform: on which port, and when they are ready.

These functions run in the command's process; the servers belong to the supervisor. They start
beside the brokers and wait for them, so that `penstock up` takes hardly longer with them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, StepStarted
from penstock.local.control import BrokerState, Verb, WebStatus, ask
from penstock.local.ports import HOST, free_ports, is_free, require_free
from penstock.local.processes import find_processes
from penstock.local.web_part import CONSOLE, MODULES, REGISTRY, WebPart

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.folder import PlatformFolder
    from penstock.settings import Settings

DEFAULT_PORTS = {REGISTRY: 8081, CONSOLE: 8090}
"""Where people look for a registry first, and a port that Spark and Connect leave alone."""

_READY_SECONDS = 60
_PAUSE_SECONDS = 0.02


class WebStartError(PenstockError):
    """A web server of a platform ended before it was ready, or does not get ready."""

    code = "PEN-515"

    def __init__(self, name: str, *, reason: str, log: Path) -> None:
        super().__init__(
            f"the {name} could not start: {reason}",
            hint=f"its log is `{log}`; `{name}.port` chooses another port",
        )


def record_web_parts(folder: PlatformFolder, settings: Settings, *, anew: bool) -> None:
    """Record where registry and console shall listen; unless `anew`, only what is not recorded.

    Raises:
        PortInUseError: somebody else listens on the port that was asked for.
    """
    any_port = settings.platform.port == 0
    if anew or not folder.has_web_part(REGISTRY):
        record_web_part(folder, REGISTRY, port=settings.registry.port, any_port=any_port)
    if anew or not folder.has_web_part(CONSOLE):
        wish = settings.console
        record_web_part(
            folder,
            CONSOLE,
            port=wish.port,
            any_port=any_port,
            host=wish.host,
            secure=wish.certificate is not None,
        )


def record_web_part(
    folder: PlatformFolder,
    name: str,
    *,
    port: int | None,
    any_port: bool,
    host: str = HOST,
    secure: bool = False,
) -> None:
    """Record where one of them shall listen.

    Args:
        folder: the platform.
        name: which.
        port: the wish; 0 for any free one; None for where it was, or the usual one if it is new.
        any_port: a new one without a wish takes any free port.
        host: the address that it binds to.
        secure: whether it serves HTTPS.

    Raises:
        PortInUseError: somebody else listens on the port that was asked for.
    """
    before = folder.load_web_part(name).port if folder.has_web_part(name) else None
    usual = free_ports(1)[0] if any_port or port == 0 else DEFAULT_PORTS[name]
    if port:
        require_free((port,))
    chosen = port or before or usual
    if not is_free(chosen):
        chosen = free_ports(1)[0]
    folder.save_web_part(WebPart(name=name, port=chosen, host=host, secure=secure))


def begin_web_parts(folder: PlatformFolder) -> None:
    """Have the supervisor start those that do not run; returns at once."""
    ask(folder.load_contact(), Verb.START_WEB_PARTS)


def await_web_part(folder: PlatformFolder, name: str, emit: Emit) -> None:
    """Return when it answers.

    Raises:
        WebStartError: it ended, or did not get ready in time.
    """
    step = f"starting the {name}"
    emit(StepStarted(step=step))
    started = time.monotonic()
    while True:
        parts = ask(folder.load_contact(), Verb.STATUS).web
        status = next((part for part in parts if part.name == name), None)
        if status is not None and status.state is BrokerState.RUNNING:
            break
        late = time.monotonic() - started > _READY_SECONDS
        if late or (status is not None and status.state is BrokerState.RESTARTING):
            ended = status.last_exit if status is not None else None
            reason = ended or f"it does not answer after {_READY_SECONDS} s"
            raise WebStartError(name, reason=reason, log=folder.folders.log(name))
        time.sleep(_PAUSE_SECONDS)
    emit(StepFinished(step=step, detail=f"ready after {time.monotonic() - started:.1f} s"))


def web_orphans(folder: PlatformFolder) -> tuple[WebStatus, ...]:
    """Return the state of each that is recorded, while nobody supervises it."""
    commands = {process.pid: process.cmdline() for process in find_processes(folder.root)}
    states = []
    for part in folder.load_web_parts():
        module = MODULES[part.name]
        pid = next((pid for pid, command in commands.items() if module in command), None)
        states.append(
            WebStatus(
                name=part.name,
                port=part.port,
                url=part.url,
                state=BrokerState.ORPHANED if pid else BrokerState.STOPPED,
                pid=pid,
            )
        )
    return tuple(states)
