"""The keeper: a small process that keeps the driver of one detached pipeline running.

It outlives the terminal that started it, writes what the driver says into a log that does not grow
for ever, starts a driver that died again, with growing pauses and a limit, and takes the driver
with it when it is told to end. SIGTERM ends both in good order, SIGQUIT at once.

Other threads only wait for something and put it into one queue; the main thread decides. Started
by `detached.py` as `python -m penstock.control.keeper FOLDER`; the files are in `kept.py`.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from logging.handlers import RotatingFileHandler
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from penstock.control.driver_restarts import DriverRestarts, StartAgain, StayDown
from penstock.control.kept import (
    ENDED,
    KEEPER_VARIABLE,
    DriverExit,
    KeeperRecord,
    KeeperState,
    KeptFolder,
    Launch,
    ToldError,
)
from penstock.control.leftovers import end_leftovers
from penstock.control.supervision import RestartPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

LOG_BYTES, LOG_COUNT = 5_000_000, 4
"""Weeks of a healthy pipeline, which writes next to nothing."""

GRACE_SECONDS = 120.0
"""How long a driver may take to stop: it gives batches a minute, queries half, then ends Java."""

_DRAIN_SECONDS = 2.0
"""How long the last words of a driver may take through the pipe."""


@dataclass(frozen=True, slots=True)
class _Event:
    """A line of JSON from the driver's stdout."""

    line: str


@dataclass(frozen=True, slots=True)
class _Words:
    """A line from its stderr."""

    line: str


@dataclass(frozen=True, slots=True)
class _Exited:
    status: int


@dataclass(frozen=True, slots=True)
class _EndWanted:
    at_once: bool


_Message = _Event | _Words | _Exited | _EndWanted


