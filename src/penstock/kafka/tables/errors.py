"""What can go wrong with a table, beside what can go wrong with the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.kafka.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka.tables.entries import Entry
    from penstock.names import TopicName, Version


class TableTopicError(ClusterError):
    """A topic exists that cannot hold a table."""

    code = "PEN-480"

    def __init__(self, topic: TopicName, *, flaws: Sequence[str]) -> None:
        super().__init__(
            f"topic `{topic}` cannot hold a table: it has {', '.join(flaws)}",
            hint=f"`penstock topics describe {topic}` shows it; name another topic, or delete this "
            "one and let it be created again",
        )
        self.topic, self.flaws = topic, tuple(flaws)


class VersionConflictError(ClusterError):
    """A conditional write was refused: the entry is not at the version that was expected.

    After a connection was lost in the middle of the write, it may also mean that the write was
    done and that another writer has replaced it since. Either way `found` is what is there.
    """

    code = "PEN-481"

    def __init__(
        self, topic: TopicName, key: str, *, expected: Version | None, found: Entry | None
    ) -> None:
        there = "no entry" if found is None else f"version {found.version}"
        wanted = "no entry" if expected is None else f"version {expected}"
        super().__init__(
            f"`{key}` in `{topic}` was written by somebody else: found {there}, expected {wanted}",
            hint="read the entry again and decide anew",
        )
        self.key, self.expected, self.found = key, expected, found


class TableTimeoutError(ClusterError):
    """What was waited for did not come in time."""

    code = "PEN-482"
    retryable = True

    def __init__(
        self, topic: TopicName, *, action: str, waited_seconds: float, reason: str = ""
    ) -> None:
        because = f" (the last reason: {reason})" if reason else ""
        super().__init__(
            f"table `{topic}` did not {action} within {waited_seconds:.3g} s{because}",
            hint="try again; `penstock cluster describe` shows the state of the brokers",
        )
        self.topic = topic


class TableClosedError(UsageError):
    """A table was used after it was closed."""

    code = "PEN-483"

    def __init__(self, topic: TopicName) -> None:
        super().__init__(
            f"table `{topic}` is closed", hint="open it again, or move the call into the block"
        )


class TableLostError(ClusterError):
    """The topic is not the one any more that the table was read from."""

    code = "PEN-484"

    def __init__(self, topic: TopicName, *, reason: str) -> None:
        super().__init__(
            f"table `{topic}` cannot be followed any more: {reason}",
            hint=f"open it again; `penstock topics describe {topic}` shows what is there",
        )
        self.topic = topic
