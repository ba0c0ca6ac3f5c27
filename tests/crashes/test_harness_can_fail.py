"""The harness finds what it looks for: records written twice, when nothing prevents it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.crash_harness import judge
from support.crash_harness.faults import Fault, Kind
from support.crash_harness.scene import finished
from support.crash_harness.soak import under_fire

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_death_before_the_commit_of_spark_repeats_records_at_least_once(
    tmp_path: Path, delivery: str
) -> None:
    """The checkpoint is made to be as such a death leaves it; Spark's own sink has no failpoint."""
    with under_fire(tmp_path, delivery=delivery) as (pipeline, sender, _):
        pipeline.recover()
        sender.finish()
        pipeline.await_idle()
        pipeline.driver.kill(jvm=True)
        undone = pipeline.undo_commits()
        pipeline.start()
        wanted, found = finished(pipeline, sender)

    assert "keep" in undone, "all flows were between two batches"
    assert judge.missing(wanted, found) == 0
    if delivery == "exactly_once":
        assert judge.differences(wanted, found) == []
    else:
        assert judge.duplicates(wanted, found) > 0


def test_lanes_that_do_not_look_into_the_ledger_are_caught(tmp_path: Path) -> None:
    with under_fire(tmp_path, without="ledger") as (pipeline, sender, strikes):
        fault = Fault(kind=Kind.WORKER_KILLED_AT, point="after commit", flow="keep")
        strikes.strike([fault])
        wanted, found = finished(pipeline, sender)

    problems = judge.differences(wanted, found)
    assert judge.missing(wanted, found) == 0
    assert any(line.startswith("keep:") and "too often" in line for line in problems), problems
