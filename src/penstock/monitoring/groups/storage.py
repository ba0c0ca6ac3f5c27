"""What topics keep: their retention, and how large a record is where size decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka import UnknownTopicError, partition_sizes, visible_topic_configs
from penstock.monitoring.groups.losing import KEEPS_ALL, Retention, retention_of
from penstock.monitoring.groups.standing import Storage

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from penstock.kafka import Admin, ConfigEntry, TopicPartition
    from penstock.monitoring.groups.ends import EndHistory
    from penstock.names import TopicName


# Retention is changed by people, who look at the result within minutes.
_CONFIG_SECONDS = 300.0
_SIZE_SECONDS = 60.0
# The client makes objects of all 35 configs of a topic: 0.2 ms each. New topics come first.
_NEW_PER_LOOK, _OLD_PER_LOOK = 500, 50
_UNKNOWN = Storage(KEEPS_ALL, None)


class TopicStorage:
    """Keeps what was asked about topics, and asks anew every few minutes."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._retentions: dict[TopicName, tuple[float, Retention]] = {}
        self._sizes: dict[TopicPartition, int] = {}
        self._sized_at = float("-inf")
        self.changed_at = 0.0
        """When the retention of a topic was last seen to be another than before."""

    def refresh(self, topics: Collection[TopicName], *, at: float) -> bool:
        """Ask about those of `topics` that are new, and some others; return whether all are known.

        Raises:
            ClusterError: the cluster does not answer.
        """
        new = [topic for topic in topics if topic not in self._retentions]
        old = [
            topic
            for topic, (asked_at, _) in self._retentions.items()
            if asked_at < at - _CONFIG_SECONDS and topic in topics
        ]
        asked = new[:_NEW_PER_LOOK] + old[:_OLD_PER_LOOK]
        for topic in self._retentions.keys() - topics:
            del self._retentions[topic]
        self._ask(asked, at=at)
        bounded = any(item.size_bytes is not None for _, item in self._retentions.values())
        if bounded and at - self._sized_at >= _SIZE_SECONDS:
            self._sizes, self._sized_at = partition_sizes(self._admin), at
        return len(new) <= _NEW_PER_LOOK

    def of(self, partition: TopicPartition, ends: EndHistory) -> Storage:
        """Return what is kept of a partition; all, where nothing is known."""
        known = self._retentions.get(partition.topic)
        if known is None:
            return _UNKNOWN
        retention = known[1]
        if retention.size_bytes is None:
            return Storage(retention, None)
        size = self._sizes.get(partition)
        records = (ends.end or 0) - (ends.first or 0)
        return Storage(retention, size / records if size is not None and records > 0 else None)

    def _ask(self, topics: Collection[TopicName], *, at: float) -> None:
        try:
            answers = visible_topic_configs(self._admin, topics)
        except UnknownTopicError:  # deleted a moment ago; the next look asks without it
            return
        for topic, entries in answers.items():
            retention = _retention(entries)
            if topic not in self._retentions or self._retentions[topic][1] != retention:
                self.changed_at = at
            self._retentions[topic] = at, retention


def _retention(entries: Collection[ConfigEntry]) -> Retention:
    values: Mapping[str, str | None] = {entry.name: entry.value for entry in entries}
    if not values:  # this user may not see configs
        return KEEPS_ALL
    return retention_of(
        cleanup_policy=values.get("cleanup.policy"),
        milliseconds=values.get("retention.ms"),
        size_bytes=values.get("retention.bytes"),
    )
