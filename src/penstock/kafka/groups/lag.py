"""Lag: what groups have committed, and how far that is behind the ends of their partitions.

Lag is a difference of offsets, as Kafka's own tools compute it; transaction markers and compaction
make it an upper bound of the records still to be read. Which groups there are, and who their
members are, is in `kafka/groups/description.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import ConsumerGroupTopicPartitions

from penstock.kafka.errors import UnknownTopicError
from penstock.kafka.offsets import (
    Isolation,
    TopicPartition,
    end_offsets,
    first_offsets,
    known_ends,
)
from penstock.names import GroupId, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from confluent_kafka import TopicPartition as ClientPartition

    from penstock.kafka.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """The position that a group has committed for a partition: the next record it will read."""

    offset: Offset
    leader_epoch: int | None = None
    """The leader's term in which that record was read; lets a consumer notice a truncated log."""

    metadata: str = ""
    """Free text of whoever committed."""


CommittedOffsets = dict[TopicPartition, CommittedOffset]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """Where a group stands in one partition.

    `first` and `end` are None when the partition does not exist any more.
    """

    partition: TopicPartition
    committed: Offset | None
    first: Offset | None
    end: Offset | None
    stable: Offset | None = None
    """Up to where readers of committed records can read: the end, or an open transaction."""

    @property
    def held(self) -> int:
        """How much of the lag is behind an open transaction."""
        if self.committed is None or self.end is None or self.stable is None:
            return 0
        return max(0, self.end - max(self.committed, self.stable))

    @property
    def lag(self) -> int | None:
        """How far the commit is behind the end; None when one of the two is missing."""
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)

    @property
    def expired(self) -> int:
        """How much of the lag retention has already deleted: the group can never read it."""
        if self.committed is None or self.first is None:
            return 0
        return max(0, self.first - self.committed)

    @property
    def beyond_end(self) -> bool:
        """Whether the commit lies after the end, as after a topic was deleted and made anew."""
        return self.committed is not None and self.end is not None and self.committed > self.end


def total_lag(partitions: Iterable[PartitionLag]) -> int | None:
    """Return the sum of the lags that are known, or None when none is."""
    known = [item.lag for item in partitions if item.lag is not None]
    return sum(known) if known else None


def partition_lags(
    admin: Admin,
    partitions: Collection[TopicPartition],
    committed: Mapping[TopicPartition, CommittedOffset],
) -> tuple[PartitionLag, ...]:
    """Return where the group that `committed` so far stands in each of `partitions`, in order.

    Raises:
        ClusterError: the subclass that fits.
    """
    firsts = _of_existing(admin, partitions, first_offsets)
    ends = _of_existing(admin, partitions, end_offsets)
    # Asked after the ends: a transaction that begins between the two holds nothing of the lag.
    committed_ends = partial(end_offsets, isolation=Isolation.READ_COMMITTED)
    stable = _of_existing(admin, partitions, committed_ends)
    return tuple(
        PartitionLag(
            partition=item,
            committed=committed[item].offset if item in committed else None,
            first=firsts.get(item),
            end=ends.get(item),
            stable=stable.get(item),
        )
        for item in sorted(partitions)
    )


def existing_partitions(admin: Admin, topics: Collection[TopicName]) -> set[TopicPartition]:
    """Return the partitions that those of `topics` have which exist.

    Raises:
        ClusterUnreachableError: no broker answered.
    """
    known = admin.metadata().topics
    return {
        TopicPartition(topic, Partition(partition))
        for topic in topics
        if topic in known
        for partition in known[topic].partitions
    }


def topic_ends(
    admin: Admin,
    topics: Collection[TopicName],
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> dict[TopicPartition, Offset]:
    """Return the end of every partition of `topics`, as far as they exist and have a leader.

    Ends are high watermarks: records of open transactions lie before them. With `READ_COMMITTED`
    they are the last stable offsets: the first open transaction begins there.

    Raises:
        ClusterError: the subclass that fits.
    """
    asked = existing_partitions(admin, topics)
    return _of_existing(admin, asked, partial(known_ends, isolation=isolation))


def committed_offsets(admin: Admin, groups: Collection[GroupId]) -> dict[GroupId, CommittedOffsets]:
    """Return what each group has committed; an unknown group has committed nothing.

    Raises:
        ClusterError: the subclass that fits.
    """

    def answers() -> dict[GroupId, CommittedOffsets]:
        # The client takes one group per call; all calls are sent before the first is awaited.
        futures = {
            group: admin.client.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)], request_timeout=admin.timeout_seconds
            )[group]
            for group in groups
        }
        return {
            group: _commits(admin.await_one(future, f"list offsets of group `{group}`"))
            for group, future in futures.items()
        }

    return admin.retried(answers)


def total_lags(
    admin: Admin, committed: Mapping[GroupId, CommittedOffsets]
) -> dict[GroupId, int | None]:
    """Return the lag of each group over all it has `committed`, in one request for all ends.

    Raises:
        ClusterError: the subclass that fits.
    """
    asked = {partition for commits in committed.values() for partition in commits}
    ends = _of_existing(admin, asked, end_offsets)
    return {
        group: total_lag(
            PartitionLag(
                partition=partition, committed=commit.offset, first=None, end=ends.get(partition)
            )
            for partition, commit in commits.items()
        )
        for group, commits in committed.items()
    }


def _of_existing(
    admin: Admin,
    partitions: Collection[TopicPartition],
    ask: Callable[[Admin, Collection[TopicPartition]], dict[TopicPartition, Offset]],
) -> dict[TopicPartition, Offset]:
    """Return what `ask` says about those of `partitions` that exist.

    A topic may be deleted between the look at the list of topics and the question: it is then
    left out as well. Every round leaves out one more topic, so the rounds end.
    """
    existing = existing_partitions(admin, {item.topic for item in partitions})
    present = [item for item in partitions if item in existing]
    while True:
        try:
            return ask(admin, present)
        except UnknownTopicError as err:
            present = [item for item in present if item.topic != err.topic]


def as_partition(item: ClientPartition) -> TopicPartition:
    """Return the client's partition as ours."""
    return TopicPartition(TopicName(item.topic), Partition(item.partition))


def _commits(answer: ConsumerGroupTopicPartitions) -> CommittedOffsets:
    return {
        as_partition(item): CommittedOffset(
            offset=Offset(item.offset), leader_epoch=item.leader_epoch, metadata=item.metadata or ""
        )
        for item in answer.topic_partitions or []
        if item.offset >= 0  # below zero means: nothing committed here
    }
