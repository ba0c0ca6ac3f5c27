"""One driver per pipeline, with real drivers: refused, killed, frozen; and what others see."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.control import Fleet, FlowState, PipelineState
from penstock.names import PipelineName, TopicName
from support.commands import Penstock
from support.crash_harness.drivers import send as send_signal
from support.processes import is_alive
from support.producing import Sent, send
from support.projects_to_run import CHAIN, LONG, Project
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.control import PipelineView
    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(600)  # Spark starts twice or more in a test


@pytest.fixture
def project(kafka: KafkaCluster, tmp_path: Path) -> Project:
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
        # Unless somebody wants it, Spark shows no user interface.
        "PENSTOCK_SPARK_CONF": "spark.ui.enabled=true,spark.ui.port=0",
    }
    project = Project(tmp_path, kafka.bootstrap, Penstock(tmp_path, environment))
    project.declare(CHAIN)
    return project


@pytest.fixture
def fleet(connection: Connection) -> Iterator[Fleet]:
    with Fleet(connection) as fleet:
        yield fleet


def order(connection: Connection, project: Project, ids: range) -> None:
    records = [Sent(value=f'{{"id": {number}}}', partition=number % 2) for number in ids]
    send(connection, TopicName(f"{project.prefix}-orders"), records)


def shown(fleet: Fleet, project: Project) -> PipelineView:
    return fleet.show(PipelineName(project.prefix))


@pytest.mark.long
def test_a_second_run_is_refused_a_killed_one_is_lost_and_the_next_takes_over(
    project: Project, connection: Connection, fleet: Fleet
) -> None:
    with project.running("--json") as run:
        run.await_event("flow_started", flow="keep_even")
        order(connection, project, range(100))
        eventually(lambda: project.has("even", set(range(0, 100, 2))), within_seconds=LONG)
        eventually(lambda: shown(fleet, project).state is PipelineState.RUNNING, within_seconds=60)
        running = shown(fleet, project)

        began = time.monotonic()
        second = project.run()
        refused_after = time.monotonic() - began
        still = shown(fleet, project)

        children = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        killed = time.monotonic()
        eventually(lambda: shown(fleet, project).state is PipelineState.LOST, within_seconds=60)
        lost_after = time.monotonic() - killed
    eventually(lambda: not any(is_alive(child) for child in children), within_seconds=30)
    rest = project.run("--once")
    ended = shown(fleet, project)

    assert running.record is not None
    assert running.record.driver.pid == run.process.pid
    addresses = running.record.addresses
    assert (addresses.spark_application_id or "").startswith("local-")
    assert (addresses.spark_ui or "").startswith("http://")
    assert {flow.flow for flow in running.record.flows} == {"keep_even", "keep_tens"}

    assert second.status == 1
    assert f"error[PEN-221]: pipeline `{project.prefix}` is running already, as process " in (
        second.stderr
    )
    assert f"hint: `penstock stop {project.prefix}` stops it" in second.stderr
    assert (second.stdout, refused_after < 90) == ("", True)
    assert (still.state, still.driver) == (PipelineState.RUNNING, running.driver)

    assert lost_after < 45
    assert rest.status == 0, rest.stderr
    assert "waiting for process" not in rest.stderr
    assert (ended.state, ended.why) == (PipelineState.STOPPED, "all flows have finished")
    assert ended.record is not None
    assert ended.record.epoch == 2
    assert {flow.state for flow in ended.record.flows} == {FlowState.FINISHED}
    assert set(project.ids("even")) == set(range(0, 100, 2))


@pytest.mark.long
def test_a_frozen_driver_is_taken_over_and_writes_nothing_when_it_wakes_up(
    project: Project, connection: Connection, fleet: Fleet
) -> None:
    """Driver and JVM are frozen, as in a paused container, while another run reads on."""
    with project.running("--json") as run:
        run.await_event("flow_started", flow="keep_even")
        run.await_event("flow_started", flow="keep_tens")
        order(connection, project, range(100))
        eventually(lambda: project.has("tens", set(range(0, 100, 10))), within_seconds=LONG)
        run.await_event("flow_idle", flow="keep_tens")
        driver = psutil.Process(run.process.pid)
        frozen = [driver, *driver.children(recursive=True)]
        for process in frozen:
            send_signal(process, signal.SIGSTOP)
        order(connection, project, range(100, 200))

        rest = project.run("--once")
        taken_over = shown(fleet, project)
        for process in frozen:
            send_signal(process, signal.SIGCONT)
        status = run.process.wait(timeout=LONG)
        last = run.events[-1]
        eventually(lambda: not any(is_alive(child) for child in frozen[1:]), within_seconds=30)
    after = shown(fleet, project)

    assert rest.status == 0, rest.stderr
    assert f"waiting for process {run.process.pid} on" in rest.stderr
    assert (status, last["error"]["code"]) == (1, "PEN-222")
    assert (taken_over.state, after.state) == (PipelineState.STOPPED, PipelineState.STOPPED)
    assert project.ids("even") == list(range(0, 200, 2))
    assert project.ids("tens") == list(range(0, 200, 10))


@pytest.mark.long
def test_a_run_whose_project_is_wrong_has_failed_and_says_why(
    project: Project, fleet: Fleet
) -> None:
    (project.folder / "flows.py").write_text("import penstock as ps\nps.topic('orders', value=7)\n")

    outcome = project.run()
    view = shown(fleet, project)

    assert outcome.status == 2
    assert view.state is PipelineState.FAILED
    assert view.record is not None
    assert view.record.error is not None
    assert f"error[{view.record.error.code}]" in outcome.stderr
