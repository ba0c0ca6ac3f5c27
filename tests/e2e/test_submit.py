"""`penstock package` and `penstock submit`, and a driver that Spark itself has started."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from penstock.engine.driver import spark_home
from penstock.java import JarSet, ensure_jars, find_java
from penstock.names import TopicName
from penstock.settings import load_settings
from support.commands import Penstock
from support.producing import Sent, send
from support.projects_to_run import CHAIN, Project
from support.spark_platform import RUN_SECONDS
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def project(kafka: KafkaCluster, connection: Connection, tmp_path: Path) -> Project:
    """A project with fifty orders waiting for it."""
    folder = tmp_path / "project"
    folder.mkdir()
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
    }
    project = Project(folder, kafka.bootstrap, Penstock(folder, environment))
    project.declare(CHAIN)
    topic = kafka.create_topic(f"{project.prefix}-orders", partition_count=2)
    send(
        connection,
        TopicName(topic),
        [Sent(value=f'{{"id": {number}}}', partition=number % 2) for number in range(50)],
    )
    return project


@pytest.mark.long
def test_a_driver_that_spark_has_started_joins_its_jvm(project: Project, tmp_path: Path) -> None:
    """What happens on a cluster in cluster mode, on a machine of its own: this one."""
    settings = load_settings()
    java = find_java(cache_dir=settings.java.cache_dir)
    jars = ensure_jars(JarSet.SPARK, settings.java)
    launcher = tmp_path / "launch.py"
    launcher.write_text("from penstock.cli.main import main\nmain()\n")

    done = subprocess.run(
        [
            str(spark_home() / "bin" / "spark-submit"),
            *("--master", "local[2,4]", "--driver-memory", "768m"),
            *("--jars", ",".join(map(str, jars))),
            *(str(launcher), "run", str(project.folder), "--once", "--json"),
        ],
        env={
            **os.environ,
            **project.penstock.environment,
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert project.ids("tens") == [0, 10, 20, 30, 40]


@pytest.mark.long
def test_what_was_packaged_is_what_runs(project: Project, tmp_path: Path) -> None:
    """The project may change or vanish afterwards: the archive has the code and its packages."""
    archive = tmp_path / "shop.penstock.zip"
    made = project.penstock(
        "package", "--output", str(archive), "--json", timeout_seconds=RUN_SECONDS
    )
    assert made.status == 0, made.stderr
    (project.folder / "flows.py").unlink()
    (project.folder / "penstock.toml").unlink()

    elsewhere = Penstock(tmp_path, project.penstock.environment)
    refused = elsewhere("submit", str(archive), "--mode", "cluster", timeout_seconds=RUN_SECONDS)
    assert (refused.status, "PEN-394" in refused.stderr) == (2, True), refused.stderr
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        driver = elsewhere.start("submit", str(archive), "--json", stdout=out, stderr=err)
    try:
        tens = {0, 10, 20, 30, 40}
        eventually(
            lambda: driver.poll() is None and project.has("tens", tens), within_seconds=RUN_SECONDS
        )
        driver.terminate()
        assert driver.wait(timeout=RUN_SECONDS) == 0, (tmp_path / "err").read_text()
    finally:
        driver.kill()
    unpacked = next((tmp_path / "data" / "packages").iterdir())
    assert (unpacked / "packages" / "penstock" / "cli" / "main.py").is_file()
    assert made.json["packages"]["penstock"]
