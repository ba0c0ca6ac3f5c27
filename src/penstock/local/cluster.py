"""A Kafka cluster that lives and dies with the Python process that started it.

For tests and programs that want brokers of their own. `penstock up` runs the same brokers under a
supervisor that outlives the terminal (`supervisor.py`).
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.events import ignore
from penstock.java import JarSet, class_archive, ensure_jars, find_java
from penstock.kafka import Admin, Connection, await_round_trip, create_topic
from penstock.local.broker import (
    BrokerCommand,
    Folders,
    ensure_formatted,
    new_shape,
)
from penstock.names import BrokerId, TopicName
from penstock.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from penstock.events import Emit

STOP_TIMEOUT_SECONDS = 15
START_TIMEOUT_SECONDS = 60


class KafkaCluster:
    """Real brokers as child processes; leave the `with` block and they are gone."""

    def __init__(self, command: BrokerCommand) -> None:
        self._command = command
        self._processes: dict[BrokerId, subprocess.Popen[bytes]] = {}
        self.bootstrap = command.shape.bootstrap
        self.connection = Connection(bootstrap=self.bootstrap)
        self.broker_ids = tuple(broker.broker_id for broker in command.shape.brokers)
        self.metrics_addresses = {b.broker_id: b.metrics_url for b in command.shape.brokers}

    @classmethod
    @contextmanager
    def start(
        cls, *, brokers: int, data_dir: Path, heap_mb: int = 192, emit: Emit = ignore
    ) -> Iterator[KafkaCluster]:
        """Run `brokers` brokers on free ports, with their data below `data_dir`."""
        settings = load_settings()
        java = find_java(cache_dir=settings.java.cache_dir)
        jars = ensure_jars(JarSet.KAFKA, settings.java, emit, java)
        (exporter,) = ensure_jars(JarSet.EXPORTER, settings.java, emit, java)
        command = BrokerCommand(
            java=java.executable,
            jars=jars,
            exporter=exporter,
            archive=class_archive(settings.java.cache_dir, "kafka", java, (*jars, exporter)),
            shape=new_shape(brokers=brokers, heap_mb=heap_mb),
            folders=Folders(root=data_dir),
        )
        ensure_formatted(command, command.shape.brokers)
        cluster = cls(command)
        try:
            for broker_id in cluster.broker_ids:
                cluster.start_broker(broker_id)
            cluster.await_ready()
            yield cluster
        finally:
            cluster.close()

    def await_ready(self) -> None:
        """Return when all brokers have joined and a record has made the way in and out."""
        await_round_trip(
            self.connection, brokers=len(self.broker_ids), timeout_seconds=START_TIMEOUT_SECONDS
        )

    def start_broker(self, broker_id: BrokerId) -> None:
        """Start the process of a broker that is not running; does not wait for it."""
        shape = next(b for b in self._command.shape.brokers if b.broker_id == broker_id)
        self._processes[broker_id] = self._command.spawn(shape)

    def stop(self, broker_id: BrokerId) -> None:
        """Stop a broker in good order and wait until it is gone."""
        process = self._processes.pop(broker_id)
        process.terminate()
        try:
            process.wait(timeout=STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self, broker_id: BrokerId) -> None:
        """End a broker as a power cut would (`kill -9`)."""
        process = self._processes.pop(broker_id)
        process.kill()
        process.wait()

    def pid(self, broker_id: BrokerId) -> int:
        """Return the process id of a running broker."""
        return self._processes[broker_id].pid

    def close(self) -> None:
        """Kill whatever still runs: nobody reads this data again."""
        for broker_id in list(self._processes):
            self.kill(broker_id)

    def create_topic(
        self,
        name: str,
        *,
        partition_count: int = 1,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> TopicName:
        """Create a topic and return its name."""
        with Admin(self.connection) as admin:
            create_topic(
                admin,
                TopicName(name),
                partition_count=partition_count,
                replication_factor=replication_factor or len(self.broker_ids),
                config=config,
            )
        return TopicName(name)
