"""Writing the records of one batch into a lane.

Opening a lane takes some twenty milliseconds and a look into the ledger as long. A lane that this
process opened and that nobody has opened since needs neither: its writer is kept, and Kafka refuses
what it sends if it is not the last one that opened the lane.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.kafka.complaints import client_logger
from penstock.kafka.errors import error_of, translated
from penstock.kafka.lanes.errors import LaneFencedError
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, LaneEntry, added
from penstock.kafka.lanes.reading import ledger_reader
from penstock.kafka.tables.entries import key_bytes
from penstock.kafka.tables.topic import PARTITION
from penstock.kafka.tables.transactions import fatal_errors_unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.kafka.connection import Connection
    from penstock.kafka.lanes.ledger import Lane
    from penstock.names import Offset, TopicName

    Headers = list[tuple[str, str | bytes | None]]

logger = logging.getLogger(__name__)

_TRANSACTION_SECONDS = 600.0
_OPEN_SECONDS = 60.0
_COMMIT_SECONDS = 120.0
# Ending a transaction that failed is a courtesy to readers: the next writer ends it too.
_ABORT_SECONDS = 5.0
_BUFFERED_RECORDS = 500_000
_BUFFERED_KILOBYTES = 256 * 1024
_FULL_SECONDS = 0.1
_LARGEST_RECORD_BYTES = 64 * 1024 * 1024  # brokers and topics have limits of their own
_FENCED = {
    KafkaError._FENCED,  # noqa: SLF001 - a public constant
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
}


class RecordBatch(NamedTuple):
    """Some records for one topic, in their order."""

    topic: TopicName
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers] | None
    """None: no record has any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTask:
    """What a lane is to write, and what is known of it."""

    lane: Lane
    query_id: str
    batch_id: int
    plan: str
    known: LaneEntry | None
    """Its entry when the ledger had been read up to `position`."""

    position: Offset
    owner: str | None
    """Who wrote the batch before; None if nobody did since the driver started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResult:
    """What a lane has done."""

    entry: LaneEntry | None
    """Its entry; None while it has never had a record."""

    owner: str
    """Who may write the next batch without opening the lane."""

    was_written: bool
    """Whether the batch had been written before."""


class LaneWriter:
    """The one writer of a lane until another opens it. For one thread."""

    def __init__(self, connection: Connection, lane: Lane) -> None:
        self._connection, self._lane = connection, lane
        self.owner = uuid4().hex
        self.entry: LaneEntry | None = None
        """What the lane has written last."""
        self._client = Producer(
            connection.client_config()
            | {
                "transactional.id": lane.transactional_id,
                "transaction.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
                "message.timeout.ms": round(_TRANSACTION_SECONDS * 1000),
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "linger.ms": 20,
                "batch.size": 1024 * 1024,
                "queue.buffering.max.messages": _BUFFERED_RECORDS,
                "queue.buffering.max.kbytes": _BUFFERED_KILOBYTES,
                "message.max.bytes": _LARGEST_RECORD_BYTES,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
                "logger": client_logger,
            }
        )

    def open(self, *, known: LaneEntry | None, position: Offset) -> None:
        """Shut out all other writers of the lane, and read what it has written last.

        Raises:
            ClusterError: the cluster is away, or refuses.
        """
        with self._translated("open"):
            self._client.init_transactions(_OPEN_SECONDS)
            found = ledger_reader(self._connection).entry(
                self._lane, since=position, timeout_seconds=_OPEN_SECONDS
            )
        self.entry = found or known

    def write(self, entry: LaneEntry, records: Iterable[RecordBatch]) -> None:
        """Send records and the ledger's `entry`, whose counts are found on the way, and commit.

        Nothing happens when there are no records. After an error the writer is of no use.

        Raises:
            LaneFencedError: another has opened the lane; nothing was written.
            ClusterError: it was not written, or nobody knows.
        """
        counts: dict[TopicName, int] = {}
        begun = committed = False
        try:
            with self._translated("write"):
                for some in records:
                    if not begun:
                        self._client.begin_transaction()
                        begun = True
                    self._send(some)
                    counts[some.topic] = counts.get(some.topic, 0) + len(some.keys)
                if begun:
                    self._commit(entry, counts)
            committed = True
        finally:
            if begun and not committed:
                with suppress(KafkaException):
                    self._client.abort_transaction(_ABORT_SECONDS)

    def _send(self, records: RecordBatch) -> None:
        # By position: this loop is most of what a lane costs.
        produce, topic = self._client.produce, records.topic
        if records.headers is None:
            for key, value in zip(records.keys, records.values, strict=True):
                try:
                    produce(topic, value, key)
                except BufferError:
                    self._send_later(topic, value, key)
            return
        for key, value, headers in zip(records.keys, records.values, records.headers, strict=True):
            try:
                produce(topic, value, key, headers=headers)
            except BufferError:
                self._send_later(topic, value, key, headers)

    def _send_later(
        self,
        topic: TopicName,
        value: bytes | None,
        key: bytes | None,
        headers: Headers | None = None,
    ) -> None:
        while True:
            self._client.poll(_FULL_SECONDS)
            with suppress(BufferError):
                self._client.produce(topic, value, key, headers=headers)
                return

    def _commit(self, entry: LaneEntry, counts: dict[TopicName, int]) -> None:
        last = self.entry
        before = last.totals if last is not None and last.query_id == entry.query_id else {}
        whole = replace(entry, counts=counts, totals=added(before, counts))
        # Behind it, readers of the ledger see nothing until the commit: so it comes last.
        self._client.flush(_COMMIT_SECONDS)
        self._client.produce(
            LEDGER_TOPIC, whole.to_bytes(), key_bytes(self._lane.key), partition=PARTITION
        )
        self._client.commit_transaction(_COMMIT_SECONDS)
        self.entry = whole

    def _reason(self, error: KafkaError) -> KafkaError:
        """Return why a transaction cannot go on, which the client tells who wants to commit it.

        It cannot be committed then: the client takes no records only when something failed.
        """
        if error.code() == KafkaError._STATE:  # noqa: SLF001 - a public constant
            try:
                self._client.commit_transaction(_ABORT_SECONDS)
            except KafkaException as err:
                return error_of(err)
        return error

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            with fatal_errors_unwrapped():
                yield
        except KafkaException as err:
            error = self._reason(error_of(err))
            if error.code() in _FENCED or error.fatal():
                raise LaneFencedError(self._lane) from err
            raise translated(
                error,
                action=f"{action} lane `{self._lane.key}`",
                bootstrap=self._connection.bootstrap,
            ) from err


_kept: dict[str, LaneWriter] = {}
"""The writers that this process has open, by transactional id."""


def write_lane(
    connection: Connection, task: LaneTask, records: Iterable[RecordBatch]
) -> LaneResult:
    """Write the records of a batch into a lane, unless it has written them.

    Raises:
        ClusterError: it was not written, or nobody knows: run the task again.
    """
    writer = _kept.pop(task.lane.transactional_id, None)
    if writer is None or writer.owner != task.owner:
        writer = LaneWriter(connection, task.lane)
        writer.open(known=task.known, position=task.position)
    found = writer.entry
    was_written = found is not None and found.has_written(task.query_id, task.batch_id)
    if not was_written:
        entry = LaneEntry(query_id=task.query_id, batch_id=task.batch_id, plan=task.plan)
        writer.write(entry, records)
    _kept[task.lane.transactional_id] = writer
    return LaneResult(entry=writer.entry, owner=writer.owner, was_written=was_written)
