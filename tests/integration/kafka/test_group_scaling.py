"""How the members of a group share partitions: the numbers of the texts, on a real broker."""

from collections.abc import Iterator
from contextlib import ExitStack
from uuid import uuid4

import pytest

from penstock.kafka import (
    Admin,
    Assignor,
    Connection,
    Consumer,
    GroupProtocol,
    GroupState,
    Manual,
    Record,
    Start,
    TopicPartition,
    describe_group,
)
from penstock.local.cluster import KafkaCluster
from penstock.names import GroupId, Partition, TopicName
from support.numbers import numbers_of, write_partitions
from support.waiting import eventually


class Group:
    """Members of one group, polled in turn by the test."""

    def __init__(
        self,
        connection: Connection,
        topics: list[TopicName],
        *,
        assignor: Assignor | None = None,
        protocol: GroupProtocol = GroupProtocol.CLASSIC,
    ) -> None:
        self.name = GroupId(f"group-{uuid4().hex}")
        self.received: list[Record] = []
        self._connection, self._topics = connection, topics
        self._assignor, self._protocol = assignor, protocol
        self._members: list[Consumer] = []
        self._stack = ExitStack()
        self._admin = self._stack.enter_context(Admin(connection))

    def grow_to(self, count: int) -> list[int]:
        """Let members join until there are `count`; return how many partitions each has."""
        while len(self._members) < count:
            member = Consumer(
                self._connection,
                self._topics,
                group=self.name,
                start=Start.EARLIEST,
                # Members leave one after another, and nobody polls the rest meanwhile: a commit at
                # the end could find that the group has moved on.
                commit=Manual(),
                assignor=self._assignor,
                protocol=self._protocol,
                session_timeout_seconds=6,
            )
            self._members.append(self._stack.enter_context(member))
        eventually(self._is_settled, within_seconds=30)
        return sorted(len(member.assignment()) for member in self._members)

    def receive(self, count: int) -> list[int]:
        """Return the numbers that all members together have got, once there are `count`."""
        eventually(lambda: self._poll() >= count, within_seconds=20)
        return sorted(numbers_of(self.received))

    def shares(self) -> list[tuple[TopicPartition, ...]]:
        """Return what each member has, the largest share first."""
        found = [member.assignment() for member in self._members]
        return sorted(found, key=lambda share: (-len(share), share))

    def close(self) -> None:
        """Let all members leave."""
        self._stack.close()

    def _poll(self) -> int:
        for member in self._members:
            self.received.extend(member.poll_many(100, 0.02))
        return len(self.received)

    def _is_settled(self) -> bool:
        self._poll()
        shares = [member.assignment() for member in self._members]
        shared = sorted(partition for share in shares for partition in share)
        if not shared:
            return False  # before the first member has joined, there is no group to describe
        group = describe_group(self._admin, self.name)
        assigned = sorted(partition for item in group.members for partition in item.partitions)
        complete = group.state is GroupState.STABLE and len(group.members) == len(self._members)
        return complete and shared == assigned


@pytest.fixture
def four_partitions(kafka: KafkaCluster) -> TopicName:
    return kafka.create_topic(f"t1-{uuid4().hex}", partition_count=4)


@pytest.fixture
def groups() -> Iterator[list[Group]]:
    """Groups to be closed in the end."""
    opened: list[Group] = []
    yield opened
    for group in opened:
        group.close()


def test_four_partitions_are_shared_by_1_2_4_members_and_a_fifth_is_idle(
    connection: Connection, four_partitions: TopicName, groups: list[Group]
) -> None:
    """Guide 3.11: one reads all four, two read two each, four one each, and the fifth none."""
    first = Group(connection, [four_partitions])
    groups.append(first)

    counts = {members: first.grow_to(members) for members in (1, 2, 4, 5)}

    assert counts == {1: [4], 2: [2, 2], 4: [1, 1, 1, 1], 5: [0, 1, 1, 1, 1]}


def test_the_broker_shares_partitions_in_the_same_way(
    connection: Connection, four_partitions: TopicName, groups: list[Group]
) -> None:
    """The protocol of Kafka 4, in which members hear of a change every five seconds only."""
    group = Group(connection, [four_partitions], protocol=GroupProtocol.CONSUMER)
    groups.append(group)

    assert group.grow_to(2) == [2, 2]


def test_within_a_group_each_record_goes_to_one_member_and_a_second_group_gets_everything(
    connection: Connection, four_partitions: TopicName, groups: list[Group]
) -> None:
    first, second = (Group(connection, [four_partitions]) for _ in range(2))
    groups.extend([first, second])
    first.grow_to(2)
    second.grow_to(1)

    tens = {partition: range(partition * 10, partition * 10 + 10) for partition in range(4)}
    write_partitions(connection, four_partitions, tens)

    assert first.receive(40) == second.receive(40) == list(range(40))


def test_range_gives_4_and_2_partitions_and_round_robin_3_and_3(
    kafka: KafkaCluster, connection: Connection, groups: list[Group]
) -> None:
    """Guide 3.11: two members, topics T1 and T2 of three partitions."""
    run = uuid4().hex
    t1, t2 = (kafka.create_topic(f"{name}-{run}", partition_count=3) for name in ("t1", "t2"))
    by_range = Group(connection, [t1, t2], assignor=Assignor.RANGE)
    by_turns = Group(connection, [t1, t2], assignor=Assignor.ROUND_ROBIN)
    groups.extend([by_range, by_turns])

    by_range.grow_to(2)
    by_turns.grow_to(2)

    assert by_range.shares() == [
        partitions((t1, 0), (t1, 1), (t2, 0), (t2, 1)),
        partitions((t1, 2), (t2, 2)),
    ]
    assert by_turns.shares() == [
        partitions((t1, 0), (t1, 2), (t2, 1)),
        partitions((t1, 1), (t2, 0), (t2, 2)),
    ]


def partitions(*named: tuple[TopicName, int]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, Partition(number)) for topic, number in named)
