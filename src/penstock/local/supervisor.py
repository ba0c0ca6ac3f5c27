"""The supervisor: a small process that keeps alive the brokers of one platform and what is beside.

It outlives the terminal that started it, starts and stops brokers as it is told on its control
port, restarts what crashes with growing pauses, and takes every child down with itself. One thread
owns all state: the main one, which takes events from a queue; other threads only wait for something
and report it there.

Started by `platform.py` as `python -m penstock.local.supervisor -Dpenstock.platform=FOLDER`.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from penstock.java import ClassArchive
from penstock.local.broker import BrokerCommand, BrokerShape
from penstock.local.control import (
    BrokerState,
    BrokerStatus,
    ControlPort,
    Reply,
    Request,
    SparkStatus,
    Verb,
    WebStatus,
)
from penstock.local.exits import describe_exit, log_size
from penstock.local.folder import PlatformFolder
from penstock.local.ports import is_listening
from penstock.local.processes import MARKER
from penstock.local.spark_cluster import SparkNode
from penstock.local.web_part import WebPart, spawn_web_part

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from penstock.local.spark_cluster import SparkCommand

logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_STABLE_SECONDS = 60.0
"""A broker that ran this long starts again at the shortest pause."""

_GRACE_SECONDS = 10.0
"""How long a broker may take to stop in good order before it is killed."""

_ORDERLY_EXITS = (0, 128 + signal.SIGTERM)
"""How a JVM ends by itself, and after a request to stop."""

_LOOK_SECONDS = 0.1
"""How often to try the port of a broker that is starting: Kafka has no way to tell us."""


@dataclass(frozen=True, slots=True)
class Exited:
    """The process of a child has ended."""

    child: Child
    process: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request has come in; the answer is awaited in `reply`."""

    request: Request
    reply: queue.SimpleQueue[Reply]


class ShutDown:
    """Somebody wants everything to end."""


@dataclass
class Child:
    """What the supervisor remembers of one broker, of a web server, or of a process of Spark."""

    shape: BrokerShape | SparkNode | WebPart
    process: subprocess.Popen[bytes] | None = None
    state: BrokerState = BrokerState.STOPPED
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: float = 0.0
    restart_at: float = 0.0
    pause_seconds: float = _FIRST_PAUSE_SECONDS
    kill_at: float = 0.0
    restarts: int = 0
    last_exit: str | None = None
    log_start: int = 0
    recording: Path | None = None

    def enter(self, state: BrokerState) -> None:
        """Change the state and note when."""
        self.state = state
        self.since = datetime.now(UTC)

    def broker_status(self, shape: BrokerShape) -> BrokerStatus:
        """Return what clients may know of a broker."""
        return BrokerStatus(
            broker_id=shape.broker_id,
            port=shape.port,
            state=self.state,
            metrics_port=shape.metrics_port,
            pid=self.process.pid if self.process else None,
            since=self.since.isoformat(timespec="seconds"),
            restarts=self.restarts,
            last_exit=self.last_exit,
        )

    def spark_status(self, node: SparkNode) -> SparkStatus:
        """Return what clients may know of a process of Spark."""
        return SparkStatus(
            name=node.name,
            port=node.port,
            ui=node.ui,
            state=self.state,
            pid=self.process.pid if self.process else None,
            since=self.since.isoformat(timespec="seconds"),
            restarts=self.restarts,
            last_exit=self.last_exit,
        )

    def web_status(self, part: WebPart) -> WebStatus:
        """Return what clients may know of a web server."""
        return WebStatus(
            name=part.name,
            port=part.port,
            url=part.url,
            state=self.state,
            pid=self.process.pid if self.process else None,
            since=self.since.isoformat(timespec="seconds"),
            restarts=self.restarts,
            last_exit=self.last_exit,
        )


