"""One key's transactions: writes that nobody else can make under the same key meanwhile.

Kafka lets one producer at a time use a transactional id. The id of a key is `<topic>:<key>`, so
whoever enters ends the open transaction of all others that write the key, and keeps them from
committing another.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.kafka.complaints import client_logger
from penstock.kafka.records import moment_of
from penstock.kafka.tables.entries import Entry, key_bytes
from penstock.kafka.tables.topic import PARTITION
from penstock.names import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Message

    from penstock.kafka.connection import Connection
    from penstock.names import TopicName

# How long a transaction may stay open when its writer is frozen: so long it hides what is behind
# it from every reader, unless one of them ends it (`kafka/tables/hanging.py`).
_TRANSACTION_SECONDS = 10.0
# Ending a transaction that failed is a courtesy to readers: it ends by itself.
_ABORT_SECONDS = 2.0


def transactional_client(connection: Connection, transactional_id: str) -> Producer:
    """Return a producer for transactions of one writer at a time."""
    return Producer(
        connection.client_config()
        | {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
            "message.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
            "linger.ms": 0,
            "log_level": 0,
            "logger": client_logger,
        }
    )


@contextmanager
def fatal_errors_unwrapped() -> Iterator[None]:
    """Raise what the client calls fatal as the `KafkaException` that it is.

    The client raises it in the middle of its callbacks. When a delivery report is due behind it,
    Python finds that report's function called with an exception set: a `SystemError`.
    """
    try:
        yield
    except SystemError as err:
        if isinstance(err.__cause__, KafkaException):
            raise err.__cause__ from err
        raise


class KeyWriter:
    """Writes one key. After a failed write it is of no use any more: make another."""

    def __init__(self, connection: Connection, topic: TopicName, key: str) -> None:
        self._topic, self._key = topic, key
        self._client = transactional_client(connection, f"{topic}:{key}")
        self.sent: Entry | None = None
        """What the last write has put into the topic, committed or not; None if nothing."""

    def enter(self, timeout_seconds: float) -> None:
        """Shut out all other writers of the key; their open transaction has ended then.

        Raises:
            KafkaException: it did not work out in time, or the cluster refuses.
        """
        self._client.init_transactions(timeout_seconds)

    def write(self, value: bytes, *, timeout_seconds: float) -> Entry:
        """Write and commit.

        Raises:
            KafkaException: it was not committed, or nobody knows.
        """
        deadline = time.monotonic() + timeout_seconds
        self.sent = None
        self._client.begin_transaction()
        committed = False
        try:
            with fatal_errors_unwrapped():
                self._send(value, timeout_seconds)
                self._commit(max(0.0, deadline - time.monotonic()))
            committed = True
        finally:
            if not committed:
                self._abandon()
        if self.sent is None:  # not seen to happen: a commit fails when its record has failed
            raise KafkaException(KafkaError(KafkaError._FAIL))  # noqa: SLF001 - public
        return self.sent

    def _send(self, value: bytes, timeout_seconds: float) -> None:
        def report(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.sent = Entry(
                    value=value,
                    version=Version(message.offset() or 0),
                    written_at=moment_of(message.timestamp()[1]),
                )

        self._client.produce(
            self._topic, value, key_bytes(self._key), partition=PARTITION, on_delivery=report
        )
        self._client.flush(timeout_seconds)

    def _commit(self, timeout_seconds: float) -> None:
        self._client.commit_transaction(timeout_seconds)

    def _abandon(self) -> None:
        with suppress(KafkaException):
            self._client.abort_transaction(_ABORT_SECONDS)
