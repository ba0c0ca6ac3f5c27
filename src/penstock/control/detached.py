"""Detached pipelines of this machine: start one under a keeper, find it, end it.

Commands to a running pipeline go through Kafka to its driver, wherever that is (`asking.py`). Here
is only what needs the machine itself: a keeper that waits between two drivers, or a driver that
hears nothing, can be reached in no other way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.control.kept import ENDED, KeeperState, KeptFolder
from penstock.errors import PenstockError, UsageError
from penstock.events import Emit, StepFinished, StepStarted, ignore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.control.kept import KeeperRecord, Launch, ToldError
    from penstock.names import PipelineName

KEEPER_SECONDS = 30.0
"""How long the keeper's Python may take to come up on a busy machine."""

START_SECONDS = 300.0
"""How long a driver may take: Java, checks, topics, and the lease of one that died before it."""

END_SECONDS = 150.0
"""A little more than a keeper gives its driver."""

_PAUSE_SECONDS = 0.1


class AlreadyStartedError(UsageError):
    """The pipeline is detached on this machine already."""

    code = "PEN-241"

    def __init__(self, pipeline: PipelineName, *, state: str, pid: int | None) -> None:
        keeper = f", kept by process {pid}" if pid else ""
        super().__init__(
            f"pipeline `{pipeline}` is {state} on this machine already{keeper}",
            hint=f"`penstock show {pipeline}` tells how it does, `penstock stop {pipeline}` stops "
            "it",
        )
        self.pipeline = pipeline


class KeeperNotStartedError(PenstockError):
    """The process that should keep a pipeline did not come up."""

    code = "PEN-242"

    def __init__(self, pipeline: PipelineName, *, last_words: str, output: Path) -> None:
        said = f": {last_words}" if last_words else ""
        super().__init__(
            f"the process that should keep pipeline `{pipeline}` did not come up{said}",
            hint=f"see `{output}`; `penstock run` runs the pipeline in the foreground",
        )


class DriverEndedError(PenstockError):
    """The driver of a pipeline ended before its first flow had started, without an error."""

    code = "PEN-243"

    def __init__(self, pipeline: PipelineName, *, why: str, log: Path) -> None:
        super().__init__(
            f"pipeline `{pipeline}` did not start: {why}",
            hint=f"see `{log}`, or `penstock logs {pipeline}`",
        )


class StartRefusedError(PenstockError):
    """The driver said why it cannot run; the error is the driver's."""

    def __init__(self, told: ToldError) -> None:
        super().__init__(told.message, hint=told.hint)
        self.code = told.code  # type: ignore[misc] # any code of the driver's


class StillStartingError(PenstockError):
    """The driver of a pipeline takes longer to start than anybody should wait."""

    code = "PEN-244"

    def __init__(self, pipeline: PipelineName, *, seconds: float) -> None:
        super().__init__(
            f"pipeline `{pipeline}` has not come up within {seconds:g} s, and goes on trying",
            hint=f"`penstock logs {pipeline} -f` shows what it does; `penstock stop {pipeline}` "
            "ends it",
        )


