"""The groups' log: all groups of a cluster, followed in `__consumer_offsets` as a consumer does.

Share groups keep their positions in `__share_group_state`, which is followed once there are any.

One client reads what brokers write down anyway, so ten thousand groups cost no more requests than
one. Why this way and not by asking for each group is in docs/decisions/0017-groups-by-their-log.md.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.complaints import client_logger
from penstock.kafka.errors import ClusterError, NotAuthorizedError
from penstock.kafka.groups.description import GroupType
from penstock.kafka.groups.log_records import (
    CommitKey,
    GroupKey,
    LoggedCommit,
    LogKey,
    MemberKey,
    decoded_commit,
    decoded_key,
    decoded_member_count,
)
from penstock.kafka.groups.share_positions import SharePositions
from penstock.names import GroupId, TopicName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Message

    from penstock.kafka.admin import Admin
    from penstock.kafka.offsets import TopicPartition

logger = logging.getLogger(__name__)

TOPIC = TopicName("__consumer_offsets")
SHARE_TOPIC = TopicName("__share_group_state")

_BATCH_RECORDS = 10_000
_POLL_SECONDS = 0.2
# What the client reads ahead of us; its own 64 MB per partition would be half of a console.
_READ_AHEAD_KILOBYTES = 16 * 1024
_READ_AHEAD_RECORDS = 20_000
_DENIED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}


class GroupsLogHiddenError(ClusterError):
    """This user may not read the topic in which brokers keep groups."""

    code = "PEN-670"

    def __init__(self) -> None:
        super().__init__(
            f"groups cannot be followed: topic `{TOPIC}` may not be read",
            hint=f"allow the operation `Read` on topic `{TOPIC}` to the user who watches groups",
        )


@dataclass(slots=True)
class LoggedGroup:
    """What the log says of one group now."""

    type: GroupType = GroupType.CLASSIC
    """Groups that only ever committed, without members, are classic."""

    commits: dict[TopicPartition, LoggedCommit] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)
    classic_member_count: int = 0
    named: bool = False
    """Whether there is a record of the group itself, and not only of commits."""

    @property
    def member_count(self) -> int:
        """How many members it has."""
        return len(self.members) + self.classic_member_count


class GroupsLog:
    """Knows every group of a cluster and what it has committed, as of the last `catch_up`.

    One thread at a time may use it. Commits within transactions count once those are committed.
    """

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._client: Consumer | None = None
        self._unfinished: set[tuple[str, int]] = set()
        self._shares = SharePositions(admin)
        self._follows_shares = False
        self._keys: dict[bytes, LogKey] = {}
        self.groups: dict[GroupId, LoggedGroup] = {}

    @property
    def complete(self) -> bool:
        """Whether all has been read that was there when the reading began."""
        return self._client is not None and not self._unfinished

    def catch_up(self, *, timeout_seconds: float) -> set[GroupId]:
        """Read what is new, and return the groups that it concerns, also those that are gone.

        Ends at the end of the log, or after `timeout_seconds` while there is more; call it again.

        Raises:
            GroupsLogHiddenError: the topic may not be read.
            ClusterError: the cluster does not answer.
        """
        if self._client is None and not self._begin():
            return set()
        self._begin_with_shares()
        changed: set[GroupId] = set()
        deadline = time.monotonic() + timeout_seconds
        while True:
            wait = _POLL_SECONDS if self._unfinished else 0.0
            messages = self._messages(wait)
            for message in messages:
                self._take(message, changed)
            if (not messages and not self._unfinished) or time.monotonic() > deadline:
                return changed | self._place_shares()

    def close(self) -> None:
        """Let the client go. It has joined no group, so nothing is waited for."""
        self._client, self._follows_shares = None, False

    def _begin(self) -> bool:
        """Begin to read; False while there is no such topic: no group has ever committed."""
        known = self._admin.metadata().topics
        if TOPIC not in known:
            fault = self._admin.absence(TOPIC, f"read topic `{TOPIC}`", known=())
            if isinstance(fault, NotAuthorizedError):
                raise GroupsLogHiddenError from fault
            return False
        self._client = Consumer(self._client_config())
        self._assign(TOPIC, sorted(known[TOPIC].partitions))
        return True

    def _begin_with_shares(self) -> None:
        """Read the positions of share groups as well, once there are such groups."""
        if self._follows_shares or all(
            item.type is not GroupType.SHARE for item in self.groups.values()
        ):
            return
        known = self._admin.metadata().topics
        if SHARE_TOPIC in known:  # it comes with the first position, or may not be seen
            self._follows_shares = True
            self._assign(SHARE_TOPIC, sorted(known[SHARE_TOPIC].partitions))

    def _assign(self, topic: TopicName, partitions: Sequence[int]) -> None:
        if self._client is not None:
            self._unfinished |= {(topic, number) for number in partitions}
            # From the very beginning: the broker moves a reader of 0 to the first there is.
            self._client.incremental_assign(
                [ClientPartition(topic, number, 0) for number in partitions]
            )

    def _place_shares(self) -> set[GroupId]:
        """Take over the positions of share groups, and return the groups concerned."""
        placed = self._shares.take()
        for position in placed:
            group = self.groups.get(position.group)
            if group is None:
                continue
            if position.commit is None:
                group.commits.pop(position.partition, None)
            else:
                group.commits[position.partition] = position.commit
        return {position.group for position in placed}

    def _messages(self, wait_seconds: float) -> list[Message]:
        if self._client is None:
            return []
        return self._client.consume(_BATCH_RECORDS, wait_seconds)

    def _take(self, message: Message, changed: set[GroupId]) -> None:
        error = message.error()
        if error is None and message.topic() == SHARE_TOPIC:
            self._shares.note(message)
        elif error is None:
            self._apply(message.key(), message.value(), changed)
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
            self._unfinished.discard((message.topic() or "", message.partition() or 0))
        elif error.code() in _DENIED and message.topic() == TOPIC:
            self.close()
            raise GroupsLogHiddenError
        else:  # the client goes on by itself, as after an election
            logger.debug("the groups' log stutters", extra={"reason": error.str()})

    def _apply(self, raw: bytes | str | None, value: bytes | str | None, to: set[GroupId]) -> None:
        if not isinstance(raw, bytes):
            return
        key = self._keys.get(raw) or decoded_key(raw)
        if key is None:
            return
        to.add(key.group)
        if isinstance(value, bytes):
            self._keys[raw] = key
            self._set(key, value)
        else:
            self._keys.pop(raw, None)
            self._remove(key)

    def _set(self, key: LogKey, value: bytes) -> None:
        group = self.groups.setdefault(key.group, LoggedGroup())
        match key:
            case CommitKey(partition=partition):
                commit = decoded_commit(value)
                if commit is not None:
                    group.commits[partition] = commit
            case GroupKey(type=kind):
                group.type, group.named = kind, True
                if kind is GroupType.CLASSIC:
                    group.classic_member_count = decoded_member_count(value) or 0
            case MemberKey(type=kind, member_id=member_id):
                group.type = kind
                group.members.add(member_id)

    def _remove(self, key: LogKey) -> None:
        group = self.groups.get(key.group)
        if group is None:
            return
        match key:
            case CommitKey(partition=partition):
                group.commits.pop(partition, None)
            case GroupKey(type=kind):
                # A group that changes its protocol is removed as the one and made as the other.
                if kind is GroupType.CLASSIC:
                    group.classic_member_count = 0
                if kind is group.type:
                    group.named = False
            case MemberKey(member_id=member_id):
                group.members.discard(member_id)
        if not (group.named or group.commits or group.members):
            del self.groups[key.group]

    def _client_config(self) -> dict[str, object]:
        return {
            **self._admin.connection.client_config(),
            "group.id": "penstock-groups-log",  # the client asks for one; no group is joined
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "queued.min.messages": _READ_AHEAD_RECORDS,
            "queued.max.messages.kbytes": _READ_AHEAD_KILOBYTES,
            "log_level": 0,
            "logger": client_logger,
        }
