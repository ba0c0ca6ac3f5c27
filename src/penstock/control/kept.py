"""What is kept on disk of a detached pipeline, and how its driver knows that it is detached.

<data_dir>/pipelines/<name>/
    launch.json     how the driver is started: written by `penstock start`, changed by a rescale
    keeper.json     what the keeper last said of itself and of the driver; stays when it has ended
    keeper.lock     held by the keeper as long as it lives: the only sign of life
    start.lock      held by `penstock start` while it looks and starts a keeper
    log, log.1 …    what the driver and the keeper have written, oldest in the highest number
    keeper.out      what the keeper's Python says when it cannot even begin

The keeper itself is in `keeper.py`; what commands do with all this is in `detached.py`.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.local.locks import hold, is_held, turn
from penstock.names import PipelineName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEEPER_VARIABLE = "_PENSTOCK_KEEPER"
"""Stands in the environment of a kept driver and of all it starts: the folder of its keeper."""

START_AGAIN_STATUS = 75
"""The exit status of a driver that wants to be started again, with the launch of that moment."""


class KeptFileError(PenstockError):
    """A file about a detached pipeline cannot be read."""

    code = "PEN-240"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be read: {reason}",
            hint="remove it; `penstock start` writes it anew, and no record is lost by that",
        )


class KeeperState(StrEnum):
    """Where a detached pipeline is in its life, as its keeper sees it."""

    STARTING = "starting"
    """A driver is coming up: no flow has started yet."""

    RUNNING = "running"
    WAITING = "waiting to restart"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


ENDED = frozenset({KeeperState.STOPPED, KeeperState.FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldError:
    """The error that a driver told before it ended."""

    code: str
    message: str
    hint: str
    retryable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverExit:
    """How a driver ended."""

    at: datetime
    status: int
    """As `subprocess` gives it: negative for a signal."""

    error: ToldError | None = None
    pid: int | None = None
    """The process that it was."""

    @property
    def reason(self) -> str:
        """Why, in a sentence without its end."""
        if self.error is not None:
            return f"[{self.error.code}] {self.error.message}"
        if self.status < 0:
            return f"killed by {signal.Signals(-self.status).name}"
        wanted = {0: "ended as wanted", START_AGAIN_STATUS: "asked to be started again"}
        return wanted.get(self.status, f"exit status {self.status}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How the driver of a pipeline is started, and how often again."""

    command: tuple[str, ...]
    folder: Path
    """Where the command runs."""

    cluster: str
    """The brokers on which the pipeline is told of: names may be the same on two clusters."""

    restart_limit: int
    restart_window_seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the driver finds beside the environment of whoever started it."""

    cores: int | None = None
    """So many cores instead of what the settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperRecord:
    """What a keeper says of itself and of its driver."""

    keeper_pid: int
    state: KeeperState
    since: datetime
    why: str | None = None
    """What led to the state, where that is worth a word."""

    driver_pid: int | None = None
    restarts: int = 0
    """How often a driver that had ended by itself was started again."""

    next_start_at: datetime | None = None
    last_exit: DriverExit | None = None


@dataclass(frozen=True, slots=True)
class KeptFolder:
    """The files of one detached pipeline."""

    root: Path

    @classmethod
    def of(cls, data_dir: Path, pipeline: PipelineName) -> KeptFolder:
        """Return the folder of `pipeline`, which need not exist."""
        return cls(data_dir.absolute() / "pipelines" / pipeline)

    @property
    def pipeline(self) -> PipelineName:
        """Whose folder it is."""
        return PipelineName(self.root.name)

    @property
    def log(self) -> Path:
        """What the driver and the keeper write."""
        return self.root / "log"

    @property
    def java_log(self) -> Path:
        """What Spark's Java writes, as any run of the pipeline has it."""
        return self.root.parents[1] / "logs" / f"{self.pipeline}.log"

    @property
    def output(self) -> Path:
        """What the keeper's Python says when it cannot begin."""
        return self.root / "keeper.out"

    def load_launch(self) -> Launch:
        """Return how the driver is started."""
        with _readable(self.root / "launch.json") as fields:
            return Launch(
                **fields | {"command": tuple(fields["command"]), "folder": Path(fields["folder"])}
            )

    def save_launch(self, launch: Launch) -> None:
        """Record how the driver is started; only this user can read it."""
        _save(self.root / "launch.json", launch)

    def save_cores(self, count: int) -> None:
        """Let the next driver have so many cores."""
        self.save_launch(replace(self.load_launch(), cores=count))

    def load_record(self) -> KeeperRecord | None:
        """Return what the keeper last said, or None when there has been none."""
        path = self.root / "keeper.json"
        if not path.exists():
            return None
        with _readable(path) as fields:
            return _record(fields)

    def save_record(self, record: KeeperRecord) -> None:
        """Write what the keeper says."""
        _save(self.root / "keeper.json", record)

    def forget_record(self) -> None:
        """Remove what an earlier keeper said."""
        (self.root / "keeper.json").unlink(missing_ok=True)

    def is_kept(self) -> bool:
        """Return whether a keeper is alive: whether its lock is held."""
        if not self.root.is_dir():
            return False
        return is_held(self.root / "keeper.lock")

    def hold(self) -> int | None:
        """Take the keeper's lock until this process ends; None when another holds it."""
        return hold(self.root / "keeper.lock")

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Keep other starts of this pipeline away meanwhile."""
        self.root.mkdir(parents=True, exist_ok=True)
        with turn(self.root / "start.lock"):
            yield


def kept_here() -> KeptFolder | None:
    """Return the folder of this process's keeper, or None when nobody would start it again."""
    folder = os.environ.get(KEEPER_VARIABLE)
    return KeptFolder(Path(folder)) if folder else None


def _record(fields: dict[str, Any]) -> KeeperRecord:
    last, due = fields["last_exit"], fields["next_start_at"]
    return KeeperRecord(
        **fields
        | {
            "state": KeeperState(fields["state"]),
            "since": datetime.fromisoformat(fields["since"]),
            "next_start_at": due and datetime.fromisoformat(due),
            "last_exit": last and _exit(last),
        }
    )


def _exit(fields: dict[str, Any]) -> DriverExit:
    error = fields["error"]
    return DriverExit(
        at=datetime.fromisoformat(fields["at"]),
        status=fields["status"],
        error=error and ToldError(**error),
        pid=fields["pid"],
    )


@contextmanager
def _readable(path: Path) -> Iterator[dict[str, Any]]:
    """Give the fields of a file; whatever is wrong with them becomes one clear error.

    Plain JSON, without pydantic: the keeper reads and writes these files, and is to stay small.
    """
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as err:
        raise KeptFileError(path, reason=str(err)) from err


def _save(path: Path, value: Launch | KeeperRecord) -> None:
    """Write `value` so that a reader finds the old file or the new one, never half of it."""
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(value), file, default=str, indent=1)
    scratch.replace(path)
