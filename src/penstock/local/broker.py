"""One Kafka broker on this machine: its properties, its storage, its process.

Nothing here restarts or waits for readiness; that is `supervisor.py` and `platform.py`.
"""

import base64
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from penstock.errors import PenstockError
from penstock.java import ClassArchive
from penstock.local.ports import HOST, free_ports
from penstock.local.processes import MARKER
from penstock.names import BrokerId

KAFKA_VERSION = "4.3.1"

_METRICS_RULES = Path(__file__).with_name("kafka_metrics.yml")


class StorageFormatError(PenstockError):
    """Kafka could not prepare the folder of a broker."""

    code = "PEN-501"

    def __init__(self, folder: Path, *, reason: str) -> None:
        super().__init__(
            f"cannot prepare `{folder}` for a broker: {reason}",
            hint="check the rights and the free space of that folder, or set `platform.data_dir`",
        )


class Component(Protocol):
    """A process that the supervisor keeps alive: a broker, or a part of Spark."""

    @property
    def name(self) -> str:
        """Under which name status and logs know it."""

    @property
    def port(self) -> int:
        """The port on which it listens as soon as it works."""

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that it listens on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerShape:
    """One broker of a cluster: its number and its ports."""

    broker_id: BrokerId
    port: int
    controller_port: int
    metrics_port: int

    @property
    def name(self) -> str:
        """Under which name status and logs know it."""
        return f"broker-{self.broker_id}"

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that it listens on."""
        return (self.port, self.controller_port, self.metrics_port)

    @property
    def metrics_url(self) -> str:
        """Where it shows its metrics to Prometheus, and to Penstock."""
        return f"http://{HOST}:{self.metrics_port}/metrics"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    """What a cluster is made of; fixed when its storage is formatted."""

    cluster_id: str
    brokers: tuple[BrokerShape, ...]
    heap_mb: int
    kafka_version: str = KAFKA_VERSION

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, as clients want them."""
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that the brokers listen on."""
        return tuple(port for broker in self.brokers for port in broker.ports)

    @property
    def replication_factor(self) -> int:
        """How many copies topics have by default: as many as there are brokers."""
        return len(self.brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where a platform keeps its files."""

    root: Path

    def home(self, component: Component) -> Path:
        """Return the folder with the configuration and the data of `component`."""
        return self.root / component.name

    def data(self, component: Component) -> Path:
        """Return the folder with the data of `component`, such as a broker's partitions."""
        return self.home(component) / "data"

    @property
    def logs(self) -> Path:
        """The folder with the log of each component."""
        return self.root / "logs"

    def log(self, component_name: str) -> Path:
        """Return the current log file of a component."""
        return self.logs / f"{component_name}.log"

    def output(self, component: Component) -> Path:
        """Return the file with what the JVM itself printed since its last start."""
        return self.logs / f"{component.name}.out"


def new_cluster_id() -> str:
    """Return a random id in Kafka's own spelling: a UUID in URL-safe base64."""
    text = base64.urlsafe_b64encode(uuid4().bytes).rstrip(b"=").decode()
    # Kafka's tools would take a leading dash for an option.
    return "A" + text[1:] if text.startswith("-") else text


def new_shape(*, brokers: int, heap_mb: int, ports: Sequence[int] = ()) -> ClusterShape:
    """Return a new cluster of `brokers` brokers, on `ports` or on any that are free."""
    chosen = tuple(ports) or free_ports(3 * brokers)
    return ClusterShape(
        cluster_id=new_cluster_id(),
        heap_mb=heap_mb,
        brokers=tuple(
            BrokerShape(
                broker_id=BrokerId(number + 1),
                port=chosen[number],
                controller_port=chosen[brokers + number],
                metrics_port=chosen[2 * brokers + number],
            )
            for number in range(brokers)
        ),
    )


def with_metrics_ports(shape: ClusterShape) -> ClusterShape:
    """Return `shape` with a port for metrics where an older version has chosen none."""
    missing = [broker for broker in shape.brokers if broker.metrics_port == 0]
    ports = dict(zip(missing, free_ports(len(missing)), strict=True))
    brokers = (replace(b, metrics_port=ports.get(b, b.metrics_port)) for b in shape.brokers)
    return replace(shape, brokers=tuple(brokers))


