"""What topics are set to: asked a few topics at a time, since answers are large."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka import RequestRefusedError, UnknownTopicError, visible_topic_configs

if TYPE_CHECKING:
    from collections.abc import Collection

    from penstock.kafka import Admin, ConfigEntry
    from penstock.names import TopicName

logger = logging.getLogger(__name__)

# Settings are changed by people, who look at the result within minutes.
_AGAIN_SECONDS = 300.0
# The client makes objects of all 35 configs of a topic: 0.2 ms each. New topics come first.
_NEW_PER_LOOK, _OLD_PER_LOOK = 200, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """What lists of topics show of their configs; None where it is not limited, or not visible."""

    cleanup_policy: str | None
    retention_ms: int | None
    retention_bytes: int | None
    min_in_sync: int | None


class TopicSettingsCache:
    """Keeps what was asked, and asks anew every few minutes."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._asked_at: dict[TopicName, float] = {}
        self.known: dict[TopicName, TopicSettings] = {}

    def refresh(self, topics: Collection[TopicName], *, at: float) -> bool:
        """Ask about some of the topics that are new or long known; return whether all are known.

        Raises:
            ClusterError: the cluster does not answer.
        """
        for topic in self.known.keys() - topics:
            del self.known[topic], self._asked_at[topic]
        new = [topic for topic in topics if topic not in self.known]
        old = [
            topic
            for topic, asked_at in self._asked_at.copy().items()
            if asked_at < at - _AGAIN_SECONDS and topic in topics
        ]
        asked = new[:_NEW_PER_LOOK] + old[:_OLD_PER_LOOK]
        try:
            answers = visible_topic_configs(self._admin, asked)
        except UnknownTopicError:  # deleted a moment ago; the next look asks without it
            return False
        except RequestRefusedError:
            answers = self._one_by_one(asked)
        for topic, entries in answers.items():
            self.known[topic], self._asked_at[topic] = _settings(entries), at
        return len(new) <= _NEW_PER_LOOK

    def _one_by_one(
        self, topics: Collection[TopicName]
    ) -> dict[TopicName, tuple[ConfigEntry, ...]]:
        """Ask for each topic alone: the client sometimes cannot read an answer about several.

        One of which even that cannot be read has no configs for now.
        """
        answers: dict[TopicName, tuple[ConfigEntry, ...]] = {}
        for topic in topics:
            try:
                answers |= visible_topic_configs(self._admin, [topic])
            except RequestRefusedError as fault:
                logger.warning(
                    "the configs of a topic are not known",
                    extra={"topic": topic, "reason": fault.message},
                )
                answers[topic] = ()
        return answers

    def forget(self, topic: TopicName) -> None:
        """Ask about `topic` at the next look: somebody has changed it."""
        self._asked_at[topic] = float("-inf")


def _settings(entries: Collection[ConfigEntry]) -> TopicSettings:
    values = {entry.name: entry.value for entry in entries}
    return TopicSettings(
        cleanup_policy=values.get("cleanup.policy"),
        retention_ms=_limit(values.get("retention.ms")),
        retention_bytes=_limit(values.get("retention.bytes")),
        min_in_sync=_limit(values.get("min.insync.replicas")),
    )


def _limit(text: str | None) -> int | None:
    """Return the number that a config says; Kafka writes -1 for none."""
    return int(text) if text is not None and int(text) >= 0 else None
