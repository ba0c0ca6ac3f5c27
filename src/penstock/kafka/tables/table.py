"""The table itself: what users hold.

Reading is in `kafka/tables/following.py`, conditional writes are in `kafka/tables/conditional.py`,
the topic's shape is in `kafka/tables/topic.py`.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self, cast

from penstock.kafka.admin import Admin
from penstock.kafka.offsets import Isolation
from penstock.kafka.producer.errors import ProducerFailedError, UndeliveredError
from penstock.kafka.producer.outgoing import outgoing_record
from penstock.kafka.producer.producer import Producer
from penstock.kafka.tables.conditional import ConditionalWriter
from penstock.kafka.tables.entries import Contents, Entry, ignore_change, key_bytes
from penstock.kafka.tables.errors import TableClosedError, TableTimeoutError
from penstock.kafka.tables.following import Follower
from penstock.kafka.tables.hanging import HangingTransaction
from penstock.kafka.tables.topic import (
    PARTITION,
    end_of,
    ensure_table_topic,
    first_of,
    is_gone,
)
from penstock.names import Offset, Version

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from types import TracebackType

    from penstock.kafka.connection import Connection
    from penstock.kafka.records import Delivery
    from penstock.kafka.tables.entries import OnChange
    from penstock.kafka.topics.description import TopicIdentity
    from penstock.names import TopicName

# A commit takes milliseconds: who waits longer than this looks whether a transaction hangs.
_PATIENCE_SECONDS = 1.0
# A request that was given no time at all would fail for that alone.
_SHORTEST_REQUEST_SECONDS = 0.1
# Only a `put` of another thread that is still under way would keep the producer longer.
_CLOSE_SECONDS = 1.0


class KafkaTable:
    """A compacted topic as a key-value table. Safe to share between threads; close it.

    Keys are text, values are bytes. Each table holds all entries in memory and follows the topic,
    so reading costs nothing and shows what others wrote some milliseconds ago.

        with KafkaTable.open(connection, TopicName("_penstock.status")) as table:
            written = table.put("status/orders", b"running")
            table.put_if("lease/orders", b"me", version=None)

    A key is written either by `put` and `delete`, or by `put_if`, never by both: only those who
    all use `put_if` keep each other from writing.
    """

    def __init__(
        self,
        admin: Admin,
        topic: TopicName,
        identity: TopicIdentity,
        *,
        on_change: OnChange,
        first: Offset,
        announced: Offset,
        timeout_seconds: float,
    ) -> None:
        self._admin, self._topic, self._timeout_seconds = admin, topic, timeout_seconds
        self._contents = Contents()
        self._follower = Follower(
            admin.connection,
            topic,
            self._contents,
            on_change=on_change,
            first=first,
            announced=announced,
            is_gone=partial(is_gone, admin, topic, identity),
        )
        self._conditional = ConditionalWriter(
            admin.connection,
            topic,
            self._contents,
            refresh=self.refresh,
            await_position=self._await_position,
        )
        self._producer: Producer | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        connection: Connection,
        topic: TopicName,
        *,
        on_change: OnChange = ignore_change,
        timeout_seconds: float = 30,
    ) -> Self:
        """Return the table when all that is in the topic now has been read.

        An absent topic is created: one partition, compacted, with the broker's timestamps.

        Args:
            connection: how to reach the cluster.
            topic: the topic.
            on_change: called for every later change, one after the other and in the order of the
                topic, in a thread of the table. It may use the table, which may show later changes
                already. What it raises is logged.
            timeout_seconds: how long opening may take, and then each `put`, `put_if` and `delete`.

        Raises:
            TableTopicError: the topic exists and cannot hold a table.
            TableTimeoutError: reading took too long.
            ClusterError: another subclass: the cluster is away, or refuses.
        """
        deadline = time.monotonic() + timeout_seconds
        admin = Admin(connection.with_request_timeout(timeout_seconds))
        identity = ensure_table_topic(admin, topic)
        end = end_of(admin, topic, Isolation.READ_UNCOMMITTED)
        table = cls(
            admin,
            topic,
            identity,
            on_change=on_change,
            first=first_of(admin, topic),
            announced=end,
            timeout_seconds=timeout_seconds,
        )
        table._follower.start()
        # A client takes half a second to be ready to write, in which this one reads.
        table._open_producer()
        try:
            table._await_position(end, deadline - time.monotonic())
        except BaseException:
            table.close()
            raise
        return table

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    @property
    def topic(self) -> TopicName:
        """The topic behind the table."""
        return self._topic

    @property
    def connection(self) -> Connection:
        """How it reaches the cluster."""
        return self._admin.connection

    def get(self, key: str) -> Entry | None:
        """Return the entry of `key`, or None.

        Raises:
            TableClosedError: the table is closed.
            TableLostError: the topic was deleted, or made anew.
        """
        return self._contents.get(key)

    def snapshot(self) -> dict[str, Entry]:
        """Return a copy of all entries as of one moment: one position in the topic.

        Raises:
            TableClosedError, TableLostError: as `get`.
        """
        return self._contents.copied()

    def entries_at(self, prefix: str) -> tuple[Offset, dict[str, Entry]]:
        """Return the entries whose keys begin with `prefix`, and the position they are as of.

        Raises:
            TableClosedError, TableLostError: as `get`.
        """
        return self._contents.entries_at(prefix)

    def refresh(self, timeout_seconds: float = 10) -> None:
        """Return when the table shows all that is in the topic now.

        Raises:
            TableTimeoutError: it took longer.
            ClusterError: another subclass: the cluster is away, or refuses.
        """
        deadline = time.monotonic() + timeout_seconds
        admin = self._admin.within(max(timeout_seconds, _SHORTEST_REQUEST_SECONDS))
        end = end_of(admin, self._topic, Isolation.READ_UNCOMMITTED)
        self._await_position(end, deadline - time.monotonic())

    def put(self, key: str, value: bytes) -> Entry:
        """Write an entry and return it when this table shows it, or a later one.

        Raises:
            DeliveryError: it was not written; `retryable` tells whether later may help.
            TableTimeoutError: it was written, and could not be read back in time.
        """
        delivery = self._write(key, value)
        return Entry(
            value=value,
            version=Version(_offset_of(delivery)),
            written_at=cast("datetime", delivery.timestamp),  # the topic has the broker's
        )

    def put_if(self, key: str, value: bytes, *, version: Version | None) -> Entry:
        """Write an entry if the one that is there has `version`; None: if none is there.

        Of several writers that expect the same version exactly one succeeds, in whatever process.
        Returns when this table shows the entry, or a later one.

        Raises:
            VersionConflictError: another one is there; `found` is it.
            TableTimeoutError: the cluster did not answer in time. Whether the entry was written
                shows when it does.
            ClusterError: another subclass, for what else went wrong.
        """
        self._contents.get(key)  # a closed or lost table says so
        return self._conditional.put_if(
            key, value, version=version, timeout_seconds=self._timeout_seconds
        )

    def delete(self, key: str) -> None:
        """Delete an entry; return when this table shows it no more.

        Raises:
            DeliveryError, TableTimeoutError: as `put`.
        """
        self._write(key, None)

    def wait_for(
        self, key: str, condition: Callable[[Entry | None], bool], timeout_seconds: float
    ) -> Entry | None:
        """Return the entry of `key` as soon as `condition` holds for it; None if for no entry.

        The condition is asked once at the beginning and after each change; it should be quick.

        Raises:
            TableTimeoutError: it did not come to hold in time.
        """
        found: list[Entry | None] = []

        def holds() -> bool:
            entry = self._contents.get(key)
            found[:] = [entry]
            return condition(entry)

        if not self._contents.await_condition(holds, timeout_seconds):
            action = f"show the awaited entry of `{key}`"
            raise self._timed_out(action, timeout_seconds)
        return found[0]

    def close(self) -> None:
        """End the threads and connections. May be called twice, and in the callback."""
        self._contents.end(TableClosedError(self._topic))
        self._follower.close()
        self._conditional.close()
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(UndeliveredError):  # the `put` that waits for it is told
                producer.close(_CLOSE_SECONDS)

    def _write(self, key: str, value: bytes | None) -> Delivery:
        deadline = time.monotonic() + self._timeout_seconds
        self._contents.get(key)  # a closed or lost table says so
        record = outgoing_record(self._topic, value, key=key_bytes(key), partition=PARTITION)
        try:
            delivery = self._open_producer().send_record_and_wait(record)
        except ProducerFailedError:
            with self._lock:
                self._producer = None  # it is of no use any more
            raise
        self._await_position(Offset(_offset_of(delivery) + 1), deadline - time.monotonic())
        return delivery

    def _open_producer(self) -> Producer:
        with self._lock:
            if self._producer is None:
                self._producer = Producer(
                    self._admin.connection,
                    linger_seconds=0,
                    delivery_timeout_seconds=self._timeout_seconds,
                )
            return self._producer

    def _await_position(self, position: Offset, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        complaints = self._follower.complaints
        hanging = HangingTransaction(self._admin, self._topic)

        def reached_or_refused() -> bool:
            return self._contents.position >= position or complaints.refusal() is not None

        while True:
            patience = min(_PATIENCE_SECONDS, deadline - time.monotonic())
            if self._contents.await_condition(reached_or_refused, patience):
                break
            if time.monotonic() >= deadline:
                action = f"read up to offset {position}"
                raise self._timed_out(action, timeout_seconds)
            hanging.look()
        refusal = complaints.refusal()
        if self._contents.position < position and refusal is not None:
            raise refusal

    def _timed_out(self, action: str, waited_seconds: float) -> TableTimeoutError:
        return TableTimeoutError(
            self._topic,
            action=action,
            waited_seconds=waited_seconds,
            reason=self._follower.complaints.last_word(),
        )


def _offset_of(delivery: Delivery) -> Offset:
    return cast("Offset", delivery.offset)  # None only without acknowledgements
