"""The platform as its user sees it: up, down, status, and single brokers.

These functions run in the command's process; the brokers belong to the supervisor. `up` and `down`
exclude each other by a lock, so an `up` during a `down` waits for it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import psutil

from penstock.events import Emit, StepFinished, StepProgressed, StepStarted, ignore
from penstock.java import JarSet, class_archive, ensure_jars, find_java
from penstock.kafka import Connection, await_round_trip
from penstock.local.broker import (
    KAFKA_VERSION,
    BrokerCommand,
    ClusterShape,
    ensure_formatted,
    new_shape,
    with_metrics_ports,
)
from penstock.local.control import (
    BrokerState,
    BrokerStatus,
    SparkStatus,
    SupervisorSilentError,
    Verb,
    WebStatus,
    ask,
)
from penstock.local.errors import (
    BrokerCommandRefusedError,
    BrokerStartError,
    PlatformFolderError,
    PlatformNotRunningError,
    PlatformShapeError,
    UnknownComponentError,
)
from penstock.local.folder import Launch, PlatformFolder
from penstock.local.ports import is_free
from penstock.local.preflight import check_machine, check_version
from penstock.local.processes import MARKER, end_processes, find_processes
from penstock.local.spark_start import record_spark, spark_orphans, start_spark
from penstock.local.web_part import CONSOLE, REGISTRY
from penstock.local.web_start import (
    await_web_part,
    begin_web_parts,
    record_web_parts,
    web_orphans,
)
from penstock.names import BrokerId

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.names import PlatformName
    from penstock.registry.client import RegistryAddress
    from penstock.settings import JavaSettings, PlatformSettings, Settings

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")

DEFAULT_PORT = 9092
_READY_SECONDS = 60
_DOWN_SECONDS = 30
_SUPERVISOR_SECONDS = 10
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStatus:
    """A platform as a whole."""

    name: PlatformName
    running: bool
    bootstrap: str | None
    folder: Path
    brokers: tuple[BrokerStatus, ...] = ()
    spark: tuple[SparkStatus, ...] = ()
    spark_master: str | None = None
    """What goes into `spark.master`; None: the platform has no Spark cluster."""

    web: tuple[WebStatus, ...] = ()
    supervisor_pid: int | None = None
    kafka_version: str | None = None

    @property
    def registry(self) -> WebStatus | None:
        """What is known of the schema registry; None: the platform has none."""
        return self._web_part(REGISTRY)

    @property
    def console(self) -> WebStatus | None:
        """What is known of the console; None: the platform has none."""
        return self._web_part(CONSOLE)

    def _web_part(self, name: str) -> WebStatus | None:
        return next((part for part in self.web if part.name == name), None)

    def resident_bytes(self) -> dict[int, int]:
        """Return the memory of each process of the platform, by process id."""
        parts: list[BrokerStatus | SparkStatus | WebStatus]
        parts = [*self.brokers, *self.spark, *self.web]
        pids = [*(part.pid for part in parts), self.supervisor_pid]
        return {pid: _resident_bytes(pid) for pid in pids if pid is not None}


def _explaining_faults(
    method: Callable[Concatenate[Platform, Parameters], Answer],
) -> Callable[Concatenate[Platform, Parameters], Answer]:
    """Turn what the system says about the platform's own files into one clear error."""

    @wraps(method)
    def explained(
        self: Platform, /, *arguments: Parameters.args, **options: Parameters.kwargs
    ) -> Answer:
        try:
            return method(self, *arguments, **options)
        except OSError as err:
            if not str(err.filename).startswith(str(self.data_dir)):
                raise
            raise PlatformFolderError(
                err.filename, reason=(err.strerror or str(err)).lower()
            ) from err

    return explained


