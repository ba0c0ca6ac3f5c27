"""Executors of a Spark cluster that are killed, and the platform with them."""

from __future__ import annotations

import signal
from random import Random
from threading import Event
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.local.processes import find_processes
from support.crash_harness import judge
from support.crash_harness.drivers import Failpoints, send
from support.crash_harness.pipeline import PipelineUnderTest
from support.crash_harness.scene import Scene, finished
from support.crash_harness.sender import Sender
from support.crash_harness.soak import RATE, seed
from support.spark_platform import spark_platform
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from support.spark_platform import SparkPlatform

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

KILLS = 6
WORKERS = ("spark-worker-1", "spark-worker-2")
CONF = """\
"spark.executor.memory" = "512m"
"spark.executor.cores" = "1"
"spark.cores.max" = "2"
"""


def executors(platform: SparkPlatform) -> list[psutil.Process]:
    pids = (platform.node(name).pid for name in WORKERS)
    return [item for pid in pids for item in psutil.Process(pid).children() if pid is not None]


def kill_everything(platform: SparkPlatform, scene: Scene) -> None:
    for process in find_processes(platform.platform.folder.root):
        send(process, signal.SIGKILL)
    scene.driver.kill(jvm=True)
    up = platform.penstock("up", "--spark-workers", "2", "--json", timeout_seconds=240)
    assert up.status == 0, up.stderr
    assert up.json["bootstrap"] == platform.bootstrap


def test_executors_that_are_killed_write_nothing_twice(tmp_path: Path) -> None:
    dice = Random(seed())  # noqa: S311 - moments, not secrets
    with spark_platform(tmp_path) as platform:
        tested = PipelineUnderTest.declare(
            tmp_path / "project",
            delivery="exactly_once",
            data=tmp_path / "checkpoints",
            master=platform.master,
            conf=CONF,
        )
        for name in ("numbers", "answers"):
            platform.penstock("topics", "create", tested.topic(name), "--partitions", "3")
        scene = Scene(platform.bootstrap, tested, Failpoints(tmp_path / "points"))
        try:
            with Sender(platform.bootstrap, tested, rate=RATE) as sender:
                scene.start()
                scene.recover()
                for number in range(1, KILLS + 1):
                    eventually(lambda: executors(platform), within_seconds=120)
                    Event().wait(dice.uniform(0, 4))
                    scene.tell(f"{number:3} an executor is killed")
                    send(dice.choice(executors(platform)), signal.SIGKILL)
                    scene.recover()
                scene.tell("    everything is killed: brokers, Spark, the driver")
                kill_everything(platform, scene)
                scene.recover()
                wanted, found = finished(scene, sender)
        finally:
            scene.close()

    problems = judge.differences(wanted, found)
    scene.tell(f"seed {seed()}, {KILLS + 1} faults: {problems or 'the output is exact'}")
    assert not problems
