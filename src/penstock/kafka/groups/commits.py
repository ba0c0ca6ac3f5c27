"""Commits on behalf of a group without members: writing its offsets from outside.

Moving a group on purpose is in `resets.py`, which plans before it writes. What a consumer commits
for itself is in `kafka/consumer/commits.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.errors import ClusterError, translated
from penstock.kafka.groups.description import GroupActiveError, members_of
from penstock.kafka.groups.lag import CommittedOffset, as_partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.kafka.admin import Admin
    from penstock.kafka.offsets import TopicPartition
    from penstock.names import GroupId

# What a broker answers when the group has, or has just got, members.
_ACTIVE = {
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.NON_EMPTY_GROUP,
    KafkaError.STALE_MEMBER_EPOCH,
}


class OffsetsNotWrittenError(ClusterError):
    """The broker accepted the new offsets of some partitions and refused others."""

    code = "PEN-435"

    def __init__(
        self,
        group: GroupId,
        *,
        written: Sequence[TopicPartition],
        refused: Mapping[TopicPartition, str],
    ) -> None:
        reasons = ", ".join(f"`{item}` ({reason})" for item, reason in refused.items())
        done = ", ".join(f"`{item}`" for item in written) or "no partition"
        super().__init__(
            f"offsets of group `{group}` were written for {done}, and refused for {reasons}",
            hint="run the same reset again: what was written stays as it is",
        )
        self.written, self.refused = tuple(written), dict(refused)


def write_offsets(
    admin: Admin,
    group: GroupId,
    commits: Mapping[TopicPartition, CommittedOffset],
    *,
    verb: str = "write offsets of",
) -> None:
    """Commit for `group`, which need not exist and must have no members. Safe to repeat.

    Partitions that `commits` does not name keep what they have. `verb` says in errors what was
    wanted.

    Raises:
        GroupActiveError: the group has members; nothing was changed.
        OffsetsNotWrittenError: some offsets were written and some were not.
        ClusterError: another subclass; nothing was changed.
    """
    if not commits:
        return  # the client refuses an empty request
    action = f"{verb} group `{group}`"
    answers = admin.retried(lambda: _written(admin, group, commits, action))
    faults = {as_partition(item): item.error for item in answers if item.error is not None}
    if not faults:
        return
    if any(error.code() in _ACTIVE for error in faults.values()):
        raise GroupActiveError(group, verb=verb, members=members_of(admin, group))
    if len(faults) == len(commits):
        error = next(iter(faults.values()))
        raise translated(error, action=action, bootstrap=admin.connection.bootstrap)
    raise OffsetsNotWrittenError(
        group,
        written=[item for item in commits if item not in faults],
        refused={item: error.str() for item, error in faults.items()},
    )


def _written(
    admin: Admin, group: GroupId, commits: Mapping[TopicPartition, CommittedOffset], action: str
) -> list[ClientPartition]:
    request = ConsumerGroupTopicPartitions(
        group, [_commit(partition, commit) for partition, commit in commits.items()]
    )
    future = admin.client.alter_consumer_group_offsets(
        [request], request_timeout=admin.timeout_seconds
    )[group]
    return admin.await_one(future, action).topic_partitions or []


def _commit(partition: TopicPartition, commit: CommittedOffset) -> ClientPartition:
    return ClientPartition(
        partition.topic,
        partition.partition,
        commit.offset,
        commit.metadata,
        -1 if commit.leader_epoch is None else commit.leader_epoch,
    )
