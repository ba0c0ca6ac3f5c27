"""Purging: deleting the oldest records of a topic, up to an offset or a time.

A purge is planned first and shown; the plan is what is then applied. Kafka moves the first offset
of each partition forward; the space on disk is given back a little later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.errors import UsageError
from penstock.kafka.cluster.configs import topic_configs
from penstock.kafka.errors import (
    ClusterError,
    RequestRefusedError,
    UnknownPartitionError,
    error_of,
)
from penstock.kafka.offsets import TopicPartition, end_offsets, first_offsets, offsets_at
from penstock.kafka.topics.changes import PartlyDoneError
from penstock.kafka.topics.description import ensure_exist
from penstock.names import Offset, Partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from penstock.kafka.admin import Admin
    from penstock.names import TopicName


class CompactedTopicError(ClusterError):
    """Records of a topic that is only compacted cannot be deleted by offset."""

    code = "PEN-423"

    def __init__(self, topic: TopicName) -> None:
        super().__init__(
            f"topic `{topic}` is compacted: Kafka deletes its records by key, not by offset",
            hint="send a record without a value for each key to forget, or "
            f"`penstock topics alter {topic} --set cleanup.policy=compact,delete`",
        )


class OffsetBeyondEndError(UsageError):
    """No partition reaches up to the offset that was named."""

    code = "PEN-424"

    def __init__(self, topic: TopicName, *, asked: Offset, highest_end: Offset) -> None:
        super().__init__(
            f"offset {asked} is beyond the end of topic `{topic}`, which is {highest_end}",
            hint=f"`penstock topics describe {topic}` shows the offsets; `--all` deletes all",
        )


@dataclass(frozen=True, slots=True)
class BeforeOffset:
    """Delete the records with a lower offset."""

    offset: Offset


@dataclass(frozen=True, slots=True)
class BeforeTime:
    """Delete the records ahead of the first one from `moment` or later."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class Everything:
    """Delete all records that are there now."""


PurgeLimit = BeforeOffset | BeforeTime | Everything


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPurge:
    """What a purge does to one partition."""

    partition: Partition
    first: Offset
    new_first: Offset
    end: Offset

    @property
    def span(self) -> int:
        """How many offsets go: at least as many as records."""
        return self.new_first - self.first


def plan_purge(
    admin: Admin, topic: TopicName, limit: PurgeLimit, *, partition: Partition | None = None
) -> tuple[PartitionPurge, ...]:
    """Return what purging would do to each partition, or to one; nothing is changed.

    Raises:
        UnknownTopicError: the topic does not exist.
        UnknownPartitionError: the partition does not exist.
        CompactedTopicError: the topic is compacted and nothing else.
        OffsetBeyondEndError: no partition reaches up to the offset.
    """
    ensure_exist(admin, [topic])
    partitions = _chosen(admin, topic, partition)
    if topic_policy(admin, topic) == "compact":
        raise CompactedTopicError(topic)
    firsts, ends = first_offsets(admin, partitions), end_offsets(admin, partitions)
    limits = _limits(admin, topic, limit, ends)
    return tuple(
        PartitionPurge(
            partition=item.partition,
            first=firsts[item],
            # A partition that ends or begins elsewhere keeps its own bounds.
            new_first=max(firsts[item], min(limits[item], ends[item])),
            end=ends[item],
        )
        for item in partitions
    )


def apply_purge(admin: Admin, topic: TopicName, plan: Sequence[PartitionPurge]) -> None:
    """Delete what `plan` names.

    Raises:
        CompactedTopicError: the topic is compacted and nothing else.
        PartlyDoneError: the cluster refused in the middle.
    """
    changed = [item for item in plan if item.span]
    if not changed:
        return
    requests = [ClientPartition(topic, item.partition, item.new_first) for item in changed]
    futures = admin.client.delete_records(
        requests,
        request_timeout=admin.timeout_seconds,
        operation_timeout=admin.timeout_seconds,
    )
    done: list[str] = []
    faults: list[ClusterError] = []
    for item, request in zip(changed, requests, strict=True):
        try:
            admin.await_one(
                futures[request], f"delete records of `{topic}-{item.partition}`", topic=topic
            )
            done.append(f"partition {item.partition} begins at {item.new_first}")
        except ClusterError as err:
            faults.append(_explained(err, topic))
    if faults:
        raise PartlyDoneError(done=done, fault=faults[0]) if done else faults[0]


def topic_policy(admin: Admin, topic: TopicName) -> str:
    """Return the cleanup policy of a topic."""
    entries = topic_configs(admin, [topic])[topic]
    return next((entry.value or "" for entry in entries if entry.name == "cleanup.policy"), "")


def _chosen(admin: Admin, topic: TopicName, partition: Partition | None) -> list[TopicPartition]:
    known = sorted(admin.metadata().topics[topic].partitions)
    if partition is not None and partition not in known:
        raise UnknownPartitionError(topic, partition, partition_count=len(known))
    numbers = known if partition is None else [partition]
    return [TopicPartition(topic, Partition(number)) for number in numbers]


def _limits(
    admin: Admin, topic: TopicName, limit: PurgeLimit, ends: Mapping[TopicPartition, Offset]
) -> Mapping[TopicPartition, Offset]:
    match limit:
        case BeforeOffset(offset=offset):
            highest = max(ends.values())
            if offset > highest:
                raise OffsetBeyondEndError(topic, asked=offset, highest_end=highest)
            return dict.fromkeys(ends, offset)
        case BeforeTime(moment=moment):
            return offsets_at(admin, list(ends), moment)
        case Everything():
            return ends
        case _:
            assert_never(limit)


def _explained(err: ClusterError, topic: TopicName) -> ClusterError:
    cause = err.__cause__
    if (
        isinstance(err, RequestRefusedError)
        and isinstance(cause, KafkaException)
        and error_of(cause).code() == KafkaError.POLICY_VIOLATION
    ):
        compacted = CompactedTopicError(topic)
        compacted.__cause__ = cause
        return compacted
    return err
