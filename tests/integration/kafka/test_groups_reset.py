"""Moving what a group has committed, planned and applied on a real broker."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.kafka import (
    Admin,
    CommittedOffset,
    Connection,
    GroupActiveError,
    NothingToResetError,
    ResetPlan,
    ResetTarget,
    ShiftBy,
    ToCommits,
    ToEarliest,
    ToLatest,
    ToOffset,
    TopicPartition,
    TopicSelection,
    ToTime,
    UnknownGroupError,
    UnknownPartitionError,
    UnknownTopicError,
    apply_reset,
    committed_offsets,
    delete_groups,
    load_snapshot,
    plan_import,
    plan_reset,
    snapshot_text,
    take_snapshot,
)
from penstock.names import GroupId, Offset, Partition, TopicName
from support.groups import commit, delete_records_before, joined, new_group, produce

# Records from longer ago than a topic keeps them would go while a test looks at them.
START = int(time.time() - 3600) * 1000


@pytest.fixture
def admin(connection: Connection) -> Iterator[Admin]:
    with Admin(connection) as admin:
        yield admin


@pytest.fixture
def group(connection: Connection, topic: TopicName) -> GroupId:
    """A group at 4 of 10, 5 of 5 and nowhere of 3; the first record of a partition is at START."""
    group = new_group()
    produce(connection, topic, {0: 10, 1: 5, 2: 3}, timestamp=START)
    commit(connection, group, topic, {0: 4, 1: 5})
    delete_records_before(connection, topic, 2)
    return group


def committed(admin: Admin, group: GroupId) -> dict[int, int]:
    commits = committed_offsets(admin, [group])[group]
    return {item.partition: commit.offset for item, commit in sorted(commits.items())}


def moves(plan: ResetPlan) -> dict[int, tuple[int | None, int, int]]:
    """Return current offset, new offset and new lag by partition."""
    return {
        item.partition.partition: (item.before.committed, item.after.offset, item.lag_after)
        for item in plan.changes
    }


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (ToEarliest(), {0: (4, 2, 8), 1: (5, 0, 5), 2: (None, 0, 3)}),
        (ToLatest(), {0: (4, 10, 0), 1: (5, 5, 0), 2: (None, 3, 0)}),
        (ToOffset(Offset(4)), {0: (4, 4, 6), 1: (5, 4, 1), 2: (None, 3, 0)}),
        (
            ToTime(datetime.fromtimestamp((START + 3) / 1000, UTC)),
            {0: (4, 3, 7), 1: (5, 3, 2), 2: (None, 3, 0)},
        ),
        (ShiftBy(-3), {0: (4, 2, 8), 1: (5, 2, 3)}),
        (ShiftBy(4), {0: (4, 8, 2), 1: (5, 5, 0)}),
    ],
    ids=["earliest", "latest", "offset", "time", "back", "forth"],
)
def test_a_reset_does_what_its_plan_says(
    admin: Admin,
    group: GroupId,
    target: ResetTarget,
    expected: dict[int, tuple[int | None, int, int]],
) -> None:
    plan = plan_reset(admin, group, target)
    untouched = committed(admin, group)
    apply_reset(admin, plan)

    assert moves(plan) == expected
    assert untouched == {0: 4, 1: 5}
    assert committed(admin, group) == {0: 4, 1: 5} | {
        partition: after for partition, (_, after, _) in expected.items()
    }


def test_a_reset_to_given_offsets_leaves_the_partitions_without_one(
    admin: Admin, topic: TopicName, group: GroupId
) -> None:
    commits = {TopicPartition(topic, Partition(1)): CommittedOffset(offset=Offset(2))}
    plan = plan_reset(admin, group, ToCommits(commits))
    apply_reset(admin, plan)
    assert plan.left == (
        TopicPartition(topic, Partition(0)),
        TopicPartition(topic, Partition(2)),
    )
    assert committed(admin, group) == {0: 4, 1: 2}


def test_only_the_chosen_partitions_move(admin: Admin, topic: TopicName, group: GroupId) -> None:
    chosen = [TopicSelection(topic=topic, partitions=(Partition(1), Partition(2)))]
    apply_reset(admin, plan_reset(admin, group, ToEarliest(), topics=chosen))
    assert committed(admin, group) == {0: 4, 1: 0, 2: 0}


def test_an_offset_the_partition_does_not_have_becomes_the_nearest(
    admin: Admin, group: GroupId
) -> None:
    low = plan_reset(admin, group, ToOffset(Offset(0)))
    high = plan_reset(admin, group, ToOffset(Offset(99)))
    assert [(item.wanted, item.after.offset) for item in low.changes] == [(0, 2), (0, 0), (0, 0)]
    assert [(item.wanted, item.after.offset) for item in high.changes] == [
        (99, 10),
        (99, 5),
        (99, 3),
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_in_use_is_not_reset(
    admin: Admin, connection: Connection, topic: TopicName, group: GroupId, protocol: str
) -> None:
    with joined(connection, group, topic, "web", protocol=protocol):
        plan = plan_reset(admin, group, ToEarliest())
        with pytest.raises(GroupActiveError) as caught:
            apply_reset(admin, plan)
        after = committed(admin, group)
    assert [member.client_id for member in plan.members] == ["web"]
    assert caught.value.message == (
        f"cannot reset group `{group}` while it has 1 member: `web` on 127.0.0.1"
    )
    assert after == {0: 4, 1: 5}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_joins_after_the_check_is_noticed_by_the_broker(
    admin: Admin,
    connection: Connection,
    topic: TopicName,
    group: GroupId,
    protocol: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between our look at the members and the write, a consumer starts."""
    plan = plan_reset(admin, group, ToEarliest())
    monkeypatch.setattr("penstock.kafka.groups.resets.ensure_groups_idle", lambda *_, **__: None)
    with joined(connection, group, topic, "web", protocol=protocol):
        with pytest.raises(GroupActiveError) as caught:
            apply_reset(admin, plan)
        after = committed(admin, group)
    assert [member.client_id for member in caught.value.members] == ["web"]
    assert after == {0: 4, 1: 5}


