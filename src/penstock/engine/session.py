"""The Spark session of a driver process: opened quickly, shared, and closed within a bound.

A process has one driver, hence one JVM and one Spark context at a time. Sessions for separate
purposes share it: `driver.session().newSession()`.

The JVM starts in `SparkDriver.start`, and Spark in it while the caller goes on: import what the
pipeline declares meanwhile. `session()` waits for the rest.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, Self

from penstock.engine.archive import make_later, use_options
from penstock.engine.driver import (
    DriverCommand,
    DriverProcess,
    Tuning,
    spark_jars,
    workers_python,
)
from penstock.engine.errors import SessionOpenError, SparkNotOpenedError
from penstock.engine.joined import JoinedProcess, gateway_of_parent
from penstock.engine.masters import require_shared
from penstock.engine.spark_settings import session_conf, session_settings, session_shape
from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, StepStarted, ignore
from penstock.java import JarSet, class_archive, ensure_jars, find_java
from penstock.settings import JavaSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

    from penstock.engine.driver import GatewayAddress
    from penstock.java import ClassArchive, Java
    from penstock.settings import Settings

STARTING = "starting Spark"
CLOSE_TIMEOUT_SECONDS = 10.0
"""Spark's own clean-up takes under a second; what takes longer hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a driver is started with."""

    app_name: str
    master: str
    driver_memory_mb: int
    conf: Mapping[str, str]
    """The settings of the session, as `spark_settings.py` derives them."""

    log_file: Path
    java: JavaSettings = field(default_factory=JavaSettings)
    tuning: Tuning = Tuning.THROUGHPUT


def session_options(
    settings: Settings,
    *,
    app_name: str,
    log_file: Path,
    tuning: Tuning = Tuning.THROUGHPUT,
) -> SessionOptions:
    """Return what the settings of a project lead to.

    Args:
        settings: the tables `[spark]` and `[java]` are used.
        app_name: under which name Spark knows the application.
        log_file: where the log of the JVM goes.
        tuning: whether the driver runs for long.

    Raises:
        LocationNotSharedError: executors run where the checkpoints are not.
    """
    shape = session_shape(settings.spark)
    require_shared(settings.spark, shape.master)
    return SessionOptions(
        app_name=app_name,
        master=shape.master,
        driver_memory_mb=shape.driver_memory_mb,
        conf=session_conf(session_settings(shape)),
        log_file=log_file,
        java=settings.java,
        tuning=tuning,
    )


@dataclass(frozen=True, slots=True)
class _Recording:
    """The list of classes that a JVM writes while it runs, and the archive to make of it."""

    archive: ClassArchive
    class_list: Path
    java: tuple[str, ...]

    def make_archive(self) -> None:
        make_later(self.archive, self.class_list, self.java)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """How Spark knows a driver, and where it shows what the driver does."""

    application_id: str
    ui_address: str | None
    """None when Spark's own user interface is switched off."""


