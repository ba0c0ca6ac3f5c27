"""What a cluster and a machine know together of a pipeline: a table of truths."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.control.kept import KeeperState
from penstock.control.overviews import OverallState, advice, overview_of
from penstock.control.status_records import PipelineState
from support.overviews import NOON, kept, seen

LATER = NOON + timedelta(minutes=1)


@pytest.mark.parametrize("state", list(PipelineState))
def test_without_a_keeper_here_the_cluster_is_believed(state: PipelineState) -> None:
    found = overview_of(seen(state, why="so"), None)

    assert found is not None
    assert (found.state, found.since, found.why) == (OverallState(state), NOON, "so")


@pytest.mark.parametrize("state", list(KeeperState))
def test_before_the_first_driver_has_told_anything_its_keeper_is_believed(
    state: KeeperState,
) -> None:
    found = overview_of(None, kept(state, why="so"))

    assert found is not None
    word = "restarting" if state is KeeperState.WAITING else str(state)
    assert (found.state, found.why) == (OverallState(word), "so")


def test_what_nobody_knows_is_not_there() -> None:
    assert overview_of(None, None) is None


@pytest.mark.parametrize(
    ("cluster", "keeper", "driver_pid", "state"),
    [
        # The driver that the keeper speaks of is alive: it knows best.
        (PipelineState.RUNNING, KeeperState.RUNNING, 4711, "running"),
        (PipelineState.PAUSED, KeeperState.RUNNING, 4711, "paused"),
        (PipelineState.STOPPING, KeeperState.RUNNING, 4711, "stopping"),
        (PipelineState.STARTING, KeeperState.STARTING, 4711, "starting"),
        # It has died, and the cluster has not noticed yet.
        (PipelineState.RUNNING, KeeperState.WAITING, None, "restarting"),
        (PipelineState.RUNNING, KeeperState.STARTING, 4712, "starting"),
        # It has died, and the cluster has noticed.
        (PipelineState.LOST, KeeperState.WAITING, None, "restarting"),
        (PipelineState.LOST, KeeperState.STARTING, 4712, "starting"),
        # It has told its error before it ended, and the next one is on its way.
        (PipelineState.FAILED, KeeperState.WAITING, None, "restarting"),
        (PipelineState.STOPPED, KeeperState.STARTING, 4712, "starting"),
    ],
)
def test_a_living_keeper_knows_of_the_next_driver(
    cluster: PipelineState, keeper: KeeperState, driver_pid: int | None, state: str
) -> None:
    found = overview_of(seen(cluster), kept(keeper, driver_pid=driver_pid))

    assert found is not None
    assert found.state == OverallState(state)


@pytest.mark.parametrize(
    ("cluster", "keeper", "state"),
    [
        # Killed at once, without a word to the cluster.
        (PipelineState.LOST, KeeperState.STOPPED, "stopped"),
        # Given up by its keeper.
        (PipelineState.LOST, KeeperState.FAILED, "failed"),
        (PipelineState.FAILED, KeeperState.FAILED, "failed"),
        (PipelineState.STOPPED, KeeperState.STOPPED, "stopped"),
        # Somebody runs it elsewhere, or in the foreground, since.
        (PipelineState.RUNNING, KeeperState.STOPPED, "running"),
    ],
)
def test_a_keeper_that_has_ended_speaks_of_its_last_driver(
    cluster: PipelineState, keeper: KeeperState, state: str
) -> None:
    found = overview_of(seen(cluster), kept(keeper, is_kept=False, driver_pid=None, at=LATER))

    assert found is not None
    assert found.state == OverallState(state)


def test_a_keeper_that_has_ended_its_driver_knows_that_before_the_cluster_does() -> None:
    ended = kept(KeeperState.STOPPED, is_kept=False, driver_pid=None, last_pid=4711)

    found = overview_of(seen(PipelineState.RUNNING, at=LATER), ended)

    assert found is not None
    assert found.state is OverallState.STOPPED


def test_what_came_after_the_end_of_a_keeper_is_the_clusters_to_tell() -> None:
    found = overview_of(
        seen(PipelineState.LOST, at=LATER), kept(KeeperState.STOPPED, is_kept=False)
    )

    assert found is not None
    assert found.state is OverallState.LOST


@pytest.mark.parametrize(
    ("cluster", "state"), [(PipelineState.RUNNING, "running"), (PipelineState.LOST, "lost")]
)
def test_a_driver_may_outlive_a_keeper_that_died(cluster: PipelineState, state: str) -> None:
    found = overview_of(seen(cluster), kept(KeeperState.RUNNING, is_kept=False))

    assert found is not None
    assert found.state == OverallState(state)


def test_a_keeper_and_a_driver_that_died_before_a_word_are_lost() -> None:
    found = overview_of(None, kept(KeeperState.STARTING, is_kept=False))

    assert found is not None
    assert (found.state, found.why) == (
        OverallState.LOST,
        "its keeper has died, and its driver is silent",
    )


def test_advice_names_the_machine_of_a_driver_that_is_out_of_sight() -> None:
    found = overview_of(seen(PipelineState.LOST), None)

    assert found is not None
    assert advice(found) == (
        "look for process 4711 on `node-1`; `penstock start` in its project takes over, and goes "
        "on where it was"
    )
