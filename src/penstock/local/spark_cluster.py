"""Spark's standalone cluster on this machine: a master, workers, and how Java is called for them.

The classes come from the installed PySpark. Nothing here restarts or waits for readiness; that is
`supervisor.py` and `spark_start.py`. The supervisor imports this module, so it imports no Spark.

The master writes what it knows into its folder: one that was killed knows its workers and
applications again when it is back, and running pipelines go on meanwhile.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.local.broker import build_log_config
from penstock.local.ports import HOST
from penstock.local.processes import MARKER

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.broker import Folders


class SparkRole(StrEnum):
    """What a process of the cluster does."""

    MASTER = "master"
    WORKER = "worker"


_CLASSES = {
    SparkRole.MASTER: "org.apache.spark.deploy.master.Master",
    SparkRole.WORKER: "org.apache.spark.deploy.worker.Worker",
}

_SCALA_VERSION = "2.13"
"""That of the locked jars, and of the pinned PySpark."""

_RECOVERY_SECONDS = 20
"""How long a master that is back waits for those it remembers, before it gives work to others."""

_KEPT_SECONDS = 6 * 3600
"""How long a worker keeps the logs and jars of an application that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkNode:
    """One process of the cluster: what it does, its number, and its two ports."""

    role: SparkRole
    number: int
    port: int
    ui_port: int

    @property
    def name(self) -> str:
        """Under which name status and logs know it."""
        if self.role is SparkRole.MASTER:
            return "spark-master"
        return f"spark-worker-{self.number}"

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that it listens on."""
        return (self.port, self.ui_port)

    @property
    def ui(self) -> str:
        """The address of its web pages."""
        return f"http://{HOST}:{self.ui_port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkShape:
    """What the cluster is made of; kept, so that addresses stay the same."""

    master: SparkNode
    workers: tuple[SparkNode, ...]
    cores: int
    """How many tasks each worker runs at once."""

    memory_mb: int
    """How much memory each worker has for executors."""

    heap_mb: int
    """The Java heap of each process here; executors have their own."""

    @property
    def nodes(self) -> tuple[SparkNode, ...]:
        """The master, then the workers."""
        return (self.master, *self.workers)

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that the cluster listens on."""
        return tuple(port for node in self.nodes for port in node.ports)

    @property
    def master_url(self) -> str:
        """What goes into `spark.master`."""
        return f"spark://{HOST}:{self.master.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkLaunch:
    """What the supervisor needs to start the cluster, decided by `up`."""

    java: Path
    java_home: Path
    spark_home: Path
    jars: tuple[Path, ...]
    options: tuple[str, ...]
    """The options that Spark's own launcher gives to Java."""

    archive: Path
    """The class archive of drivers, which has the same class path; used when it exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCommand:
    """How to call Java for the processes of the cluster."""

    launch: SparkLaunch
    shape: SparkShape
    folders: Folders

    def spawn(self, node: SparkNode) -> subprocess.Popen[bytes]:
        """Start the process, in a session of its own so that Ctrl-C does not reach it."""
        self._prepare(node)
        with self.folders.output(node).open("wb") as output:
            return subprocess.Popen(
                self.build(node),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(os.environ) | self.environment(),
                cwd=self.folders.home(node),
                start_new_session=True,
            )

    def forget(self) -> None:
        """Let the master begin anew: nothing of what it remembers has outlived an orderly end."""
        shutil.rmtree(self.folders.data(self.shape.master), ignore_errors=True)

    def build(self, node: SparkNode) -> list[str]:
        """Return the command line."""
        launch = self.launch
        return [
            str(launch.java),
            *self._archive_options(),
            f"-Xmx{self.shape.heap_mb}m",
            # Small and quick to start: these processes hand out work, they do none.
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            *launch.options,
            f"-Dlog4j2.configurationFile={self._log_config(node)}",
            *(f"-D{key}={value}" for key, value in self._properties(node).items()),
            f"{MARKER}{self.folders.root}",
            "-cp",
            os.pathsep.join(str(jar) for jar in launch.jars),
            _CLASSES[node.role],
            *("--host", HOST, "--port", str(node.port), "--webui-port", str(node.ui_port)),
            *self._worker_arguments(node),
        ]

    def environment(self) -> dict[str, str]:
        """Return the variables that the processes need; executors inherit them."""
        return {
            "JAVA_HOME": str(self.launch.java_home),
            "SPARK_HOME": str(self.launch.spark_home),
            # The scripts that we do without set it; workers start no executor without it.
            "SPARK_SCALA_VERSION": _SCALA_VERSION,
            # Without it the web pages would be open to the network.
            "SPARK_LOCAL_IP": HOST,
            "SPARK_PUBLIC_DNS": HOST,
        }

    def _prepare(self, node: SparkNode) -> None:
        self.folders.data(node).mkdir(parents=True, exist_ok=True)
        self.folders.logs.mkdir(parents=True, exist_ok=True)
        self._log_config(node).write_text(build_log_config(node, self.folders), encoding="utf-8")

    def _properties(self, node: SparkNode) -> dict[str, str]:
        # A port that is taken must be told, not dodged: the addresses are known to others.
        properties = {"spark.port.maxRetries": "0"}
        if node.role is SparkRole.MASTER:
            return properties | {
                "spark.deploy.recoveryMode": "FILESYSTEM",
                "spark.deploy.recoveryDirectory": str(self.folders.data(node)),
                "spark.deploy.recoveryTimeout": str(_RECOVERY_SECONDS),
                "spark.master.rest.enabled": "false",
            }
        return properties | {
            # Host and port alone: a worker that was restarted while the master was away is the one
            # that the master remembers.
            "spark.worker.idPattern": "worker-%2$s-%3$d",
            "spark.worker.cleanup.enabled": "true",
            "spark.worker.cleanup.appDataTtl": str(_KEPT_SECONDS),
        }

    def _worker_arguments(self, node: SparkNode) -> list[str]:
        if node.role is SparkRole.MASTER:
            return []
        return [
            *("--cores", str(self.shape.cores), "--memory", f"{self.shape.memory_mb}m"),
            *("--work-dir", str(self.folders.data(node)), self.shape.master_url),
        ]

    def _archive_options(self) -> list[str]:
        archive = self.launch.archive
        return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive.exists() else []

    def _log_config(self, node: SparkNode) -> Path:
        return self.folders.home(node) / "log4j2.properties"
