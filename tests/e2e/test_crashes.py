"""`kill -9` of the driver at random moments: nothing is missing, and sums are right.

Broken input is in it, which the crash harness has not (`tests/crashes`): each broken record is a
dead letter once.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.local.cluster import KafkaCluster
from support.commands import Penstock
from support.crash_harness.drivers import Failpoints, is_java
from support.crashes import (
    BY_CHANCE,
    FLOWS,
    Numbers,
    copies,
    dead_letters,
    finish,
    kill_again_and_again,
    last_sums,
    letters,
    sums,
)
from support.producing import Sent, send
from support.projects_to_run import Project
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from support.projects_to_run import Run

ROUNDS = 5
LETTER_STEPS = [
    ("before commit", "kill"),
    ("after commit", "kill"),
    ("before commit", "kill driver"),
    ("after commit", "kill driver"),
    ("before ledger", "kill driver"),
]
COPY = """
    import penstock as ps
    from pyspark.sql import DataFrame

    ps.topic("numbers", kafka_name="{prefix}-numbers", partitions=3, value=ps.json("id bigint"))
    ps.topic("copies", kafka_name="{prefix}-copies", partitions=3, value=ps.json("id bigint"))


    @ps.flow(into="copies")
    def copy(numbers: DataFrame) -> DataFrame:
        return numbers.select("id")
"""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("flows", [FLOWS, BY_CHANCE], ids=["by lanes", "kept first"])
def test_a_driver_killed_at_random_moments_loses_nothing(tmp_path: Path, flows: str) -> None:
    """Every input is in the output, as often as was declared; sums equal those of the sender."""
    seed = int(os.environ.get("SOAK_SEED", "4"))
    folder = tmp_path / "project"
    folder.mkdir()
    with KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster:
        environment = {
            "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
            "PENSTOCK_BOOTSTRAP": cluster.bootstrap,
        }
        project = Project(folder, cluster.bootstrap, Penstock(folder, environment))
        project.declare(flows.replace("{delivery}", "exactly_once"))
        numbers_topic = cluster.create_topic(f"{project.prefix}-numbers", partition_count=3)
        with Numbers(cluster.connection, numbers_topic) as numbers:
            moments = kill_again_and_again(project, seed=seed, rounds=ROUNDS)
        finish(project)

        story = f"seed {seed}, killed {', '.join(moments)}"
        sent, found = numbers.sent, copies(project)
        assert set(found) == sent.ids, story
        assert {*found.values(), *sums(project).values()} == {1}, story
        assert last_sums(project) == sent.sums, story
        assert dead_letters(project) == {"copy": sent.broken, "add_up": sent.broken}, story


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_dead_letter_is_there_once_whoever_dies_while_it_is_written(tmp_path: Path) -> None:
    """Workers and drivers die before and after the commit of the letters; the mark comes later."""
    folder = tmp_path / "project"
    folder.mkdir()
    points = Failpoints(tmp_path / "points")
    with KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster:
        environment = {
            "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
            "PENSTOCK_BOOTSTRAP": cluster.bootstrap,
            **points.environment(without=os.environ.get("HARNESS_WITHOUT", "")),
        }
        project = Project(folder, cluster.bootstrap, Penstock(folder, environment))
        project.declare(COPY)
        numbers = cluster.create_topic(f"{project.prefix}-numbers", partition_count=3)
        for number, (point, action) in enumerate(LETTER_STEPS, 1):
            with project.running("--json") as run:
                run.await_event("flow_started", flow="copy", within_seconds=300)
                note_driver(points, run)
                points.arm(point, action, flow="copy:deadletters")
                broken = Sent(value=f"broken {number}", partition=number % 3)
                send(cluster.connection, numbers, [Sent(value=f'{{"id":{number}}}'), broken])
                eventually(lambda: points.pid_at(point) is not None, within_seconds=110)  # noqa: B023
                if action == "kill driver":
                    run.process.wait(timeout=60)
                else:
                    run.await_event("dead_letters_written", flow="copy")
                    assert run.interrupt() == 0
        finish(project)
        audit = project.penstock("audit", project.prefix, "--json")

        wanted = sorted(f"broken {number}" for number in range(1, len(LETTER_STEPS) + 1))
        assert letters(project) == wanted
        assert project.ids("copies") == [*range(1, len(LETTER_STEPS) + 1)]
        (flow,) = audit.json["flows"]
        told = (audit.status, flow["undecodable"], flow["dead_letters"])
        assert told == (0, len(wanted), len(wanted)), audit.stdout


def note_driver(points: Failpoints, run: Run) -> None:
    """Tell failpoints whom `kill driver` means: the driver, and its JVM before it."""
    below = psutil.Process(run.process.pid).children(recursive=True)
    pids = [*(item.pid for item in below if is_java(item)), run.process.pid]
    (points.folder / "driver.json").write_text(json.dumps(pids))
