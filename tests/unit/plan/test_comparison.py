"""What follows from a declaration and a topic as the cluster has it."""

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import Origin
from penstock.kafka import ConfigEntry, ConfigSource, PartitionDescription, TopicDescription
from penstock.names import BrokerId, Offset, Partition, TopicName
from penstock.plan import (
    AddPartitions,
    AlterTopicConfig,
    ConfigDifference,
    ConfigValue,
    CreateTopic,
    ExternalTopicMissingError,
    FewerPartitionsDeclaredError,
    KeyedTopicGrowsError,
)
from penstock.plan.comparison import compare_absent, compare_existing
from penstock.plan.wanted import WantedTopic

ORIGIN = Origin(Path("pipeline.py"), 7)
ORDERS = WantedTopic(name=TopicName("orders"), origin=ORIGIN)


def existing(*, partitions: int = 3, replication: int = 1, **configs: str) -> TopicDescription:
    brokers = tuple(BrokerId(number) for number in range(replication))
    values = {"cleanup.policy": "delete", "retention.ms": "604800000"} | {
        name.replace("_", "."): value for name, value in configs.items()
    }
    return TopicDescription(
        name=TopicName("orders"),
        topic_id="id",
        internal=False,
        partitions=tuple(
            PartitionDescription(
                partition=Partition(number),
                leader=BrokerId(0),
                replicas=brokers,
                in_sync=brokers,
                first=Offset(0),
                end=Offset(0),
                size_bytes=0,
            )
            for number in range(partitions)
        ),
        configs=tuple(
            ConfigEntry(
                name=name,
                value=value,
                source=ConfigSource.DEFAULT,
                read_only=False,
                sensitive=False,
            )
            for name, value in values.items()
        ),
        disk_bytes=0,
    )


def config(name: str, value: str) -> tuple[ConfigValue, ...]:
    return (ConfigValue(name=name, value=value),)


def test_an_absent_topic_is_created_as_declared() -> None:
    wanted = replace(
        ORDERS, partition_count=4, replication_factor=2, configs=config("retention.ms", "5")
    )

    compared = compare_absent(wanted, known=())

    assert compared.problem is None
    assert compared.stages == (
        CreateTopic(
            topic=ORDERS.name,
            partition_count=4,
            replication_factor=2,
            configs=config("retention.ms", "5"),
        ),
    )


def test_an_absent_external_topic_is_a_problem_at_its_declaration() -> None:
    compared = compare_absent(replace(ORDERS, external=True), known=["order"])

    assert compared.stages == ()
    assert isinstance(compared.problem, ExternalTopicMissingError)
    assert (compared.problem.origin, "`order`" in compared.problem.hint) == (ORIGIN, True)


def test_what_is_not_declared_stays_as_it_is() -> None:
    compared = compare_existing(ORDERS, existing(partitions=7, replication=2, retention_ms="1"))

    assert (compared.stages, compared.warnings, compared.problem) == ((), (), None)


def test_configs_are_altered_before_partitions_are_added() -> None:
    wanted = replace(ORDERS, partition_count=5, configs=config("retention.ms", "60000"))

    compared = compare_existing(wanted, existing())

    assert compared.stages == (
        AlterTopicConfig(
            topic=ORDERS.name,
            differences=(ConfigDifference(name="retention.ms", old="604800000", new="60000"),),
        ),
        AddPartitions(topic=ORDERS.name, old_count=3, new_count=5, keys_may_move=False),
    )


@pytest.mark.parametrize(
    ("found", "declared"),
    [("delete,compact", "compact,delete"), ("true", "True"), ("60000", "60000")],
    ids=["order of a list", "case of a truth value", "the same text"],
)
def test_the_same_value_written_otherwise_is_no_difference(found: str, declared: str) -> None:
    wanted = replace(ORDERS, configs=config("cleanup.policy", declared))

    assert compare_existing(wanted, existing(cleanup_policy=found)).stages == ()


def test_a_config_that_the_topic_does_not_show_is_set() -> None:
    wanted = replace(ORDERS, configs=config("compression.type", "zstd"))

    (stage,) = compare_existing(wanted, existing()).stages

    difference = ConfigDifference(name="compression.type", old=None, new="zstd")
    assert stage == AlterTopicConfig(topic=ORDERS.name, differences=(difference,))


def test_fewer_partitions_are_refused() -> None:
    problem = compare_existing(replace(ORDERS, partition_count=2), existing()).problem

    assert isinstance(problem, FewerPartitionsDeclaredError)
    assert problem.origin == ORIGIN
    assert problem.message == (
        "topic `orders` has 3 partitions and 2 are declared; Kafka cannot remove partitions"
    )


@pytest.mark.parametrize("keyed", [True, False], ids=["declared key", "compacted on the cluster"])
def test_a_keyed_topic_grows_only_when_keys_may_move(*, keyed: bool) -> None:
    found = existing(cleanup_policy="delete" if keyed else "compact")
    wanted = replace(
        ORDERS,
        partition_count=4,
        keyed=keyed,
        configs=config("cleanup.policy", found.cleanup_policy),
    )

    refused = compare_existing(wanted, found)
    allowed = compare_existing(replace(wanted, keys_may_move=True), found)

    assert isinstance(refused.problem, KeyedTopicGrowsError)
    assert "keys would move" in refused.problem.message
    assert refused.stages == ()
    assert allowed.stages == (
        AddPartitions(topic=ORDERS.name, old_count=3, new_count=4, keys_may_move=True),
    )


def test_another_replication_is_a_warning() -> None:
    compared = compare_existing(replace(ORDERS, replication_factor=3), existing())

    assert compared.stages == ()
    assert [warning.message for warning in compared.warnings] == [
        "topic `orders` is declared with replication 3 and has 1, which Penstock does not change"
    ]


def test_compaction_that_nobody_declared_is_a_warning() -> None:
    (warning,) = compare_existing(ORDERS, existing(cleanup_policy="compact")).warnings

    assert warning.message == "topic `orders` is compacted, and its declaration does not say so"
