"""A broker that is killed and comes back, seen by what watches flows."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.local.cluster import KafkaCluster
from support.producing import send
from support.waiting import eventually
from support.watched import Shadowed, Watched, written_after


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        yield cluster


@pytest.mark.long
def test_an_outage_costs_nothing_but_figures_while_it_lasts(
    cluster: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is raised; lag is not told; the group is late, which is logged once."""
    (broker,) = cluster.broker_ids
    topic = cluster.create_topic("lines")
    send(cluster.connection, topic, [written_after(0), written_after(60)])
    watched, shadowed = Watched(cluster.connection), Shadowed(cluster.connection)
    watched.read(topic, 0)
    shadowed.read(topic, 0)
    shadowed.groups.write()
    before = [(lag.records, lag.seconds) for lag in watched.look()]

    cluster.kill(broker)
    away = [*watched.look(), *watched.look()]
    with caplog.at_level(logging.WARNING):
        for end in (1, 2):
            shadowed.read(topic, end)
            shadowed.groups.write()
    cluster.start_broker(broker)
    cluster.await_ready()
    watched.read(topic, 1)

    def told() -> bool:
        return [(lag.records, lag.seconds) for lag in watched.look()] == [(1, 540.0)]

    def written() -> bool:
        shadowed.groups.write()
        return shadowed.committed() == [2]

    eventually(told, within_seconds=20)
    eventually(written, within_seconds=20)
    watched.monitor.stop()
    shadowed.groups.stop()
    assert (before, away) == ([(2, 600.0)], [])
    assert len([record for record in caplog.records if "group" in record.__dict__]) == 1
