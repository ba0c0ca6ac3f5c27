"""What can go wrong with the topic of a registry, beside what can go wrong with the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.kafka.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.names import TopicName


class SchemasTopicError(ClusterError):
    """A topic exists that cannot hold schemas."""

    code = "PEN-720"

    def __init__(self, topic: TopicName, *, flaws: Sequence[str]) -> None:
        super().__init__(
            f"topic `{topic}` cannot hold schemas: it has {', '.join(flaws)}",
            hint=f"`penstock topics describe {topic}` shows it; set `registry.topic` to another, "
            "or correct this one",
        )
        self.topic, self.flaws = topic, tuple(flaws)


class FencedError(ClusterError):
    """Another writer has entered since."""

    code = "PEN-721"
    retryable = True

    def __init__(self, topic: TopicName, *, is_settled: bool = True) -> None:
        super().__init__(
            f"another registry writes topic `{topic}` by now",
            hint="send the request again: it goes to the instance that leads",
        )
        self.topic = topic
        self.is_settled = is_settled
        """Whether nothing was written for certain; otherwise the commit may have been in time."""
