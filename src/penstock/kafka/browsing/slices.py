"""Slices: the records between two offsets of a partition, and nothing behind them.

A consumer reads on and on, and fetches megabytes ahead. Here a few offsets of many partitions are
read at once, in any order, with little fetched that nobody wants. Offsets are not records: where
compaction or transactions left gaps, a slice holds fewer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from penstock.kafka.complaints import client_logger
from penstock.kafka.consumer.errors import client_fault
from penstock.kafka.consumer.membership import Membership
from penstock.kafka.consumer.messages import record_of
from penstock.kafka.consumer.reading import closes_within
from penstock.kafka.offsets import TopicPartition
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from confluent_kafka import Message

    from penstock.kafka.connection import Connection
    from penstock.kafka.errors import ClusterError
    from penstock.kafka.offsets import Isolation
    from penstock.kafka.records import Record

# Somebody who goes away is noticed within this time.
_POLL_SECONDS = 0.1
_BATCH = 1000  # messages that are taken from the client at once
# What a broker sends for one partition at a time: what lies behind a slice is fetched in vain.
_FETCH_BYTES = 256 * 1024
_FETCHED_AHEAD_KBYTES = 8 * 1024
# The client waits a second before it fetches for a partition beside one that has records queued,
# and lets the broker wait for new records half as long. It fetches during a reading only.
_BACKOFF_MILLISECONDS = 10
# There is no group to leave, so that nobody has to wait for a cluster that is away.
_CLOSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Slice:
    """Offsets of one partition; `end` is not one of them."""

    partition: TopicPartition
    first: Offset
    end: Offset


@dataclass(frozen=True, slots=True)
class Contents:
    """The records between two offsets: all there are from `first` up to `end`, which is excluded.

    `end` may lie behind the end that was asked for, when there is a gap behind it.
    """

    first: Offset
    end: Offset
    records: deque[Record]
    byte_count: int


class SliceReader:
    """Reads slices with one client, which is in no group and commits nothing.

    One thread uses it at a time, within a `with` block.
    """

    def __init__(self, connection: Connection, isolation: Isolation) -> None:
        self._connection = connection
        self._membership = Membership(group=None)
        self._fault: ClusterError | None = None
        self._client = Client(self._client_config(isolation))

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the client; one that finds no broker ends by itself after this has returned."""
        closes_within(self._client, _CLOSE_SECONDS)

    def read(
        self,
        slices: Iterable[Slice],
        *,
        keep_bytes: int,
        keep_newest: bool,
        is_over: Callable[[], bool],
    ) -> Mapping[TopicPartition, Contents]:
        """Return what is in the slices; one that was not read to its end in time is left out.

        Args:
            slices: one per partition, none of them empty.
            keep_bytes: what a slice may take. From one that has more, only its newest or its
                oldest records are returned, at least one, with the offsets that they cover.
            keep_newest: which of them.
            is_over: asked several times a second; reading ends when it says so.

        Raises:
            ClusterError: the subclass that fits, for what the cluster refuses; also when it could
                not be reached in all the time.
        """
        reading = {
            item.partition: _Reading(item, keep_bytes, keep_newest=keep_newest) for item in slices
        }
        self._fault = None
        self._client.assign(
            [
                ClientPartition(item.topic, item.partition, one.slice.first)
                for item, one in reading.items()
            ]
        )
        try:
            self._read(reading, is_over)
        finally:
            self._client.unassign()
        done = {item: one.contents() for item, one in reading.items() if one.is_done}
        if self._fault is not None and not done:
            raise self._fault
        return done

    def _read(
        self, reading: Mapping[TopicPartition, _Reading], is_over: Callable[[], bool]
    ) -> None:
        left = set(reading)
        while left and not is_over():
            first = self._client.poll(_POLL_SECONDS)
            if first is None:
                continue
            for message in (first, *self._client.consume(_BATCH, 0)):
                partition = _partition_of(message)
                if partition in left and self._is_done(reading[partition], message):
                    left.discard(partition)
                    # Drops what was fetched behind the slice, and fetches no more of it.
                    self._client.incremental_unassign(
                        [ClientPartition(partition.topic, partition.partition)]
                    )

    def _is_done(self, reading: _Reading, message: Message) -> bool:
        error = message.error()
        if error is None:
            reading.take(record_of(message))
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
            reading.is_done = True
        else:
            topic = reading.slice.partition.topic
            self._meet(self._client_fault(error, f"read topic `{topic}`", topic=topic))
        return reading.is_done

    def _meet(self, fault: ClusterError) -> None:
        """Raise `fault`, unless the client gets over it by itself."""
        if not fault.retryable:
            raise fault
        self._fault = fault

    def _client_fault(
        self, error: KafkaError, action: str, *, topic: str | None = None
    ) -> ClusterError:
        return client_fault(
            error,
            action,
            member=self._membership,
            bootstrap=self._connection.bootstrap,
            topic=topic,
        )

    def _on_client_error(self, error: KafkaError) -> None:
        self._fault = self._client_fault(error, "let this client read")

    def _client_config(self, isolation: Isolation) -> dict[str, object]:
        return {
            **self._connection.client_config(),
            **self._membership.client_config(),
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            # What retention has removed meanwhile is a gap like others.
            "auto.offset.reset": "earliest",
            "isolation.level": isolation.value,
            "queued.max.messages.kbytes": _FETCHED_AHEAD_KBYTES,
            "max.partition.fetch.bytes": _FETCH_BYTES,
            "fetch.queue.backoff.ms": _BACKOFF_MILLISECONDS,
            "fetch.wait.max.ms": _BACKOFF_MILLISECONDS,
            "log_level": 0,
            "logger": client_logger,
            "error_cb": self._on_client_error,
        }


@dataclass(slots=True)
class _Reading:
    """A slice while it is read."""

    slice: Slice
    keep_bytes: int
    keep_newest: bool = field(kw_only=True)
    is_done: bool = False
    records: deque[Record] = field(default_factory=deque)
    byte_count: int = 0
    first: Offset = field(init=False)
    end: Offset = field(init=False)

    def __post_init__(self) -> None:
        self.first, self.end = self.slice.first, self.slice.end

    def take(self, record: Record) -> None:
        """Take what came next; a record that lies outside says that the slice is read."""
        if record.offset >= self.end:
            self.end, self.is_done = record.offset, True
        elif record.offset < self.slice.first:
            # The topic is another one by now, and reading has begun again at its start.
            self.is_done = True
        else:
            self.records.append(record)
            self.byte_count += record.byte_count
            self.is_done = record.offset + 1 == self.end
            self._shed()

    def contents(self) -> Contents:
        """Return what was kept."""
        return Contents(self.first, self.end, self.records, self.byte_count)

    def _shed(self) -> None:
        """Keep within the bytes: drop the oldest records, or end before those to come."""
        if self.byte_count <= self.keep_bytes:
            return
        if not self.keep_newest:
            self.end, self.is_done = Offset(self.records[-1].offset + 1), True
            return
        while self.byte_count > self.keep_bytes and len(self.records) > 1:
            self.byte_count -= self.records.popleft().byte_count
            self.first = self.records[0].offset


def _partition_of(message: Message) -> TopicPartition:
    return TopicPartition(TopicName(message.topic() or ""), Partition(message.partition() or 0))
