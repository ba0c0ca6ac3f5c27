"""Commands to a real run: it pauses and goes on without losing a record, and says how it does."""

from __future__ import annotations

import re
import signal
import statistics
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil
import pytest

from penstock.control.asking import ask
from penstock.control.command_errors import CommandRefusedError
from penstock.control.commands import (
    Kill,
    LogLevel,
    Pause,
    RescaleCores,
    RescaleReading,
    RescaleShuffle,
    Restart,
    Resume,
    SetLogLevel,
    Stop,
)
from penstock.control.fleet import Fleet
from penstock.names import FlowName, PipelineName, TopicName
from support.commands import Penstock
from support.producing import Sent, send
from support.projects_to_run import CHAIN, LONG, SLOW, Project, Run
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.control.commands import Command
    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(400)

EVEN, TENS = FlowName("keep_even"), FlowName("keep_tens")


@pytest.fixture
def project(kafka: KafkaCluster, tmp_path: Path) -> Project:
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
        "PENSTOCK_PIPELINE_HEALTH_PORT": "0",
    }
    return Project(tmp_path, kafka.bootstrap, Penstock(tmp_path, environment))


@dataclass
class Commander:
    """Asks the driver of a project's pipeline, and notes how long the answers took."""

    connection: Connection
    project: Project
    seconds: list[float] = field(default_factory=list)

    @property
    def pipeline(self) -> PipelineName:
        return PipelineName(self.project.prefix)

    def __call__(self, command: Command) -> str:
        """Ask again as long as the driver is too busy; it has not carried it out then."""
        deadline = time.monotonic() + LONG
        while True:
            begun = time.monotonic()
            answer = ask(self.connection, self.pipeline, command, timeout_seconds=20)
            self.seconds.append(time.monotonic() - begun)
            try:
                return answer.said()
            except CommandRefusedError as refused:
                if refused.code != "PEN-238" or time.monotonic() > deadline:
                    raise

    def code_of(self, command: Command) -> str:
        """Return the code with which the driver refuses."""
        with pytest.raises(CommandRefusedError) as refused:
            self(command)
        return refused.value.code

    def health_address(self) -> str:
        with Fleet(self.connection) as fleet:
            record = fleet.show(self.pipeline).record
        assert record is not None
        assert record.addresses.health is not None
        return record.addresses.health


def status_of(address: str, path: str) -> int:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=10)
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    return status


