"""The log of schemas: all of it folded into a state, and appended to by whoever has entered.

Every instance of a registry opens the log and follows it. To write, an instance enters: all
earlier writers are shut out, and what they have committed is folded. What it decides on its state
from then on stays true until somebody else enters, and then its next append fails.

Readers see committed records alone. Which instance should enter is in
`kafka/schemas_log/candidacy.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self

from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.admin import Admin
from penstock.kafka.errors import ClusterError, RequestTimedOutError, error_of, translated
from penstock.kafka.offsets import Isolation
from penstock.kafka.producer.errors import RecordTooLargeError
from penstock.kafka.schemas_log.errors import FencedError
from penstock.kafka.schemas_log.leftovers import corrections
from penstock.kafka.schemas_log.records import Folding
from penstock.kafka.schemas_log.topic import ensure_schemas_topic
from penstock.kafka.schemas_log.writer import LogWriter
from penstock.kafka.tables.entries import ignore_change
from penstock.kafka.tables.errors import TableClosedError, TableLostError
from penstock.kafka.tables.following import Follower
from penstock.kafka.tables.topic import end_of, first_of, is_gone
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.errors import PenstockError
    from penstock.kafka.connection import Connection
    from penstock.kafka.schemas_log.records import Fold, LogRecord
    from penstock.kafka.topics.description import TopicIdentity
    from penstock.names import TopicName

logger = logging.getLogger(__name__)

# The client and brokers take a million bytes by default, what surrounds the record included.
_MAX_RECORD_BYTES = 990_000
_LOOK_SECONDS = 1.0
_SHUT_OUT = {
    KafkaError._FENCED,  # noqa: SLF001 - a public constant
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
}


class SchemasLog:
    """One topic of schemas, followed; writable after `enter`. Safe to share; close it."""

    def __init__(
        self, admin: Admin, topic: TopicName, identity: TopicIdentity, *, fold: Fold, first: Offset
    ) -> None:
        self._admin, self._topic, self._identity = admin, topic, identity
        self._folding = Folding(fold)
        self._follower = Follower(
            admin.connection,
            topic,
            self._folding,
            on_change=ignore_change,
            first=first,
            announced=_NEVER,
            is_gone=partial(is_gone, admin, topic, identity),
        )
        self._writer: LogWriter | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls, connection: Connection, topic: TopicName, fold: Fold, *, timeout_seconds: float = 30
    ) -> Self:
        """Return the log when all that is committed now has been folded.

        An absent topic is created. What an open transaction hides is not waited for: it is not
        committed, and whoever enters next ends it.

        Raises:
            SchemasTopicError: the topic exists and cannot hold schemas.
            ClusterError: another subclass: the cluster is away, slow, or refuses.
        """
        deadline = time.monotonic() + timeout_seconds
        admin = Admin(connection.with_request_timeout(timeout_seconds))
        identity = ensure_schemas_topic(admin, topic)
        end = end_of(admin, topic, Isolation.READ_COMMITTED)
        log = cls(admin, topic, identity, fold=fold, first=first_of(admin, topic))
        log._follower.start()
        try:
            log.await_position(end, deadline - time.monotonic())
        except BaseException:
            log.close()
            raise
        return log

    @property
    def topic(self) -> TopicName:
        """The topic of the log."""
        return self._topic

    @property
    def position(self) -> Offset:
        """The offset up to which all committed records have been folded."""
        return self._folding.position

    @property
    def fault(self) -> PenstockError | None:
        """Why the topic is not followed any more; None while it is."""
        return self._folding.fault

    def look(self) -> None:
        """Look whether the topic is still there: one that is gone is silent, not at fault."""
        with suppress(ClusterError):
            hurried = self._admin.within(_LOOK_SECONDS)
            if is_gone(hurried, self._topic, self._identity):
                self._folding.end(TableLostError(self._topic, reason="the topic was deleted"))

    def cluster_id(self) -> str:
        """Return the id of the cluster that holds the topic.

        Raises:
            ClusterUnreachableError: no broker answered.
        """
        return self._admin.metadata().cluster_id or ""

    def enter(self, *, transactional_id: str, timeout_seconds: float) -> None:
        """Become the only writer, and return when all that others have committed is folded.

        What they have left uncommitted is put right for readers that see it.

        Raises:
            ClusterError: it did not work out; the log cannot be appended to.
        """
        deadline = time.monotonic() + timeout_seconds
        with self._lock:
            self._writer = None
            writer = LogWriter(self._admin.connection, self._topic, transactional_id)
            try:
                writer.enter(timeout_seconds)
            except KafkaException as err:
                raise self._translated(err) from err
            end = end_of(self._admin, self._topic, Isolation.READ_UNCOMMITTED)
            self.await_position(end, deadline - time.monotonic())
            self._put_right(writer, end, deadline)
            self._writer = writer

    def append(self, records: Sequence[LogRecord], *, timeout_seconds: float) -> None:
        """Write all records or none, and return when they are folded.

        Raises:
            FencedError: another has entered, or this log never did; `is_settled` tells whether
                nothing was written for certain.
            RecordTooLargeError: nothing was written; the next append may go well.
            ClusterError: another subclass. Whether they were written is not known, and nothing
                can be appended until `enter` has told.
        """
        deadline = time.monotonic() + timeout_seconds
        for record in records:
            self._ensure_fits(record)
        with self._lock:
            if self._writer is None:
                raise FencedError(self._topic)
            # It is back in its place only when the state is known to be what was written.
            writer, self._writer = self._writer, None
            self._write(writer, records, deadline)
            self._writer = writer

    def await_position(self, position: Offset, timeout_seconds: float) -> None:
        """Return when all committed records before `position` have been folded.

        Raises:
            RequestTimedOutError: that took longer.
            PenstockError: the topic is not followed any more, or the cluster refuses.
        """
        complaints, folding = self._follower.complaints, self._folding

        def reached_or_refused() -> bool:
            return folding.position >= position or complaints.refusal() is not None

        if not folding.await_condition(reached_or_refused, timeout_seconds):
            action = f"give topic `{self._topic}` up to offset {position}"
            raise RequestTimedOutError(action, bootstrap=self._admin.connection.bootstrap)
        refusal = complaints.refusal()
        if folding.position < position and refusal is not None:
            raise refusal

    def close(self) -> None:
        """End threads and connections; may be called twice."""
        self._folding.end(TableClosedError(self._topic))
        self._follower.close()
        self._writer = None

    def _ensure_fits(self, record: LogRecord) -> None:
        size = len(record.key) + len(record.value or b"")
        if size > _MAX_RECORD_BYTES:
            raise RecordTooLargeError(
                self._topic,
                reason=f"it has {size} bytes, and {_MAX_RECORD_BYTES} is the most",
                hint="split the schema, and let its parts refer to each other",
            )

    def _put_right(self, writer: LogWriter, end: Offset, deadline: float) -> None:
        records_end = self._folding.records_end
        records = corrections(self._admin.connection, self._topic, records_end=records_end, end=end)
        if records:
            logger.warning("putting right what was aborted", extra={"topic": self._topic})
            self._write(writer, records, deadline)

    def _write(self, writer: LogWriter, records: Sequence[LogRecord], deadline: float) -> None:
        """Write, and return when what was written is folded."""
        try:
            end = writer.write(records, timeout_seconds=deadline - time.monotonic())
        except KafkaException as err:
            raise self._translated(err, is_settled=writer.arrived < len(records)) from err
        self.await_position(end, deadline - time.monotonic())

    def _translated(self, err: KafkaException, *, is_settled: bool = True) -> ClusterError:
        if error_of(err).code() in _SHUT_OUT:
            return FencedError(self._topic, is_settled=is_settled)
        action = f"write topic `{self._topic}`"
        return translated(err, action=action, bootstrap=self._admin.connection.bootstrap)


_NEVER = Offset(2**62)
"""No change is announced: folding is all."""
