"""Shadow groups on a real broker, as any Kafka tool sees them."""

import logging
from uuid import uuid4

import pytest

from penstock.kafka import (
    Admin,
    Connection,
    GroupState,
    UnknownGroupError,
    committed_offsets,
)
from penstock.monitoring import ShadowGroups, shadow_group
from penstock.names import FlowName, PipelineName, TopicName
from support.groups import joined, produce
from support.pipeline_events import DETECT, batch
from support.waiting import eventually
from support.watched import Shadowed, position

COUNT = FlowName("count")
DAY_SECONDS = 24 * 3600.0


@pytest.fixture
def shadowed(connection: Connection) -> Shadowed:
    return Shadowed(connection)


def test_a_group_without_members_shows_the_lag_of_its_flow(
    shadowed: Shadowed, connection: Connection, topic: TopicName
) -> None:
    produce(connection, topic, {0: 5, 1: 3, 2: 1})
    shadowed.read(topic, 4, 1, 1)

    shadowed.groups.write()

    group = shadowed.described()
    assert group.group == f"penstock.{shadowed.pipeline}.detect"
    assert (group.state, group.members, group.lag) == (GroupState.EMPTY, (), 3)
    assert [item.lag for item in group.partitions] == [1, 2, 0]


def test_of_several_batches_the_last_is_written(shadowed: Shadowed, topic: TopicName) -> None:
    for end in (1, 2, 3):
        shadowed.read(topic, end, 0, 0)

    shadowed.groups.write()

    assert shadowed.committed() == [3, 0, 0]


def test_flows_of_one_pipeline_do_not_disturb_each_other(
    shadowed: Shadowed, topic: TopicName
) -> None:
    shadowed.read(topic, 1, 1, 1)
    shadowed.read(topic, 2, 2, 2, flow=COUNT)
    shadowed.groups.write()

    shadowed.read(topic, 3, 3, 3, flow=COUNT)
    shadowed.groups.write()

    assert (shadowed.committed(), shadowed.committed(COUNT)) == ([1, 1, 1], [3, 3, 3])


def test_what_is_written_is_not_written_again_until_it_would_expire(
    shadowed: Shadowed, topic: TopicName
) -> None:
    shadowed.groups.begin(DETECT, position(topic, 1))
    shadowed.groups.write()
    shadowed.lose()

    shadowed.groups.write()
    with pytest.raises(UnknownGroupError):
        shadowed.described()
    shadowed.now = DAY_SECONDS
    shadowed.groups.write()

    assert shadowed.committed() == [1]


def test_the_last_batch_before_a_stop_is_written(shadowed: Shadowed, topic: TopicName) -> None:
    with shadowed.groups:
        shadowed.read(topic, 7)

    assert shadowed.committed() == [7]


def test_a_started_writer_writes_by_itself(connection: Connection, topic: TopicName) -> None:
    pipeline = PipelineName(f"shop{uuid4().hex}")
    group = shadow_group(pipeline, DETECT)
    groups, admin = ShadowGroups(connection, pipeline, every_seconds=0.05), Admin(connection)

    with groups:
        groups.begin(DETECT, position(topic, 2))
        eventually(lambda: committed_offsets(admin, [group])[group], within_seconds=20)


def test_a_flow_that_reads_no_topic_has_no_group(shadowed: Shadowed) -> None:
    shadowed.groups.note(batch(sources=()))

    shadowed.groups.write()

    with pytest.raises(UnknownGroupError):
        shadowed.described()


def test_a_group_that_somebody_joined_is_told_once_and_others_go_on(
    shadowed: Shadowed,
    connection: Connection,
    topic: TopicName,
    caplog: pytest.LogCaptureFixture,
) -> None:
    shadowed.read(topic, 1)
    shadowed.read(topic, 2, flow=COUNT)
    group = shadow_group(shadowed.pipeline, DETECT)

    with joined(connection, group, topic, "intruder"), caplog.at_level(logging.WARNING):
        shadowed.groups.write()
        shadowed.groups.write()
        assert shadowed.committed(COUNT) == [2]
    shadowed.groups.write()

    complaints = [record.__dict__ for record in caplog.records if "group" in record.__dict__]
    assert [complaint["flow"] for complaint in complaints] == [DETECT]
    assert "`intruder`" in complaints[0]["reason"]
    assert shadowed.committed() == [1]
