"""Detached pipelines from `penstock start` to `penstock stop`, with real Spark and Kafka."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from penstock.control.detached import Detached
from penstock.control.kept import KeptFolder
from penstock.control.leftovers import find_leftovers
from penstock.names import PipelineName, TopicName
from support.commands import Penstock
from support.in_process import PenstockInProcess
from support.producing import Sent, send
from support.projects_to_run import CHAIN, LONG, Project
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster
    from support.commands import Outcome


class Shop:
    """A project that is started as a detached pipeline.

    Its verbs wait for answers of its driver, which is one of many programs here, and ask again when
    it was too busy: it has not carried them out then.
    """

    def __init__(self, project: Project) -> None:
        self.project, self.name = project, project.prefix

    @property
    def folder(self) -> KeptFolder:
        return KeptFolder.of(self.project.folder / "data", PipelineName(self.name))

    def __call__(self, verb: str, *arguments: str) -> Outcome:
        """Call a verb in this process: a driver hears nothing of the difference."""
        penstock = self.project.penstock
        command = PenstockInProcess(penstock.folder, penstock.environment)
        deadline = time.monotonic() + LONG
        while True:
            outcome = command(verb, self.name, *arguments)
            if "[PEN-238]" not in outcome.stderr or time.monotonic() > deadline:
                return outcome

    def start(self) -> Outcome:
        return self.project.penstock("start", timeout_seconds=2 * LONG)

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self("show", "--json").json
        return shown

    def listed(self) -> dict[str, Any]:
        """Return what `penstock list` says of it."""
        penstock = self.project.penstock
        listed = PenstockInProcess(penstock.folder, penstock.environment)("list", "--json").json
        found: dict[str, Any] = next(item for item in listed if item["pipeline"] == self.name)
        return found

    def await_state(self, state: str) -> dict[str, Any]:
        eventually(lambda: self.show()["state"] == state, within_seconds=LONG)
        return self.show()

    def await_next_driver(self, before: dict[str, Any]) -> dict[str, Any]:
        """Wait until another driver than the one of `before` runs."""

        def runs() -> bool:
            now = self.show()
            is_another = now["driver"]["driver_id"] != before["driver"]["driver_id"]
            return bool(is_another and now["state"] == "running")

        eventually(runs, within_seconds=2 * LONG)
        return self.show()

    def order(self, connection: Connection, ids: range) -> None:
        topic = TopicName(f"{self.name}-orders")
        send(connection, topic, [Sent(value=f'{{"id": {number}}}') for number in ids])

    def await_even(self, ids: range) -> None:
        wanted = {number for number in ids if number % 2 == 0}
        eventually(lambda: self.project.has("even", wanted), within_seconds=LONG)


@pytest.fixture
def shop(kafka: KafkaCluster, tmp_path: Path, patient_commands: None) -> Iterator[Shop]:  # noqa: ARG001 - drivers have time to answer
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
    }
    project = Project(tmp_path, kafka.bootstrap, Penstock(tmp_path, environment))
    project.declare(CHAIN)
    shop = Shop(project)
    yield shop
    Detached(tmp_path / "data").end(PipelineName(shop.name), at_once=True)


def codes(*outcomes: Outcome) -> list[str]:
    """Return the error codes that commands have ended with."""
    return [outcome.stderr.partition("]")[0].removeprefix("error[") for outcome in outcomes]


@pytest.mark.long
@pytest.mark.timeout(500)
def test_the_life_of_a_detached_pipeline(shop: Shop, connection: Connection) -> None:
    """Two starts at once, list, show, pause, resume, logs, stop; and what is refused."""
    starts = [shop.project.penstock.start("start", "--json") for _ in range(2)]
    ends = {start.wait(timeout=2 * LONG): start.communicate() for start in starts}
    assert sorted(ends) == [0, 2], ends
    assert ends[2][1].startswith("error[PEN-241]: ")
    eventually(lambda: shop.listed()["state"] == "running", within_seconds=LONG)
    shop.order(connection, range(20))
    shop.await_even(range(20))

    refused = [
        shop.start(),
        shop("resume"),
        shop("pause", "--flow", "keep_evne"),
        shop("rescale", "--flow", "keep_even", "--shuffle-partitions", "7"),
    ]
    assert codes(*refused) == ["PEN-241", "PEN-232", "PEN-231", "PEN-234"]

    paused = shop("pause")
    assert paused.status == 0, paused.stderr
    shop.await_state("paused")
    assert shop("resume").status == 0
    shop.await_state("running")
    shop.order(connection, range(20, 40))
    shop.await_even(range(40))
    assert "keep_even: started" in shop("logs", "-n", "1000").stdout

    stopped = shop("stop")
    assert (stopped.status, stopped.stdout) == (0, f"`{shop.name}`: stopped\n"), stopped.stderr
    assert shop.show()["state"] == "stopped"
    assert (shop.folder.is_kept(), find_leftovers(shop.folder)) == (False, [])
    assert codes(*(shop(verb) for verb in ("stop", "pause", "kill", "restart"))) == ["PEN-246"] * 4


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_driver_that_dies_comes_back_and_one_that_is_frozen_is_killed(
    shop: Shop, connection: Connection
) -> None:
    started = shop.start()
    assert started.status == 0, started.stderr
    # It is starting until its driver has told more than the first flow.
    assert re.match(rf"`{shop.name}` is (running|starting): keep_even, keep_tens\n", started.stdout)
    first = shop.show()

    os.kill(first["driver"]["pid"], signal.SIGKILL)
    eventually(lambda: shop.show()["state"] in ("restarting", "starting"), within_seconds=LONG)
    second = shop.await_next_driver(first)
    assert second["keeper"]["restarts"] == 1
    assert second["keeper"]["last_exit"]["reason"] == "killed by SIGKILL"
    shop.order(connection, range(20))
    shop.await_even(range(20))

    java = [
        child
        for child in psutil.Process(second["driver"]["pid"]).children()
        if "java" in child.name()
    ]
    java[0].kill()
    third = shop.await_next_driver(second)
    assert third["keeper"]["restarts"] == 2
    assert third["keeper"]["last_exit"]["error"] is not None
    assert "driver ended: killed by SIGKILL" in shop("logs", "-n", "1000").stdout

    os.kill(third["driver"]["pid"], signal.SIGSTOP)
    killed = shop("kill")
    assert killed.status == 0, killed.stderr
    assert find_leftovers(shop.folder) == []
    assert shop.show()["state"] == "stopped"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_pipeline_is_restarted_and_rescaled(shop: Shop) -> None:
    assert shop.start().status == 0
    first = shop.show()

    restarted = shop("restart")
    assert restarted.status == 0, restarted.stderr
    second = shop.show()
    assert second["driver"]["driver_id"] != first["driver"]["driver_id"]
    assert (second["state"], second["keeper"]["restarts"]) == ("running", 0)

    rescaled = shop("rescale", "--cores", "1")
    assert rescaled.status == 0, rescaled.stderr
    assert shop.show()["driver"]["driver_id"] != second["driver"]["driver_id"]
    assert shop.folder.load_launch().cores == 1
    assert shop("log-level", "root", "warn", "--for", "30s").status == 0
    assert shop("kill", "--wait", "30").status == 0
    assert find_leftovers(shop.folder) == []


@pytest.mark.long
@pytest.mark.timeout(500)
def test_a_keeper_that_is_killed_takes_the_driver_along_and_a_start_goes_on(
    shop: Shop, connection: Connection
) -> None:
    """The driver meets a broken pipe when it tells of its next batch."""
    assert shop.start().status == 0
    before = shop.show()

    os.kill(before["keeper"]["keeper_pid"], signal.SIGKILL)
    shop.order(connection, range(20))

    eventually(lambda: not find_leftovers(shop.folder), within_seconds=LONG)
    again = shop.start()
    assert again.status == 0, again.stderr
    shop.await_even(range(20))
    assert shop("stop").status == 0


@pytest.mark.timeout(400)
def test_logs_follow_until_ctrl_c(shop: Shop) -> None:
    """Through a rotation of the file; nobody needs to run for that."""
    shop.folder.root.mkdir(parents=True)
    shop.folder.log.write_text("2026-05-01T12:00:00Z one\n")
    out = shop.project.folder / "followed"
    with out.open("w") as stdout:
        follower = shop.project.penstock.start(
            "logs", shop.name, "-f", stdout=stdout, stderr=subprocess.PIPE
        )
    eventually(lambda: "one" in out.read_text(), within_seconds=LONG)
    shop.folder.log.rename(shop.folder.root / "log.1")
    shop.folder.log.write_text("2026-05-01T12:00:01Z two\n")
    eventually(lambda: "two" in out.read_text(), within_seconds=LONG)

    follower.send_signal(signal.SIGINT)

    assert (follower.wait(timeout=LONG), follower.communicate()[1]) == (0, "")
