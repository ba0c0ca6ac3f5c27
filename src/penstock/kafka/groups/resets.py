"""Resets: moving what a group has committed, always planned before it is applied.

`plan_reset` and `plan_import` compute each partition's new offset and change nothing; the plan is
what a dry run shows, and `apply_reset` writes exactly that. Offsets that a partition does not have
are moved to the nearest it has, so that no consumer falls back on its own reset policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from penstock.kafka.errors import ClusterError, UnknownPartitionError
from penstock.kafka.groups.commits import write_offsets
from penstock.kafka.groups.description import (
    Member,
    ensure_groups_exist,
    ensure_groups_idle,
    members_of,
)
from penstock.kafka.groups.lag import (
    CommittedOffset,
    CommittedOffsets,
    PartitionLag,
    committed_offsets,
    partition_lags,
)
from penstock.kafka.offsets import TopicPartition, offsets_at
from penstock.names import GroupId, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from penstock.kafka.admin import Admin


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """To the first record that each partition still has."""


@dataclass(frozen=True, slots=True)
class ToLatest:
    """To the end: only records written from now on are read."""


@dataclass(frozen=True, slots=True)
class ToOffset:
    """To the same offset in each partition."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class ToTime:
    """To the first record of `moment` or later; to the end where all are older."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """Forwards by `count` offsets, or backwards when it is negative.

    Partitions without a commit have nothing to shift from and are left as they are.
    """

    count: int


@dataclass(frozen=True, slots=True)
class ToCommits:
    """To given offsets, as of an exported group; partitions that are not in it are left."""

    commits: Mapping[TopicPartition, CommittedOffset]


ResetTarget = ToEarliest | ToLatest | ToOffset | ToTime | ShiftBy | ToCommits


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSelection:
    """The partitions of a topic that a reset concerns; None means all it has."""

    topic: TopicName
    partitions: tuple[Partition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetChange:
    """What a reset does to one partition."""

    before: PartitionLag
    after: CommittedOffset
    wanted: Offset
    """What was asked for; differs from `after` when the partition does not have it."""

    @property
    def partition(self) -> TopicPartition:
        """The partition concerned."""
        return self.before.partition

    @property
    def lag_after(self) -> int:
        """The lag that the group will have here."""
        return max(0, (self.before.end or 0) - self.after.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetPlan:
    """The new offsets of a group, not yet written."""

    group: GroupId
    changes: tuple[OffsetChange, ...]
    left: tuple[TopicPartition, ...]
    """Partitions that were selected and stay as they are: the target says nothing about them."""

    members: tuple[Member, ...]
    """Who must leave before the plan can be applied."""


class NothingToResetError(ClusterError):
    """No partition of the group is concerned by the reset."""

    code = "PEN-433"

    def __init__(self, group: GroupId, *, reason: str) -> None:
        super().__init__(
            f"nothing to reset in group `{group}`: {reason}",
            hint=f"`penstock groups describe {group}` shows where it has committed; name others "
            "with `--topic`",
        )


def plan_reset(
    admin: Admin,
    group: GroupId,
    target: ResetTarget,
    *,
    topics: Sequence[TopicSelection] | None = None,
) -> ResetPlan:
    """Return what moving `group` to `target` would do; nothing is changed.

    Args:
        admin: the cluster.
        group: a group that exists.
        target: where to.
        topics: the partitions concerned; None means every topic the group has committed.

    Raises:
        UnknownGroupError: the group does not exist.
        UnknownTopicError: a topic does not exist.
        UnknownPartitionError: a topic does not have that partition.
        NothingToResetError: no partition is concerned.
    """
    ensure_groups_exist(admin, [group])
    committed = committed_offsets(admin, [group])[group]
    if topics is None:
        topics = [TopicSelection(topic=topic) for topic in {item.topic for item in committed}]
        if not topics:
            raise NothingToResetError(group, reason="it has committed no offsets")
    return _planned(admin, group, target, _selected(admin, topics), committed)


def plan_import(
    admin: Admin, group: GroupId, commits: Mapping[TopicPartition, CommittedOffset]
) -> ResetPlan:
    """Return what giving `commits` to `group` would do; the group need not exist yet.

    Raises:
        UnknownTopicError: a topic does not exist.
        UnknownPartitionError: a topic does not have that partition.
        NothingToResetError: `commits` is empty.
    """
    topics = [
        TopicSelection(topic=item.topic, partitions=(item.partition,)) for item in sorted(commits)
    ]
    committed = committed_offsets(admin, [group])[group]
    return _planned(admin, group, ToCommits(commits), _selected(admin, topics), committed)


def apply_reset(admin: Admin, plan: ResetPlan) -> None:
    """Write the offsets of `plan`. Safe to repeat.

    Raises:
        GroupActiveError: the group has members; nothing was changed.
        OffsetsNotWrittenError: some offsets were written and some were not.
        ClusterError: another subclass; nothing was changed.
    """
    ensure_groups_idle(admin, [plan.group], verb="reset")
    commits = {item.partition: item.after for item in plan.changes}
    write_offsets(admin, plan.group, commits, verb="reset")


def _selected(admin: Admin, topics: Sequence[TopicSelection]) -> list[TopicPartition]:
    known = admin.metadata().topics
    selected: set[TopicPartition] = set()
    for selection in topics:
        if selection.topic not in known:
            raise admin.absence(selection.topic, f"show topic `{selection.topic}`", known=known)
        existing = known[selection.topic].partitions
        wanted = existing if selection.partitions is None else selection.partitions
        for number in wanted:
            if number not in existing:
                raise UnknownPartitionError(selection.topic, number, partition_count=len(existing))
            selected.add(TopicPartition(selection.topic, Partition(number)))
    return sorted(selected)


def _planned(
    admin: Admin,
    group: GroupId,
    target: ResetTarget,
    partitions: Sequence[TopicPartition],
    committed: CommittedOffsets,
) -> ResetPlan:
    lags = partition_lags(admin, partitions, committed)
    wanted = _wanted(admin, target, lags)
    if not wanted:
        raise NothingToResetError(group, reason=_why_nothing(target))
    return ResetPlan(
        group=group,
        changes=tuple(
            _change(item, wanted[item.partition]) for item in lags if item.partition in wanted
        ),
        left=tuple(item.partition for item in lags if item.partition not in wanted),
        members=members_of(admin, group),
    )


def _wanted(
    admin: Admin, target: ResetTarget, lags: Sequence[PartitionLag]
) -> dict[TopicPartition, CommittedOffset]:
    partitions = [item.partition for item in lags]
    match target:
        case ToEarliest():
            offsets = {item.partition: item.first or 0 for item in lags}
        case ToLatest():
            offsets = {item.partition: item.end or 0 for item in lags}
        case ToOffset(offset=offset):
            offsets = dict.fromkeys(partitions, offset)
        case ToTime(moment=moment):
            offsets = dict(offsets_at(admin, partitions, moment))
        case ShiftBy(count=count):
            offsets = {
                item.partition: item.committed + count
                for item in lags
                if item.committed is not None
            }
        case ToCommits(commits=commits):
            return {item: commits[item] for item in partitions if item in commits}
        case _:
            assert_never(target)
    return {item: CommittedOffset(offset=Offset(offset)) for item, offset in offsets.items()}


def _why_nothing(target: ResetTarget) -> str:
    if isinstance(target, ShiftBy):
        return "the chosen partitions have no commit to shift from"
    return "the chosen partitions are not among the given offsets"


def _change(before: PartitionLag, wanted: CommittedOffset) -> OffsetChange:
    first, end = before.first or Offset(0), before.end or Offset(0)
    offset = min(max(wanted.offset, first), end)
    # The leader's term belongs to the offset it was committed with, and to no other.
    after = wanted if offset == wanted.offset else CommittedOffset(offset=offset)
    return OffsetChange(before=before, after=after, wanted=wanted.offset)
