"""The console over the fraud example: what its pages show while it runs, and what they can do."""

from __future__ import annotations

import re
import shutil
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from penstock.control.detached import Detached
from penstock.control.trail import Trail
from penstock.demo.lines import LineMaker
from penstock.names import PipelineName, TopicName
from support.commands import Penstock
from support.consoles import proof_in, running_console
from support.example_runs import EXAMPLES
from support.producing import Sent, send
from support.projects_to_run import LONG
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster

NAME = PipelineName("fraud-in-console")
PLACE = f"/pipelines/{NAME}"
JSON = {"Accept": "application/json"}


@pytest.fixture
def project(kafka: KafkaCluster, tmp_path: Path) -> Iterator[Penstock]:
    """The fraud example on topics of its own, as a detached pipeline that runs."""
    folder = tmp_path / "fraud"
    shutil.copytree(EXAMPLES / "fraud", folder)
    flows = (folder / "flows.py").read_text()
    declared = re.sub(r'ps\.topic\(\n    "(\w+)",', rf'\g<0>\n    kafka_name="{NAME}-\1",', flows)
    (folder / "flows.py").write_text(declared)
    (folder / "penstock.toml").write_text(
        f'[pipeline]\nname = "{NAME}"\n[spark]\nmaster = "local[2,4]"\ndriver_memory_mb = 1024\n'
    )
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": kafka.bootstrap,
    }
    penstock = Penstock(folder, environment)
    try:
        # A little more than the command itself waits.
        started = penstock("start", timeout_seconds=3 * LONG)
        assert started.status == 0, started.stderr
        yield penstock
    finally:
        Detached(tmp_path / "data").end(NAME, at_once=True)


class Traffic:
    """Sends lines of a web log."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._maker = (
            connection,
            LineMaker(seed=7, broken_share=0, domain_share=0),
        )

    def send(self, count: int) -> None:
        lines = [self._maker.line(datetime.now(UTC)).value for _ in range(count)]
        send(self._connection, TopicName(f"{NAME}-iprecord"), [Sent(value=line) for line in lines])


def twin(console: TestClient, path: str) -> dict[str, Any]:
    answer = console.get(path, headers=JSON)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def flow(console: TestClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = twin(console, f"{PLACE}/flows/{name}")
    return found


def act(console: TestClient, path: str, **fields: str) -> str:
    """Say yes to the question of an action; return what the page then says was done.

    A driver that is too busy to hear says so.
    """
    proof, deadline = proof_in(console.get(path).text), time.monotonic() + LONG
    while True:
        answer = console.post(path, data={**fields, "_proof": proof})
        if "PEN-238" not in answer.text or time.monotonic() > deadline:
            break
    assert answer.status_code == 303, answer.text
    return console.get(answer.headers["location"]).text


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("project", "patient_commands")
def test_the_console_shows_the_fraud_example_and_operates_it(
    connection: Connection, tmp_path: Path
) -> None:
    traffic = Traffic(connection)
    with running_console(connection, tmp_path) as console:
        traffic.send(500)
        eventually(
            lambda: all(
                flow(console, name)["flow"]["totals"]["records_in"] == 500
                for name in ("detect", "count", "land")
            ),
            within_seconds=LONG,
        )
        eventually(lambda: flow(console, "count")["plan"] is not None, within_seconds=LONG)

        told = flow(console, "count")
        assert "StateStoreSave" in told["plan"]["text"]
        assert told["flow"]["last_batch"]["state_bytes"] > 0
        assert told["flow"]["latency"]["count"] == 500
        assert told["flow"]["last_batch"]["phases"]["addBatch"] > 0
        assert [item["dataset"] for item in told["reads"]] == ["requests", "blocked_octets"]
        assert told["log"]["lines"]
        assert "detect: started" in " ".join(told["log"]["lines"])

        page = console.get(PLACE).text
        assert f'href="{PLACE}/flows/detect"' in page
        nodes = {node["name"]: node["kind"] for node in twin(console, PLACE)["graph"]["nodes"]}
        assert nodes["weblog"] == "table"
        assert nodes["requests"] == "view"

        # Numbers are published within two seconds, and the console looks every second.
        traffic.send(50)
        eventually(
            lambda: flow(console, "detect")["flow"]["totals"]["records_in"] == 550,
            within_seconds=LONG,
        )
        committed = datetime.fromisoformat(flow(console, "detect")["flow"]["last_batch"]["at"])
        assert (datetime.now(UTC) - committed).total_seconds() < 30

        assert "Pausing <code>detect</code>" in act(console, f"{PLACE}/flows/detect/pause")
        eventually(
            lambda: flow(console, "detect")["flow"]["state"] == "paused", within_seconds=LONG
        )
        assert twin(console, PLACE)["entry"]["why"] == "1 of 3 flows is paused"
        assert "Resuming <code>detect</code>" in act(console, f"{PLACE}/flows/detect/resume")
        eventually(
            lambda: flow(console, "detect")["flow"]["state"] in ("running", "idle"),
            within_seconds=LONG,
        )
        level = act(
            console,
            f"{PLACE}/log-level",
            logger="org.apache.kafka",
            level="info",
            for_seconds="1",
        )
        assert "then <code>warn</code> again" in level
        act(console, f"{PLACE}/flows/count/restart")
        act(console, f"{PLACE}/stop")
        eventually(lambda: twin(console, PLACE)["entry"]["state"] == "stopped", within_seconds=LONG)

    trail = Trail(connection)
    done = [entry.action for entry in trail.last(50) if entry.refused is None][:5]
    trail.close()
    assert done == [
        "stop_pipeline",
        "restart_flow",
        "set_log_level",
        "resume_flow",
        "pause_flow",
    ]
