"""Two drivers of one pipeline at once, which only a lease that nobody heeds lets happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.crash_harness import judge
from support.crash_harness.pipeline import FLOWS
from support.crash_harness.scene import finished
from support.crash_harness.soak import under_fire
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from support.crash_harness.drivers import Driver

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


def given_up(driver: Driver) -> dict[str, dict[str, str]]:
    """Return why a driver does not run its flows any more, by flow."""
    stopped = (item for item in driver.events if item.get("event") == "flow_stopped")
    return {item["flow"]: item["error"] for item in stopped}


def test_of_two_drivers_one_runs_a_flow_the_other_is_told_and_the_output_is_exact(
    tmp_path: Path,
) -> None:
    with under_fire(tmp_path, without="lease") as (pipeline, sender, _):
        pipeline.recover()
        pipeline.driver.kill(jvm=True)
        pipeline.start()  # plans of a query's first run are of no use to another process
        pipeline.recover()
        one = pipeline.driver
        pipeline.start(waits=False)
        other = pipeline.driver
        eventually(
            lambda: given_up(one).keys() | given_up(other).keys() == set(FLOWS), within_seconds=400
        )
        told = [given_up(driver) for driver in (one, other)]
        log = "".join(file.read_text() for file in (pipeline.tested.data / "logs").iterdir())
        fights = log.count("was taken over by another writer")
        for number, errors in enumerate(told):
            for flow, error in errors.items():
                pipeline.tell(f"driver {number} gave `{flow}` up: {error}")
        pipeline.tell(f"{fights} tasks had lost their lanes to the other driver by then")
        # Each flow runs somewhere; one driver for all of them is easier to follow to the end.
        one.kill(jvm=True)
        other.kill(jvm=True)
        pipeline.start()
        wanted, found = finished(pipeline, sender)

    assert judge.differences(wanted, found) == []
    assert not told[0].keys() & told[1].keys(), "nobody runs a flow that both have given up"
    assert {error["code"] for errors in told for error in errors.values()} == {"PEN-350"}
