"""A broker that goes away and comes back, as a run hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control.kafka_watch import KafkaWatch
from penstock.engine.events import KafkaAway, KafkaBack
from penstock.local.cluster import KafkaCluster
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.engine.events import PipelineEvent


@pytest.mark.long
def test_an_outage_is_told_once_and_its_end_too(tmp_path: Path) -> None:
    heard: list[PipelineEvent] = []
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        broker = cluster.broker_ids[0]
        with KafkaWatch(cluster.connection, heard.append) as watch:
            there = watch.is_away()
            cluster.kill(broker)
            eventually(lambda: heard, within_seconds=20)
            away = watch.is_away()
            cluster.start_broker(broker)
            eventually(lambda: len(heard) == 2, within_seconds=60)

    assert (there, away) == (False, True)
    assert [type(event) for event in heard] == [KafkaAway, KafkaBack]


def test_whoever_asks_during_an_outage_knows_at_once(tmp_path: Path) -> None:
    heard: list[PipelineEvent] = []
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        watch = KafkaWatch(cluster.connection, heard.append)
        cluster.kill(cluster.broker_ids[0])

        assert watch.is_away()

    assert [type(event) for event in heard] == [KafkaAway]
