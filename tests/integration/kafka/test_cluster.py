"""The cluster as a whole on one real broker: description and dynamic configs."""

from collections.abc import Iterator

import pytest

from penstock.kafka import (
    Admin,
    AllBrokers,
    ClusterDefaultsNotVisibleError,
    ConfigAlteration,
    ConfigSource,
    Connection,
    InvalidConfigValueError,
    OneBroker,
    ReadOnlyConfigError,
    UnknownBrokerError,
    UnknownConfigError,
    apply_broker_configs,
    current_configs,
    describe_cluster,
    plan_broker_configs,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import BrokerId, TopicName
from penstock.settings import MASK, ClusterSettings
from support.producing import Sent, send

ONE = OneBroker(BrokerId(1))
KEY = "log.cleaner.backoff.ms"


@pytest.fixture
def clean_config(admin: Admin) -> Iterator[None]:
    """The broker is shared: whatever a test sets for `KEY` is removed again."""
    yield
    for target in (ONE, AllBrokers()):
        apply_broker_configs(admin, target, [ConfigAlteration(name=KEY, value=None)])


def in_force(admin: Admin, name: str) -> tuple[str | None, ConfigSource]:
    entries = current_configs(admin, ONE)
    return next((entry.value, entry.source) for entry in entries if entry.name == name)


def test_one_broker_is_described_with_its_quorum_features_and_disk(
    admin: Admin, topic: TopicName
) -> None:
    send(admin.connection, topic, [Sent(value="x" * 1000) for _ in range(50)])

    cluster = describe_cluster(admin)

    host, _, port = admin.connection.bootstrap.rpartition(":")
    broker = cluster.brokers[0]
    assert [(item.broker_id, item.host, item.port) for item in cluster.brokers] == [
        (1, host, int(port))
    ]
    assert broker.leader_count == broker.replica_count == cluster.partition_count
    assert (cluster.under_replicated_count, cluster.offline_count) == (0, 0)
    assert cluster.controller == 1
    assert cluster.quorum is not None
    assert [(member.node_id, member.lag) for member in cluster.quorum.voters] == [(1, 0)]
    assert cluster.features is not None
    levels = {feature.name: feature.level for feature in cluster.features}
    assert (levels["transaction.version"], levels["metadata.version"] >= 25) == (2, True)
    usage = {item.topic: item.disk_bytes for item in cluster.topics}
    assert 50_000 < usage[topic] < 100_000
    assert broker.disk_bytes == sum(usage.values())


def test_without_a_plain_listener_unknown_is_said_to_be_unknown(kafka: KafkaCluster) -> None:
    """The broker has no other listener, so only what is asked over plain sockets is looked at."""
    settings = ClusterSettings(security_protocol="SSL")
    admin = Admin(Connection(bootstrap=kafka.bootstrap, security=settings))

    with pytest.raises(ClusterDefaultsNotVisibleError):
        current_configs(admin, AllBrokers())


@pytest.mark.usefixtures("clean_config")
def test_a_config_of_a_broker_is_set_and_removed(admin: Admin) -> None:
    before = in_force(admin, KEY)

    apply_broker_configs(admin, ONE, [ConfigAlteration(name=KEY, value="12000")])
    assert in_force(admin, KEY) == ("12000", ConfigSource.BROKER)

    apply_broker_configs(admin, ONE, [ConfigAlteration(name=KEY, value=None)])
    assert in_force(admin, KEY) == before


@pytest.mark.usefixtures("clean_config")
def test_a_config_of_all_brokers_is_weaker_than_that_of_one(admin: Admin) -> None:
    apply_broker_configs(admin, AllBrokers(), [ConfigAlteration(name=KEY, value="13000")])
    assert in_force(admin, KEY) == ("13000", ConfigSource.CLUSTER)

    changes = apply_broker_configs(admin, ONE, [ConfigAlteration(name=KEY, value="14000")])

    assert [(item.old and item.old.value, item.new and item.new.value) for item in changes] == [
        ("13000", "14000")
    ]
    assert [
        (entry.name, entry.value)
        for entry in current_configs(admin, AllBrokers())
        if entry.name == KEY
    ] == [(KEY, "13000")]


def test_wrong_changes_are_refused_before_they_are_tried(admin: Admin) -> None:
    def planned(broker: int, name: str) -> None:
        alteration = ConfigAlteration(name=name, value="1")
        plan_broker_configs(admin, OneBroker(BrokerId(broker)), [alteration])

    with pytest.raises(UnknownBrokerError):
        planned(9, KEY)
    with pytest.raises(ReadOnlyConfigError):
        planned(1, "node.id")
    with pytest.raises(UnknownConfigError) as caught:
        planned(1, "log.cleaner.backof.ms")

    assert caught.value.hint == f"did you mean `{KEY}`?"


@pytest.mark.parametrize("target", [ONE, AllBrokers()], ids=["one", "all"])
def test_a_value_that_the_broker_refuses_changes_nothing(
    admin: Admin, target: OneBroker | AllBrokers
) -> None:
    before = current_configs(admin, target)

    with pytest.raises(InvalidConfigValueError):
        apply_broker_configs(admin, target, [ConfigAlteration(name=KEY, value="soon")])

    assert current_configs(admin, target) == before


def test_secrets_are_masked(admin: Admin) -> None:
    """No broker tells the value of a password; that one is set shows all the same."""
    name = "listener.name.plaintext.ssl.key.password"
    plan_broker_configs(admin, ONE, [ConfigAlteration(name=name, value="hunter2")])
    apply_broker_configs(admin, ONE, [ConfigAlteration(name=name, value="hunter2")])

    shown = [entry.shown for entry in current_configs(admin, ONE) if entry.name == name]

    apply_broker_configs(admin, ONE, [ConfigAlteration(name=name, value=None)])
    assert shown == [MASK]
