"""What a platform keeps on disk, and the two locks that keep its commands apart.

platform.json       the shape of the cluster: written once, ports and version may change
launch.json         how the supervisor calls Java, and whose settings count: written by each `up`
spark.json          the shape of the Spark cluster, if there is one, and how it is started
registry.json       where the schema registry listens
console.json        where the console listens
supervisor.json     where the running supervisor listens; meaningless unless its lock is held
supervisor.lock     held by the supervisor as long as it lives: the only sign of life
operation.lock      held by `up` and `down` while they work
logs/, broker-N/    logs, properties and data
spark-*/            what the master remembers, and what workers keep of applications
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.local.broker import BrokerShape, ClusterShape, Folders
from penstock.local.locks import hold, is_held, turn
from penstock.local.spark_cluster import (
    SparkCommand,
    SparkLaunch,
    SparkNode,
    SparkRole,
    SparkShape,
)
from penstock.local.web_part import MODULES, WebPart

_PAUSE_SECONDS = 0.05


class PlatformFileError(PenstockError):
    """A file that describes a platform cannot be read."""

    code = "PEN-503"

    def __init__(self, path: Path, *, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be read: {reason}",
            hint="`penstock down --delete-data` starts over; it removes this platform's records",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the supervisor needs to start brokers, decided by `up`."""

    java: Path
    jars: tuple[Path, ...]
    exporter: Path
    archive: Path
    settings_file: Path | None = None
    """The `penstock.toml` that `up` found: the console reads it too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """Where the supervisor takes commands, and the secret it wants to hear."""

    pid: int
    port: int
    token: str


@dataclass(frozen=True, slots=True)
class PlatformFolder:
    """The files of one platform."""

    root: Path

    @property
    def folders(self) -> Folders:
        """Where logs and brokers are."""
        return Folders(root=self.root)

    @property
    def shape_file(self) -> Path:
        """The file with the shape of the cluster; its existence means that the platform exists."""
        return self.root / "platform.json"

    def load_shape(self) -> ClusterShape:
        """Return the shape of the cluster."""
        with _readable(self.shape_file) as fields:
            brokers = tuple(_broker_shape(broker) for broker in fields.pop("brokers"))
            return ClusterShape(**fields, brokers=brokers)

    def save_shape(self, shape: ClusterShape) -> None:
        """Record the shape of the cluster."""
        self.root.mkdir(parents=True, exist_ok=True)
        _save(self.shape_file, shape)

    def load_launch(self) -> Launch:
        """Return how the supervisor calls Java."""
        with _readable(self.root / "launch.json") as fields:
            return Launch(
                java=Path(fields["java"]),
                jars=tuple(Path(jar) for jar in fields["jars"]),
                exporter=Path(fields["exporter"]),
                archive=Path(fields["archive"]),
                settings_file=Path(found) if (found := fields["settings_file"]) else None,
            )

    def save_launch(self, launch: Launch) -> None:
        """Record how the supervisor calls Java."""
        _save(self.root / "launch.json", launch)

    @property
    def has_spark(self) -> bool:
        """Whether a Spark cluster belongs to the platform."""
        return (self.root / "spark.json").exists()

    def load_spark(self) -> SparkCommand:
        """Return the Spark cluster and how it is started."""
        with _readable(self.root / "spark.json") as fields:
            shape, launch = fields["shape"], fields["launch"]
            return SparkCommand(
                shape=_spark_shape(shape), launch=_spark_launch(launch), folders=self.folders
            )

    def save_spark(self, command: SparkCommand) -> None:
        """Record the Spark cluster and how it is started."""
        _save(self.root / "spark.json", command)

    def forget_spark(self) -> None:
        """Remove the record of the Spark cluster."""
        (self.root / "spark.json").unlink(missing_ok=True)

    def has_web_part(self, name: str) -> bool:
        """Whether a web server of that name belongs to the platform."""
        return (self.root / f"{name}.json").exists()

    def load_web_part(self, name: str) -> WebPart:
        """Return where the web server of that name listens."""
        with _readable(self.root / f"{name}.json") as fields:
            return WebPart(**fields | {"name": name})

    def load_web_parts(self) -> tuple[WebPart, ...]:
        """Return the web servers that belong to the platform."""
        return tuple(self.load_web_part(name) for name in MODULES if self.has_web_part(name))

    def save_web_part(self, part: WebPart) -> None:
        """Record where a web server listens."""
        _save(self.root / f"{part.name}.json", part)

    def load_contact(self) -> Contact | None:
        """Return where the supervisor listens, or None while it does not."""
        path = self.root / "supervisor.json"
        if not path.exists():
            return None
        with _readable(path) as fields:
            return Contact(**fields)

    def save_contact(self, contact: Contact) -> None:
        """Record where the supervisor listens; only this user can read it."""
        _save(self.root / "supervisor.json", contact)

    def forget_contact(self) -> None:
        """Remove the record of where the supervisor listens."""
        (self.root / "supervisor.json").unlink(missing_ok=True)

    def is_supervised(self) -> bool:
        """Return whether a supervisor is alive: whether its lock is held."""
        if not self.root.is_dir():
            return False
        return is_held(self.root / "supervisor.lock")

    def hold_supervision(self) -> int | None:
        """Take the supervisor's lock until this process ends; None when another holds it."""
        return hold(self.root / "supervisor.lock")

    @contextmanager
    def operation(self, on_wait: Callable[[], None]) -> Iterator[None]:
        """Keep other `up` and `down` away meanwhile; `on_wait` is called once if one must wait."""
        self.root.mkdir(parents=True, exist_ok=True)
        with turn(self.root / "operation.lock", on_wait):
            yield

    def await_unsupervised(self, *, timeout_seconds: float) -> bool:
        """Return whether the supervisor has gone within the time."""
        deadline = time.monotonic() + timeout_seconds
        while self.is_supervised():
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        return True


@contextmanager
def _readable(path: Path) -> Iterator[dict[str, Any]]:
    """Give the fields of a file; whatever is wrong with them becomes one clear error.

    Plain JSON, without pydantic: the supervisor reads these files, and must start quickly.
    """
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as err:
        raise PlatformFileError(path, reason=str(err)) from err


def _broker_shape(fields: dict[str, Any]) -> BrokerShape:
    # A platform of an older version showed no metrics: 0 until `up` chooses a port.
    return BrokerShape(**{"metrics_port": 0, **fields})


def _spark_shape(fields: dict[str, Any]) -> SparkShape:
    master = _spark_node(fields.pop("master"))
    workers = tuple(_spark_node(worker) for worker in fields.pop("workers"))
    return SparkShape(**fields, master=master, workers=workers)


def _spark_node(fields: dict[str, Any]) -> SparkNode:
    return SparkNode(**fields | {"role": SparkRole(fields["role"])})


def _spark_launch(fields: dict[str, Any]) -> SparkLaunch:
    paths = {name: Path(fields[name]) for name in ("java", "java_home", "spark_home", "archive")}
    jars = tuple(Path(jar) for jar in fields["jars"])
    return SparkLaunch(**paths, jars=jars, options=tuple(fields["options"]))


def _save(path: Path, value: ClusterShape | Launch | Contact | SparkCommand | WebPart) -> None:
    """Write `value` so that a reader finds the old file or the new one, never half of it."""
    scratch = path.with_suffix(f".{os.getpid()}.tmp")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(value), file, default=str, indent=1)
    scratch.replace(path)
