"""`penstock run` on real Spark and Kafka: what goes in comes out, however the run ends."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.kafka import Admin, describe_group
from penstock.local.cluster import KafkaCluster
from penstock.names import GroupId, TopicName
from support.commands import Penstock
from support.producing import Sent, send
from support.projects_to_run import CHAIN, LONG, POISONED, SLOW, Project
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kafka import Connection

pytestmark = pytest.mark.timeout(400)  # Spark starts up to twice in a test


@pytest.fixture
def project(kafka: KafkaCluster, tmp_path: Path) -> Project:
    return new_project(tmp_path, kafka.bootstrap)


def new_project(folder: Path, bootstrap: str) -> Project:
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
        "PENSTOCK_BOOTSTRAP": bootstrap,
    }
    return Project(folder, bootstrap, Penstock(folder, environment))


def order(connection: Connection, project: Project, *values: object) -> None:
    """Send orders; numbers are ids, anything else is sent as it is."""
    records = [f'{{"id": {v}}}' if isinstance(v, int) else str(v) for v in values]
    send(
        connection,
        TopicName(f"{project.prefix}-orders"),
        [Sent(value=value, partition=number % 2) for number, value in enumerate(records)],
    )


@pytest.mark.long
def test_a_stopped_run_goes_on_where_it_was(project: Project, connection: Connection) -> None:
    """Live until Ctrl-C; a second run is refused meanwhile; then `--once` reads the rest."""
    project.declare(CHAIN)
    with project.running("--json") as run:
        run.await_event("flow_started", flow="keep_even")
        run.await_event("flow_started", flow="keep_tens")
        order(connection, project, *range(100), "broken")
        eventually(lambda: project.has("tens", set(range(0, 100, 10))), within_seconds=LONG)
        run.await_event("dead_letters_written", flow="keep_even", count=1)
        second = project.run()
        status = run.interrupt()
        ends = [item for item in run.events if item["event"] == "flow_stopped"]

    order(connection, project, *range(100, 200))
    rest = project.run("--once")

    assert status == 0, run.stderr
    assert sorted((end["flow"], end["error"], end["finished"]) for end in ends) == [
        ("keep_even", None, False),
        ("keep_tens", None, False),
    ]
    assert (second.status, f"as process {run.process.pid}" in second.stderr) == (1, True)
    assert rest.status == 0, rest.stderr
    assert project.ids("even") == list(range(0, 200, 2))
    assert project.ids("tens") == list(range(0, 200, 10))
    rows = [line.split() for line in rest.stdout.splitlines()[-2:]]
    assert [row[:5] for row in rows] == [
        ["keep_even", "finished", "100", "50", "0"],
        ["keep_tens", "finished", "50", "10", "0"],
    ]
    with Admin(connection) as admin:
        group = describe_group(admin, GroupId(f"penstock.{project.prefix}.keep_even"))
    assert group.lag == 0


@pytest.mark.long
def test_after_kill_9_every_input_is_in_the_output(
    project: Project, connection: Connection
) -> None:
    project.declare(CHAIN)
    with project.running("--json") as run:
        run.await_event("flow_started", flow="keep_even")
        children = psutil.Process(run.process.pid).children(recursive=True)
        order(connection, project, *range(50))
        eventually(lambda: project.has("even", {0}), within_seconds=LONG)
        run.process.kill()
    eventually(lambda: not any(child.is_running() for child in children), within_seconds=30)
    order(connection, project, *range(50, 100))

    rest = project.run("--once", "--flow", "keep_even")

    assert rest.status == 0, rest.stderr
    assert sorted(set(project.ids("even"))) == list(range(0, 100, 2))


@pytest.mark.long
def test_a_flow_whose_code_fails_stays_failed_while_the_other_goes_on(
    project: Project, connection: Connection
) -> None:
    project.declare(POISONED)
    with project.running() as run:
        eventually(lambda: "check: started" in run.stdout, within_seconds=LONG)
        order(connection, project, *range(20))
        eventually(lambda: "check: stays stopped" in run.stdout, within_seconds=LONG)
        order(connection, project, *range(20, 40))
        eventually(lambda: project.has("even", set(range(0, 40, 2))), within_seconds=LONG)
        status = run.interrupt()
        lines, said = run.stdout.splitlines(), run.stderr

    assert status == 1
    assert 13 not in project.ids("checked")
    assert "error[PEN-220]: a flow has failed for good: `check`: [PEN-347]" in said
    assert "ValueError: thirteen" in said
    assert "  at flows.py:12\n" in said
    assert [line.split()[:2] for line in lines[-2:]] == [
        ["keep_even", "stopped"],
        ["check", "failed"],
    ]


@pytest.mark.long
def test_a_second_ctrl_c_stops_in_the_middle_of_a_batch_and_loses_nothing(
    project: Project, kafka: KafkaCluster, connection: Connection
) -> None:
    """The batch would take a minute: twenty records per partition, three seconds each."""
    project.declare(SLOW)
    # There before it starts: else the first batch may have one record of each partition.
    kafka.create_topic(f"{project.prefix}-orders", partition_count=2)
    order(connection, project, *range(40))
    with project.running("--json") as run:
        eventually(lambda: has_planned(project), within_seconds=LONG)
        run.process.send_signal(signal.SIGINT)
        eventually(lambda: "Ctrl-C again" in run.stderr, within_seconds=LONG)
        status = run.interrupt()
        done = [item for item in run.events if item["event"] == "batch_finished"]

    project.declare(CHAIN)
    rest = project.run("--once", "--flow", "keep_even")

    assert status == 0, run.stderr
    assert sum(item["input_rows"] for item in done) < 40
    assert rest.status == 0, rest.stderr
    assert set(project.ids("even")) == set(range(0, 40, 2))


def has_planned(project: Project) -> bool:
    """Whether a batch with records is under way: its plan names an offset after the first."""
    plans = project.folder.glob(f"data/checkpoints/{project.prefix}/keep_even/offsets/[0-9]*")
    return any(re.search(r'"[01]":[1-9]', plan.read_text()) for plan in plans)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_kafka_away_for_half_a_minute_is_waited_out(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster:
        project = new_project(folder, cluster.bootstrap)
        project.declare(CHAIN)
        with project.running("--json") as run:
            run.await_event("flow_started", flow="keep_tens")
            order(cluster.connection, project, *range(100))
            eventually(lambda: project.has("tens", {90}), within_seconds=LONG)
            broker = cluster.broker_ids[0]
            cluster.kill(broker)
            run.await_event("kafka_away")
            eventually(Passed(seconds=30), within_seconds=60)
            cluster.start_broker(broker)
            cluster.await_ready()
            run.await_event("kafka_back")
            order(cluster.connection, project, *range(100, 200))
            eventually(lambda: project.has("tens", {190}), within_seconds=LONG)
            status = run.interrupt()

        assert status == 0, run.stderr
        assert set(project.ids("even")) == set(range(0, 200, 2))
        assert set(project.ids("tens")) == set(range(0, 200, 10))


@pytest.mark.long
def test_the_end_of_spark_itself_is_told_and_ends_the_run(
    project: Project, connection: Connection
) -> None:
    project.declare(CHAIN)
    with project.running("--json") as run:
        run.await_event("flow_started", flow="keep_even")
        java = psutil.Process(run.process.pid).children()
        for child in java:
            os.kill(child.pid, 9)
        status = run.process.wait(timeout=LONG)
        last = run.events[-1]
    order(connection, project, *range(10))

    rest = project.run("--once")

    assert (status, last["error"]["code"]) == (1, "PEN-301")
    assert rest.status == 0, rest.stderr
    assert project.ids("tens") == [0]


class Passed:
    """Is true when so many seconds have passed since it was made."""

    def __init__(self, *, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def __call__(self) -> bool:
        return time.monotonic() >= self._end
