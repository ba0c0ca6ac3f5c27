"""A paused pipeline gives its executors back to a real cluster, and gets them again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from penstock.control.asking import ask
from penstock.control.commands import Pause, Resume
from penstock.names import PipelineName
from support.projects_to_run import CHAIN, LONG
from support.spark_platform import spark_platform
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.control.commands import Command
    from support.spark_platform import SparkPlatform


@pytest.mark.long
@pytest.mark.timeout(900)
def test_executors_are_free_while_all_flows_are_paused(tmp_path: Path) -> None:
    with spark_platform(tmp_path, workers=1) as platform:
        project = platform.project(tmp_path / "project", CHAIN, {})

        def tell(command: Command) -> str:
            pipeline, deadline = PipelineName(project.prefix), time.monotonic() + LONG
            while True:
                answer = ask(platform.connection, pipeline, command, timeout_seconds=20)
                is_busy = answer.refused is not None and answer.refused.code == "PEN-238"
                if not is_busy or time.monotonic() > deadline:
                    return answer.said()

        with project.running("--json") as run:
            run.await_event("flow_started", flow="keep_even")
            run.await_event("flow_started", flow="keep_tens")
            platform.order(project, range(100))
            eventually(lambda: project.has("tens", {90}), within_seconds=LONG)
            used = cores_used(platform)
            tell(Pause(flow=None))
            eventually(lambda: cores_used(platform) == 0, within_seconds=LONG)
            platform.order(project, range(100, 200))
            tell(Resume(flow=None))
            eventually(lambda: project.has("tens", {190}), within_seconds=LONG)
            again = cores_used(platform)
            status = run.interrupt()
        even, tens = project.ids("even"), project.ids("tens")

    assert used > 0
    assert again == used
    assert status == 0, run.stderr
    assert even == list(range(0, 200, 2))
    assert tens == list(range(0, 200, 10))


def cores_used(platform: SparkPlatform) -> int:
    """Return how many cores the master has given to executors; -1 while it does not answer."""
    found = platform.cluster().get("coresused", -1)
    assert isinstance(found, int)
    return found
