"""Conditional writes: exactly one of those that expect the same version succeeds.

A writer shuts out all others of the key, reads to the end, so that it compares with all that they
have committed, and then writes in a transaction. Whoever was shut out meanwhile cannot commit and
begins anew. So a losing record is never committed; `docs/decisions/0008-kafka-table.md` says why
that matters.

As long as nobody has shut it out, a writer knows that the entry it has written last is still
there: its next write neither enters nor reads again.
"""

from __future__ import annotations

import random
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.errors import (
    AuthenticationFailedError,
    ClusterError,
    NotAuthorizedError,
    error_of,
    translated,
)
from penstock.kafka.producer.errors import RecordTooLargeError
from penstock.kafka.tables.errors import TableTimeoutError, VersionConflictError
from penstock.kafka.tables.transactions import KeyWriter
from penstock.names import Offset, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.kafka.connection import Connection
    from penstock.kafka.tables.entries import Contents, Entry
    from penstock.names import TopicName

# Each open writer has threads and connections of its own.
_MAX_OPEN_WRITERS = 8
# Two writers that shut each other out again and again must fall out of step.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0


@dataclass(slots=True, kw_only=True)
class _Write:
    """A conditional write under way."""

    key: str
    value: bytes
    expected: Version | None
    deadline: float
    unsettled: Version | None = None
    """The version of an earlier attempt of which nobody knows whether it was committed."""

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def expects(self, found: Entry | None) -> bool:
        return (None if found is None else found.version) == self.expected


class ConditionalWriter:
    """Does the conditional writes of one table, one after the other.

    Args:
        connection: how to reach the cluster.
        topic: the topic of the table.
        contents: what the table shows.
        refresh: brings `contents` up to the end of the topic, within a number of seconds.
        await_position: returns when `contents` has come to a position, or raises.
    """

    def __init__(
        self,
        connection: Connection,
        topic: TopicName,
        contents: Contents,
        *,
        refresh: Callable[[float], None],
        await_position: Callable[[Offset, float], None],
    ) -> None:
        self._connection, self._topic, self._contents = connection, topic, contents
        self._refresh, self._await_position = refresh, await_position
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
        deadline = time.monotonic() + timeout_seconds
        write = _Write(key=key, value=value, expected=version, deadline=deadline)
        pause = _FIRST_PAUSE_SECONDS
        # Held until the entry is shown: the next write compares with what is shown.
        with self._lock:
            while True:
                try:
                    return self._tried(write)
                except (KafkaException, ClusterError) as err:
                    fault = self._passing_fault(err, write)
                    cause = err
                if not write.seconds_left:
                    raise TableTimeoutError(
                        self._topic,
                        action=f"write `{key}`",
                        waited_seconds=timeout_seconds,
                        reason=fault.message,
                    ) from cause
                time.sleep(random.uniform(0, min(pause, write.seconds_left)))  # noqa: S311
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def close(self) -> None:
        """Let all writers go; a write under way fails, because its table is closed."""
        self._writers.clear()

    def _tried(self, write: _Write) -> Entry:
        writer = None
        if write.expects(self._contents.get(write.key)):
            # It is back in its place only when all went well: it compares without reading.
            writer = self._writers.pop(write.key, None)
        if writer is None:
            # Who would lose anyway need not shut out the others.
            if done := self._compared(write):
                return done
            writer = KeyWriter(self._connection, self._topic, write.key)
            writer.enter(write.seconds_left)
            if done := self._compared(write):
                return done
        try:
            entry = writer.write(write.value, timeout_seconds=write.seconds_left)
        finally:
            write.unsettled = writer.sent.version if writer.sent else write.unsettled
        self._await_position(Offset(entry.version + 1), write.seconds_left)
        self._keep(write.key, writer)
        return entry

    def _compared(self, write: _Write) -> Entry | None:
        """Return our own entry if it is there already; None if what was expected is there."""
        self._refresh(write.seconds_left)
        found = self._contents.get(write.key)
        if found is not None and found.version == write.unsettled:
            return found
        if not write.expects(found):
            raise VersionConflictError(self._topic, write.key, expected=write.expected, found=found)
        return None

    def _keep(self, key: str, writer: KeyWriter) -> None:
        self._writers[key] = writer
        if len(self._writers) > _MAX_OPEN_WRITERS:
            self._writers.popitem(last=False)

    def _passing_fault(self, err: KafkaException | ClusterError, write: _Write) -> ClusterError:
        """Return why an attempt failed, if another may succeed.

        That another writer has shut us out is what the client calls fatal: for its producer.

        Raises:
            ClusterError: another attempt would fail as well.
        """
        if isinstance(err, ClusterError):
            if not err.retryable:
                raise err
            return err
        if error_of(err).code() == KafkaError.MSG_SIZE_TOO_LARGE:
            raise RecordTooLargeError(
                self._topic,
                reason=f"it has {len(write.value)} bytes, and the client or the topic allows less",
                hint="store the content elsewhere and keep a reference to it in the table",
            ) from err
        fault = translated(
            err,
            action=f"write `{write.key}` to table `{self._topic}`",
            bootstrap=self._connection.bootstrap,
        )
        if isinstance(fault, NotAuthorizedError | AuthenticationFailedError):
            raise fault from err
        return fault
