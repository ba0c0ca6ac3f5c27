"""Reading the entry of one lane, right after the lane was opened.

The table of the driver has read the ledger up to some place; what has come since is read here. The
client that reads is kept: a new one takes longer than everything else that a lane does.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.admin import Admin
from penstock.kafka.complaints import Complaints, client_logger
from penstock.kafka.lanes.errors import LaneTimeoutError
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, LaneEntry
from penstock.kafka.offsets import Isolation
from penstock.kafka.tables.entries import key_bytes
from penstock.kafka.tables.hanging import HangingTransaction
from penstock.kafka.tables.topic import PARTITION, end_of

if TYPE_CHECKING:
    from penstock.kafka.connection import Connection
    from penstock.kafka.lanes.ledger import Lane
    from penstock.names import Offset

_POLL_SECONDS = 0.05
# How soon the end is told: markers of transactions hide it.
_END_MILLISECONDS = 5
# A transaction that is the first open one at two looks in a row hangs: an entry goes last.
_LOOK_SECONDS = 2.0


class LedgerReader:
    """Reads the ledger from a place to its end. For one thread."""

    def __init__(self, connection: Connection) -> None:
        self._admin = Admin(connection)
        self._hanging = HangingTransaction(self._admin, LEDGER_TOPIC)
        self._complaints = Complaints(connection.bootstrap, action=f"read topic `{LEDGER_TOPIC}`")
        self._client = Consumer(
            connection.client_config()
            | {
                "group.id": "penstock-lane",  # the client asks for one; no group is joined
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": _END_MILLISECONDS,
                "reconnect.backoff.ms": 10,
                "log_level": 0,
                "error_cb": self._complaints.note,
                "logger": client_logger,
            }
        )
        self._meet(connection.request_timeout_seconds)

    def _meet(self, timeout_seconds: float) -> None:
        """Let both clients find the topic's leader.

        Whoever asks for metadata is answered once a broker is there. A client that is told to read
        before it has any looks once a second whether it may, three times in a row at worst.
        """
        self._admin.client.list_topics(LEDGER_TOPIC, timeout=timeout_seconds)
        self._client.list_topics(LEDGER_TOPIC, timeout=timeout_seconds)

    def entry(self, lane: Lane, *, since: Offset, timeout_seconds: float) -> LaneEntry | None:
        """Return the last entry of `lane` at or behind `since`; None if there is none.

        Entries of transactions that are open are waited for: theirs is a matter of milliseconds.
        One that hangs, because its writer died, is ended, also that of another pipeline.

        Raises:
            LaneTimeoutError: the end was not reached in time.
            ClusterError: the cluster is away.
            KafkaException: the cluster refuses.
        """
        deadline = time.monotonic() + timeout_seconds
        end = end_of(self._admin, LEDGER_TOPIC, Isolation.READ_UNCOMMITTED)
        if end <= since:
            return None
        self._client.assign([ClientPartition(LEDGER_TOPIC, PARTITION, since)])
        try:
            return self._last(lane, position=since, end=end, deadline=deadline)
        finally:
            self._client.unassign()

    def _last(self, lane: Lane, *, position: int, end: int, deadline: float) -> LaneEntry | None:
        key, found = key_bytes(lane.key), None
        started = time.monotonic()
        look_at = started + _LOOK_SECONDS
        while position < end:
            if time.monotonic() > look_at:
                self._hanging.look()
                look_at = time.monotonic() + _LOOK_SECONDS
            if time.monotonic() > deadline:
                waited = time.monotonic() - started
                reason = self._complaints.last_word()
                raise LaneTimeoutError(lane, waited_seconds=waited, reason=reason)
            # Not `consume`, which waits until it has as many as were asked for.
            message = self._client.poll(_POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            offset = cast("int", message.offset())
            if error is None:
                position = offset + 1
                if message.key() == key:
                    value = message.value()
                    found = None if value is None else LaneEntry.from_bytes(value)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - public
                position = max(position, offset)
            elif not error.retriable():
                raise KafkaException(error)
        return found


@lru_cache(maxsize=1)
def ledger_reader(connection: Connection) -> LedgerReader:
    """Return the reader of this process."""
    return LedgerReader(connection)
