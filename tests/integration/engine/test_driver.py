"""The driver's JVM: how it starts, what it says and to whom, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from penstock.engine import DriverNotStartedError, SessionOpenError, SparkDriver
from penstock.engine.archive import LATE_CLASSES, make_later, use_options
from penstock.engine.driver import GATEWAY, DriverCommand, DriverProcess, spark_jars
from penstock.engine.session import build_command
from penstock.java import JarSet, class_archive, ensure_jars, find_java
from support.driver import driver_options
from support.processes import is_alive
from support.waiting import eventually

TESTS = Path(__file__).parents[2]


def test_a_jvm_that_cannot_start_says_why_in_one_error(tmp_path: Path) -> None:
    conf = {"spark.driver.extraJavaOptions": "-Xms2g"}
    with pytest.raises(DriverNotStartedError) as caught:
        start_process(tmp_path, conf).wait_for_gateway()
    assert caught.value.status == 1
    assert "Initial heap size set to a larger value than the maximum" in "".join(
        caught.value.last_words
    )
    assert str(tmp_path / "spark.log") in caught.value.hint


def test_a_process_has_one_driver_at_a_time(spark_driver: SparkDriver, tmp_path: Path) -> None:
    assert spark_driver.pid
    with pytest.raises(SessionOpenError):
        SparkDriver.start(driver_options(tmp_path))


def test_a_jvm_ends_by_itself_when_its_input_closes(tmp_path: Path) -> None:
    process = start_process(tmp_path)
    process.wait_for_gateway()
    assert (process.end(within_seconds=60), process.is_alive) == (0, False)


def test_a_jvm_that_does_not_end_by_itself_is_killed(tmp_path: Path) -> None:
    process = start_process(tmp_path)
    process.wait_for_gateway()
    os.kill(process.pid, signal.SIGSTOP)
    assert process.end(within_seconds=0.1) == -signal.SIGKILL


@pytest.mark.timeout(400)
def test_classes_come_from_the_archive_once_there_is_one(tmp_path: Path) -> None:
    """An archive of few classes is made quickly."""
    options = driver_options(tmp_path)
    java = find_java()
    jars = ensure_jars(JarSet.SPARK, options.java)
    archive = class_archive(tmp_path, "spark", java, spark_jars(jars))
    classes = archive.new_recording()
    assert classes is not None
    first = build_command(options, java, jars, archive_options=use_options(archive, classes))
    _run_until_gateway(first, tmp_path)
    lines = classes.read_text().splitlines()
    few = [*LATE_CLASSES, *(line for line in lines if _is_needed(line))]
    classes.write_text("".join(f"{line}\n" for line in few))

    make_later(archive, classes, first.archived)

    eventually(lambda: _suffixes(archive.path.parent) == [".jsa", ".lock"], within_seconds=300)
    loaded = tmp_path / "loaded"
    using = (*use_options(archive, None), f"-Xlog:class+load:file={loaded}")
    _run_until_gateway(replace(first, archive_options=using), tmp_path)
    assert "PythonGatewayServer source: shared objects file" in loaded.read_text()


def test_a_damaged_archive_does_not_keep_a_jvm_from_starting(tmp_path: Path) -> None:
    options = driver_options(tmp_path)
    java = find_java()
    jars = ensure_jars(JarSet.SPARK, options.java)
    archive = class_archive(tmp_path, "spark", java, spark_jars(jars))
    archive.path.parent.mkdir(parents=True)
    archive.path.write_bytes(os.urandom(100_000))

    command = build_command(options, java, jars, archive_options=use_options(archive, None))

    _run_until_gateway(command, tmp_path)


QUIET = """
import json, os, signal, sys
from pathlib import Path
from pyspark.errors import PySparkException
from penstock.engine import DriverDiedError, SparkDriver, open_session
from support.driver import driver_options

options = driver_options(Path(sys.argv[1]))
with SparkDriver.start(options) as abandoned:
    pass

with open_session(options) as first:
    spark = first.session()
    try:
        spark.sql("SELECT nothing FROM range(1)")
    except PySparkException:
        pass
    workers = spark.range(1).rdd.map(lambda _: sys.executable).collect()
    spark.sparkContext._jvm.org.slf4j.LoggerFactory.getLogger("a.test").warn("heard")

with open_session(options) as second:
    os.kill(second.pid, signal.SIGKILL)
    try:
        second.require_alive(grace_seconds=10)
    except DriverDiedError as err:
        status = err.status
pids = [abandoned.pid, first.pid, second.pid]
print(json.dumps({"jvms": pids, "worker": workers[0], "status": status}))
"""


@pytest.mark.long
@pytest.mark.timeout(300)  # two sessions, one after the other
def test_nothing_but_our_own_output_reaches_the_terminal(tmp_path: Path) -> None:
    """Neither an error of Spark's, nor its log, nor a JVM that is abandoned, ended or killed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", QUIET, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (said["worker"], said["status"]) == (sys.executable, -signal.SIGKILL)
    assert [pid for pid in said["jvms"] if psutil.pid_exists(pid)] == []
    log = (tmp_path / "spark.log").read_text().splitlines()
    assert [line.partition("] ")[2] for line in log if "heard" in line] == ["WARN heard (a.test)"]


ORPHANING = """
import sys
from pathlib import Path
from integration.engine.test_driver import start_process

process = start_process(Path(sys.argv[1]))
process.wait_for_gateway()
print(process.pid, flush=True)
sys.stdin.readline()
"""


def test_the_jvm_ends_when_its_python_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANING, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as python:
        assert python.stdout is not None
        jvm = psutil.Process(int(python.stdout.readline()))
        assert os.getpgid(jvm.pid) != os.getpgid(python.pid)
        python.kill()
    eventually(lambda: not is_alive(jvm), within_seconds=20)


def start_process(folder: Path, conf: dict[str, str] | None = None) -> DriverProcess:
    options = driver_options(folder, conf)
    jars = ensure_jars(JarSet.SPARK, options.java)
    return DriverProcess(build_command(options, find_java(), jars), options.log_file)


def _is_needed(line: str) -> bool:
    name = line.split()[0]
    return name.startswith("java/lang/") or name == GATEWAY.replace(".", "/")


def _suffixes(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def _run_until_gateway(command: DriverCommand, folder: Path) -> None:
    process = DriverProcess(command, folder / "spark.log")
    process.wait_for_gateway()
    assert process.end(within_seconds=60) == 0
