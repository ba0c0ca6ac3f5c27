"""Offsets: where partitions begin and end, and what lies at a moment in time.

Each function asks for all partitions in one call; the client sends one request per leader. An
offset difference is a span, not a count: transaction markers, aborted records and compaction
leave gaps. Committed offsets of consumer groups live in `kafka/groups/description.py`.
"""

from __future__ import annotations

import time
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin._listoffsets import OffsetSpec

from penstock.kafka.errors import (
    ClusterBusyError,
    RequestTimedOutError,
    UnknownTopicError,
    translated,
)
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Collection
    from concurrent.futures import Future

    from confluent_kafka.admin._listoffsets import ListOffsetsResultInfo

    from penstock.kafka.admin import Admin

# The client leaves these three functions without types.
_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_MAX_TIMESTAMP: OffsetSpec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]

# An overview waits this long for an election to end: about what one takes on a healthy cluster.
_ELECTION_SECONDS = 1.0
_PAUSE_SECONDS = 0.1
_LISTING = "list offsets"


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic."""

    topic: TopicName
    partition: Partition

    def __str__(self) -> str:
        """Return `topic-partition`, as Kafka writes it."""
        return f"{self.topic}-{self.partition}"


class Isolation(StrEnum):
    """Which records a reader sees of transactions that are open or were aborted."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRecord:
    """The record of a partition with the highest timestamp."""

    offset: Offset
    timestamp: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where a partition begins and ends."""

    first: Offset
    end: Offset


def first_offsets(
    admin: Admin, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, Offset]:
    """Return the offset of the first record that each partition still has.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        UnknownPartitionError: one of the partitions does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    answers = _listed(admin, partitions, _EARLIEST, Isolation.READ_UNCOMMITTED)
    return {partition: Offset(answer.offset) for partition, answer in answers.items()}


def end_offsets(
    admin: Admin,
    partitions: Collection[TopicPartition],
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> dict[TopicPartition, Offset]:
    """Return the offset that the next record of each partition gets.

    With `READ_COMMITTED` it is the last stable offset: an open transaction holds it back.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        UnknownPartitionError: one of the partitions does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    answers = _listed(admin, partitions, _LATEST, isolation)
    return {partition: Offset(answer.offset) for partition, answer in answers.items()}


def await_transactions(
    admin: Admin, partitions: Collection[TopicPartition], *, within_seconds: float = 5
) -> bool:
    """Wait for the end of the transactions that are open now; others are not waited for.

    Kafka answers a commit before it lets readers see it: whoever reads once, up to the end, would
    miss what was committed a moment ago.

    Returns:
        Whether all have ended within the time.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        UnknownPartitionError: one of the partitions does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    deadline = time.monotonic() + within_seconds
    ends = end_offsets(admin, partitions)
    while True:
        stable = end_offsets(admin, partitions, isolation=Isolation.READ_COMMITTED)
        if all(stable[partition] >= end for partition, end in ends.items()):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)


