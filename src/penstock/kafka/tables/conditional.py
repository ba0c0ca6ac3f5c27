"""Conditional writes: a transaction per write, under an id that belongs to the key.

Whoever opens a producer under the id `<topic>:<key>` ends the open transaction of every other
writer of the key and keeps it from committing. It then reads to the end, so that it compares with
what all the others have committed, and writes. A losing record never becomes part of the topic;
`docs/decisions/0008-kafka-table.md` says why that matters.
"""

from __future__ import annotations

import random
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.kafka.complaints import client_logger
from penstock.kafka.errors import ClusterError, error_of, translated
from penstock.kafka.records import moment_of
from penstock.kafka.tables.entries import Entry, key_bytes
from penstock.kafka.tables.errors import TableTimeoutError, VersionConflictError
from penstock.kafka.tables.following import PARTITION
from penstock.names import Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message

    from penstock.kafka.connection import Connection
    from penstock.kafka.tables.entries import Contents
    from penstock.names import TopicName

# How long a transaction may stay open when its writer is frozen: so long it hides what is behind
# it from every reader.
_TRANSACTION_SECONDS = 10.0
# Each open producer has threads and connections of its own.
_MAX_OPEN_PRODUCERS = 8
# Two writers that fence each other again and again must fall out of step.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0
_ABORT_SECONDS = 2.0
_FINAL = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD}


class _Unsettled(Exception):  # noqa: N818 - a signal between two methods
    """The write was not confirmed; `version` is where it stands if it was done nevertheless."""

    def __init__(self, fault: ClusterError, version: Version | None) -> None:
        super().__init__(fault)
        self.fault, self.version = fault, version


class KeyWriter:
    """Writes one key in transactions; while nobody fences it, it alone can.

    Raises:
        KafkaException: the cluster did not let it in.
    """

    def __init__(
        self, connection: Connection, topic: TopicName, key: str, *, timeout_seconds: float
    ) -> None:
        self._topic, self._key = topic, key
        self._client = Producer(
            connection.client_config()
            | {
                "transactional.id": f"{topic}:{key}",
                "transaction.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
                "message.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
                "linger.ms": 0,
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
                "logger": client_logger,
            }
        )
        self._client.init_transactions(timeout_seconds)
        self._written: Entry | None = None

    @property
    def written(self) -> Entry | None:
        """What the last write becomes when it is committed; None if no broker has it."""
        return self._written

    def write(self, value: bytes, *, timeout_seconds: float) -> Entry:
        """Write and commit; after a failure the writer is of no use any more.

        Raises:
            KafkaException: it was not committed, or nobody knows.
        """
        self._written = None
        self._client.begin_transaction()
        committed = False
        try:
            self._send(value)
            self._client.flush(timeout_seconds)
            self.commit(timeout_seconds)
            committed = True
        finally:
            if not committed:
                self.abandon()
        if self._written is None:  # the commit has waited for the delivery
            raise KafkaException(KafkaError(KafkaError._FAIL))  # noqa: SLF001 - public
        return self._written

    def commit(self, timeout_seconds: float) -> None:
        """Make what was sent visible."""
        self._client.commit_transaction(timeout_seconds)

    def abandon(self) -> None:
        """End an open transaction, so that readers need not wait for its timeout."""
        with suppress(KafkaException):
            self._client.abort_transaction(_ABORT_SECONDS)

    def _send(self, value: bytes) -> None:
        def report(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self._written = Entry(
                    value=value,
                    version=Version(message.offset() or 0),
                    written_at=moment_of(message.timestamp()[1]),
                )

        self._client.produce(
            self._topic, value, key_bytes(self._key), partition=PARTITION, on_delivery=report
        )


class ConditionalWriter:
    """Does conditional writes for one table, one after the other.

    Args:
        connection: how to reach the cluster.
        topic: the topic of the table.
        contents: what the table shows.
        refresh: brings `contents` up to the end of the topic, within a number of seconds.
    """

    def __init__(
        self,
        connection: Connection,
        topic: TopicName,
        contents: Contents,
        refresh: Callable[[float], None],
    ) -> None:
        self._connection, self._topic = connection, topic
        self._contents, self._refresh = contents, refresh
        self._lock = threading.Lock()
        self._writers: OrderedDict[str, KeyWriter] = OrderedDict()

    def put_if(
        self, key: str, value: bytes, *, version: Version | None, timeout_seconds: float
    ) -> Entry:
        """Write `value` if the entry of `key` is at `version`; None: if there is none.

        Raises:
            VersionConflictError: it is not.
            TableTimeoutError: the cluster did not answer in time, or others wrote all the time.
            ClusterError: another subclass, for what else went wrong.
        """
        started = time.monotonic()
        pause, attempted, reason = _FIRST_PAUSE_SECONDS, None, ""
        with self._lock:
            while (left := started + timeout_seconds - time.monotonic()) > 0:
                try:
                    return self._attempt(key, value, version, attempted, left)
                except _Unsettled as signal:
                    self._writers.pop(key, None)
                    attempted = signal.version if signal.version is not None else attempted
                    reason = signal.fault.message
                time.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        raise TableTimeoutError(
            self._topic, action=f"write `{key}`", waited_seconds=timeout_seconds, reason=reason
        )

    def close(self) -> None:
        """Let all producers go."""
        with self._lock:
            self._writers.clear()

    def _attempt(
        self,
        key: str,
        value: bytes,
        version: Version | None,
        attempted: Version | None,
        left: float,
    ) -> Entry:
        try:
            writer = self._writers.get(key)
            if writer is None:
                # Who would lose anyway need not fence the others.
                if done := self._compared(key, version, attempted, left):
                    return done
                writer = self._opened(key, left)
                if done := self._compared(key, version, attempted, left):
                    return done
            else:
                self._ensure_version(key, version)
        except KafkaException as err:
            raise self._unsettled(err, key, None) from err
        except ClusterError as err:
            if not err.retryable:
                raise
            raise _Unsettled(err, None) from err
        try:
            return writer.write(value, timeout_seconds=left)
        except KafkaException as err:
            written = writer.written
            raise self._unsettled(err, key, written.version if written else None) from err

    def _compared(
        self, key: str, version: Version | None, attempted: Version | None, left: float
    ) -> Entry | None:
        """Return our own write if it was done; None if the expected version is there."""
        self._refresh(left)
        found = self._contents.get(key)
        if found is not None and found.version == attempted:
            return found
        self._ensure_version(key, version)
        return None

    def _ensure_version(self, key: str, version: Version | None) -> None:
        found = self._contents.get(key)
        if (found.version if found else None) != version:
            raise VersionConflictError(self._topic, key, expected=version, found=found)

    def _opened(self, key: str, left: float) -> KeyWriter:
        writer = KeyWriter(self._connection, self._topic, key, timeout_seconds=left)
        self._writers[key] = writer
        if len(self._writers) > _MAX_OPEN_PRODUCERS:
            self._writers.popitem(last=False)
        return writer

    def _unsettled(
        self, err: KafkaException, key: str, version: Version | None
    ) -> _Unsettled | ClusterError:
        fault = translated(
            err,
            action=f"write `{key}` to table `{self._topic}`",
            bootstrap=self._connection.bootstrap,
            topic=self._topic,
        )
        code = error_of(err).code()
        fenced_or_passing = fault.code in {"PEN-401", "PEN-405", "PEN-406", "PEN-407"}
        return _Unsettled(fault, version) if fenced_or_passing and code not in _FINAL else fault