def measured(address: str, metric: str, flow: FlowName) -> float | None:
    """Return what `/metrics` says of a flow; None while it says nothing."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    found = re.search(rf'^{metric}{{flow="{flow}",[^}}]*}} (\S+)$', text, re.MULTILINE)
    return float(found[1]) if found else None


def order(connection: Connection, project: Project, ids: range) -> None:
    send(
        connection,
        TopicName(f"{project.prefix}-orders"),
        [Sent(value=f'{{"id": {number}}}', partition=number % 2) for number in ids],
    )


def has_planned(project: Project) -> bool:
    """Whether a batch with records is under way: its plan names an offset after the first."""
    plans = project.folder.glob(f"data/checkpoints/{project.prefix}/{EVEN}/offsets/[0-9]*")
    return any(re.search(r'"[01]":[1-9]', plan.read_text()) for plan in plans)


def is_behind(run: Run, flow: FlowName) -> bool:
    """Whether the run has told that a flow has a hundred records to read."""
    lags = [item for item in run.events if item["event"] == "flow_lag" and item["flow"] == flow]
    return any((lag["records"] or 0) >= 100 for lag in lags)


@pytest.mark.long
def test_a_run_obeys_and_loses_nothing(project: Project, connection: Connection) -> None:
    """Paused while records come in, resumed, rescaled, refused; SIGTERM ends it in good order."""
    project.declare(CHAIN)
    tell = Commander(connection, project)
    with project.running("--json") as run:
        run.await_event("flow_started", flow=EVEN)
        run.await_event("flow_started", flow=TENS)
        address = tell.health_address()
        order(connection, project, range(100))
        eventually(lambda: project.has("tens", set(range(0, 100, 10))), within_seconds=LONG)
        eventually(lambda: status_of(address, "/ready") == 200, within_seconds=LONG)
        eventually(
            lambda: measured(address, "penstock_flow_latency_seconds_count", EVEN) == 100,
            within_seconds=LONG,
        )
        waited = measured(address, "penstock_flow_latency_seconds_sum", EVEN)

        pausing = tell(Pause(flow=EVEN))
        order(connection, project, range(100, 200))
        run.await_event("flow_paused", flow=EVEN)
        at_rest = project.ids("even")
        unhealthy = [status_of(address, path) for path in ("/health", "/ready")]
        order(connection, project, range(200, 300))
        eventually(lambda: is_behind(run, EVEN), within_seconds=LONG)
        still = project.ids("even")
        resuming = tell(Resume(flow=EVEN))
        eventually(lambda: project.has("tens", set(range(0, 300, 10))), within_seconds=LONG)
        eventually(lambda: status_of(address, "/ready") == 200, within_seconds=LONG)

        rescaling = tell(RescaleReading(flow=EVEN, min_partitions=4))
        level = tell(SetLogLevel(logger="org.apache.spark", level=LogLevel.INFO, for_seconds=2))
        refusals = [
            tell.code_of(command)
            for command in (
                Resume(flow=TENS),
                Pause(flow=FlowName("keep_evn")),
                RescaleShuffle(flow=TENS, shuffle_partitions=8),
                RescaleCores(cores=4),
                Restart(),
            )
        ]
        order(connection, project, range(300, 400))
        eventually(lambda: project.has("tens", set(range(0, 400, 10))), within_seconds=LONG)
        java = psutil.Process(run.process.pid).children()
        run.process.send_signal(signal.SIGTERM)
        status = run.process.wait(timeout=LONG)
        ends = [item["flow"] for item in run.events if item["event"] == "flow_stopped"]

    assert pausing == "pausing `keep_even` after the running batch"
    assert still == at_rest
    assert waited is not None
    assert 0 < waited < 100 * LONG
    assert unhealthy == [200, 503]
    assert resuming == "resuming `keep_even`"
    assert rescaling.startswith("restarting `keep_even` after the running batch; then it reads")
    assert level.endswith("then `warn` again")
    assert refusals == ["PEN-232", "PEN-231", "PEN-234", "PEN-233", "PEN-233"]
    assert statistics.median(tell.seconds) < 15, tell.seconds
    assert (status, sorted(ends)) == (0, [EVEN, TENS]), run.stderr
    assert not any(process.is_running() for process in java)
    assert project.ids("even") == list(range(0, 400, 2))
    assert project.ids("tens") == list(range(0, 400, 10))


@pytest.mark.long
def test_a_kill_waits_as_long_as_it_was_told_and_the_next_run_goes_on(
    project: Project, kafka: KafkaCluster, connection: Connection
) -> None:
    """A batch would take a minute: twenty records per partition, three seconds each."""
    project.declare(SLOW)
    tell = Commander(connection, project)
    # There before it starts: else the first batch may have one record of each partition.
    kafka.create_topic(f"{project.prefix}-orders", partition_count=2)
    order(connection, project, range(40))
    with project.running("--json") as run:
        eventually(lambda: has_planned(project), within_seconds=LONG)
        begun = time.monotonic()
        said = tell(Kill(wait_seconds=5))
        status = run.process.wait(timeout=LONG)
        seconds = time.monotonic() - begun

    project.declare(CHAIN)
    rest = project.run("--once", "--flow", EVEN)

    assert said == "stopping after the running batches, 5 s at most"
    assert status == 0, run.stderr
    assert 5 <= seconds < 100
    assert rest.status == 0, rest.stderr
    assert set(project.ids("even")) == set(range(0, 40, 2))


@pytest.mark.long
def test_a_pipeline_whose_flows_are_all_stopped_lives_until_it_is_stopped_itself(
    project: Project, connection: Connection
) -> None:
    project.declare(CHAIN)
    tell = Commander(connection, project)
    with project.running("--json") as run:
        run.await_event("flow_started", flow=EVEN)
        run.await_event("flow_started", flow=TENS)
        for flow in (EVEN, TENS):
            tell(Stop(flow=flow))
            run.await_event("flow_stopped", flow=flow)
        lived = run.process.poll() is None
        order(connection, project, range(20))
        for flow in (EVEN, TENS):
            tell(Restart(flow=flow))
        eventually(lambda: project.has("tens", {0, 10}), within_seconds=LONG)
        said = tell(Stop())
        status = run.process.wait(timeout=LONG)

    assert lived
    assert said == "stopping after the running batches, 60 s at most"
    assert status == 0, run.stderr
