"""What only a consumer meets, as errors of ours: lost places in the group, and lost offsets.

`client_fault` and `commit_fault` are the border for consumers: by the client's code they pick one
of these classes, and leave everything that other clients meet too to `kafka/errors.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import KafkaError

from penstock.errors import UsageError
from penstock.kafka.errors import ClusterError, error_of, translated

if TYPE_CHECKING:
    from collections.abc import Collection

    from confluent_kafka import KafkaException

    from penstock.kafka.consumer.membership import Membership
    from penstock.kafka.offsets import TopicPartition
    from penstock.names import GroupId, Offset


class NoStartingPointError(ClusterError):
    """The group has committed nothing for a partition, and nobody said where to begin."""

    code = "PEN-471"

    def __init__(self, partitions: Collection[TopicPartition], *, group: GroupId | None) -> None:
        names = ", ".join(f"`{partition}`" for partition in sorted(partitions))
        whose = f"group `{group}` has" if group else "this consumer has"
        super().__init__(
            f"{whose} no committed offset for {names}, and no start was given",
            hint="pass `start=Start.EARLIEST` or `start=Start.LATEST`, or seek in `on_assigned`",
        )
        self.partitions = tuple(sorted(partitions))


class OffsetOutOfRangeError(ClusterError):
    """The offset to read next is not in the partition: its records are gone, or never were."""

    code = "PEN-472"

    def __init__(
        self, partition: TopicPartition, *, offset: Offset, first: Offset, end: Offset
    ) -> None:
        super().__init__(
            f"`{partition}` has no offset {offset}: it holds {first} to {end}",
            hint="records may be lost to this reader; continue on purpose with "
            "`seek_to_beginning`, or `penstock groups reset`",
        )
        self.partition, self.offset, self.first, self.end = partition, offset, first, end


class CommitFailedError(ClusterError):
    """The group has moved on without this member, so it may no longer commit."""

    code = "PEN-473"

    def __init__(self, group: GroupId | None, *, reason: str) -> None:
        super().__init__(
            f"group `{group}` has given this consumer's partitions to others, so its offsets "
            f"were not committed: {reason}",
            hint="records since the last commit come again elsewhere; poll more often, or raise "
            "`max_poll_interval_seconds` or `session_timeout_seconds`",
        )


class PollIntervalExceededError(ClusterError):
    """Too much time passed between two polls, and the group gave the partitions to others."""

    code = "PEN-474"
    retryable = True

    def __init__(self, group: GroupId | None, *, seconds: float) -> None:
        super().__init__(
            f"more than {seconds:g} s passed between two polls, so group `{group}` gave this "
            "consumer's partitions to others",
            hint="the next poll joins the group again; handle fewer records between polls, or "
            "raise `max_poll_interval_seconds`",
        )


class MemberFencedError(ClusterError):
    """The group has shut this member out for good; the consumer is of no more use.

    With a static member id the reason is that another consumer has come with the same one.
    """

    code = "PEN-475"

    def __init__(self, group: GroupId | None, *, static_member_id: str | None, reason: str) -> None:
        who = f"member `{static_member_id}`" if static_member_id else "this member"
        super().__init__(
            f"group `{group}` has shut {who} out for good: {reason}",
            hint="give each running consumer its own `static_member_id`"
            if static_member_id
            else "change what the reason names, and make a new `Consumer`",
        )
        self.static_member_id = static_member_id


class NoGroupError(UsageError):
    """Offsets can only be committed for a group."""

    code = "PEN-476"

    def __init__(self) -> None:
        super().__init__(
            "offsets cannot be committed: this consumer has no group",
            hint="pass `group=…` to the consumer",
        )


class NotAssignedError(UsageError):
    """The partition is not one that this consumer reads now."""

    code = "PEN-477"

    def __init__(self, partition: TopicPartition, *, assigned: Collection[TopicPartition]) -> None:
        names = ", ".join(f"`{item}`" for item in sorted(assigned)) or "no partitions"
        super().__init__(
            f"`{partition}` is not assigned to this consumer, which has {names}",
            hint="`assignment()` tells what is assigned; of a group's partitions `on_assigned` "
            "is the earliest moment",
        )
        self.partition = partition


class ConsumerClosedError(UsageError):
    """The consumer was closed and cannot be used again."""

    code = "PEN-478"

    def __init__(self) -> None:
        super().__init__("this consumer is closed", hint="make a new `Consumer`")


_MOVED_ON = {
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.FENCED_MEMBER_EPOCH,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError._ASSIGNMENT_LOST,  # noqa: SLF001 - the client's public constants have such names
}


_SHUT_OUT = {
    KafkaError.FENCED_INSTANCE_ID,
    KafkaError._FATAL,  # noqa: SLF001 - the client does not tell what is behind it
}
_OUT_OF_RANGE = {
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
    KafkaError.OFFSET_OUT_OF_RANGE,
}


def commit_fault(
    err: KafkaException | KafkaError,
    *,
    member: Membership,
    bootstrap: str,
    topic: str | None = None,
) -> ClusterError:
    """Return what `err` means for somebody who wanted to commit offsets of `topic`."""
    error = error_of(err)
    if error.code() in _MOVED_ON:
        return CommitFailedError(member.group, reason=error.str())
    action = f"commit offsets of group `{member.group}`"
    return client_fault(error, action, member=member, bootstrap=bootstrap, topic=topic)


def client_fault(
    error: KafkaError, action: str, *, member: Membership, bootstrap: str, topic: str | None = None
) -> ClusterError:
    """Return what `error` means for a consumer that wanted to `action`."""
    if error.code() == KafkaError._MAX_POLL_EXCEEDED:  # noqa: SLF001
        return PollIntervalExceededError(member.group, seconds=member.max_poll_interval_seconds)
    if error.code() in _SHUT_OUT:
        return MemberFencedError(
            member.group, static_member_id=member.static_member_id, reason=error.str()
        )
    return translated(error, action=action, bootstrap=bootstrap, topic=topic)


def is_out_of_range(error: KafkaError) -> bool:
    """Return whether the offset to read next is not in the partition."""
    return error.code() in _OUT_OF_RANGE
