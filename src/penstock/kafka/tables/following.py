"""Following the topic of a table: a thread reads it from the beginning and never stops.

It is the only one that changes what it follows the topic into. A second thread calls the callback,
so that a slow callback does not hold up the table, and a callback may write to it. A third looks
whether the topic is still the one that was opened: the client goes on in a new topic of the same
name, at the place where it was in the old one, and need not say a word.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from functools import lru_cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, cast

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.client_figures import STATISTICS_SECONDS, Statistics
from penstock.kafka.complaints import Complaints, client_logger
from penstock.kafka.errors import error_of
from penstock.kafka.records import moment_of
from penstock.kafka.tables.entries import Change, Entry, key_text
from penstock.kafka.tables.errors import TableLostError
from penstock.kafka.tables.topic import PARTITION
from penstock.names import Offset, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message

    from penstock.kafka.connection import Connection
    from penstock.kafka.tables.entries import Followed, OnChange
    from penstock.names import TopicName

logger = logging.getLogger(__name__)

# How soon the thread sees that it shall end.
_POLL_SECONDS = 0.1
# Records that are applied at once: others may look at the table in between.
_BATCH_RECORDS = 10_000
# How soon the end is told, which markers of transactions hide: at first, as whoever opens a table
# waits for it, and then. Ten answers a second with nothing in them keep client and broker busy.
_FIRST_END_MILLISECONDS, _END_MILLISECONDS = 100, 500
_FIRST_SECONDS = 5.0
_moment_of = lru_cache(maxsize=8)(moment_of)  # records of a batch have one time, the broker's
_BEYOND_THE_END = KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001 - a public constant
_LOOK_SECONDS = 5.0
# A broker that is starting may not know yet of a topic that is there.
_LOOKS = 2


class Follower:
    """Reads the topic into `contents`, and tells `on_change` of records from `announced` on.

    Args:
        connection: how to reach the cluster.
        topic: the topic of the table.
        contents: what to keep up to date.
        on_change: the user's callback.
        first: where the topic begins.
        announced: the first offset that the callback hears of; what is before was there already.
        is_gone: tells whether the topic that is followed exists no more.
    """

    def __init__(
        self,
        connection: Connection,
        topic: TopicName,
        contents: Followed,
        *,
        on_change: OnChange,
        first: Offset,
        announced: Offset,
        is_gone: Callable[[], bool],
    ) -> None:
        self._connection, self._topic = connection, topic
        self._contents, self._is_gone = contents, is_gone
        self._on_change, self._first, self._announced = on_change, first, announced
        self.complaints = Complaints(connection.bootstrap, action=f"read topic `{topic}`")
        self._client = self._reading(first, end_milliseconds=_FIRST_END_MILLISECONDS)
        self._stopping = threading.Event()
        self._changes: SimpleQueue[list[Change] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in (
                (self._follow, "penstock-table"),
                (self._announce, "penstock-table-changes"),
                (self._watch, "penstock-table-watch"),
            )
        ]

    def start(self) -> None:
        """Begin to read."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads; the callback hears of what was read until now."""
        self._stopping.set()
        for thread in self._threads:
            if thread is not threading.current_thread():  # a callback may close the table
                thread.join()

    def _reading(self, position: Offset, *, end_milliseconds: int) -> Consumer:
        self._statistics = Statistics()
        client = Consumer(
            _client_config(self._connection, self.complaints)
            | {
                "fetch.wait.max.ms": end_milliseconds,
                "statistics.interval.ms": round(STATISTICS_SECONDS * 1000),
                "stats_cb": self._statistics.note,
            }
        )
        # Not "the beginning", which the client would look up half a second after its own.
        client.assign([ClientPartition(self._topic, PARTITION, position)])
        return client

    def _follow(self) -> None:
        try:
            self._follow_for(_FIRST_SECONDS)
            if not self._stopping.is_set():
                self._ask_less_often()
                self._follow_for(math.inf)
        except Exception as err:  # the top of a thread; whoever waits must be told
            logger.exception("a table cannot be followed any more", extra={"topic": self._topic})
            reason = error_of(err).str() if isinstance(err, KafkaException) else repr(err)
            self._contents.end(TableLostError(self._topic, reason=reason))
        finally:
            self._changes.put(None)
            self._statistics.end()
            self._client.close()

    def _follow_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._stopping.is_set() and time.monotonic() < end:
            self._take(self._next_messages())

    def _ask_less_often(self) -> None:
        """Go on with another client: one that exists can not be told to."""
        client, statistics = self._client, self._statistics
        position = max(self._first, self._contents.position)
        self._client = self._reading(position, end_milliseconds=_END_MILLISECONDS)
        statistics.end()
        client.close()

    def _next_messages(self) -> list[Message]:
        # `consume` waits until it has as many as were asked for: it is for what has come already.
        first = self._client.poll(_POLL_SECONDS)
        if first is None:
            return []
        return [first, *self._client.consume(_BATCH_RECORDS, timeout=0)]

    def _take(self, messages: list[Message]) -> None:
        position = self._contents.position
        changes = []
        for message in messages:
            error = message.error()
            if error is None:
                # Only a topic that was not always compacted has records without a key.
                if message.key() is not None:
                    changes.append(change_of(message))
                position = Offset(cast("int", message.offset()) + 1)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
                # Markers of transactions take offsets and are never handed out.
                position = Offset(cast("int", message.offset()))
            else:
                self._note(error)
        if position > self._contents.position:
            self._contents.apply(changes, position)
            self._changes.put([item for item in changes if item.offset >= self._announced])

    def _note(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == _BEYOND_THE_END:
            raise KafkaException(error)
        self.complaints.note(error)
        if self.complaints.refusal():
            self._contents.wake()

    def _watch(self) -> None:
        looks = 0
        while looks < _LOOKS:
            if self._stopping.wait(_LOOK_SECONDS):
                return
            looks = looks + 1 if self._is_gone() else 0
        logger.error("the topic of a table is gone", extra={"topic": self._topic})
        reason = "the topic was deleted, or made anew"
        self._contents.end(TableLostError(self._topic, reason=reason))
        self._stopping.set()

    def _announce(self) -> None:
        while (changes := self._changes.get()) is not None:
            for change in changes:
                try:
                    self._on_change(change.key, change.entry)
                except Exception:  # the user's function; the next change is told nevertheless
                    logger.exception(
                        "the callback of a table failed",
                        extra={"topic": self._topic, "key": change.key},
                    )


def change_of(message: Message) -> Change:
    """Return what a record does; a null value deletes."""
    offset = cast("int", message.offset())
    key, value = key_text(cast("bytes", message.key())), message.value()
    if value is None:
        return Change(key, None, Offset(offset))
    entry = Entry(
        value=value, version=Version(offset), written_at=_moment_of(message.timestamp()[1])
    )
    return Change(key, entry, Offset(offset))


def _client_config(connection: Connection, complaints: Complaints) -> dict[str, object]:
    return {
        **connection.client_config(),
        "group.id": "penstock-table",  # the client asks for one; no group is joined
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "log_level": 0,
        "error_cb": complaints.note,
        "logger": client_logger,
    }
