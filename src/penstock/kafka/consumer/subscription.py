r"""Which topics a consumer was asked for: names, or a pattern that new topics may come to match.

The pattern is Python's and matches the whole name. The client's own patterns are the C library's,
and those of the broker are Google's: `orders-\d+` would mean something else in each of the three.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from penstock.kafka.consumer.membership import InvalidConsumerError
from penstock.kafka.errors import UnknownTopicError
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_INTERNAL_PREFIX = "__"  # Kafka's own topics, such as `__consumer_offsets`


class Subscription:
    """The topics to read, as names or as a pattern.

    Raises:
        InvalidConsumerError: no topic is named.
    """

    def __init__(self, topics: Sequence[str] | re.Pattern[str]) -> None:
        if isinstance(topics, str):
            raise InvalidConsumerError(
                reason=f"`topics` is the text `{topics}`", hint=f'pass a list: `["{topics}"]`'
            )
        if not isinstance(topics, re.Pattern) and not topics:
            raise InvalidConsumerError(
                reason="`topics` is empty",
                hint="name a topic, pass a pattern, or use `assign`",
            )
        self._topics = topics

    @property
    def is_pattern(self) -> bool:
        """Whether the topics of tomorrow may be others than those of today."""
        return isinstance(self._topics, re.Pattern)

    def matching(self, known: Collection[str]) -> tuple[TopicName, ...]:
        """Return the topics to read, given those that the cluster has.

        Kafka's own topics are matched only by a pattern that begins like them.

        Raises:
            UnknownTopicError: a topic was named that does not exist. A pattern may match nothing.
        """
        if isinstance(self._topics, re.Pattern):
            pattern = self._topics
            return tuple(TopicName(name) for name in sorted(known) if _matches(pattern, name))
        for name in self._topics:
            if name not in known:
                raise UnknownTopicError(name, known=known)
        return tuple(TopicName(name) for name in dict.fromkeys(self._topics))


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    wanted = not name.startswith(_INTERNAL_PREFIX) or pattern.pattern.startswith(_INTERNAL_PREFIX)
    return wanted and pattern.fullmatch(name) is not None
