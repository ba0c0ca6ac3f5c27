"""What follows from where executors run: loopback, shared checkpoints, Python."""

from __future__ import annotations

import os
import sys

import pytest

from penstock.engine import SessionShape, session_conf, session_settings
from penstock.engine.driver import workers_python
from penstock.engine.joined import JoinedProcess, gateway_of_parent
from penstock.engine.masters import LocationNotSharedError, is_on_this_machine, require_shared
from penstock.settings import Location, SparkSettings


def conf(master: str) -> dict[str, str]:
    shape = SessionShape(master=master, driver_memory_mb=1024, warehouse="/tables", conf={})
    return session_conf(session_settings(shape))


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local[2]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://spark-1:7077", False),
        ("spark://localhost:7077,spark-2:7077", False),
        ("yarn", False),
        ("k8s://https://localhost:6443", False),
    ],
)
def test_a_cluster_of_this_machine_stays_on_it(master: str, *, expected: bool) -> None:
    assert is_on_this_machine(master) is expected
    assert (conf(master).get("spark.driver.host") == "127.0.0.1") is expected


@pytest.mark.parametrize("master", ["yarn", "k8s://https://api"])
def test_containers_have_room_beside_the_heap(master: str) -> None:
    assert "spark.executor.memoryOverhead" in conf(master)
    assert "spark.executor.memoryOverhead" not in conf("spark://spark-1:7077")


@pytest.mark.parametrize(
    ("root", "master"),
    [
        ("/checkpoints", "local[2]"),
        ("/checkpoints", "spark://127.0.0.1:7077"),
        ("s3a://bucket/checkpoints", "yarn"),
        ("file:///mnt/checkpoints", "spark://spark-1:7077"),
    ],
)
def test_checkpoints_that_executors_reach_are_fine(root: str, master: str) -> None:
    require_shared(SparkSettings(checkpoint_root=Location(root)), master)


@pytest.mark.parametrize("master", ["yarn", "k8s://https://api", "spark://spark-1:7077"])
def test_a_folder_of_this_machine_is_refused_for_others(master: str) -> None:
    with pytest.raises(LocationNotSharedError, match="/checkpoints"):
        require_shared(SparkSettings(checkpoint_root=Location("/checkpoints")), master)


def test_workers_run_the_python_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert workers_python({}) == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    assert workers_python({}) == "/usr/bin/python3"
    assert workers_python({"spark.pyspark.python": "python3.12"}) == "python3.12"


def test_a_jvm_that_has_started_us_is_joined_and_left_alone() -> None:
    assert gateway_of_parent({}) is None
    environ = {"PYSPARK_GATEWAY_PORT": "4711", "PYSPARK_GATEWAY_SECRET": "hush"}
    address = gateway_of_parent(environ)
    assert address is not None
    process = JoinedProcess(address)

    assert (process.wait_for_gateway().port, process.pid) == (4711, os.getppid())
    process.end(within_seconds=0)
    assert process.lives_for(0.01)
