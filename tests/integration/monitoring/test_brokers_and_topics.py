"""Brokers and topics of a real cluster, with all brokers and with one less."""

from collections.abc import Iterator, Mapping
from uuid import uuid4

import pytest

from penstock.kafka import Connection, Producer
from penstock.local.cluster import KafkaCluster
from penstock.monitoring.broker_measures import PARTS, QUANTILES
from penstock.monitoring.brokers import BrokerSampler, BrokersSnapshot
from penstock.monitoring.catalog import Labels, MetricName, Sample
from penstock.monitoring.catalog.topics import TOPIC_HOT
from penstock.monitoring.exposition import exposition
from penstock.monitoring.findings import FindingKind, findings
from penstock.monitoring.topics import TopicFigures, TopicSampler
from penstock.names import TopicName
from support.waiting import eventually

Values = Mapping[tuple[MetricName, Labels], float]


@pytest.fixture
def brokers(three_brokers: KafkaCluster) -> Iterator[BrokerSampler]:
    """Looks at the three brokers and their exporters, as often as somebody waits for it."""
    sampler = BrokerSampler(
        three_brokers.connection,
        lambda: three_brokers.metrics_addresses,
        is_followed=lambda: True,
    )
    yield sampler
    sampler.close()


@pytest.fixture
def topics(three_brokers: KafkaCluster) -> Iterator[TopicSampler]:
    """Looks at their topics."""
    sampler = TopicSampler(three_brokers.connection)
    yield sampler
    sampler.close()


def looked(sampler: BrokerSampler) -> BrokersSnapshot:
    list(sampler.sample())
    snapshot = sampler.snapshot()
    assert snapshot is not None
    return snapshot


def by_series(samples: list[Sample]) -> Values:
    return {(item.metric, item.labels): item.value for item in samples}


def cluster_value(samples: list[Sample], name: str) -> float:
    return by_series(samples)[MetricName(name), ()]


def measured_by_all(brokers: BrokerSampler) -> BrokersSnapshot:
    """Look until each exporter has answered: one that nobody has asked yet takes its time."""
    snapshots: list[BrokersSnapshot] = []

    def is_complete() -> bool:
        snapshots.append(looked(brokers))
        return all(broker.measured for broker in snapshots[-1].brokers)

    eventually(is_complete, within_seconds=60)
    return snapshots[-1]


@pytest.mark.long
@pytest.mark.timeout(240)
def test_brokers_measure_traffic_and_requests_and_the_loss_of_one_of_them(
    three_brokers: KafkaCluster, brokers: BrokerSampler, topics: TopicSampler
) -> None:
    name = three_brokers.create_topic("measured", partition_count=6)
    first = measured_by_all(brokers)
    list(topics.sample())
    assert first.controllers == 1
    assert not any(broker.fault for broker in first.brokers)

    with Producer(three_brokers.connection) as producer:
        for number in range(600):
            producer.send(name, b"x" * 100, partition=number % 6)

    def measured() -> list[float]:
        found = [broker.measured for broker in looked(brokers).brokers]
        return [item.records_in or 0 for item in found if item]

    eventually(lambda: sum(measured()) >= 600, within_seconds=30)
    snapshot = measured_by_all(brokers)
    assert sum(broker.leader_count for broker in snapshot.brokers) == (
        snapshot.cluster.partition_count
    )
    times = [broker.measured.request_times for broker in snapshot.brokers if broker.measured]
    produce = [item for broker in times for item in broker if item.request == "Produce"]
    assert [set(item.seconds) for item in produce] == [set(PARTS)] * 3
    assert {quantile for item in produce for quantile in item.seconds["total"]} == set(QUANTILES)
    assert sum(item.count for item in produce) > 0

    eventually(
        lambda: list(topics.sample()) and topics.snapshot().by_name[name].end_total == 600,
        within_seconds=30,
    )
    figures = topics.snapshot().by_name[name]
    assert (len(figures.partitions), figures.replication_factor, figures.span) == (6, 3, 600)
    assert figures.records_per_second is not None
    assert figures.settings is not None
    assert (figures.settings.cleanup_policy, figures.settings.min_in_sync) == ("delete", 2)
    assert findings(snapshot, topics.snapshot().by_name.values()) == ()

    gone = three_brokers.broker_ids[-1]
    held = next(item.replica_count for item in snapshot.brokers if item.broker_id == gone)
    three_brokers.kill(gone)

    def is_noticed() -> bool:
        list(topics.sample())
        samples = list(brokers.sample())
        values = by_series(samples)
        told = sum(
            value
            for (metric, _), value in values.items()
            if metric == "penstock_broker_under_replicated_partitions"
        )
        away = cluster_value(samples, "penstock_cluster_brokers_away")
        missing = cluster_value(samples, "penstock_cluster_under_replicated_partitions")
        by_topic = sum(topic.under_replicated for topic in topics.snapshot().by_name.values())
        return (away, missing, told, by_topic) == (1, held, held, held)

    eventually(is_noticed, within_seconds=60)
    found = findings(brokers.snapshot(), topics.snapshot().by_name.values())
    assert [item.broker for item in found if item.kind is FindingKind.BROKER_AWAY] == [gone]
    assert TopicName("measured") in {
        item.topic for item in found if item.kind is FindingKind.UNDER_REPLICATED
    }
    assert "penstock_cluster_brokers_away 1.0" in exposition(brokers.sample())


def test_a_partition_that_gets_nearly_all_records_is_hot(
    kafka: KafkaCluster, connection: Connection
) -> None:
    topic, now = kafka.create_topic(f"test-{uuid4().hex}", partition_count=2), 0.0
    sampler = TopicSampler(connection, clock=lambda: now)

    def figures() -> TopicFigures | None:
        nonlocal now
        now += 60
        sampler.hasten()
        list(sampler.sample())
        return sampler.snapshot().by_name.get(topic)

    eventually(lambda: (found := figures()) and found.end_total == 0, within_seconds=30)
    with Producer(connection) as producer:
        for number in range(1200):
            producer.send(topic, b"x", partition=0 if number % 20 == 0 else 1)
    found = figures()
    samples = by_series(list(sampler.sample()))
    sampler.close()

    assert found is not None
    assert [item.records_per_second for item in found.partitions] == [1, 19]
    assert found.hot == (1,)
    assert samples[TOPIC_HOT.name, (("topic", topic),)] == 1
    assert [item.kind for item in findings(None, [found])] == [FindingKind.HOT_PARTITION]