class SparkDriver:
    """The JVM of this process and the Spark session in it. Use it as a context manager."""

    _open = Lock()

    def __init__(self, options: SessionOptions, emit: Emit) -> None:
        """Start the JVM; `start` is the way to call this."""
        self._emit, self._closed = emit, False
        self._recording: _Recording | None = None
        self._process = self._joined() or self._started(options)
        _import_spark()
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="penstock-spark")
        records = self._recording is not None
        self._session: Future[SparkSession] = pool.submit(
            _connect, self._process, options, records=records
        )
        pool.shutdown(wait=False)

    def _joined(self) -> JoinedProcess | None:
        """Return the JVM that has started this process, as in a cluster's driver; None: no such."""
        address = gateway_of_parent()
        if address is None:
            return None
        self._emit(StepStarted(step=STARTING))
        return JoinedProcess(address)

    def _started(self, options: SessionOptions) -> DriverProcess:
        java = find_java(cache_dir=options.java.cache_dir)
        jars = ensure_jars(JarSet.SPARK, options.java, self._emit, java)
        self._emit(StepStarted(step=STARTING))
        archive = class_archive(options.java.cache_dir, "spark", java, spark_jars(jars))
        # Drivers that are to start quickly do too little for a list that serves pipelines.
        records = options.tuning is Tuning.THROUGHPUT
        class_list = archive.new_recording() if records else None
        command = build_command(
            options, java, jars, archive_options=use_options(archive, class_list)
        )
        if class_list is not None:
            self._recording = _Recording(archive, class_list, command.archived)
        return DriverProcess(command, options.log_file)

    @classmethod
    def start(cls, options: SessionOptions, *, emit: Emit = ignore) -> Self:
        """Start a driver and return while it is starting.

        Raises:
            SessionOpenError: this process has a driver already.
            PenstockError: there is no Java, or the jars cannot be had.
        """
        if not cls._open.acquire(blocking=False):
            raise SessionOpenError
        try:
            return cls(options, emit)
        except BaseException:
            cls._open.release()
            raise

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the JVM runs."""
        return self._process.is_alive

    def session(self) -> SparkSession:
        """Return the session, waiting until it can be used.

        Raises:
            DriverNotStartedError: the JVM did not start.
            SparkNotOpenedError: its master cannot be had.
            DriverDiedError: the JVM has died since.
        """
        waiting = not self._session.done()
        try:
            session = self._session.result()
        except BaseException:
            self.close()
            raise
        if waiting:
            self._emit(StepFinished(step=STARTING))
        self.require_alive()
        return session

    def warm_up_lanes(self) -> None:
        """Get Python workers ready for the first batch of lanes, as soon as Spark is there.

        Returns at once. Flows are checked and started meanwhile.
        """

        def warm_up() -> None:
            with suppress(PenstockError):  # whoever waits for the session is told
                _warm_up_lanes(self._session.result())

        Thread(target=warm_up, name="penstock-warm-up-lanes", daemon=True).start()

    def application(self) -> SparkApplication:
        """Return how Spark knows this driver, waiting until it does.

        Raises:
            PenstockError: what `session` raises.
        """
        context = self.session().sparkContext
        return SparkApplication(
            application_id=context.applicationId, ui_address=context.uiWebUrl or None
        )

    def kill(self) -> None:
        """End the JVM this moment, from any thread, in the middle of whatever it does.

        `close` still has to be called.
        """
        self._process.kill()

    def require_alive(self, *, grace_seconds: float = 0) -> None:
        """Raise DriverDiedError, with the JVM's last words, when it has died.

        Call it when Spark fails in a way that may be the end of the JVM, such as a lost connection.

        Args:
            grace_seconds: how long to watch; connections end before the process does.
        """
        if not self._process.lives_for(grace_seconds):
            raise self._process.died()

    def close(self, *, within_seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """End the JVM, by force if a query hangs; safe to repeat. Stop queries before.

        Args:
            within_seconds: how long the JVM may take to end by itself.
        """
        if self._closed:
            return
        self._closed = True
        # Whoever gives up on a driver that is still starting has found a mistake to report.
        is_starting = not self._session.done()
        try:
            self._process.end(within_seconds=0 if is_starting else within_seconds)
            _forget(self._session, jvm_lives=self._process.is_alive)
            if self._recording is not None:
                self._recording.make_archive()
        finally:
            self._open.release()

    def __enter__(self) -> Self:
        """Return the driver."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def open_session(options: SessionOptions, *, emit: Emit = ignore) -> SparkDriver:
    """Return a driver whose session can be used at once.

    Raises:
        PenstockError: what `SparkDriver.start` and `SparkDriver.session` raise.
    """
    driver = SparkDriver.start(options, emit=emit)
    driver.session()
    return driver


def build_command(
    options: SessionOptions,
    java: Java,
    jars: Sequence[Path],
    *,
    archive_options: Sequence[str] = (),
) -> DriverCommand:
    """Return how Java is called for a driver; executors of a cluster get `jars` through Spark."""
    conf = dict(options.conf)
    if not options.master.startswith("local"):
        theirs = conf.get("spark.jars")
        conf["spark.jars"] = ",".join([*map(str, jars), *([theirs] if theirs else [])])
    return DriverCommand(
        java=java,
        jars=spark_jars(jars),
        master=options.master,
        heap_mb=options.driver_memory_mb,
        tuning=options.tuning,
        conf=conf,
        archive_options=tuple(archive_options),
    )


