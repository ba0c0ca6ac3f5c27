"""What the console says of what it looks at, when a look fails while brokers answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.console.world import Place, World
from penstock.control.detached import Detached
from penstock.kafka import GroupsLogHiddenError
from penstock.monitoring.catalog import SERIES
from penstock.monitoring.catalog.groups import GROUPS
from penstock.monitoring.groups import GroupSampler
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from penstock.kafka import Connection

SOON = 60.0


def place_of(connection: Connection, folder: Path) -> Place:
    return Place(
        connection=connection,
        profile="local",
        detached=Detached(folder / "data"),
        folder=folder / "console",
    )


def test_each_watch_says_what_it_measures(connection: Connection, tmp_path: Path) -> None:
    with World(place_of(connection, tmp_path)) as world:
        eventually(lambda: all(watch.at for watch in world.watches), within_seconds=SOON)
        strange = {
            (watch.name, item.metric)
            for watch in world.watches
            for item in watch.samples
            if SERIES[item.metric] not in watch.metrics
        }
        measured = {watch.name for watch in world.watches if watch.samples}
        unmeasured = world.unmeasured()

    assert measured >= {"groups", "brokers", "topics", "host"}
    assert (strange, unmeasured) == (set(), set())


def test_what_a_sampler_that_fails_would_measure_counts_as_unmeasured(
    connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last samples are dropped soon, and no alert is over because of that."""

    def fail(*_: object) -> None:
        raise GroupsLogHiddenError

    with World(place_of(connection, tmp_path)) as world:
        eventually(lambda: not world.unmeasured(), within_seconds=SOON)
        with monkeypatch.context() as patch:
            patch.setattr(GroupSampler, "_look", fail)
            eventually(world.unmeasured, within_seconds=SOON)
            unmeasured, answers = world.unmeasured(), world.brokers.answers
        eventually(lambda: not world.unmeasured(), within_seconds=SOON)

    assert unmeasured == {metric.name for metric in GROUPS}
    assert answers
