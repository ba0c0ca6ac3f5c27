"""Writing the topic: transactions that only one process at a time can commit.

The transactional id belongs to the topic. Whoever enters ends the open transaction of the writer
before, frozen or not, and keeps it from ever committing another.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from penstock.kafka.tables.topic import PARTITION
from penstock.kafka.tables.transactions import fatal_errors_unwrapped, transactional_client
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import KafkaError, Message

    from penstock.kafka.connection import Connection
    from penstock.kafka.schemas_log.records import LogRecord
    from penstock.names import TopicName

# Ending a transaction that failed is a courtesy: the next to enter ends it as well.
_ABORT_SECONDS = 2.0


class LogWriter:
    """Writes records, each call in one transaction.

    After a failed write it is of no use any more: make another, and enter.
    """

    def __init__(self, connection: Connection, topic: TopicName, transactional_id: str) -> None:
        self._topic = topic
        self._client = transactional_client(connection, transactional_id)
        self._end = Offset(0)
        self.arrived = 0
        """How many records of the last write are in the topic, committed or not."""

    def enter(self, timeout_seconds: float) -> None:
        """Shut out all other writers; their open transaction has ended then.

        Raises:
            KafkaException: it did not work out in time, or the cluster refuses.
        """
        self._client.init_transactions(timeout_seconds)

    def write(self, records: Sequence[LogRecord], *, timeout_seconds: float) -> Offset:
        """Write and commit; return the offset behind the last record.

        Raises:
            KafkaException: nothing was committed, or nobody knows.
        """
        deadline = time.monotonic() + timeout_seconds
        self.arrived = 0
        self._client.begin_transaction()
        try:
            with fatal_errors_unwrapped():
                for record in records:
                    self._send(record)
                self._client.flush(timeout_seconds)
                self._client.commit_transaction(max(0.0, deadline - time.monotonic()))
        except KafkaException:
            with suppress(KafkaException):
                self._client.abort_transaction(_ABORT_SECONDS)
            raise
        return self._end

    def _send(self, record: LogRecord) -> None:
        self._client.produce(
            self._topic, record.value, record.key, partition=PARTITION, on_delivery=self._note
        )

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.arrived += 1
            self._end = Offset((message.offset() or 0) + 1)
