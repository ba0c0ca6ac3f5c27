"""Three brokers, the first of them reached through a proxy by everybody but the other brokers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.events import ignore
from penstock.java import JarSet, class_archive, ensure_jars, find_java
from penstock.kafka import Admin, ClusterError, Connection
from penstock.local.broker import BrokerCommand, Folders, ensure_formatted, new_shape
from penstock.local.cluster import KafkaCluster
from penstock.local.ports import HOST, free_ports
from penstock.settings import load_settings
from support.crash_harness.proxy import Proxy
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.local.broker import BrokerShape

TRANSACTION_SECONDS = 15
"""The longest time that transactions may be open; brokers allow far more than a test can wait."""

_HEAP_MB = 192
_JOIN_SECONDS = 240.0
# Kafka looks every ten seconds for transactions whose time-out has passed.
_LOOKS_EVERY_MS = 1000


class CutCluster(KafkaCluster):
    """Brokers, of which the first one can be cut off from its clients."""

    proxy: Proxy

    @classmethod
    @contextmanager
    def start_behind_proxy(cls, data_dir: Path, *, brokers: int = 3) -> Iterator[CutCluster]:
        """Run them while the block runs."""
        settings = load_settings()
        java = find_java(cache_dir=settings.java.cache_dir)
        jars = ensure_jars(JarSet.KAFKA, settings.java, ignore, java)
        (exporter,) = ensure_jars(JarSet.EXPORTER, settings.java, ignore, java)
        command = BrokerCommand(
            java=java.executable,
            jars=jars,
            exporter=exporter,
            archive=class_archive(settings.java.cache_dir, "kafka", java, (*jars, exporter)),
            shape=new_shape(brokers=brokers, heap_mb=_HEAP_MB),
            folders=Folders(root=data_dir),
        )
        ensure_formatted(command, command.shape.brokers)
        first, *_ = command.shape.brokers
        outside, *inside = free_ports(1 + brokers)
        for broker, port in zip(command.shape.brokers, inside, strict=True):
            clients = outside if broker is first else broker.port
            _listen(command.folders, broker, inside=port, clients=clients)
        cluster = cls(command)
        cluster.bootstrap = cluster.bootstrap.replace(str(first.port), str(outside))
        cluster.connection = Connection(bootstrap=cluster.bootstrap)
        cluster.proxy = Proxy(outside, first.port)
        with cluster.proxy:
            try:
                cluster.start_all()
                cluster.await_ready()
                yield cluster
            finally:
                cluster.close()

    def start_all(self) -> None:
        """Start all brokers and wait until they know each other."""
        for broker_id in self.broker_ids:
            self.start_broker(broker_id)
        self.await_all()

    def await_all(self) -> None:
        """Wait until all brokers have joined, for as long as a busy machine takes."""
        eventually(self._are_all_there, within_seconds=_JOIN_SECONDS)

    def _are_all_there(self) -> bool:
        try:
            with Admin(self.connection) as admin:
                return len(admin.metadata().brokers) == len(self.broker_ids)
        except ClusterError:
            return False


def _listen(folders: Folders, broker: BrokerShape, *, inside: int, clients: int) -> None:
    """Let brokers reach `broker` at the port `inside`, and clients at `clients`."""
    file = folders.home(broker) / "server.properties"
    kept = [line for line in file.read_text().splitlines() if "listeners=" not in line]
    own = (
        f"PLAINTEXT://{HOST}:{broker.port}",
        f"INSIDE://{HOST}:{inside}",
        f"CONTROLLER://{HOST}:{broker.controller_port}",
    )
    protocols = ",".join(f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "INSIDE", "CONTROLLER"))
    kept += [
        f"listeners={','.join(own)}",
        f"advertised.listeners=PLAINTEXT://{HOST}:{clients},INSIDE://{HOST}:{inside}",
        "inter.broker.listener.name=INSIDE",
        f"listener.security.protocol.map={protocols}",
        f"transaction.max.timeout.ms={TRANSACTION_SECONDS * 1000}",
        f"transaction.abort.timed.out.transaction.cleanup.interval.ms={_LOOKS_EVERY_MS}",
    ]
    file.write_text("".join(f"{line}\n" for line in kept))
