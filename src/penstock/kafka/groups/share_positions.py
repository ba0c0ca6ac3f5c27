"""Positions of share groups, from the records of `__share_group_state`.

A share group has no commits: of each partition its coordinator keeps the first record that is not
finished. Behind it there may be finished ones, so its lag is an upper bound. The records know
topics by their ids, and these are asked for when one comes that is not known.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka.errors import UnknownTopicError
from penstock.kafka.groups.log_records import (
    LoggedCommit,
    ShareKey,
    decoded_share_key,
    decoded_share_start,
)
from penstock.kafka.offsets import TopicPartition
from penstock.kafka.topics.description import topic_identities, topic_names

if TYPE_CHECKING:
    from confluent_kafka import Message

    from penstock.kafka.admin import Admin
    from penstock.names import GroupId, TopicName

# Ids of topics that were deleted are never found; all topics must be asked to learn that.
_RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePosition:
    """Where a share group stands in a partition; None: nowhere any more."""

    group: GroupId
    partition: TopicPartition
    commit: LoggedCommit | None


class SharePositions:
    """Collects positions until the names of their topics are known."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._names: dict[bytes, TopicName] = {}
        self._waiting: dict[ShareKey, LoggedCommit | None] = {}
        self._asked_at = float("-inf")

    def note(self, message: Message) -> None:
        """Take in a record of the log."""
        raw, value = message.key(), message.value()
        key = decoded_share_key(raw) if isinstance(raw, bytes) else None
        if key is None or not isinstance(raw, bytes):
            return
        if not isinstance(value, bytes):
            self._waiting[key] = None
            return
        start = decoded_share_start(raw, value)
        if start is not None:
            self._waiting[key] = LoggedCommit(start, message.timestamp()[1] / 1000)

    def take(self) -> list[SharePosition]:
        """Return the positions whose topics have names, and forget them.

        Raises:
            ClusterError: the cluster does not answer.
        """
        now = time.monotonic()
        unknown = any(key.topic_id not in self._names for key in self._waiting)
        if unknown and now - self._asked_at > _RETRY_SECONDS:
            self._names, self._asked_at = self._known_names(), now
        placed = [
            SharePosition(
                group=key.group,
                partition=TopicPartition(self._names[key.topic_id], key.partition),
                commit=commit,
            )
            for key, commit in self._waiting.items()
            if key.topic_id in self._names
        ]
        self._waiting = {
            key: commit for key, commit in self._waiting.items() if key.topic_id not in self._names
        }
        return placed

    def _known_names(self) -> dict[bytes, TopicName]:
        names = topic_names(self._admin, internal=True)
        try:
            found = topic_identities(self._admin, names)
        except UnknownTopicError:  # one was deleted a moment ago
            return self._names
        return {
            base64.urlsafe_b64decode(f"{item.topic_id}=="): name for name, item in found.items()
        }
