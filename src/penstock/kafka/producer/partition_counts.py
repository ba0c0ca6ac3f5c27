"""How many partitions a topic has, remembered for a while: partitioners ask for every record."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from penstock.kafka.admin import Admin
from penstock.kafka.errors import ClusterError, translated

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from penstock.kafka.complaints import Complaints
    from penstock.kafka.connection import Connection

# Partitions are added by hand and rarely; a minute is soon enough to use new ones.
_FRESH_SECONDS = 60.0


class PartitionCounts:
    """Asks the cluster through a producer's client."""

    def __init__(self, client: Producer, connection: Connection, complaints: Complaints) -> None:
        self._client = client
        self._connection = connection
        self._complaints = complaints
        self._known: dict[str, tuple[int, float]] = {}

    def count_of(self, topic: str) -> int:
        """Return the partition count of `topic`.

        A count that is a minute old is asked for again; when nobody answers it is used once more.

        Raises:
            UnknownTopicError: there is no such topic.
            NotAuthorizedError: this user may not see it.
            ClusterError: the cluster does not answer, and never has.
        """
        known = self._known.get(topic)
        if known is not None and time.monotonic() - known[1] < _FRESH_SECONDS:
            return known[0]
        try:
            count = self._ask(topic)
        except ClusterError as err:
            if known is None or not err.retryable:
                raise
            count = known[0]
        self._known[topic] = (count, time.monotonic())
        return count

    def _ask(self, topic: str) -> int:
        action = f"look up the partitions of `{topic}`"
        try:
            topics = self._client.list_topics(timeout=self._connection.request_timeout_seconds)
        except KafkaException as err:
            fault = translated(err, action=action, bootstrap=self._connection.bootstrap)
            raise self._complaints.refusal() or fault from err
        if topic not in topics.topics:
            with Admin(self._connection) as admin:
                raise admin.absence(topic, action, known=topics.topics)
        return len(topics.topics[topic].partitions)
