from pathlib import Path

import pytest

from penstock.local.broker import (
    BrokerShape,
    ClusterShape,
    Folders,
    build_log_config,
    build_properties,
    new_cluster_id,
    new_shape,
)
from penstock.names import BrokerId


def shape_of(brokers: int) -> ClusterShape:
    return new_shape(brokers=brokers, heap_mb=192, ports=range(9092, 9092 + 3 * brokers))


def properties_of(brokers: int) -> dict[str, str]:
    shape = shape_of(brokers)
    text = build_properties(shape, shape.brokers[0], Folders(root=Path("/data")))
    return dict(line.split("=", 1) for line in text.splitlines())


def test_brokers_come_first_and_controllers_after_them() -> None:
    assert shape_of(3).brokers == (
        BrokerShape(broker_id=BrokerId(1), port=9092, controller_port=9095, metrics_port=9098),
        BrokerShape(broker_id=BrokerId(2), port=9093, controller_port=9096, metrics_port=9099),
        BrokerShape(broker_id=BrokerId(3), port=9094, controller_port=9097, metrics_port=9100),
    )


@pytest.mark.parametrize(("brokers", "copies", "in_sync"), [(1, "1", "1"), (3, "3", "2")])
def test_every_topic_has_as_many_copies_as_there_are_brokers(
    brokers: int, copies: str, in_sync: str
) -> None:
    properties = properties_of(brokers)
    factors = {name for name in properties if name.endswith("replication.factor")}
    minimums = {name for name in properties if name.endswith((".min.isr", "insync.replicas"))}

    assert {properties[name] for name in factors} == {copies}
    assert {properties[name] for name in minimums} == {in_sync}
    assert len(factors) == 4
    assert len(minimums) == 3


@pytest.mark.parametrize(("brokers", "hands_over"), [(1, "false"), (3, "true")])
def test_a_lone_broker_does_not_try_to_hand_its_partitions_over(
    brokers: int, hands_over: str
) -> None:
    """While it tried, a transaction was taken for committed whose marker was never written."""
    assert properties_of(brokers)["controlled.shutdown.enable"] == hands_over


def test_brokers_listen_on_loopback_only_and_create_no_topics_by_themselves() -> None:
    properties = properties_of(1)

    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert properties["auto.create.topics.enable"] == "false"


def test_all_brokers_vote() -> None:
    assert properties_of(3)["controller.quorum.voters"] == (
        "1@127.0.0.1:9095,2@127.0.0.1:9096,3@127.0.0.1:9097"
    )


def test_logs_are_rotated() -> None:
    config = build_log_config(shape_of(1).brokers[0], Folders(root=Path("/data")))

    assert "appender.file.fileName=/data/logs/broker-1.log\n" in config
    assert "appender.file.policies.size.size=10MB\n" in config
    assert "appender.file.strategy.max=5\n" in config


def test_cluster_ids_never_look_like_an_option() -> None:
    ids = {new_cluster_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert {len(text) for text in ids} == {22}
    assert not any(text.startswith("-") for text in ids)
