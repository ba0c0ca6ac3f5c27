"""Transactions that hang: their writer died or froze between its record and its commit.

Readers see nothing behind an open transaction. Kafka ends it when its timeout has passed and when
it next looks, which it does every ten seconds: with the ten seconds of our transactions that can
be twenty in all, for every key of the table. Whoever waits need not: the record behind which the
topic is hidden names its key, and entering as a writer of that key ends the transaction. A writer
that was only slow is shut out by this, and begins anew.

One that still hangs then is one of which its coordinator knows nothing: it takes it for ended, and
only an operator can end it (`kafka-transactions.sh abort`). That is told once.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from penstock.kafka.consumer.commits import Manual
from penstock.kafka.consumer.consumer import Consumer
from penstock.kafka.errors import ClusterError
from penstock.kafka.offsets import Isolation
from penstock.kafka.tables.entries import key_text
from penstock.kafka.tables.topic import end_of, partition_of
from penstock.kafka.tables.transactions import KeyWriter

if TYPE_CHECKING:
    from penstock.kafka.admin import Admin
    from penstock.names import Offset, TopicName

logger = logging.getLogger(__name__)

# Each of the few requests may take so long: the caller waits for something with a time limit.
_REQUEST_SECONDS = 1.0
_MOST_TRIES = 5


class HangingTransaction:
    """Looks whether the same transaction is open as a look before, and ends it."""

    def __init__(self, admin: Admin, topic: TopicName) -> None:
        self._admin, self._topic = admin, topic
        self._seen_at: Offset | None = None
        self._tries = 0

    def look(self) -> None:
        """Look once. A cluster that is away or refuses is left alone: its transactions end too."""
        with suppress(ClusterError, KafkaException):
            admin = self._admin.within(_REQUEST_SECONDS)
            hidden_from = end_of(admin, self._topic, Isolation.READ_COMMITTED)
            if hidden_from == end_of(admin, self._topic, Isolation.READ_UNCOMMITTED):
                self._seen_at = None
            elif hidden_from == self._seen_at:
                self._end(hidden_from)
            else:
                self._seen_at, self._tries = hidden_from, 0

    def _end(self, offset: Offset) -> None:
        self._tries += 1
        if self._tries > _MOST_TRIES:
            if self._tries == _MOST_TRIES + 1:
                told = {"topic": self._topic, "offset": offset}
                logger.error("a transaction hangs that its coordinator does not know", extra=told)
            return
        key = self._key_at(offset)
        if key is not None:
            logger.warning("ending a transaction that hangs", extra={"topic": self._topic})
            KeyWriter(self._admin.connection, self._topic, key).enter(_REQUEST_SECONDS)

    def _key_at(self, offset: Offset) -> str | None:
        partition = partition_of(self._topic)
        connection = self._admin.connection.with_request_timeout(_REQUEST_SECONDS)
        isolation = Isolation.READ_UNCOMMITTED
        with Consumer(connection, commit=Manual(), isolation=isolation) as consumer:
            consumer.assign([partition], {partition: offset})
            record = consumer.poll(_REQUEST_SECONDS)
        return key_text(record.key) if record is not None and record.key is not None else None
