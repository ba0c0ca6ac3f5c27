"""Faults at the worst moments: the output of a pipeline is what it must be, record for record."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from support.crash_harness import judge
from support.crash_harness.faults import DOZEN, SOAK, drawn
from support.crash_harness.scene import finished
from support.crash_harness.soak import seed, under_fire

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.crash_harness.faults import Kind

LONG = [pytest.mark.long, pytest.mark.timeout(1200)]
HOURS = [pytest.mark.soak, pytest.mark.timeout(4 * 3600)]


@pytest.mark.parametrize(
    ("counts", "least"),
    [
        pytest.param(DOZEN, 10, marks=LONG, id="a dozen"),
        pytest.param(SOAK, 100, marks=HOURS, id="a hundred"),
    ],
)
def test_whatever_fails_each_record_comes_out_once(
    tmp_path: Path, counts: Mapping[Kind, int], least: int
) -> None:
    faults = drawn(counts, Random(seed()))  # noqa: S311 - moments, not secrets
    with under_fire(tmp_path) as (pipeline, sender, strikes):
        pipeline.tell(f"seed {seed()}, {len(faults)} faults")
        strikes.strike(faults)
        wanted, found = finished(pipeline, sender)

        problems, struck = judge.differences(wanted, found), len(faults) - strikes.missed
        pipeline.tell(f"seed {seed()}, {struck} faults: {problems or 'the output is exact'}")
        for line in pipeline.notes:
            pipeline.tell(f"noted: {line}")
        audit = pipeline.audit()
        pipeline.tell(f"`penstock audit` ends with {audit.status}:\n{audit.stdout}{audit.stderr}")

    assert not problems
    assert struck >= least
    assert audit.status == 0
