"""Creating topics: what can be checked beforehand is, so that the refusal is in our words."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.cimpl import NewTopic

from penstock.errors import UsageError
from penstock.kafka.cluster.configs import ensure_known_configs, visible_topic_configs
from penstock.kafka.errors import (
    ClusterBusyError,
    ClusterError,
    RequestRefusedError,
    UnknownTopicError,
    error_of,
)
from penstock.kafka.topics.propagation import await_everywhere
from penstock.names import BrokerId, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from confluent_kafka.admin._metadata import ClusterMetadata

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigEntry

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_BROKER_DEFAULT = -1


class InvalidTopicNameError(UsageError):
    """Kafka cannot have a topic of that name."""

    code = "PEN-413"

    def __init__(self, name: str) -> None:
        shown = name if len(name) <= 60 else f"{name[:57]}..."
        super().__init__(
            f"`{shown}` cannot be the name of a topic",
            hint="use 1 to 249 of the characters a-z A-Z 0-9 . _ -, but not `.` or `..`",
        )


class TooFewBrokersError(UsageError):
    """More replicas were asked for than there are brokers."""

    code = "PEN-414"

    def __init__(self, *, replication_factor: int, broker_count: int) -> None:
        super().__init__(
            f"replication {replication_factor} needs {replication_factor} brokers, "
            f"the cluster has {broker_count}",
            hint=f"use `--replication {broker_count}` at most, or start more brokers; "
            "`penstock cluster describe` lists them",
        )
        self.replication_factor, self.broker_count = replication_factor, broker_count


class UnknownBrokerError(UsageError):
    """The cluster has no broker of that id, or it is down."""

    code = "PEN-415"

    def __init__(self, broker: int, *, known: Collection[int]) -> None:
        super().__init__(
            f"broker {broker} is not in the cluster, which has {_listed(known)}",
            hint="`penstock cluster describe` lists the brokers",
        )


class InvalidAssignmentError(UsageError):
    """An explicit assignment of partitions to brokers does not fit together."""

    code = "PEN-417"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the assignment does not fit together: {reason}",
            hint="name each partition from 0 on once, with the same number of different brokers: "
            "`--assign 0=1,2 --assign 1=2,3`",
        )


class TopicExistsError(ClusterError):
    """A topic of that name is already there."""

    code = "PEN-418"

    def __init__(self, topic: TopicName) -> None:
        super().__init__(
            f"topic `{topic}` already exists",
            hint=f"`penstock topics describe {topic}` shows it; `--if-not-exists` accepts it",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaAssignment:
    """Which brokers hold one partition; the first is its preferred leader."""

    partition: Partition
    brokers: tuple[BrokerId, ...]


def create_topic(
    admin: Admin,
    name: TopicName,
    *,
    partition_count: int | None = None,
    replication_factor: int | None = None,
    config: Mapping[str, str] | None = None,
    assignment: Sequence[ReplicaAssignment] = (),
    dry_run: bool = False,
) -> None:
    """Create a topic and wait until each partition has a leader.

    Args:
        admin: the cluster.
        name: the new topic.
        partition_count: None for the cluster's default.
        replication_factor: None for the cluster's default.
        config: configs of the topic that differ from the cluster's.
        assignment: brokers of each partition, instead of the two numbers.
        dry_run: let the cluster check the topic, and create nothing.

    Raises:
        UsageError: a subclass above, or `UnknownConfigError`; nothing was sent.
        TopicExistsError: a topic of that name is already there.
        ClusterError: another subclass, for what else went wrong.
    """
    ensure_legal_name(name)
    brokers = [BrokerId(broker) for broker in admin.metadata().brokers]
    _ensure_possible(brokers, replication_factor, assignment)
    ensure_topic_configs(admin, config or {})
    topic = _new_topic(name, partition_count, replication_factor, config or {}, assignment)
    _create(admin, topic, dry_run=dry_run)
    if not dry_run:
        _await_leaders(admin, name)


def ensure_legal_name(name: str) -> None:
    """Check that Kafka accepts `name` for a topic.

    Raises:
        InvalidTopicNameError: it does not.
    """
    if not _LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        raise InvalidTopicNameError(name)


def ensure_topic_configs(admin: Admin, names: Collection[str]) -> None:
    """Check names of topic configs against those that a topic of the cluster has.

    Without any topic, or the right to see the configs of one, there is no list to check against:
    the cluster refuses wrong names itself.

    Raises:
        UnknownConfigError: with the nearest name.
    """
    sample = next(iter(admin.metadata().topics), None)
    if not names or sample is None:
        return
    entries: Sequence[ConfigEntry] = ()
    with suppress(UnknownTopicError):  # somebody has just deleted it
        entries = visible_topic_configs(admin, [TopicName(sample)])[TopicName(sample)]
    if not entries:
        return
    listing = f"penstock topics describe {sample} --all-configs"
    ensure_known_configs(names, entries, owner="topics", listing=listing)


def _ensure_possible(
    brokers: Collection[BrokerId],
    replication_factor: int | None,
    assignment: Sequence[ReplicaAssignment],
) -> None:
    if replication_factor is not None and replication_factor > len(brokers):
        raise TooFewBrokersError(replication_factor=replication_factor, broker_count=len(brokers))
    ensure_consistent(assignment)
    for item in assignment:
        for broker in item.brokers:
            if broker not in brokers:
                raise UnknownBrokerError(broker, known=brokers)


def ensure_consistent(assignment: Sequence[ReplicaAssignment]) -> None:
    """Check that an assignment names partitions from 0 on, each with as many different brokers.

    Raises:
        InvalidAssignmentError: it does not; the message says where.
    """
    flaw = _flaw(assignment)
    if flaw is not None:
        raise InvalidAssignmentError(flaw)


def _flaw(assignment: Sequence[ReplicaAssignment]) -> str | None:
    partitions = sorted(item.partition for item in assignment)
    if partitions != list(range(len(assignment))):
        return f"it names the partitions {_listed(partitions)}"
    for item in assignment:
        if len(set(item.brokers)) != len(item.brokers):
            return f"partition {item.partition} names a broker twice"
    counts = {len(item.brokers) for item in assignment}
    if len(counts) > 1:
        return f"some partitions have {min(counts)} brokers, others {max(counts)}"
    return None


def _new_topic(
    name: TopicName,
    partition_count: int | None,
    replication_factor: int | None,
    config: Mapping[str, str],
    assignment: Sequence[ReplicaAssignment],
) -> NewTopic:
    if assignment:
        ordered = sorted(assignment, key=lambda item: item.partition)
        replicas = [[int(broker) for broker in item.brokers] for item in ordered]
        return NewTopic(name, len(replicas), replica_assignment=replicas, config=dict(config))
    return NewTopic(
        name,
        partition_count or _BROKER_DEFAULT,
        replication_factor or _BROKER_DEFAULT,
        config=dict(config),
    )


def _create(admin: Admin, topic: NewTopic, *, dry_run: bool) -> None:
    futures = admin.steered_client.create_topics(
        [topic],
        request_timeout=admin.timeout_seconds,
        operation_timeout=admin.timeout_seconds,
        validate_only=dry_run,
    )
    name = TopicName(topic.topic)
    try:
        admin.await_one(futures[name], f"create topic `{name}`")
    except RequestRefusedError as err:
        cause = err.__cause__
        exists = KafkaError.TOPIC_ALREADY_EXISTS
        if isinstance(cause, KafkaException) and error_of(cause).code() == exists:
            raise TopicExistsError(name) from cause
        raise


def _await_leaders(admin: Admin, name: TopicName) -> None:
    def led(metadata: ClusterMetadata) -> bool:
        topic = metadata.topics.get(name)
        return bool(topic and topic.partitions) and all(
            partition.leader >= 0 for partition in metadata.topics[name].partitions.values()
        )

    if not await_everywhere(admin, led):
        action = f"use topic `{name}`, which was created"
        raise ClusterBusyError(action, reason="not all partitions have a leader")


def _listed(numbers: Collection[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers)) or "none"
