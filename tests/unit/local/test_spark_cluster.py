"""Spark's standalone cluster: its addresses, and how Java is called for it."""

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.local.broker import Folders
from penstock.local.folder import PlatformFileError, PlatformFolder
from penstock.local.spark_cluster import (
    SparkCommand,
    SparkLaunch,
    SparkNode,
    SparkRole,
    SparkShape,
)
from penstock.local.spark_start import new_spark_shape

MASTER = SparkNode(role=SparkRole.MASTER, number=0, port=7077, ui_port=8080)
WORKER = SparkNode(role=SparkRole.WORKER, number=1, port=7001, ui_port=7002)


def command(folder: Path) -> SparkCommand:
    return SparkCommand(
        launch=SparkLaunch(
            java=Path("/java/bin/java"),
            java_home=Path("/java"),
            spark_home=Path("/spark"),
            jars=(Path("/spark/a.jar"), Path("/spark/b.jar")),
            options=("--add-opens=x",),
            archive=folder / "spark.jsa",
        ),
        shape=SparkShape(master=MASTER, workers=(WORKER,), cores=2, memory_mb=2000, heap_mb=192),
        folders=Folders(root=folder),
    )


def test_a_worker_joins_the_master_and_offers_cores_and_memory(tmp_path: Path) -> None:
    line = command(tmp_path).build(WORKER)

    work = str(tmp_path / "spark-worker-1" / "data")
    start = line.index("org.apache.spark.deploy.worker.Worker")
    assert line[start + 1 :] == [
        *("--host", "127.0.0.1", "--port", "7001", "--webui-port", "7002"),
        *("--cores", "2", "--memory", "2000m", "--work-dir", work, "spark://127.0.0.1:7077"),
    ]
    assert line[line.index("-cp") + 1] == "/spark/a.jar:/spark/b.jar"


def test_the_master_remembers_in_a_folder(tmp_path: Path) -> None:
    line = command(tmp_path).build(MASTER)

    assert "-Dspark.deploy.recoveryMode=FILESYSTEM" in line
    memory = tmp_path / "spark-master" / "data"
    assert f"-Dspark.deploy.recoveryDirectory={memory}" in line


def test_everything_is_reached_from_this_machine_only(tmp_path: Path) -> None:
    parts = command(tmp_path)

    assert parts.environment()["SPARK_LOCAL_IP"] == "127.0.0.1"
    for node in parts.shape.nodes:
        line = parts.build(node)
        assert line[line.index("--host") + 1] == "127.0.0.1"
        assert f"-Dpenstock.platform={tmp_path}" in line, "`down` finds it by this"


def test_the_class_archive_of_drivers_is_used_when_it_is_there(tmp_path: Path) -> None:
    parts = command(tmp_path)
    option = f"-XX:SharedArchiveFile={parts.launch.archive}"

    assert option not in parts.build(MASTER)
    parts.launch.archive.touch()
    assert option in parts.build(MASTER)


def test_what_was_recorded_is_found_again(tmp_path: Path) -> None:
    folder = PlatformFolder(tmp_path)
    assert not folder.has_spark

    folder.save_spark(command(tmp_path))

    assert folder.load_spark() == command(tmp_path)
    folder.forget_spark()
    assert not folder.has_spark


def test_a_damaged_record_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "spark.json").write_text('{"shape": {}}')

    with pytest.raises(PlatformFileError, match=r"spark\.json"):
        PlatformFolder(tmp_path).load_spark()


def test_more_workers_leave_the_others_where_they_are() -> None:
    two = new_spark_shape(workers=2, heap_mb=192, before=None)
    three = new_spark_shape(workers=3, heap_mb=192, before=two)
    one = new_spark_shape(workers=1, heap_mb=192, before=three)

    assert three.workers[:2] == two.workers
    assert [node.name for node in three.nodes] == [
        "spark-master",
        *(f"spark-worker-{number}" for number in (1, 2, 3)),
    ]
    assert len(set(three.ports)) == 8
    assert one == replace(three, workers=two.workers[:1], memory_mb=one.memory_mb)
    assert one.memory_mb > three.memory_mb
