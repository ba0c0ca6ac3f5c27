"""A platform with a real Kafka and a real Spark cluster, started by `penstock up`."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.kafka import Connection
from penstock.local import BrokerState, Platform, SparkStatus
from penstock.names import TopicName
from penstock.settings import load_settings
from support.commands import Penstock
from support.processes import kill_all
from support.producing import Sent, send
from support.projects_to_run import Project
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

NAME = "sparks"
RESTART_SECONDS = 180.0
"""For a process to be back and known to the others, on a busy machine."""

RUN_SECONDS = 400.0
"""For a run that starts a driver and two executors there."""


@dataclass(frozen=True, slots=True)
class SparkPlatform:
    """What a test needs to know of it."""

    penstock: Penstock
    bootstrap: str
    master: str
    platform: Platform

    @property
    def connection(self) -> Connection:
        return Connection(bootstrap=self.bootstrap)

    def node(self, name: str) -> SparkStatus:
        """Return what the status says of a process of Spark."""
        return next(item for item in self.platform.status().spark if item.name == name)

    def kill(self, name: str) -> int:
        """End a process of Spark with `kill -9` and return its id."""
        pid = self.node(name).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return pid

    def await_restart(self, name: str, *, killed: int) -> None:
        """Wait until another process has taken the place of the one that was killed."""

        def back() -> bool:
            node = self.node(name)
            return node.state is BrokerState.RUNNING and node.pid != killed

        eventually(back, within_seconds=RESTART_SECONDS)

    def cluster(self) -> dict[str, Any]:
        """Return what the master says of itself; empty while it does not answer."""
        try:
            address = f"{self.node('spark-master').ui}/json/"
            with urllib.request.urlopen(address, timeout=20) as page:  # noqa: S310 - ours
                found: dict[str, Any] = json.load(page)
                return found
        except (OSError, ValueError):  # for a moment the answer of a new master is a page
            return {}

    def await_workers(self, count: int) -> None:
        """Wait until the master counts on so many workers, and on no dead one."""
        eventually(
            lambda: self.cluster().get("aliveworkers") == count, within_seconds=RESTART_SECONDS
        )

    def project(self, folder: Path, flows: str, conf: Mapping[str, str]) -> Project:
        """Return a project whose pipeline runs on this cluster."""
        folder.mkdir()
        penstock = Penstock(folder, self.penstock.environment)
        project = Project(folder, self.bootstrap, penstock)
        project.declare(flows)
        entries = {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.cores.max": "2",
            **conf,
        }
        lines = "".join(f'"{key}" = "{value}"\n' for key, value in entries.items())
        (folder / "penstock.toml").write_text(
            f'[pipeline]\nname = "{project.prefix}"\n'
            f'[spark]\nmaster = "{self.master}"\ndriver_memory_mb = 768\n[spark.conf]\n{lines}'
        )
        return project

    def order(self, project: Project, ids: Sequence[int]) -> None:
        """Send orders with these ids."""
        send(
            self.connection,
            TopicName(f"{project.prefix}-orders"),
            [Sent(value=f'{{"id": {n}}}', partition=n % 2) for n in ids],
        )


@contextmanager
def spark_platform(folder: Path, *, workers: int = 2) -> Iterator[SparkPlatform]:
    """Run Kafka and Spark while the block runs; whatever is left of them then is ended."""
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
        "PENSTOCK_PLATFORM_NAME": NAME,
        "PENSTOCK_PLATFORM_PORT": "0",
    }
    penstock = Penstock(folder, environment)
    platform = Platform(load_settings(start=folder, environ=environment).platform)
    try:
        up = penstock("up", "--spark-workers", str(workers), "--json", timeout_seconds=240)
        assert up.status == 0, up.stderr
        yield SparkPlatform(penstock, up.json["bootstrap"], up.json["spark_master"], platform)
        penstock("down")
    finally:
        kill_all(platform.folder.root)
