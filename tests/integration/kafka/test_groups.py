"""Consumer groups on a real broker: lists, descriptions and lag."""

from collections.abc import Iterator

import pytest
from confluent_kafka import ShareConsumer
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka import (
    Admin,
    Connection,
    GroupActiveError,
    GroupListing,
    GroupNotVisibleError,
    GroupState,
    GroupType,
    TopicPartition,
    UnknownGroupError,
    delete_groups,
    describe_group,
    describe_groups,
    list_groups,
)
from penstock.kafka.groups.lag import PartitionLag
from penstock.local.cluster import KafkaCluster
from penstock.names import GroupId, Offset, Partition, TopicName
from support.groups import commit, delete_records_before, joined, new_group, produce
from support.waiting import eventually


@pytest.fixture
def admin(connection: Connection) -> Iterator[Admin]:
    with Admin(connection) as admin:
        yield admin


@pytest.fixture
def group() -> GroupId:
    return new_group()


def lag(
    topic: TopicName, partition: int, committed: int | None, *, first: int = 0, end: int
) -> PartitionLag:
    return PartitionLag(
        partition=TopicPartition(topic, Partition(partition)),
        committed=None if committed is None else Offset(committed),
        first=Offset(first),
        end=Offset(end),
        stable=Offset(end),
    )


def listed(admin: Admin, *groups: GroupId) -> list[GroupListing]:
    return list(list_groups(admin, wanted=lambda name: name in groups))