class Keeper:
    """Runs drivers of one pipeline, one at a time, until one ends for good."""

    def __init__(
        self, folder: KeptFolder, restarts: DriverRestarts, *, grace_seconds: float = GRACE_SECONDS
    ) -> None:
        self._folder, self._restarts, self._grace_seconds = folder, restarts, grace_seconds
        self._inbox: SimpleQueue[_Message] = SimpleQueue()
        self._driver: subprocess.Popen[str] | None = None
        self._told: ToldError | None = None
        self._is_ending = False
        self._kill_at = float("inf")
        self._record = KeeperRecord(
            keeper_pid=os.getpid(), state=KeeperState.STARTING, since=datetime.now(UTC)
        )

    def end(self, *, at_once: bool = False) -> None:
        """Ask for the end of driver and keeper; for signal handlers too."""
        self._inbox.put(_EndWanted(at_once))

    def run(self) -> None:
        """Keep a driver running until it has ended for good, or somebody wants the end."""
        while self._record.state not in ENDED:
            ended = self._run_driver()
            self._change(driver_pid=None, last_exit=ended)
            following = self._following(ended)
            logger.info("driver ended: %s", ended.reason)
            if isinstance(following, StayDown):
                self._enter(following.state, following.why)
            else:
                self._pause(following)
        logger.info("%s: %s", self._record.state, self._record.why)

    def _following(self, ended: DriverExit) -> StartAgain | StayDown:
        if self._is_ending:
            return StayDown(state=KeeperState.STOPPED, why="stopped as wanted")
        return self._restarts.after(ended)

    def _run_driver(self) -> DriverExit:
        """Start a driver and return how it ended; nothing of it is left then."""
        self._told = None
        self._driver = self._spawn(self._folder.load_launch())
        self._enter(KeeperState.STARTING, self._record.why, driver_pid=self._driver.pid)
        logger.info("driver started as process %s", self._driver.pid)
        status = self._await_exit()
        if status != 0 or self._is_ending:
            end_leftovers(self._folder)
        pid, self._driver = self._driver.pid, None
        return DriverExit(at=datetime.now(UTC), status=status, error=self._told, pid=pid)

    def _spawn(self, launch: Launch) -> subprocess.Popen[str]:
        driver = subprocess.Popen(
            launch.command,
            cwd=launch.folder if launch.folder.is_dir() else self._folder.root,
            env={**os.environ, **launch.environment, KEEPER_VARIABLE: str(self._folder.root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        readers = [
            self._in_background(self._read, driver.stdout, _Event),
            self._in_background(self._read, driver.stderr, _Words),
        ]
        self._in_background(self._wait_for, driver, readers)
        return driver

    def _in_background(self, act: Any, *arguments: object) -> Thread:  # noqa: ANN401 - any function
        thread = Thread(target=act, args=arguments, daemon=True)
        thread.start()
        return thread

    def _read(self, stream: IO[str], kind: type[_Event] | type[_Words]) -> None:
        with stream:
            for line in stream:
                self._inbox.put(kind(line.rstrip("\n")))

    def _wait_for(self, driver: subprocess.Popen[str], readers: Sequence[Thread]) -> None:
        status = driver.wait()
        for reader in readers:
            reader.join(_DRAIN_SECONDS)  # a grandchild may hold the pipe open
        self._inbox.put(_Exited(status))

    def _await_exit(self) -> int:
        while True:
            message = self._next(self._kill_at)
            match message:
                case _Event(line=line):
                    self._hear(line)
                case _Words(line=line):
                    if line.strip():
                        logger.info("%s", line)
                case _EndWanted(at_once=at_once):
                    self._end_driver(at_once=at_once)
                case _Exited(status=status):
                    return status
                case None:
                    self._kill()

    def _hear(self, line: str) -> None:
        """Take in what the driver tells: an event, its error, or what user code has printed."""
        try:
            fields = json.loads(line)
            event, error = fields.get("event"), fields.get("error")
        except (ValueError, AttributeError):
            logger.info("%s", line)
            return
        if event is None and isinstance(error, dict):
            self._told = _told_error(error)
        elif told := fields.get("told"):
            logger.info("%s", told)
        if event == "flow_started" and self._record.state is KeeperState.STARTING:
            self._restarts.note_running()
            self._enter(KeeperState.RUNNING, self._record.why, driver_pid=self._record.driver_pid)

    def _pause(self, following: StartAgain) -> None:
        """Wait until the next driver is due, or somebody wants the end."""
        seconds = following.after_seconds
        due = time.monotonic() + seconds
        self._enter(
            KeeperState.WAITING,
            following.why,
            next_start_at=datetime.now(UTC) + timedelta(seconds=seconds),
        )
        logger.info("the driver starts again in %.1f s: %s", seconds, following.why)
        while (message := self._next(due)) is not None:
            if isinstance(message, _EndWanted):
                self._enter(KeeperState.STOPPED, "stopped while it waited to start again")
                return
        self._change(restarts=self._record.restarts + following.is_restart, next_start_at=None)

    def _end_driver(self, *, at_once: bool) -> None:
        if at_once:
            self._kill_at = time.monotonic()
        elif not self._is_ending:
            self._kill_at = time.monotonic() + self._grace_seconds
            if self._driver is not None:
                self._driver.terminate()
        self._is_ending = True
        self._enter(KeeperState.STOPPING, None, driver_pid=self._record.driver_pid)

    def _kill(self) -> None:
        """Kill the driver and all that it started; Java has a session of its own."""
        logger.warning("killing the driver")
        self._kill_at = float("inf")
        if self._driver is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._driver.pid, signal.SIGKILL)

    def _next(self, until: float) -> _Message | None:
        """Return what comes in before `until`, or None."""
        seconds = until - time.monotonic()
        try:
            return self._inbox.get(timeout=None if seconds == float("inf") else max(seconds, 0))
        except Empty:
            return None

    def _enter(self, state: KeeperState, why: str | None, **changes: Any) -> None:  # noqa: ANN401
        now = datetime.now(UTC)
        self._change(**{"state": state, "since": now, "why": why, "next_start_at": None} | changes)

    def _change(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of the record
        self._record = replace(self._record, **changes)
        try:
            self._folder.save_record(self._record)
        except OSError:  # a full disk must not end a pipeline that may do without
            logger.exception("the state could not be written")


def _told_error(fields: dict[str, Any]) -> ToldError:
    return ToldError(
        code=str(fields.get("code")),
        message=str(fields.get("message")),
        hint=str(fields.get("hint")),
        retryable=fields.get("retryable") is True,
    )


def _log_to(path: Path) -> None:
    handler = RotatingFileHandler(
        path, maxBytes=LOG_BYTES, backupCount=LOG_COUNT, encoding="utf-8", errors="replace"
    )
    layout = logging.Formatter("%(asctime)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%SZ")
    layout.converter = time.gmtime
    handler.setFormatter(layout)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def main(root: str) -> int:
    """Keep the pipeline whose folder is `root`."""
    folder = KeptFolder(Path(root))
    if folder.hold() is None:
        return 1
    _log_to(folder.log)
    launch = folder.load_launch()
    policy = RestartPolicy(limit=launch.restart_limit, window_seconds=launch.restart_window_seconds)
    keeper = Keeper(folder, DriverRestarts(policy, clock=time.monotonic, dice=random.uniform))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: keeper.end())
    signal.signal(signal.SIGQUIT, lambda *_: keeper.end(at_once=True))
    keeper.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
