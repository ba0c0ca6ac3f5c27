"""What figures show to be wrong."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from penstock.kafka import LogDirectory, Quorum, QuorumMember
from penstock.monitoring.balance import leader_imbalance, traffic_imbalance
from penstock.monitoring.broker_measures import BrokerMeasures
from penstock.monitoring.broker_samples import samples_of
from penstock.monitoring.brokers import BrokerFigures, BrokersSnapshot, snapshot_of
from penstock.monitoring.catalog.brokers import (
    BROKER_CONTROLLER,
    CLUSTER_BROKERS,
    CLUSTER_CONTROLLERS,
)
from penstock.monitoring.findings import Finding, FindingKind, findings
from penstock.monitoring.topics import PartitionFigures, TopicFigures, hot_partitions
from penstock.names import BrokerId, Offset, Partition, TopicName
from support.measured import MEASURED, described_cluster


def partition(
    number: int, *, rate: float | None = 0.0, leader: int | None = 1, in_sync: int = 3
) -> PartitionFigures:
    brokers = tuple(BrokerId(id_) for id_ in (1, 2, 3))
    return PartitionFigures(
        partition=Partition(number),
        leader=None if leader is None else BrokerId(leader),
        replicas=brokers,
        in_sync=brokers[:in_sync],
        first=Offset(0),
        end=Offset(10),
        records_per_second=rate,
        size_bytes=100,
    )


def topic(name: str, *partitions: PartitionFigures) -> TopicFigures:
    return TopicFigures(
        name=TopicName(name),
        is_internal=False,
        partitions=partitions,
        hot=hot_partitions(partitions),
        disk_bytes=None,
        settings=None,
    )


def directory(*, used: float, failed: bool = False) -> LogDirectory:
    usable = round((1 - used) * 1000)
    return LogDirectory(
        path="/data", total_bytes=1000, usable_bytes=usable, replicas=(), failed=failed
    )


def broker(number: int, *, leaders: int = 20) -> BrokerFigures:
    return BrokerFigures(
        broker_id=BrokerId(number),
        host="kafka",
        port=9092,
        rack=None,
        is_reachable=True,
        is_controller=number == 1,
        leader_count=leaders,
        replica_count=60,
        directories=(directory(used=0.5),),
        measured=replace(MEASURED, active_controller=number == 1),
    )


def snapshot(*brokers: BrokerFigures) -> BrokersSnapshot:
    return BrokersSnapshot(at=datetime.now(UTC), cluster=described_cluster(), brokers=brokers)


def only(found: tuple[Finding, ...]) -> Finding:
    (finding,) = found
    return finding


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    healthy = snapshot(broker(1), broker(2), broker(3))

    assert findings(healthy, [topic("orders", partition(0), partition(1))]) == ()
    assert findings(None, []) == ()


def test_a_partition_with_ten_times_the_median_of_the_others_is_hot() -> None:
    rates = [10.0, 12.0, 11.0, 10.0, 104.0]
    partitions = [partition(number, rate=rate) for number, rate in enumerate(rates)]

    assert hot_partitions(partitions) == ()
    assert hot_partitions([*partitions, partition(5, rate=121.0)]) == (Partition(5),)
    assert hot_partitions([partition(0, rate=8.0), partition(1, rate=80.0)]) == (Partition(1),)
    assert hot_partitions([partition(0, rate=8.0), partition(1, rate=79.0)]) == ()


@pytest.mark.parametrize(
    "rates",
    [[500.0], [0.0, 0.0, 9.0], [None, None, 100.0]],
    ids=["alone", "next to nothing", "others unknown"],
)
def test_few_records_or_few_partitions_make_none_hot(rates: list[float | None]) -> None:
    assert hot_partitions(partition(n, rate=rate) for n, rate in enumerate(rates)) == ()


def test_a_hot_partition_is_named_with_its_topic() -> None:
    hot = topic("orders", *(partition(n, rate=rate) for n, rate in enumerate([0.0, 0.0, 70.0])))

    found = only(findings(None, [hot]))

    assert (found.kind, found.topic, found.partition) == (FindingKind.HOT_PARTITION, "orders", 2)
    assert found.what.startswith("partition 2 of `orders` gets 70 records per second")


def test_the_worst_comes_first() -> None:
    ill = topic("orders", partition(0, leader=None, in_sync=0), partition(1, in_sync=2))
    gone = replace(broker(3), is_reachable=False, measured=None, leader_count=0, directories=None)

    found = findings(snapshot(broker(1), broker(2), gone), [ill])

    assert [(item.kind, item.is_critical) for item in found] == [
        (FindingKind.OFFLINE, True),
        (FindingKind.BROKER_AWAY, True),
        (FindingKind.UNDER_REPLICATED, False),
    ]
    assert found[2].what == (
        "2 partitions of `orders` have fewer replicas in sync than they should"
    )


@pytest.mark.parametrize(("controllers", "is_wrong"), [(0, True), (1, False), (2, True)])
def test_there_is_one_active_controller(controllers: int, *, is_wrong: bool) -> None:
    brokers = [
        replace(broker(n), measured=replace(MEASURED, active_controller=n <= controllers))
        for n in (1, 2, 3)
    ]

    found = findings(snapshot(*brokers), [])

    assert [item.kind for item in found] == [FindingKind.CONTROLLERS] * is_wrong


def test_no_active_controller_is_no_finding_while_one_broker_is_silent() -> None:
    silent = replace(broker(1), measured=None, fault="no metrics")
    partly = snapshot(silent, broker(2), broker(3))

    found = only(findings(partly, []))

    assert found.kind is FindingKind.EXPORTER
    assert partly.controllers is None
    told = {item.metric for item in samples_of(partly)}
    assert CLUSTER_BROKERS.name in told
    assert CLUSTER_CONTROLLERS.name not in told


def test_controllers_that_are_no_brokers_are_heard() -> None:
    cluster = described_cluster(1, 2)
    brokers_only = replace(MEASURED, active_controller=None)
    active, other = replace(MEASURED, active_controller=True), MEASURED
    shown = {BrokerId(1): brokers_only, BrokerId(2): brokers_only, BrokerId(100): other}

    def looked(
        measured: Mapping[BrokerId, BrokerMeasures], faults: Mapping[BrokerId, str] | None = None
    ) -> BrokersSnapshot:
        return snapshot_of(cluster, measured, faults or {}, at=datetime.now(UTC))

    led = looked(shown | {BrokerId(101): active})
    torn = looked({**shown, BrokerId(100): active, BrokerId(101): active})
    silent = looked(shown, {BrokerId(101): "no metrics"})

    assert [found.controllers for found in (led, looked(shown), torn, silent)] == [1, 0, 2, None]
    assert [item.kind for item in findings(torn, [])] == [FindingKind.CONTROLLERS]
    assert only(findings(silent, [])).what == "controller 101: no metrics"
    assert [broker.broker_id for broker in led.brokers] == [1, 2]
    told = {dict(item.labels).get("broker"): item.value for item in samples_of(led)
            if item.metric == BROKER_CONTROLLER.name}  # fmt: skip
    assert told == {"100": 0, "101": 1}


def test_no_active_controller_is_no_finding_while_a_voter_has_no_exporter() -> None:
    voters = tuple(
        QuorumMember(node_id=BrokerId(id_), log_end=Offset(9), lag=0, last_caught_up=None)
        for id_ in (100, 101)
    )
    quorum = Quorum(
        leader=BrokerId(101),
        leader_epoch=1,
        high_watermark=Offset(9),
        voters=voters,
        observers=(),
    )
    cluster = replace(described_cluster(), quorum=quorum)

    partly = snapshot_of(cluster, {BrokerId(100): MEASURED}, {}, at=datetime.now(UTC))
    told = {BrokerId(100): MEASURED, BrokerId(101): MEASURED}

    assert partly.controllers is None
    assert snapshot_of(cluster, told, {}, at=datetime.now(UTC)).controllers == 0


def test_disks_that_fill_up_and_fail_are_found() -> None:
    def with_disk(number: int, *, used: float, failed: bool = False) -> BrokerFigures:
        return replace(broker(number), directories=(directory(used=used, failed=failed),))

    found = findings(
        snapshot(with_disk(1, used=0.84), with_disk(2, used=0.9), with_disk(3, used=0.99)), []
    )
    failed = only(findings(snapshot(with_disk(1, used=0.1, failed=True)), []))

    assert [(item.broker, item.is_critical) for item in found] == [(2, False), (3, True)]
    assert failed.kind is FindingKind.DIRECTORY_FAILED


def test_partitions_that_refuse_records_are_found() -> None:
    poor = replace(broker(1), measured=replace(MEASURED, active_controller=True, under_min_isr=4))

    assert only(findings(snapshot(poor), [])).what == (
        "4 partitions that broker 1 leads refuse records with `acks=all`"
    )


def test_imbalance_compares_with_an_even_share() -> None:
    uneven = [broker(1, leaders=60), broker(2, leaders=15), broker(3, leaders=15)]

    assert leader_imbalance(uneven) == 2.0
    assert only(findings(snapshot(*uneven), [])).kind is FindingKind.LEADERS


@pytest.mark.parametrize("leaders", [(3, 0, 0), (0, 0, 0)])
def test_few_leaders_are_never_out_of_balance(leaders: tuple[int, ...]) -> None:
    assert leader_imbalance([broker(n, leaders=many) for n, many in enumerate(leaders)]) == 1.0


def test_traffic_counts_what_comes_in_and_goes_out() -> None:
    def with_traffic(number: int, bytes_in: float, bytes_out: float | None) -> BrokerFigures:
        measured = replace(
            MEASURED,
            active_controller=number == 1,
            bytes_in_per_second=bytes_in,
            bytes_out_per_second=bytes_out,
        )
        return replace(broker(number), measured=measured)

    busy = [with_traffic(1, 8e5, 1e5), with_traffic(2, 1e5, None), with_traffic(3, 1e5, 1e5)]
    calm = [with_traffic(1, 900, 0), with_traffic(2, 0, 0)]

    assert traffic_imbalance(busy) == pytest.approx(2.25)
    assert traffic_imbalance(calm) == 1.0
    assert only(findings(snapshot(*busy), [])).kind is FindingKind.TRAFFIC
