"""Brokers die while a producer writes: what was acknowledged is there, once and in order."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.kafka import (
    Admin,
    ClusterError,
    ClusterUnreachableError,
    Delivery,
    Producer,
    RetriableDeliveryError,
    await_round_trip,
    describe_cluster,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import BrokerId
from support.topic_contents import values_by_partition
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kafka import DeliveryReport, OnDelivery
    from penstock.names import TopicName

PARTITIONS = 3


@dataclass
class Writer:
    """Writes numbered records without pause, in a thread, until told to stop."""

    bootstrap: str
    topic: TopicName
    acknowledged: list[set[int]] = field(
        default_factory=lambda: [set[int]() for _ in range(PARTITIONS)]
    )
    failed: list[DeliveryReport] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Writer:
        self.thread = threading.Thread(target=self.write)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.thread.join()

    def write(self) -> None:
        with Producer(self.bootstrap, buffer_records=2000) as producer:
            number = 0
            while not self.stopping.wait(0.0005):
                partition = number % PARTITIONS
                producer.send(
                    self.topic, str(number), partition=partition, on_delivery=self.noted(number)
                )
                number += 1

    def noted(self, number: int) -> OnDelivery:
        def note(report: DeliveryReport) -> None:
            if isinstance(report, Delivery):
                self.acknowledged[report.partition].add(number)
            else:
                self.failed.append(report)

        return note

    def await_progress(self) -> None:
        """Return when each partition has taken another 100 records."""
        before = [len(numbers) for numbers in self.acknowledged]
        eventually(
            lambda: all(
                len(now) >= then + 100 for now, then in zip(self.acknowledged, before, strict=True)
            ),
            within_seconds=30,
        )


def assert_nothing_lost_repeated_or_swapped(writer: Writer) -> None:
    found = {
        partition: [int(value or b"") for value in values]
        for partition, values in values_by_partition(writer.bootstrap, writer.topic).items()
    }
    assert writer.failed == []
    assert found == {
        partition: sorted(numbers) for partition, numbers in enumerate(writer.acknowledged)
    }


def leaders(cluster: KafkaCluster, topic: TopicName) -> list[int]:
    with Admin(cluster.connection) as admin:
        partitions = admin.metadata().topics[topic].partitions
        return [partitions[number].leader for number in range(PARTITIONS)]


def in_sync(cluster: KafkaCluster, topic: TopicName) -> list[int]:
    try:
        with Admin(cluster.connection) as admin:
            partitions = admin.metadata().topics[topic].partitions
            return [len(partitions[number].isrs) for number in range(PARTITIONS)]
    except ClusterError:
        return []


def bring_back(cluster: KafkaCluster, topic: TopicName, broker_id: BrokerId) -> None:
    cluster.start_broker(broker_id)
    eventually(lambda: in_sync(cluster, topic) == [3] * PARTITIONS, within_seconds=60)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_leader_and_controller_die_while_a_producer_writes(three_brokers: KafkaCluster) -> None:
    topic = three_brokers.create_topic(f"deaths-{uuid4().hex}", partition_count=PARTITIONS)
    with Writer(three_brokers.bootstrap, topic) as writer:
        writer.await_progress()

        leader = BrokerId(leaders(three_brokers, topic)[0])
        three_brokers.kill(leader)
        writer.await_progress()
        bring_back(three_brokers, topic, leader)

        with Admin(three_brokers.connection) as admin:
            controller = describe_cluster(admin).controller
        assert controller is not None
        three_brokers.kill(controller)
        writer.await_progress()
    bring_back(three_brokers, topic, controller)

    assert_nothing_lost_repeated_or_swapped(writer)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_cluster_whose_controller_hangs_is_not_ready(three_brokers: KafkaCluster) -> None:
    with Admin(three_brokers.connection) as admin:
        controller = describe_cluster(admin).controller
    assert controller is not None
    os.kill(three_brokers.pid(controller), signal.SIGSTOP)
    try:
        with pytest.raises(ClusterUnreachableError):
            await_round_trip(three_brokers.connection, brokers=3, timeout_seconds=1)
    finally:
        os.kill(three_brokers.pid(controller), signal.SIGCONT)
    three_brokers.await_ready()


def test_a_partition_without_a_leader_is_retriable(three_brokers: KafkaCluster) -> None:
    topic = three_brokers.create_topic(
        f"alone-{uuid4().hex}", partition_count=PARTITIONS, replication_factor=1
    )
    owner = BrokerId(leaders(three_brokers, topic)[0])
    with Producer(three_brokers.bootstrap) as producer:
        assert producer.send_and_wait(topic, "before", partition=0).offset == 0
    with Producer(three_brokers.bootstrap, delivery_timeout_seconds=2) as producer:
        three_brokers.kill(owner)
        with pytest.raises(RetriableDeliveryError, match="did not acknowledge it within 2 s"):
            producer.send_and_wait(topic, "meanwhile", partition=0)

    three_brokers.start_broker(owner)
    with Producer(three_brokers.bootstrap) as producer:
        assert producer.send_and_wait(topic, "after", partition=0).partition == 0


@pytest.mark.long
def test_acknowledged_records_survive_the_death_of_the_only_broker(tmp_path: Path) -> None:
    with KafkaCluster.start(brokers=1, data_dir=tmp_path) as cluster:
        topic = cluster.create_topic(f"only-{uuid4().hex}", partition_count=PARTITIONS)
        (broker_id,) = cluster.broker_ids
        with Writer(cluster.bootstrap, topic) as writer:
            writer.await_progress()
            cluster.kill(broker_id)
            cluster.start_broker(broker_id)
            writer.await_progress()

        assert_nothing_lost_repeated_or_swapped(writer)