class Platform:
    """Kafka, registry and console on this machine, and Spark if it is wanted, under a name."""

    def __init__(self, settings: PlatformSettings) -> None:
        self.name = settings.name
        self._settings = settings
        self.data_dir = settings.data_dir.absolute()
        self.folder = PlatformFolder(self.data_dir / "platforms" / settings.name)

    @_explaining_faults
    def up(
        self,
        settings: Settings,
        *,
        brokers: int | None = None,
        spark_workers: int | None = None,
        emit: Emit = ignore,
    ) -> PlatformStatus:
        """Start the platform, or find it running; return when a record went in and out.

        Args:
            settings: where jars come from, and on which ports registry and console listen: 0 is any
                free one, None the one they had, or the usual one if they are new and it is free.
            brokers: how many; None means as many as it has, or the configured number if new.
            spark_workers: how many workers Spark's cluster has, 0 for no cluster; None means as
                many as it has.
            emit: told of each step.

        Raises:
            PenstockError: it could not start; then nothing of it is left running.
        """
        with self.folder.operation(lambda: emit(StepStarted(step="waiting for the other command"))):
            if self.folder.is_supervised():
                self._check_broker_count(self.folder.load_shape(), brokers)
                record_web_parts(self.folder, settings, anew=False)
                self._start_parts(settings.java, spark_workers, emit)
                return self.status()
            self._end_orphans(emit)
            shape = self._shape(brokers)
            check_machine(shape, self.folder)
            record_web_parts(self.folder, settings, anew=True)
            command = self._prepare(shape, settings, emit)
            try:
                # The supervisor needs half a second to come up; formatting needs a whole one.
                supervisor = self._spawn_supervisor()
                ensure_formatted(command, shape.brokers)
                self._await_contact(supervisor)
                self._start_parts(settings.java, spark_workers, emit)
            except BaseException:
                self._end(emit)
                raise
            return self.status()

    @_explaining_faults
    def down(self, *, delete_data: bool = False, emit: Emit = ignore) -> bool:
        """Stop everything; return whether anything was running."""
        if not self.folder.root.is_dir():
            return False
        with self.folder.operation(lambda: emit(StepStarted(step="waiting for the other command"))):
            ended = self._end(emit)
            if delete_data:
                shutil.rmtree(self.folder.root)
        return ended

    @_explaining_faults
    def status(self) -> PlatformStatus:
        """Return what is known now; says so when the supervisor died and brokers are left."""
        if not self.folder.shape_file.exists():
            return PlatformStatus(
                name=self.name, running=False, bootstrap=None, folder=self.folder.root
            )
        shape = self.folder.load_shape()
        running = self.folder.is_supervised()
        contact = self.folder.load_contact() if running else None
        spark = self.folder.load_spark().shape if self.folder.has_spark else None
        reply = ask(contact, Verb.STATUS) if running else None
        return PlatformStatus(
            name=self.name,
            running=running,
            bootstrap=shape.bootstrap,
            folder=self.folder.root,
            brokers=reply.brokers if reply else self._orphans(shape),
            spark=reply.spark if reply else spark_orphans(self.folder.root, spark),
            spark_master=spark.master_url if spark else None,
            web=reply.web if reply else web_orphans(self.folder),
            supervisor_pid=contact.pid if contact else None,
            kafka_version=shape.kafka_version,
        )

    @_explaining_faults
    def command_broker(self, verb: Verb, broker_id: BrokerId, emit: Emit = ignore) -> BrokerStatus:
        """Start, stop or kill one broker and return its state when that is done."""
        if not self.folder.is_supervised():
            raise PlatformNotRunningError(self.name)
        reply = ask(self.folder.load_contact(), verb, broker_id)
        if reply.refusal is not None:
            raise BrokerCommandRefusedError(reply.refusal)
        step = f"{verb} broker {broker_id}"
        emit(StepStarted(step=step))
        goal = BrokerState.RUNNING if verb is Verb.START else BrokerState.STOPPED
        broker = self._await_state(broker_id, goal)
        emit(StepFinished(step=step, detail=broker.state))
        return broker

    @_explaining_faults
    def log_file(self, component: str) -> Path:
        """Return the current log file of `component`.

        Raises:
            UnknownComponentError: the platform has no part of that name.
        """
        if not self.folder.shape_file.exists():
            raise PlatformNotRunningError(self.name)
        spark = self.folder.load_spark().shape.nodes if self.folder.has_spark else ()
        parts = [broker.name for broker in self.folder.load_shape().brokers]
        parts += [node.name for node in spark]
        parts += [part.name for part in self.folder.load_web_parts()]
        if component not in (*parts, "supervisor"):
            raise UnknownComponentError(component, known=[*parts, "supervisor"])
        return self.folder.folders.log(component)

    @_explaining_faults
    def bootstrap(self) -> str:
        """Return the addresses of the brokers.

        Raises:
            PlatformNotRunningError: there are none.
        """
        if not self.folder.is_supervised():
            raise PlatformNotRunningError(self.name)
        return self.folder.load_shape().bootstrap

    def registry_url(self) -> str:
        """Return the address of the registry.

        Raises:
            PlatformNotRunningError: there is none.
        """
        if not (self.folder.is_supervised() and self.folder.has_web_part(REGISTRY)):
            another = "`--registry URL` or `registry.url` names another registry"
            raise PlatformNotRunningError(self.name, instead=another)
        return self.folder.load_web_part(REGISTRY).url

    def _shape(self, brokers: int | None) -> ClusterShape:
        """Return the recorded shape with today's settings, or a new one."""
        settings = self._settings
        if not self.folder.shape_file.exists():
            count = brokers or settings.brokers
            return new_shape(
                brokers=count, heap_mb=settings.heap_mb, ports=_ports(settings.port, count)
            )
        shape = self.folder.load_shape()
        check_version(shape, self.folder.root)
        self._check_broker_count(shape, brokers)
        shape = replace(
            with_metrics_ports(shape), heap_mb=settings.heap_mb, kafka_version=KAFKA_VERSION
        )
        if settings.port in (None, shape.brokers[0].port):
            return shape
        if settings.port == 0 and all(is_free(port) for port in shape.ports):
            return shape
        count = len(shape.brokers)
        moved = new_shape(brokers=count, heap_mb=0, ports=_ports(settings.port, count))
        return replace(shape, brokers=moved.brokers)

    def _check_broker_count(self, shape: ClusterShape, brokers: int | None) -> None:
        if brokers is not None and brokers != len(shape.brokers):
            raise PlatformShapeError(self.name, found=len(shape.brokers), asked=brokers)

    def _prepare(self, shape: ClusterShape, settings: Settings, emit: Emit) -> BrokerCommand:
        """Write everything the supervisor needs, fetching jars if due."""
        cache_dir = settings.java.cache_dir
        java = find_java(cache_dir=cache_dir)
        jars = ensure_jars(JarSet.KAFKA, settings.java, emit, java)
        (exporter,) = ensure_jars(JarSet.EXPORTER, settings.java, emit, java)
        archive = class_archive(cache_dir, "kafka", java, (*jars, exporter))
        launch = Launch(
            java=java.executable,
            jars=jars,
            exporter=exporter,
            archive=archive.path,
            settings_file=settings.file,
        )
        self.folder.save_shape(shape)
        self.folder.save_launch(launch)
        self.folder.forget_contact()
        return BrokerCommand(
            java=launch.java,
            jars=launch.jars,
            exporter=launch.exporter,
            archive=archive,
            shape=shape,
            folders=self.folder.folders,
        )

    def _spawn_supervisor(self) -> subprocess.Popen[bytes]:
        self.folder.folders.logs.mkdir(parents=True, exist_ok=True)
        with (self.folder.folders.logs / "supervisor.out").open("wb") as output:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "penstock.local.supervisor",
                    f"{MARKER}{self.folder.root}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder.root,
                start_new_session=True,
            )

    def _await_contact(self, supervisor: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _SUPERVISOR_SECONDS
        while self.folder.load_contact() is None:
            if supervisor.poll() is not None or time.monotonic() > deadline:
                raise SupervisorSilentError(
                    None, reason=f"see `{self.folder.folders.logs / 'supervisor.out'}`"
                )
            time.sleep(_PAUSE_SECONDS)
        # It is meant to outlive this process, which therefore never collects its exit status.
        supervisor.returncode = 0

    def _start_parts(self, java: JavaSettings, spark_workers: int | None, emit: Emit) -> None:
        """Start what does not run, the web servers beside the brokers: they wait for them."""
        begin_web_parts(self.folder)
        self._start_brokers(emit)
        for name in (REGISTRY, CONSOLE):
            await_web_part(self.folder, name, emit)
        self._start_spark(java, spark_workers, emit)

    def _start_brokers(self, emit: Emit) -> None:
        """Start what does not run, and return when a record went in and out."""
        shape = self.folder.load_shape()
        count = len(shape.brokers)
        for broker in shape.brokers:
            ask(self.folder.load_contact(), Verb.START, broker.broker_id)
        step = f"starting {count} broker{'s' if count > 1 else ''}"
        emit(StepStarted(step=step))
        started = time.monotonic()
        await_round_trip(
            Connection(bootstrap=shape.bootstrap),
            brokers=count,
            timeout_seconds=_READY_SECONDS,
            check=lambda: self._check_brokers(step, emit),
        )
        emit(StepFinished(step=step, detail=f"ready in {time.monotonic() - started:.1f} s"))

    def _start_spark(self, java: JavaSettings, workers: int | None, emit: Emit) -> None:
        """Start the Spark cluster that is asked for, or else the one that the platform has."""
        if workers is None and self.folder.has_spark:
            workers = len(self.folder.load_spark().shape.workers)
        if workers is not None:
            heap_mb = self._settings.heap_mb
            record_spark(self.folder, java, workers=workers, heap_mb=heap_mb, emit=emit)
            start_spark(self.folder, emit)

    def _check_brokers(self, step: str, emit: Emit) -> None:
        """Give up waiting as soon as a broker has ended: it would end again."""
        brokers = ask(self.folder.load_contact(), Verb.STATUS).brokers
        running = sum(broker.state is BrokerState.RUNNING for broker in brokers)
        emit(StepProgressed(step=step, done=running, total=len(brokers)))
        for broker in brokers:
            if broker.state is BrokerState.RESTARTING:
                raise BrokerStartError(
                    broker.broker_id,
                    reason=broker.last_exit or "no reason given",
                    log=self.folder.folders.log(f"broker-{broker.broker_id}"),
                )

    def _await_state(self, broker_id: BrokerId, goal: BrokerState) -> BrokerStatus:
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            brokers = ask(self.folder.load_contact(), Verb.STATUS).brokers
            broker = next(b for b in brokers if b.broker_id == broker_id)
            if broker.state is goal or time.monotonic() > deadline:
                return broker
            if broker.state is BrokerState.RESTARTING:
                raise BrokerStartError(
                    broker_id,
                    reason=broker.last_exit or "no reason given",
                    log=self.folder.folders.log(f"broker-{broker_id}"),
                )
            time.sleep(_PAUSE_SECONDS)

    def _end(self, emit: Emit) -> bool:
        """Stop the supervisor and whatever is left of it; return whether there was anything."""
        if not self.folder.is_supervised():
            return self._end_orphans(emit)
        step = "stopping brokers"
        emit(StepStarted(step=step))
        try:
            ask(self.folder.load_contact(), Verb.SHUT_DOWN)
            self.folder.await_unsupervised(timeout_seconds=_DOWN_SECONDS)
        except SupervisorSilentError:
            pass  # it hangs: the next line ends it with its brokers
        end_processes(find_processes(self.folder.root))
        emit(StepFinished(step=step))
        return True

    def _end_orphans(self, emit: Emit) -> bool:
        """End what a supervisor that died has left behind."""
        processes = find_processes(self.folder.root)
        if not processes:
            return False
        step = f"ending {len(processes)} process(es) left by a supervisor that died"
        emit(StepStarted(step=step))
        end_processes(processes)
        emit(StepFinished(step=step))
        return True

    def _orphans(self, shape: ClusterShape) -> tuple[BrokerStatus, ...]:
        commands = {process.pid: process.cmdline() for process in find_processes(self.folder.root)}
        states = []
        for broker in shape.brokers:
            properties = str(self.folder.folders.home(broker) / "server.properties")
            pid = next((pid for pid, command in commands.items() if properties in command), None)
            states.append(
                BrokerStatus(
                    broker_id=broker.broker_id,
                    port=broker.port,
                    metrics_port=broker.metrics_port,
                    state=BrokerState.ORPHANED if pid else BrokerState.STOPPED,
                    pid=pid,
                )
            )
        return tuple(states)


def _ports(first: int | None, brokers: int) -> tuple[int, ...]:
    """Return the ports of brokers, of controllers, and for metrics; empty: any free ones.

    Without a wish Kafka's usual port is taken, unless somebody else has it.
    """
    if first == 0:
        return ()
    start = DEFAULT_PORT if first is None else first
    ports = tuple(range(start, start + 3 * brokers))
    if first is None and not all(is_free(port) for port in ports):
        return ()
    return ports


def _resident_bytes(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def bootstrap_of(platform: PlatformSettings) -> str:
    """Return the addresses of the running platform's brokers."""
    return Platform(platform).bootstrap()


def broker_metrics(settings: Settings) -> dict[BrokerId, str]:
    """Return where brokers show their metrics: as it is set, else those of the local platform.

    Empty for a cluster elsewhere of which nothing is set, and while no platform runs.
    """
    entries = (entry.split("=", 1) for entry in settings.cluster.broker_metrics or ())
    addresses = {BrokerId(int(broker)): address for broker, address in entries}
    if addresses:
        return addresses
    platform = Platform(settings.platform)
    if not platform.folder.is_supervised():
        return {}
    shape = platform.folder.load_shape()
    is_local = settings.cluster.bootstrap in (None, shape.bootstrap)
    # 0: an older version started it, without.
    return {b.broker_id: b.metrics_url for b in shape.brokers if is_local and b.metrics_port}


def registry_address(settings: Settings) -> RegistryAddress:
    """Return how to reach the registry: the one that is set, else the local platform's.

    Raises:
        PlatformNotRunningError: none is set, and the platform does not run.
    """
    from penstock.registry.client import RegistryAddress

    return RegistryAddress(
        url=settings.registry.url or Platform(settings.platform).registry_url(),
        username=settings.registry.username,
        password=settings.registry.password,
        ca=settings.registry.ca,
        timeout_seconds=settings.cluster.request_timeout_seconds,
    )
