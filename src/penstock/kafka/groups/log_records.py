"""The records of the groups' logs: what brokers keep of groups, in Kafka's own binary format.

Keys say in their first two bytes what they are about; the numbers are those of the coordinator's
record types, which never change meaning. Only what a list of groups needs is read: commits, which
groups there are and of which protocol, and how many members they have. All else is None.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from penstock.kafka.groups.description import GroupType
from penstock.kafka.offsets import TopicPartition
from penstock.names import GroupId, Offset, Partition, TopicName

_COMMITS = (0, 1)
_CLASSIC_GROUP = 2
_GROUPS = {3: GroupType.CONSUMER, 11: GroupType.SHARE, 17: GroupType.STREAMS}
_MEMBERS = {5: GroupType.CONSUMER, 10: GroupType.SHARE, 19: GroupType.STREAMS}
_SHARE_SNAPSHOT, _SHARE_UPDATE = 0, 1
# Values from this version on have compact lengths.
_FLEXIBLE = 4


@dataclass(frozen=True, slots=True)
class CommitKey:
    """What a group has committed in one partition."""

    group: GroupId
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class GroupKey:
    """That a group exists, and which protocol its members speak."""

    group: GroupId
    type: GroupType


@dataclass(frozen=True, slots=True)
class MemberKey:
    """That a member belongs to a group; classic groups keep their members in their own record."""

    group: GroupId
    type: GroupType
    member_id: str


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A position that a group has committed, and when."""

    offset: Offset
    at: float
    """By the clock of the broker, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class ShareKey:
    """Where a share group stands in one partition; its log knows topics by their ids."""

    group: GroupId
    topic_id: bytes
    partition: Partition


LogKey = CommitKey | GroupKey | MemberKey


def decoded_key(data: bytes) -> LogKey | None:
    """Return what a record is about; None when that is of no use here, or cannot be read."""
    try:
        (kind,) = struct.unpack_from(">h", data)
        first, at = _text(data, 2)
        group = GroupId(first)
        if kind in _COMMITS:
            topic, at = _text(data, at)
            (partition,) = struct.unpack_from(">i", data, at)
            return CommitKey(group, TopicPartition(TopicName(topic), Partition(partition)))
        if kind == _CLASSIC_GROUP:
            return GroupKey(group, GroupType.CLASSIC)
        if kind in _GROUPS:
            return GroupKey(group, _GROUPS[kind])
        if kind in _MEMBERS:
            return MemberKey(group, _MEMBERS[kind], _text(data, at)[0])
    except (struct.error, UnicodeDecodeError):
        return None
    return None


def decoded_commit(data: bytes) -> LoggedCommit | None:
    """Return the value of a `CommitKey`; None when it cannot be read."""
    try:
        (version,) = struct.unpack_from(">h", data)
        (offset,) = struct.unpack_from(">q", data, 2)
        # Since version 3 the term of the leader stands between offset and metadata.
        at = _after_text(data, 14 if version >= 3 else 10, compact=version >= _FLEXIBLE)
        (milliseconds,) = struct.unpack_from(">q", data, at)
    except struct.error:
        return None
    return LoggedCommit(Offset(offset), milliseconds / 1000)


def decoded_member_count(data: bytes) -> int | None:
    """Return how many members the value of a classic `GroupKey` names."""
    try:
        (version,) = struct.unpack_from(">h", data)
        compact = version >= _FLEXIBLE
        at = _after_text(data, 2, compact=compact) + 4  # the protocol's type, the generation
        at = _after_text(data, at, compact=compact)  # the assignor
        at = _after_text(data, at, compact=compact)  # the leader
        at += 8 if version >= 2 else 0  # since when it is in this state
        if compact:
            return max(0, _varint(data, at)[0] - 1)
        (count,) = struct.unpack_from(">i", data, at)
    except struct.error:
        return None
    return int(count)


def decoded_share_key(data: bytes) -> ShareKey | None:
    """Return what a record of `__share_group_state` is about; None when it cannot be read."""
    try:
        (kind,) = struct.unpack_from(">h", data)
        group, at = _text(data, 2)
        (partition,) = struct.unpack_from(">i", data, at + 16)
    except (struct.error, UnicodeDecodeError):
        return None
    known = kind in (_SHARE_SNAPSHOT, _SHARE_UPDATE)
    return ShareKey(GroupId(group), data[at : at + 16], Partition(partition)) if known else None


def decoded_share_start(key: bytes, value: bytes) -> Offset | None:
    """Return the first record that a share group has not finished; None: no change of that."""
    try:
        (kind,) = struct.unpack_from(">h", key)
        # The epochs before it: of the snapshot, of the state (in snapshots alone), of the leader.
        (start,) = struct.unpack_from(">q", value, 14 if kind == _SHARE_SNAPSHOT else 10)
    except struct.error:
        return None
    return Offset(start) if start >= 0 else None


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Return the text at `at`, and where it ends."""
    (length,) = struct.unpack_from(">h", data, at)
    end = at + 2 + max(0, length)
    if end > len(data):
        raise struct.error
    return data[at + 2 : end].decode(), end


def _after_text(data: bytes, at: int, *, compact: bool) -> int:
    """Return where the text at `at` ends; null has no bytes in either encoding."""
    if compact:
        length, at = _varint(data, at)
        return at + max(0, length - 1)
    (length,) = struct.unpack_from(">h", data, at)
    return at + 2 + max(0, int(length))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        (byte,) = struct.unpack_from(">B", data, at)
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:  # the highest bit says that more follows
            return value, at
        shift += 7
