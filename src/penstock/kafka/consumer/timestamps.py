"""When was the record at an offset written? One record per partition is fetched and looked at.

Kafka's list-offsets goes from a time to an offset and not back, so the record itself must be read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.complaints import client_logger
from penstock.kafka.consumer.messages import record_of
from penstock.kafka.offsets import TopicPartition
from penstock.names import Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from confluent_kafka import Message

    from penstock.kafka.connection import Connection
    from penstock.names import Offset

_POLL_SECONDS = 0.1
# A broker sends at least one batch, however large; this keeps it from sending many.
_FETCH_BYTES = 64 * 1024
# The client waits a second before it fetches for a partition beside one that has records queued,
# and lets the broker wait for new records half as long: a reading of four partitions took seconds
# and takes 50 ms with this. It fetches during a reading only.
_BACKOFF_MILLISECONDS = 10

Timestamps = dict[TopicPartition, "datetime | None"]


class TimestampReader:
    """Reads timestamps of records at given offsets; keeps its connections from call to call.

    One thread at a time may use it. Records of open and aborted transactions count, as they do in
    high watermarks.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._client: Client | None = None

    def read(
        self, positions: Mapping[TopicPartition, Offset], *, timeout_seconds: float
    ) -> Timestamps:
        """Return the timestamp of the first record at or after each position.

        None where no record follows, or where it has no timestamp. A partition that did not answer
        in time is missing.
        """
        if self._client is None:
            self._client = Client(self._client_config())
        self._client.assign(
            [ClientPartition(item.topic, item.partition, at) for item, at in positions.items()]
        )
        try:
            return self._answers(self._client, set(positions), time.monotonic() + timeout_seconds)
        finally:
            self._client.unassign()

    def close(self) -> None:
        """Let the client go. It has joined no group, so nothing is waited for."""
        self._client = None

    def _answers(self, client: Client, open_: set[TopicPartition], deadline: float) -> Timestamps:
        found: Timestamps = {}
        while open_ and time.monotonic() < deadline:
            message = client.poll(_POLL_SECONDS)
            if message is None or message.topic() is None:
                continue
            partition = _partition_of(message)
            if partition not in open_ or not _is_answer(message):
                continue
            found[partition] = None if message.error() else record_of(message).timestamp
            open_.discard(partition)
            # Drops what was fetched beyond the first record, and fetches no more of it.
            client.incremental_unassign([ClientPartition(partition.topic, partition.partition)])
        return found

    def _client_config(self) -> dict[str, object]:
        return {
            **self._connection.client_config(),
            "group.id": "penstock-timestamps",  # the client asks for one; nothing is committed
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            # What retention has removed is not unread any more: the first that is left counts.
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
            "queued.min.messages": 1,
            "fetch.queue.backoff.ms": _BACKOFF_MILLISECONDS,
            "fetch.wait.max.ms": _BACKOFF_MILLISECONDS,
            "max.partition.fetch.bytes": _FETCH_BYTES,
            "log_level": 0,
            "logger": client_logger,
        }


def _partition_of(message: Message) -> TopicPartition:
    return TopicPartition(TopicName(message.topic() or ""), Partition(message.partition() or 0))


def _is_answer(message: Message) -> bool:
    error = message.error()
    return error is None or error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - public
