"""`kill -9` of the driver at random moments: nothing is missing, and sums are right."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from penstock.local.cluster import KafkaCluster
from support.commands import Penstock
from support.crashes import (
    FLOWS,
    Numbers,
    copies,
    dead_letters,
    finish,
    kill_again_and_again,
    last_sums,
    sums,
)
from support.projects_to_run import Project

if TYPE_CHECKING:
    from pathlib import Path

LONG = [pytest.mark.long, pytest.mark.timeout(1200)]
SOAK = [pytest.mark.soak, pytest.mark.timeout(7200)]
RUNS = [
    pytest.param(5, "exactly_once", marks=LONG, id="5 rounds, exactly once"),
    pytest.param(50, "exactly_once", marks=SOAK, id="50 rounds, exactly once"),
    pytest.param(50, "at_least_once", marks=SOAK, id="50 rounds, at least once"),
]


@pytest.mark.parametrize(("rounds", "delivery"), RUNS)
def test_a_driver_killed_at_random_moments_loses_nothing(
    tmp_path: Path, rounds: int, delivery: str
) -> None:
    """Every input is in the output, as often as was declared; sums equal those of the sender."""
    seed = int(os.environ.get("SOAK_SEED", "4"))
    folder = tmp_path / "project"
    folder.mkdir()
    with KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster:
        environment = {
            "PENSTOCK_PLATFORM_DATA_DIR": str(folder / "data"),
            "PENSTOCK_BOOTSTRAP": cluster.bootstrap,
        }
        project = Project(folder, cluster.bootstrap, Penstock(folder, environment))
        project.declare(FLOWS.replace("{delivery}", delivery))
        numbers_topic = cluster.create_topic(f"{project.prefix}-numbers", partition_count=3)
        with Numbers(cluster.connection, numbers_topic) as numbers:
            moments = kill_again_and_again(project, seed=seed, rounds=rounds)
        finish(project)

        story = f"seed {seed}, killed {', '.join(moments)}"
        sent, found = numbers.sent, copies(project)
        assert set(found) == sent.ids, story
        most = max(*found.values(), *sums(project).values())
        assert (most == 1) == (delivery == "exactly_once"), story
        assert last_sums(project) == sent.sums, story
        assert dead_letters(project) == {"copy": sent.broken, "add_up": sent.broken}, story