class Supervisor:
    """Keeps the brokers of one platform, its web servers and its Spark as they should be."""

    def __init__(
        self,
        command: BrokerCommand,
        wanted_spark: Callable[[], SparkCommand | None],
        wanted_web_parts: Callable[[], tuple[WebPart, ...]],
    ) -> None:
        """Supervise what `command` starts, and what else is wanted when it is asked for."""
        self._command = command
        self._wanted_spark, self._wanted_web_parts = wanted_spark, wanted_web_parts
        self._spark: SparkCommand | None = None
        self._events: queue.SimpleQueue[Exited | Asked | ShutDown] = queue.SimpleQueue()
        self._children = {shape.name: Child(shape) for shape in command.shape.brokers}
        self._ending = False

    def request_shut_down(self) -> None:
        """Ask for the end; returns at once, callable from a signal handler."""
        self._events.put(ShutDown())

    def answer(self, request: Request) -> Reply:
        """Hand `request` to the main thread and return its answer; called by the control port."""
        reply: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._events.put(Asked(request, reply))
        return reply.get()

    def run(self) -> None:
        """Keep the brokers that were asked for running, until asked to end."""
        while not (self._ending and all(c.process is None for c in self._children.values())):
            try:
                event = self._events.get(timeout=self._seconds_to_next_look())
            except queue.Empty:
                event = None
            match event:
                case Exited(child=child, process=process):
                    self._on_exit(child, process)
                case Asked(request=request, reply=reply):
                    reply.put(self._on_request(request))
                case ShutDown():
                    self._end()
            self._look()

    def _seconds_to_next_look(self) -> float | None:
        """Return how long the main thread may wait; None while nothing is due."""
        now = time.monotonic()
        due = [
            moment
            for child in self._children.values()
            if (moment := self._due(child, now)) is not None
        ]
        return max(0.0, min(due) - now) if due else None

    @staticmethod
    def _due(child: Child, now: float) -> float | None:
        match child.state:
            case BrokerState.STARTING:
                return now + _LOOK_SECONDS
            case BrokerState.RESTARTING:
                return child.restart_at
            case BrokerState.STOPPING:
                return child.kill_at
            case _:
                return None

    def _look(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            if child.state is BrokerState.STARTING and _is_listening(child):
                child.enter(BrokerState.RUNNING)
                logger.info("component running", extra={"component": child.shape.name})
            elif child.state is BrokerState.RESTARTING and now >= child.restart_at:
                child.restarts += 1
                self._start(child)
            elif child.state is BrokerState.STOPPING and now >= child.kill_at and child.process:
                logger.warning("component does not stop", extra={"component": child.shape.name})
                child.process.kill()
                child.kill_at = now + _GRACE_SECONDS

    def _start(self, child: Child) -> None:
        child.log_start = log_size(self._command.folders, child.shape)
        child.process = self._spawn(child)
        child.started_at = time.monotonic()
        child.enter(BrokerState.STARTING)
        waiter = Thread(
            target=self._wait_for, args=(child, child.process), name="waiter", daemon=True
        )
        waiter.start()

    def _spawn(self, child: Child) -> subprocess.Popen[bytes]:
        match child.shape:
            case BrokerShape() as broker:
                child.recording = self._new_recording(broker)
                return self._command.spawn(broker, recording=child.recording)
            case SparkNode() as node:
                assert self._spark is not None  # noqa: S101 - such children come with a command
                return self._spark.spawn(node)
            case WebPart() as part:
                return spawn_web_part(part, self._command.folders)

    def _new_recording(self, broker: BrokerShape) -> Path | None:
        """Return where this start shall record its classes, if it shall.

        Recording makes a start half a second slower and the end three. One broker is enough, and
        its very first start, which formats storage as well, is spared.
        """
        is_first = broker is self._command.shape.brokers[0]
        has_run = (self._command.folders.data(broker) / "__cluster_metadata-0").exists()
        return self._command.archive.new_recording() if is_first and has_run else None

    def _wait_for(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._events.put(Exited(child, process))

    def _on_exit(self, child: Child, process: subprocess.Popen[bytes]) -> None:
        child.process = None
        if child.recording is not None:
            complete = process.returncode in _ORDERLY_EXITS
            self._command.archive.adopt(child.recording, complete=complete)
        if child.state is BrokerState.STOPPING:
            child.enter(BrokerState.STOPPED)
            if isinstance(child.shape, SparkNode):
                self._fit_spark()  # it made room, perhaps for another of its name
            if self._ending and isinstance(child.shape, WebPart):
                self._end()
            return
        child.last_exit = describe_exit(
            self._command.folders, child.shape, process.returncode, log_start=child.log_start
        )
        logger.error(
            "component exited",
            extra={"component": child.shape.name, "reason": child.last_exit},
        )
        if time.monotonic() - child.started_at > _STABLE_SECONDS:
            child.pause_seconds = _FIRST_PAUSE_SECONDS
        child.restart_at = time.monotonic() + child.pause_seconds
        child.pause_seconds = min(2 * child.pause_seconds, _LONGEST_PAUSE_SECONDS)
        child.enter(BrokerState.STOPPED if self._ending else BrokerState.RESTARTING)

    def _on_request(self, request: Request) -> Reply:
        refusal = None
        match request.verb:
            case Verb.STATUS:
                pass
            case Verb.SHUT_DOWN:
                self._end()
            case Verb.FIT_SPARK:
                self._fit_spark()
            case Verb.START_WEB_PARTS:
                self._start_web_parts()
            case Verb.START | Verb.STOP | Verb.KILL:
                refusal = self._on_broker_request(request)
        return self._reply(refusal)

    def _reply(self, refusal: str | None) -> Reply:
        brokers: list[BrokerStatus] = []
        spark: list[SparkStatus] = []
        web: list[WebStatus] = []
        for child in self._children.values():
            match child.shape:
                case BrokerShape() as broker:
                    brokers.append(child.broker_status(broker))
                case SparkNode() as node:
                    spark.append(child.spark_status(node))
                case WebPart() as part:
                    web.append(child.web_status(part))
        return Reply(brokers=tuple(brokers), spark=tuple(spark), web=tuple(web), refusal=refusal)

    def _start_web_parts(self) -> None:
        for part in () if self._ending else self._wanted_web_parts():
            child = self._children.get(part.name)
            if child is None or child.process is None:
                self._children[part.name] = Child(part)
                self._start(self._children[part.name])

    def _fit_spark(self) -> None:
        """Start what the wanted cluster has and does not run, and stop what it does not have."""
        if self._ending:
            return
        self._spark = self._wanted_spark()
        nodes = self._spark.shape.nodes if self._spark else ()
        if self._spark and not any(isinstance(c.shape, SparkNode) for c in self._children.values()):
            self._spark.forget()
        for name, child in list(self._children.items()):
            if not isinstance(child.shape, SparkNode) or child.shape in nodes:
                continue
            if child.process is None:
                del self._children[name]
            elif child.state is not BrokerState.STOPPING:
                self._stop(child, force=False)
        for node in nodes:
            child = self._children.setdefault(node.name, Child(node))
            if child.process is None:
                child.pause_seconds = _FIRST_PAUSE_SECONDS
                self._start(child)

    def _on_broker_request(self, request: Request) -> str | None:
        child = self._children.get(f"broker-{request.broker_id}")
        if child is None:
            known = ", ".join(str(broker.broker_id) for broker in self._command.shape.brokers)
            return f"there is no broker {request.broker_id}; there are {known}"
        if self._ending:
            return "the platform is stopping"
        if request.verb is Verb.START:
            if child.process is None:
                child.pause_seconds = _FIRST_PAUSE_SECONDS
                self._start(child)
            return None
        self._stop(child, force=request.verb is Verb.KILL)
        return None

    def _stop(self, child: Child, *, force: bool) -> None:
        if child.process is None:
            child.enter(BrokerState.STOPPED)
            return
        child.enter(BrokerState.STOPPING)
        child.last_exit = "killed on request" if force else "stopped on request"
        child.kill_at = time.monotonic() + _GRACE_SECONDS
        if force:
            child.process.kill()
        else:
            child.process.terminate()

    def _end(self) -> None:
        """Stop all; the brokers only when the web servers have left them in good order."""
        self._ending = True
        is_served = any(
            isinstance(child.shape, WebPart) and child.process is not None
            for child in self._children.values()
        )
        for child in self._children.values():
            waits = is_served and isinstance(child.shape, BrokerShape)
            if not waits and child.state is not BrokerState.STOPPING:
                self._stop(child, force=False)


def _is_listening(child: Child) -> bool:
    """Return whether the child itself, not a stranger, listens on its port."""
    return child.process is not None and is_listening(child.process.pid, child.shape.port)


def _log_to(path: Path) -> None:
    handler = RotatingFileHandler(path, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    layout = "[%(asctime)s] %(levelname)s %(message)s %(component)s %(reason)s"
    handler.setFormatter(logging.Formatter(layout, defaults={"component": "", "reason": ""}))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def main(argument: str) -> int:
    """Supervise the platform whose folder stands behind the marker in `argument`."""
    folder = PlatformFolder(Path(argument.removeprefix(MARKER)))
    folder.folders.logs.mkdir(parents=True, exist_ok=True)
    _log_to(folder.folders.log("supervisor"))
    if folder.hold_supervision() is None:
        logger.error("another supervisor is at work")
        return 1
    launch = folder.load_launch()
    command = BrokerCommand(
        java=launch.java,
        jars=launch.jars,
        exporter=launch.exporter,
        archive=ClassArchive(launch.archive),
        shape=folder.load_shape(),
        folders=folder.folders,
    )
    supervisor = Supervisor(
        command,
        lambda: folder.load_spark() if folder.has_spark else None,
        folder.load_web_parts,
    )
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: supervisor.request_shut_down())
    port = ControlPort(supervisor.answer)
    folder.save_contact(port.contact(os.getpid()))
    logger.info("supervisor started")
    try:
        supervisor.run()
    finally:
        folder.forget_contact()
        logger.info("supervisor ended")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
