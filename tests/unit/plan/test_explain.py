"""One line for each stage."""

import pytest

from penstock.names import TopicName
from penstock.plan import (
    AddPartitions,
    AlterTopicConfig,
    ConfigDifference,
    ConfigValue,
    CreateTopic,
    Stage,
    describe,
)

ORDERS = TopicName("orders")


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        (
            CreateTopic(
                topic=ORDERS,
                partition_count=1,
                replication_factor=3,
                configs=(ConfigValue(name="retention.ms", value="60000"),),
            ),
            "create topic `orders` with 1 partition, replication 3, retention.ms=60000",
        ),
        (
            CreateTopic(topic=ORDERS, partition_count=None, replication_factor=None),
            "create topic `orders` with the cluster's default of partitions",
        ),
        (
            AddPartitions(topic=ORDERS, old_count=2, new_count=4, keys_may_move=False),
            "add partitions to topic `orders`: 2 → 4",
        ),
        (
            AddPartitions(topic=ORDERS, old_count=2, new_count=4, keys_may_move=True),
            "add partitions to topic `orders`: 2 → 4, keys may move",
        ),
        (
            AlterTopicConfig(
                topic=ORDERS,
                differences=(
                    ConfigDifference(name="retention.ms", old="60000", new="5000"),
                    ConfigDifference(name="compression.type", old=None, new="zstd"),
                ),
            ),
            "alter topic `orders`: retention.ms 60000 → 5000, compression.type unset → zstd",
        ),
    ],
    ids=["create", "create by default", "grow", "grow and move keys", "alter"],
)
def test_a_stage_is_one_line(stage: Stage, line: str) -> None:
    assert describe(stage) == line
