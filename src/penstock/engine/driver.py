"""The driver's JVM: started by ourselves, watched, and ended within a bound.

PySpark starts its JVM through a shell script and a second JVM that only computes a command line.
Here Java is called directly with the options that Spark's launcher would give, and for local
masters with the gateway as its main class, because all jars are on the class path. Both together
save two seconds.

The JVM runs in a session of its own, so that Ctrl-C in a terminal reaches Python alone, and ends
when its standard input closes: with the process that started it, however that ends. What it
prints goes to a file, never to the user's terminal.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from penstock.engine.errors import DriverDiedError, DriverNotStartedError
from penstock.engine.masters import is_on_this_machine
from penstock.java import class_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.java import Java

START_TIMEOUT_SECONDS = 120
"""A JVM that is this late on a busy machine is not going to come."""

LAST_WORDS_LINES = 8

LOG_CONFIG = Path(__file__).with_name("log4j2.properties")

GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
SUBMIT = "org.apache.spark.deploy.SparkSubmit"

# What Spark's launcher gives to every driver (JavaModuleOptions of Spark 4.2.0).
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)


class Tuning(StrEnum):
    """What the JVM is good at."""

    THROUGHPUT = "throughput"
    """Pipelines that run for long."""

    QUICK_START = "quick start"
    """Commands and tests that run for seconds: a quarter less until the first result."""


_TUNING_OPTIONS = {
    # Six to ten per cent more records per second than the default collector on two cores.
    Tuning.THROUGHPUT: ("-XX:+UseParallelGC",),
    Tuning.QUICK_START: ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCommand:
    """How to call Java for a driver."""

    java: Java
    jars: tuple[Path, ...]
    master: str
    heap_mb: int
    tuning: Tuning
    conf: Mapping[str, str]
    archive_options: tuple[str, ...] = ()

    @property
    def needs_submit(self) -> bool:
        """Whether something must be done that only Spark's own entry point does.

        It reaches cluster managers, and it gives jars from elsewhere to the driver.
        """
        fetched = ("spark.jars", "spark.submit.")
        return not self.master.startswith("local") or any(
            key.startswith(fetched) for key in self.conf
        )

    @property
    def archived(self) -> tuple[str, ...]:
        """The part of the command line on which an archive of classes depends."""
        return (str(self.java.executable), *MODULE_OPTIONS, "-cp", class_path(self.jars))

    def build(self, properties: Path) -> list[str]:
        """Return the command line; `properties` is the file with the settings of the session."""
        # An archive of classes fits a class path that begins like its own: additions come last.
        extra_jars = self.conf.get("spark.driver.extraClassPath", "").split(os.pathsep)
        return [
            str(self.java.executable),
            *self.archive_options,
            f"-Xmx{self.heap_mb}m",
            f"-Xmn{self.heap_mb // 3}m",
            *_TUNING_OPTIONS[self.tuning],
            "-XX:+ExitOnOutOfMemoryError",
            *MODULE_OPTIONS,
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={LOG_CONFIG}",
            *shlex.split(self.conf.get("spark.driver.extraJavaOptions", "")),
            "-cp",
            class_path([*self.jars, *(Path(jar) for jar in extra_jars if jar)]),
            *self._main(properties),
        ]

    def _main(self, properties: Path) -> list[str]:
        if not self.needs_submit:
            return [GATEWAY]
        # A file keeps settings with secrets out of the list of processes.
        return [
            SUBMIT,
            # It decides how jars and archives travel, and which cluster manager is asked.
            "--master",
            self.master,
            "--properties-file",
            str(properties),
            "--load-spark-defaults",
            "pyspark-shell",
        ]


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """Where the JVM listens for PySpark, and what it wants to hear first."""

    port: int
    secret: str


class DriverProcess:
    """A driver's JVM from its start to its end."""

    def __init__(self, command: DriverCommand, log_file: Path) -> None:
        """Start the JVM; its log is added to `log_file`."""
        log_file.parent.mkdir(parents=True, exist_ok=True)
        self._log_file = log_file
        self._folder = TemporaryDirectory(prefix="penstock-")
        self._info = Path(self._folder.name) / "gateway"
        properties = Path(self._folder.name) / "spark.properties"
        if command.needs_submit:
            properties.write_text(build_properties(command.conf), encoding="utf-8")
        with log_file.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                command.build(properties),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(command, self._info),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the JVM runs."""
        return self._process.poll() is None

    def lives_for(self, seconds: float) -> bool:
        """Return whether the JVM runs and still does after `seconds`."""
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def died(self) -> DriverDiedError:
        """Return the error that tells how the JVM ended."""
        return DriverDiedError(
            status=self._process.poll(), last_words=self.last_words(), log_file=self._log_file
        )

    def last_words(self) -> tuple[str, ...]:
        """Return the last lines that the JVM wrote."""
        with self._log_file.open("rb") as file:
            file.seek(max(self._log_start, self._log_file.stat().st_size - 10_000))
            lines = file.read().decode(errors="replace").splitlines()
        return tuple(line for line in lines if line.strip())[-LAST_WORDS_LINES:]

    def wait_for_gateway(self) -> GatewayAddress:
        """Return where the JVM listens, as soon as it does.

        Raises:
            DriverNotStartedError: it ended, or did not come.
        """
        deadline = monotonic() + START_TIMEOUT_SECONDS
        while not self._info.exists():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.02)
            if not self.is_alive or monotonic() > deadline:
                status = self._process.poll()
                self.end(within_seconds=0)
                raise DriverNotStartedError(
                    status=status, last_words=self.last_words(), log_file=self._log_file
                )
        address = _read_address(self._info)
        self._folder.cleanup()
        return address

    def kill(self) -> None:
        """Kill the JVM, and return before it is gone."""
        self._process.kill()

    def end(self, *, within_seconds: float) -> int:
        """Close the JVM's input, at which it ends by itself, or kill it; return its status."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            return self._process.wait(timeout=within_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._folder.cleanup()


def spark_jars(jars: Sequence[Path]) -> tuple[Path, ...]:
    """Return the class path of a driver: Spark's own jars, then `jars`.

    Sorted, because an archive of classes belongs to one order; the logging interface first, as
    Spark's launcher has it.
    """
    own = sorted((spark_home() / "jars").glob("*.jar"))
    own.sort(key=lambda jar: not jar.name.startswith("slf4j-api"))
    return (*own, *jars)


def spark_home() -> Path:
    """Return the folder of the installed PySpark, without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(name="pyspark")
    return Path(spec.origin).parent


def workers_python(conf: Mapping[str, str]) -> str:
    """Return the Python of Spark's workers: as Spark's users say it, or else the one that runs."""
    told = os.environ.get("PYSPARK_PYTHON")
    return conf.get("spark.pyspark.python") or told or sys.executable


def _environment(command: DriverCommand, info: Path) -> dict[str, str]:
    environment = dict(os.environ) | {
        "JAVA_HOME": str(command.java.home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": workers_python(command.conf),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info),
    }
    if is_on_this_machine(command.master):
        # Spark would ask the network for the name of this machine, and warn about the answer.
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    return environment


def build_properties(conf: Mapping[str, str]) -> str:
    """Return `conf` in Java's format for properties, in which a backslash begins an escape."""
    escapes = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
    return "".join(f"{key}={value.translate(escapes)}\n" for key, value in conf.items())


def _read_address(info: Path) -> GatewayAddress:
    """Read what the gateway wrote: two numbers of four bytes, port and length, and the secret."""
    content = info.read_bytes()
    port, length = struct.unpack(">ii", content[:8])
    return GatewayAddress(port, content[8 : 8 + length].decode())