def build_properties(shape: ClusterShape, broker: BrokerShape, folders: Folders) -> str:
    """Return the content of `server.properties` for `broker`."""
    copies = shape.replication_factor
    in_sync = 2 if copies > 1 else 1
    voters = ",".join(f"{b.broker_id}@{HOST}:{b.controller_port}" for b in shape.brokers)
    properties = {
        "process.roles": "broker,controller",
        "node.id": broker.broker_id,
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://{HOST}:{broker.port},CONTROLLER://{HOST}:{broker.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{broker.port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": folders.data(broker),
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        # Topics are made on purpose: a misspelt name must be an error, not a topic.
        "auto.create.topics.enable": "false",
        # Kafka's defaults are for large clusters; 50 partitions of each internal topic cost
        # memory and start-up time that one machine has no use for.
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.num.partitions": 4,
        "num.network.threads": 2,
        "num.io.threads": 2,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        # Nobody joins a group in a flood here, so a lone consumer need not wait 3 s for others.
        "group.initial.rebalance.delay.ms": 0,
        # A lone broker has nobody to hand its partitions over to. If it tries, they are without a
        # leader while its coordinator still works, which then takes a transaction for committed
        # whose marker was never written: readers of that topic wait for it for ever.
        "controlled.shutdown.enable": str(copies > 1).lower(),
        # A dead broker is noticed after 6 s instead of 9 s; a compaction run starts sooner.
        "broker.session.timeout.ms": 6000,
        "log.cleaner.backoff.ms": 1000,
    }
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def build_log_config(component: Component, folders: Folders) -> str:
    """Return a log4j2 configuration: one file, five old ones of 10 MB each."""
    file = folders.log(component.name)
    return f"""\
status=error
rootLogger.level=info
rootLogger.appenderRef.file.ref=file
appender.file.type=RollingFile
appender.file.name=file
appender.file.fileName={file}
appender.file.filePattern={file}.%i
appender.file.layout.type=PatternLayout
appender.file.layout.pattern=[%d] %p %m (%c)%n
appender.file.policies.type=Policies
appender.file.policies.size.type=SizeBasedTriggeringPolicy
appender.file.policies.size.size=10MB
appender.file.strategy.type=DefaultRolloverStrategy
appender.file.strategy.max=5
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCommand:
    """How to call Java for the brokers of one platform."""

    java: Path
    jars: tuple[Path, ...]
    exporter: Path
    """The agent that shows metrics; `docs/decisions/0016-broker-metrics.md` says what it costs."""

    archive: ClassArchive
    shape: ClusterShape
    folders: Folders

    def prepare(self, broker: BrokerShape) -> None:
        """Write the configuration of `broker`; safe to repeat."""
        folders = self.folders
        folders.home(broker).mkdir(parents=True, exist_ok=True)
        folders.logs.mkdir(parents=True, exist_ok=True)
        self._properties(broker).write_text(
            build_properties(self.shape, broker, folders), encoding="utf-8"
        )
        self._log_config(broker).write_text(build_log_config(broker, folders), encoding="utf-8")
        # A copy: the agent reads it again when it changes, and ours goes with an upgrade.
        shutil.copyfile(_METRICS_RULES, self._metrics_rules(broker))

    def start_format(self, broker: BrokerShape) -> "subprocess.Popen[bytes]":
        """Start Kafka's own tool that formats the storage of `broker`; about a second."""
        arguments = ["format", "--cluster-id", self.shape.cluster_id, "--ignore-formatted"]
        return subprocess.Popen(
            [
                *self._java(broker, heap_mb=64),
                *self._class_path(agent=False),
                "kafka.tools.StorageTool",
                *arguments,
                "--config",
                str(self._properties(broker)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def spawn(
        self, broker: BrokerShape, *, recording: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start the broker's process, in a session of its own so that Ctrl-C does not reach it.

        Args:
            broker: which.
            recording: where the JVM writes the classes it loaded when it ends, if anywhere.
        """
        with self.folders.output(broker).open("wb") as output:
            return subprocess.Popen(
                [
                    *self._java(broker, heap_mb=self.shape.heap_mb, recording=recording),
                    *self._class_path(agent=True),
                    self._agent(broker),
                    "kafka.Kafka",
                    str(self._properties(broker)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folders.home(broker),
                start_new_session=True,
            )

    def _java(
        self, broker: BrokerShape, *, heap_mb: int, recording: Path | None = None
    ) -> list[str]:
        return [
            str(self.java),
            *self.archive.options(recording),
            "-Xms64m",
            f"-Xmx{heap_mb}m",
            # Small and quick to start beats peak throughput on one machine: three brokers stay
            # near 500 MB resident, and C1 alone compiles what they need.
            "-XX:+UseSerialGC",
            "-XX:MaxMetaspaceSize=128m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self._log_config(broker)}",
            # An agent may change classes, so the JVM would archive none beside it; ours does not.
            # Whoever uses the archive must say the same.
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+AllowArchivingWithJavaAgent",
            f"{MARKER}{self.folders.root}",
        ]

    def _class_path(self, *, agent: bool) -> list[str]:
        """Return the class path; the JVM itself puts an agent behind it.

        Without the agent its jar is named here: an archive is for one class path alone.
        """
        jars = self.jars if agent else (*self.jars, self.exporter)
        return ["-cp", os.pathsep.join(str(jar) for jar in jars)]

    def _agent(self, broker: BrokerShape) -> str:
        rules = self._metrics_rules(broker)
        return f"-javaagent:{self.exporter}={HOST}:{broker.metrics_port}:{rules}"

    def _metrics_rules(self, broker: BrokerShape) -> Path:
        return self.folders.home(broker) / "metrics.yml"

    def _properties(self, broker: BrokerShape) -> Path:
        return self.folders.home(broker) / "server.properties"

    def _log_config(self, broker: BrokerShape) -> Path:
        return self.folders.home(broker) / "log4j2.properties"


def ensure_formatted(command: BrokerCommand, brokers: Sequence[BrokerShape]) -> None:
    """Format the storage of those brokers that have none, side by side.

    Raises:
        StorageFormatError: Kafka's tool refused, with its last line as the reason.
    """
    for broker in brokers:
        command.prepare(broker)
    missing = [b for b in brokers if not (command.folders.data(b) / "meta.properties").exists()]
    started = [(broker, command.start_format(broker)) for broker in missing]
    for broker, process in started:
        output, _ = process.communicate()
        if process.returncode != 0:
            lines = output.decode(errors="replace").strip().splitlines()
            raise StorageFormatError(
                command.folders.data(broker), reason=lines[-1] if lines else "no reason given"
            )