def offsets_at(
    admin: Admin,
    partitions: Collection[TopicPartition],
    moment: datetime,
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> dict[TopicPartition, Offset]:
    """Return the first offset of each partition whose record is from `moment` or later.

    A partition whose records are all older gives its end offset.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        UnknownPartitionError: one of the partitions does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    spec = OffsetSpec.for_timestamp(max(0, int(moment.timestamp() * 1000)))
    answers = _listed(admin, partitions, spec, isolation)
    too_old = [partition for partition, answer in answers.items() if answer.offset < 0]
    ends = end_offsets(admin, too_old, isolation=isolation)
    return {
        partition: ends[partition] if partition in ends else Offset(answer.offset)
        for partition, answer in answers.items()
    }


def newest_records(
    admin: Admin, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, NewestRecord | None]:
    """Return the record with the highest timestamp of each partition; None when it is empty.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        UnknownPartitionError: one of the partitions does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    answers = _listed(admin, partitions, _MAX_TIMESTAMP, Isolation.READ_UNCOMMITTED)
    return {partition: _newest(answer) for partition, answer in answers.items()}


def known_bounds(
    admin: Admin, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, Bounds]:
    """Return where each partition begins and ends; one without a leader now is left out.

    For overviews, which one broken partition must not spoil.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    firsts = _known(admin, partitions, _EARLIEST)
    ends = _known(admin, list(firsts), _LATEST)
    return {
        partition: Bounds(first=Offset(firsts[partition].offset), end=Offset(answer.offset))
        for partition, answer in ends.items()
    }


def known_ends(
    admin: Admin,
    partitions: Collection[TopicPartition],
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> dict[TopicPartition, Offset]:
    """Return ends as `end_offsets` does; a partition without a leader is left out.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        ClusterError: another subclass, for what else went wrong.
    """
    answers = _known(admin, partitions, _LATEST, isolation)
    return {partition: Offset(answer.offset) for partition, answer in answers.items()}


def bounds_of_present(
    admin: Admin, partitions: Collection[TopicPartition], *, firsts: bool
) -> dict[TopicPartition, Offset]:
    """Return the first offset, or the end, of each partition that is there and has a leader now.

    For thousands of partitions every few seconds: what is not there is left out without a question
    of why.

    Raises:
        ClusterError: nothing at all was answered.
    """
    asked = _asked(admin, partitions, _EARLIEST if firsts else _LATEST, Isolation.READ_UNCOMMITTED)
    found: dict[TopicPartition, Offset] = {}
    fault: KafkaException | None = None
    for item, future in asked.items():
        try:
            found[item] = Offset(future.result(admin.timeout_seconds).offset)
        except KafkaException as err:
            fault = err
        except FutureTimeoutError as err:
            raise RequestTimedOutError(_LISTING, bootstrap=admin.connection.bootstrap) from err
    if fault is not None and not found and not _is_absence(fault):
        raise admin.fault(fault, _LISTING) from fault
    if fault is not None:
        # The client goes on believing that a topic is not there, for minutes after it was made,
        # unless it is made to look.
        admin.metadata()
    return found


def _is_absence(err: KafkaException) -> bool:
    return isinstance(translated(err, action="", bootstrap="", topic="-"), UnknownTopicError)


def _newest(answer: ListOffsetsResultInfo) -> NewestRecord | None:
    if answer.offset < 0:
        return None
    timestamp = datetime.fromtimestamp(answer.timestamp / 1000, UTC)
    return NewestRecord(offset=Offset(answer.offset), timestamp=timestamp)


def _listed(
    admin: Admin, partitions: Collection[TopicPartition], spec: OffsetSpec, isolation: Isolation
) -> dict[TopicPartition, ListOffsetsResultInfo]:
    """Ask for all partitions, again while one of them has no leader."""

    def answers() -> dict[TopicPartition, ListOffsetsResultInfo]:
        asked = _asked(admin, partitions, spec, isolation)
        return {item: _answer(admin, item, future) for item, future in asked.items()}

    return admin.retried(answers)


def _known(
    admin: Admin,
    partitions: Collection[TopicPartition],
    spec: OffsetSpec,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> dict[TopicPartition, ListOffsetsResultInfo]:
    """Ask for all partitions, briefly again for those without a leader, and leave those out."""
    answers: dict[TopicPartition, ListOffsetsResultInfo] = {}
    missing = list(partitions)
    deadline = time.monotonic() + _ELECTION_SECONDS
    while missing:
        asked = _asked(admin, missing, spec, isolation)
        for item, future in asked.items():
            try:
                answers[item] = _answer(admin, item, future)
            except ClusterBusyError:
                continue
        missing = [item for item in missing if item not in answers]
        if time.monotonic() > deadline:
            break
        if missing:
            time.sleep(_PAUSE_SECONDS)
    return answers


def _asked(
    admin: Admin, partitions: Collection[TopicPartition], spec: OffsetSpec, isolation: Isolation
) -> dict[TopicPartition, Future[ListOffsetsResultInfo]]:
    if not partitions:
        return {}  # the client refuses an empty request
    asked = {ClientPartition(item.topic, item.partition): item for item in partitions}
    futures = admin.client.list_offsets(
        dict.fromkeys(asked, spec),
        isolation_level=IsolationLevel[isolation.name],
        request_timeout=admin.timeout_seconds,
    )
    return {item: futures[client] for client, item in asked.items()}


def _answer(
    admin: Admin, item: TopicPartition, future: Future[ListOffsetsResultInfo]
) -> ListOffsetsResultInfo:
    action = f"list offsets of `{item}`"
    return admin.await_one(future, action, topic=item.topic, partition=item.partition)