def test_lag_per_partition_and_in_total(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    produce(connection, topic, {0: 10, 1: 5, 2: 3})
    commit(connection, group, topic, {0: 4, 1: 5})

    found = describe_group(admin, group)

    assert (found.type, found.state, found.members) == (GroupType.CLASSIC, GroupState.EMPTY, ())
    assert found.partitions == (
        lag(topic, 0, 4, end=10),
        lag(topic, 1, 5, end=5),
        lag(topic, 2, None, end=3),
    )
    assert [item.lag for item in found.partitions] == [6, 0, None]
    assert found.lag == 6
    assert listed(admin, group) == [
        GroupListing(
            group=group, type=GroupType.CLASSIC, state=GroupState.EMPTY, member_count=0, lag=6
        )
    ]


def test_members_and_what_each_is_assigned(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    with joined(connection, group, topic, "first", "second"):
        found = describe_group(admin, group)

    assert (found.state, found.assignor, found.lag) == (GroupState.STABLE, "range", None)
    assert sorted((item.client_id, item.host) for item in found.members) == [
        ("first", "127.0.0.1"),
        ("second", "127.0.0.1"),
    ]
    assert sorted(len(item.partitions) for item in found.members) == [1, 2]
    owners = {item.partition: found.owner_of(item.partition) for item in found.partitions}
    assert {
        partition for member in found.members for partition in member.partitions
    } == owners.keys()
    assert {member.client_id for member in owners.values() if member} == {"first", "second"}


@pytest.mark.parametrize("kind", [GroupType.CLASSIC, GroupType.CONSUMER])
def test_groups_of_both_protocols_are_listed_with_their_type(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId, kind: GroupType
) -> None:
    produce(connection, topic, {0: 2, 1: 2, 2: 2})
    with joined(connection, group, topic, "one", protocol=kind) as [consumer]:
        consumer.commit(
            offsets=[ClientPartition(topic, number, 1) for number in range(3)], asynchronous=False
        )
        # The consumer protocol reports the assignment as done one heartbeat later.
        eventually(lambda: listed(admin, group)[0].state is GroupState.STABLE, within_seconds=20)
        [active] = listed(admin, group)
        [member] = describe_group(admin, group).members
    [left] = listed(admin, group)

    assert active == GroupListing(
        group=group, type=kind, state=GroupState.STABLE, member_count=1, lag=3
    )
    assert left == GroupListing(
        group=group, type=kind, state=GroupState.EMPTY, member_count=0, lag=3
    )
    assert member.partitions == tuple(
        TopicPartition(topic, Partition(number)) for number in range(3)
    )


def test_groups_can_be_chosen_by_state_and_type(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    idle = new_group()
    commit(connection, idle, topic, {0: 0})
    mine = {group, idle}
    with joined(connection, group, topic, "one", protocol="consumer"):
        eventually(lambda: listed(admin, group)[0].state is GroupState.STABLE, within_seconds=20)
        empty = list_groups(admin, wanted=mine.__contains__, states=[GroupState.EMPTY])
        consumer = list_groups(admin, wanted=mine.__contains__, types=[GroupType.CONSUMER])
    assert [item.group for item in empty] == [idle]
    assert [item.group for item in consumer] == [group]


def test_a_share_group_is_listed_by_its_name_and_not_described(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    consumer = ShareConsumer(connection.client_config() | {"group.id": group, "log_level": 0})
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.1) is not None and listed(admin, group), within_seconds=30)
    found = listed(admin, group)
    with pytest.raises(GroupNotVisibleError) as caught:
        describe_group(admin, group)
    consumer.close()

    assert found == [
        GroupListing(
            group=group,
            type=GroupType.OTHER,
            state=GroupState.UNKNOWN,
            member_count=None,
            lag=None,
        )
    ]
    assert caught.value.group == group


def test_lag_that_retention_has_deleted_is_told(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    produce(connection, topic, {0: 10})
    commit(connection, group, topic, {0: 2})
    delete_records_before(connection, topic, 6)

    [item, *_] = describe_group(admin, group).partitions

    assert item == lag(topic, 0, 2, first=6, end=10)
    assert (item.lag, item.expired) == (8, 4)


def test_a_commit_beyond_the_end_counts_as_no_lag(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    produce(connection, topic, {0: 10})
    commit(connection, group, topic, {0: 50})
    [item, *_] = describe_group(admin, group).partitions
    assert (item.lag, item.beyond_end) == (0, True)


def test_the_lag_of_many_groups_is_right_for_each(
    admin: Admin, connection: Connection, topic: TopicName
) -> None:
    produce(connection, topic, {0: 30})
    groups = [new_group() for _ in range(30)]
    for index, group in enumerate(groups):
        commit(connection, group, topic, {0: index})
    found = {item.group: item.lag for item in listed(admin, *groups)}
    assert found == {group: 30 - index for index, group in enumerate(groups)}


def test_an_unknown_group_suggests_the_nearest(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    commit(connection, group, topic, {0: 0})
    with pytest.raises(UnknownGroupError) as caught:
        describe_groups(admin, [group, GroupId(f"{group}x")])
    assert caught.value.hint == f"did you mean `{group}`?"


def test_a_deleted_group_is_gone(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    commit(connection, group, topic, {0: 0})
    delete_groups(admin, [group])
    assert listed(admin, group) == []


def test_when_one_group_is_in_use_none_is_deleted(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    idle = new_group()
    commit(connection, idle, topic, {0: 0})
    with joined(connection, group, topic, "busy"):
        with pytest.raises(GroupActiveError) as caught:
            delete_groups(admin, [idle, group])
        found = [item.group for item in listed(admin, idle, group)]
    assert caught.value.message == (
        f"cannot delete group `{group}` while it has 1 member: `busy` on 127.0.0.1"
    )
    assert found == sorted([idle, group])


def test_a_group_on_a_topic_that_is_deleted_can_still_be_described(
    admin: Admin, kafka: KafkaCluster, connection: Connection, topic: TopicName, group: GroupId
) -> None:
    """The broker drops the commits with the topic, a moment later or never; both can be seen."""
    other = kafka.create_topic(f"{topic}-kept", partition_count=1)
    commit(connection, group, topic, {0: 0})
    commit(connection, group, other, {0: 0})
    admin.client.delete_topics([topic])[topic].result()
    eventually(lambda: topic not in admin.metadata().topics, within_seconds=10)

    found = describe_group(admin, group).partitions

    kept = [item for item in found if item.partition.topic == other]
    gone = {item.end for item in found if item.partition.topic == topic}
    assert kept == [lag(other, 0, 0, end=0)]
    assert gone <= {None}