def test_export_delete_import_restores_the_group_to_the_byte(
    admin: Admin, connection: Connection, topic: TopicName, tmp_path: Path
) -> None:
    group = new_group()
    produce(connection, topic, {0: 4, 1: 4, 2: 4})
    with joined(connection, group, topic, "web") as [consumer]:
        records = consumer.consume(6, timeout=20)
        consumer.commit(asynchronous=False)
    commit(connection, group, topic, {0: 1}, metadata="by hand")
    before = snapshot_text(take_snapshot(admin, group))
    path = tmp_path / "group.json"
    path.write_text(before, encoding="utf-8")

    delete_groups(admin, [group])
    snapshot = load_snapshot(path)
    plan = plan_import(admin, snapshot.group, snapshot.commits)
    apply_reset(admin, plan)

    assert len(records) == 6
    assert [item.before.committed for item in plan.changes] == [None] * len(plan.changes)
    assert snapshot_text(take_snapshot(admin, group)) == before
    assert {commit.metadata for commit in snapshot.commits.values()} == {"", "by hand"}
    assert 0 in {commit.leader_epoch for commit in snapshot.commits.values()}


def test_a_copy_of_a_group_can_be_made_under_another_name(admin: Admin, group: GroupId) -> None:
    copy = new_group()
    apply_reset(admin, plan_import(admin, copy, take_snapshot(admin, group).commits))
    assert committed(admin, copy) == committed(admin, group)


def test_wrong_wishes_are_refused_before_anything_is_written(
    admin: Admin, topic: TopicName, group: GroupId
) -> None:
    nowhere = TopicSelection(topic=TopicName(f"{topic}x"))
    missing = TopicSelection(topic=topic, partitions=(Partition(0), Partition(7)))
    uncommitted = TopicSelection(topic=topic, partitions=(Partition(2),))
    with pytest.raises(UnknownGroupError) as unknown_group:
        plan_reset(admin, GroupId(f"{group}x"), ToEarliest())
    with pytest.raises(UnknownTopicError) as unknown_topic:
        plan_reset(admin, group, ToEarliest(), topics=[nowhere])
    with pytest.raises(UnknownPartitionError) as unknown_partition:
        plan_reset(admin, group, ToEarliest(), topics=[missing])
    with pytest.raises(NothingToResetError) as nothing:
        plan_reset(admin, group, ShiftBy(1), topics=[uncommitted])
    assert unknown_group.value.hint == f"did you mean `{group}`?"
    assert unknown_topic.value.hint == f"did you mean `{topic}`?"
    assert unknown_partition.value.partition == 7
    assert nothing.value.message == (
        f"nothing to reset in group `{group}`: the chosen partitions have no commit to shift from"
    )
    assert committed(admin, group) == {0: 4, 1: 5}
