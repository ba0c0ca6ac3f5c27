"""Commands to pipelines that nobody runs, on real Kafka: one sentence, a hint and a code."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import support.scripted_driver
from penstock.control.detached import Detached
from penstock.control.kept import Launch
from penstock.control.leftovers import find_leftovers
from penstock.control.status_records import (
    STATUS_TOPIC,
    ErrorRecord,
    PipelineState,
    encode_status,
    status_key,
)
from penstock.kafka.tables import KafkaTable
from penstock.names import PipelineName
from support.in_process import PenstockInProcess
from support.overviews import DRIVER, NOON, RECORD
from support.scripted_driver import FLOW_STARTED

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.control.detached import KeptPipeline
    from penstock.kafka import Connection

VERBS = (
    ["stop"],
    ["pause"],
    ["resume"],
    ["kill"],
    ["restart"],
    ["rescale", "--cores", "2"],
    ["rescale", "--flow", "clean", "--min-partitions", "2"],
    ["rescale", "--flow", "clean", "--shuffle-partitions", "2"],
    ["pause", "--flow", "clean"],
)


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> PenstockInProcess:
    environment = {
        "PENSTOCK_PLATFORM_DATA_DIR": str(tmp_path / "data"),
        "PENSTOCK_BOOTSTRAP": connection.bootstrap,
    }
    return PenstockInProcess(tmp_path, environment)


def told(
    connection: Connection,
    state: PipelineState,
    *,
    name: PipelineName | None = None,
    pid: int = DRIVER.pid,
) -> PipelineName:
    """Let a driver that is not there have said that its pipeline is in `state`."""
    name = name or PipelineName(f"shop-{uuid4().hex[:8]}")
    error = ErrorRecord(code="PEN-301", message="Java died", at=NOON)
    record = replace(
        RECORD,
        pipeline=name,
        state=state,
        driver=replace(DRIVER, pid=pid),
        why=error.message if state is PipelineState.FAILED else None,
        error=error if state is PipelineState.FAILED else None,
    )
    with KafkaTable.open(connection, STATUS_TOPIC) as table:
        table.put(status_key(name, record.epoch), encode_status(record))
    return name


def detach(penstock: PenstockInProcess, connection: Connection, name: PipelineName) -> KeptPipeline:
    """Start a pipeline whose driver does nothing but wait for its end."""
    script = penstock.folder / "script"
    script.write_text(json.dumps({"say": [FLOW_STARTED]}))
    launch = Launch(
        command=(sys.executable, support.scripted_driver.__file__, str(script)),
        folder=penstock.folder,
        cluster=connection.bootstrap,
        restart_limit=5,
        restart_window_seconds=600,
    )
    return Detached(penstock.folder / "data").start(name, launch)


def named(verb: list[str], pipeline: str) -> list[str]:
    return [verb[0], pipeline, *verb[1:]]


@pytest.mark.parametrize("verb", [*VERBS, ["show"]], ids=" ".join)
def test_a_pipeline_that_never_ran_is_unknown_to_every_verb(
    penstock: PenstockInProcess, verb: list[str]
) -> None:
    done = penstock(*named(verb, "no-such-shop"))

    assert done.status == 2
    assert done.stderr.startswith("error[PEN-223]: no pipeline `no-such-shop` has ever run")


def test_the_nearest_name_is_the_hint(penstock: PenstockInProcess, connection: Connection) -> None:
    name = told(connection, PipelineState.STOPPED)

    done = penstock("show", f"{name}x")

    assert f"hint: did you mean `{name}`?" in done.stderr


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_what_has_ended_hears_no_verb(
    penstock: PenstockInProcess, connection: Connection, verb: list[str]
) -> None:
    name = told(connection, PipelineState.FAILED)

    done = penstock(*named(verb, name))

    assert done.status == 1
    assert done.stderr.startswith(f"error[PEN-246]: pipeline `{name}` is failed since ")
    assert "Java died" in done.stderr
    assert "`penstock start` in its project starts it" in done.stderr


def test_a_driver_that_does_not_answer_is_told_within_seconds(
    penstock: PenstockInProcess, connection: Connection
) -> None:
    name = told(connection, PipelineState.RUNNING)
    before = time.monotonic()

    done = penstock("pause", name)

    assert (done.status, done.stderr[:16]) == (1, "error[PEN-230]: ")
    assert time.monotonic() - before < 30  # two to answer, the rest for a busy machine


@pytest.mark.parametrize(
    ("verb", "said"), [("kill", "killed by its keeper"), ("stop", "stopped by its keeper")]
)
def test_a_driver_that_does_not_answer_is_ended_by_its_keeper_here(
    penstock: PenstockInProcess, connection: Connection, verb: str, said: str
) -> None:
    """The driver of this test runs, and cannot hear anything."""
    name = PipelineName(f"shop-{uuid4().hex[:8]}")
    kept = detach(penstock, connection, name)
    assert kept.record is not None
    assert kept.record.driver_pid is not None
    told(connection, PipelineState.RUNNING, name=name, pid=kept.record.driver_pid)
    before = penstock("show", name, "--json").json

    done = penstock(verb, name)

    assert (done.status, done.stdout) == (0, f"`{name}`: {said}\n"), done.stderr
    assert (before["state"], before["keeper"]["is_alive"]) == ("running", True)
    assert penstock("show", name, "--json").json["state"] == "stopped"
    assert find_leftovers(kept.folder) == []


def test_a_keeper_here_ends_its_pipeline_while_kafka_is_away(
    penstock: PenstockInProcess, connection: Connection
) -> None:
    name = PipelineName(f"shop-{uuid4().hex[:8]}")
    kept = detach(penstock, connection, name)

    done = penstock("stop", name, "--bootstrap", "127.0.0.1:1")

    assert (done.status, done.stdout) == (0, f"`{name}`: stopped by its keeper\n"), done.stderr
    assert "warning: this is not on the trail: no Kafka broker answered at " in done.stderr
    assert find_leftovers(kept.folder) == []


def test_pipelines_are_listed_wherever_they_ran(
    penstock: PenstockInProcess, connection: Connection
) -> None:
    stopped = told(connection, PipelineState.STOPPED)
    failed = told(connection, PipelineState.FAILED)

    plain, listed = penstock("list"), penstock("list", "--json").json

    rows = {line.split()[0]: line.split()[1] for line in plain.stdout.splitlines()}
    assert (rows[stopped], rows[failed]) == ("stopped", "failed")
    states = {item["pipeline"]: item["state"] for item in listed}
    assert (states[stopped], states[failed]) == ("stopped", "failed")


def test_a_failed_pipeline_is_shown_with_code_and_reason(
    penstock: PenstockInProcess, connection: Connection
) -> None:
    name = told(connection, PipelineState.FAILED)

    done = penstock("show", name)

    assert done.status == 0
    assert f"`{name}` is failed since " in done.stdout
    assert "[PEN-301] Java died at " in done.stdout
    assert "clean: last error [PEN-347] it raised at " in done.stdout


def test_errors_are_json_for_programs(penstock: PenstockInProcess) -> None:
    done = penstock("stop", "no-such-shop", "--json")

    assert done.json["error"]["code"] == "PEN-223"