class StillEndingError(PenstockError):
    """The keeper of a pipeline does not end."""

    code = "PEN-245"

    def __init__(self, pipeline: PipelineName, *, seconds: float) -> None:
        super().__init__(
            f"pipeline `{pipeline}` has not ended within {seconds:g} s",
            hint=f"`penstock kill {pipeline}` ends it at once; the next start goes on where it was",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPipeline:
    """A pipeline that is or was detached on this machine."""

    folder: KeptFolder
    record: KeeperRecord | None
    """What its keeper last said; None when it has not said anything yet."""

    is_kept: bool
    """Whether its keeper is alive."""

    @property
    def pipeline(self) -> PipelineName:
        """Its name."""
        return self.folder.pipeline

    @property
    def is_abandoned(self) -> bool:
        """Whether the keeper died without a word."""
        return not self.is_kept and self.record is not None and self.record.state not in ENDED


class Detached:
    """The detached pipelines below one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def find(self, pipeline: PipelineName) -> KeptPipeline | None:
        """Return a pipeline that is or was detached here, or None."""
        folder = KeptFolder.of(self._data_dir, pipeline)
        return _look(folder) if folder.root.is_dir() else None

    def all(self) -> tuple[KeptPipeline, ...]:
        """Return all that are or were detached here, by name."""
        folders = sorted((self._data_dir.absolute() / "pipelines").glob("*/"))
        return tuple(_look(KeptFolder(folder)) for folder in folders)

    def start(self, pipeline: PipelineName, launch: Launch, *, emit: Emit = ignore) -> KeptPipeline:
        """Start `pipeline` under a keeper; return when a flow has started, or all have finished.

        Raises:
            AlreadyStartedError: it is detached here already.
            StartRefusedError: the driver said why it cannot run; nothing is left running.
            PenstockError: it ended otherwise, or takes too long.
        """
        folder = KeptFolder.of(self._data_dir, pipeline)
        with folder.starting():
            self._require_unkept(folder)
            _end_abandoned(folder, emit)
            folder.forget_record()
            folder.save_launch(launch)
            _spawn_keeper(folder)
        step = "starting the driver"
        emit(StepStarted(step=step))
        started = _await_running(folder)
        emit(StepFinished(step=step))
        return started

    def end(
        self, pipeline: PipelineName, *, at_once: bool = False, emit: Emit = ignore
    ) -> KeptPipeline | None:
        """End driver and keeper; return what was found, or None when no keeper is alive.

        Raises:
            StillEndingError: the keeper does not end.
        """
        found = self.find(pipeline)
        if found is None or not found.is_kept or found.record is None:
            return None
        step = "killing the driver" if at_once else "stopping the driver"
        emit(StepStarted(step=step))
        with suppress(ProcessLookupError):
            os.kill(found.record.keeper_pid, signal.SIGQUIT if at_once else signal.SIGTERM)
        self.await_end(pipeline)
        emit(StepFinished(step=step))
        return found

    def await_end(self, pipeline: PipelineName) -> None:
        """Return when no keeper of `pipeline` is alive here.

        Raises:
            StillEndingError: one still is.
        """
        folder = KeptFolder.of(self._data_dir, pipeline)
        if not _within(END_SECONDS, lambda: not folder.is_kept()):
            raise StillEndingError(pipeline, seconds=END_SECONDS)

    @staticmethod
    def _require_unkept(folder: KeptFolder) -> None:
        found = _look(folder)
        if found.is_kept:
            record = found.record
            raise AlreadyStartedError(
                folder.pipeline,
                state=record.state if record else KeeperState.STARTING,
                pid=record.keeper_pid if record else None,
            )


def _look(folder: KeptFolder) -> KeptPipeline:
    # In this order: a keeper writes its last word while it still holds the lock.
    is_kept = folder.is_kept()
    return KeptPipeline(folder=folder, record=folder.load_record(), is_kept=is_kept)


def _end_abandoned(folder: KeptFolder, emit: Emit) -> None:
    """End what a keeper that died has left behind."""
    if not _look(folder).is_abandoned:
        return
    from penstock.control.leftovers import end_leftovers

    step = "ending what a keeper that died has left"
    emit(StepStarted(step=step))
    count = end_leftovers(folder)
    emit(StepFinished(step=step, detail=f"{count} processes"))


def _spawn_keeper(folder: KeptFolder) -> None:
    """Start the keeper and return when it has said its first word."""
    with folder.output.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "penstock.control.keeper", str(folder.root)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder.root,
            start_new_session=True,
        )
    came = _within(KEEPER_SECONDS, lambda: folder.load_record() or keeper.poll() is not None)
    if not came or folder.load_record() is None:
        words = folder.output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise KeeperNotStartedError(
            folder.pipeline, last_words=words[-1] if words else "", output=folder.output
        )
    # It is meant to outlive this process, which therefore never collects its exit status.
    keeper.returncode = 0


def _await_running(folder: KeptFolder) -> KeptPipeline:
    deadline = time.monotonic() + START_SECONDS
    found = _look(folder)
    while found.is_kept and not _is_running(found):
        if time.monotonic() > deadline:
            raise StillStartingError(folder.pipeline, seconds=START_SECONDS)
        time.sleep(_PAUSE_SECONDS)
        found = _look(folder)
    record = found.record
    # A pipeline that had nothing left to read has run, and has ended as it should.
    is_done = record is not None and record.last_exit is not None and record.last_exit.status == 0
    if _is_running(found) or is_done:
        return found
    told = record.last_exit.error if record and record.last_exit else None
    if told is not None:
        raise StartRefusedError(told)
    why = record.why if record and record.why else "its keeper ended without a word"
    raise DriverEndedError(folder.pipeline, why=why, log=folder.log)


def _is_running(found: KeptPipeline) -> bool:
    return found.record is not None and found.record.state is KeeperState.RUNNING


def _within(seconds: float, condition: Callable[[], object]) -> bool:
    """Return whether `condition()` comes true in time; files have no way to tell."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True