def _import_spark() -> None:
    """Import PySpark, which takes a while, in which the JVM starts.

    Not in the other thread: the caller may import a project meanwhile, and two threads that import
    PySpark see each other's modules half done.
    """
    import pyspark.java_gateway
    import pyspark.logger
    import pyspark.sql.functions  # noqa: F401


def _connect(
    process: DriverProcess | JoinedProcess, options: SessionOptions, *, records: bool
) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    _quieten()
    # PySpark hands this to the workers; without it they run any `python3` of the PATH.
    os.environ["PYSPARK_PYTHON"] = workers_python(options.conf)
    conf = SparkConf(loadDefaults=False).setAppName(options.app_name).setMaster(options.master)
    conf.setAll(list(options.conf.items()))
    gateway = _gateway(process.wait_for_gateway())
    try:
        context = SparkContext(conf=conf, gateway=gateway)
        # It prints a traceback when the JVM ends, in whichever way.
        vars(context._accumulatorServer)["handle_error"] = lambda *_: None  # noqa: SLF001
        session = SparkSession(context)
    except (Py4JError, OSError) as err:
        if not process.is_alive:
            raise process.died() from err
        raise SparkNotOpenedError(
            master=options.master, last_words=process.last_words(), log_file=options.log_file
        ) from err
    warm_up = partial(_warm_up, session, records=records)
    Thread(target=warm_up, name="penstock-warm-up", daemon=True).start()
    return session


def _warm_up(session: SparkSession, *, records: bool) -> None:
    """Run a job for its own sake: the first one takes two seconds, in which flows are checked.

    Whoever `records` the classes for an archive loads those of lanes too: later starts need them.
    """
    with _failing_quietly():
        session.range(2).selectExpr("sum(id)").collect()
    if records:
        _warm_up_lanes(session)


def _warm_up_lanes(session: SparkSession) -> None:
    from penstock.engine.exactly_once.warming import warm_up_lanes

    with _failing_quietly():
        warm_up_lanes(session)


@contextmanager
def _failing_quietly() -> Iterator[None]:
    """Let a job that nobody asked for fail, however PySpark puts it; the next one will tell."""
    with suppress(Exception):
        yield


def _gateway(address: GatewayAddress) -> JavaGateway:
    """Let PySpark connect to a JVM that runs already, as it does inside `spark-submit`."""
    from pyspark.java_gateway import launch_gateway

    # The variables are its way to be told; they are gone before anybody could inherit the secret.
    with _variables(PYSPARK_GATEWAY_PORT=str(address.port), PYSPARK_GATEWAY_SECRET=address.secret):
        return launch_gateway()  # type: ignore[no-untyped-call] # PySpark left it untyped


@contextmanager
def _variables(**variables: str) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def _quieten() -> None:
    """Keep PySpark from printing what it raises anyway."""
    import logging

    from py4j import java_gateway
    from pyspark.logger import PySparkLogger

    # A line of JSON for each error in a query.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    # A lost connection and Ctrl-C go to the root logger, which sets itself up to print them; the
    # library's own logger prints when the program asks for it.
    vars(java_gateway)["logging"] = java_gateway.logger


def _forget(session: Future[SparkSession], *, jvm_lives: bool) -> None:
    """Make PySpark forget a JVM that has ended, so that this process may start another.

    In a JVM that goes on, because it has started this process, Spark is stopped. Its connections
    end with the process: as long as it lives it may call, and closing would wait for that.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if session.exception() is None:
        context = session.result().sparkContext
        if not jvm_lives:
            context._jsc = None  # noqa: SLF001 - it would call the JVM; the rest is Python's
        context.stop()
    if jvm_lives:
        return
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way to end a gateway
    if gateway is not None:
        gateway.shutdown_callback_server()
        gateway.close()
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001
