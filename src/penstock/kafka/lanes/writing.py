"""Writing the records of one batch into a lane.

Opening a lane takes some twenty milliseconds and a look into the ledger as long. A lane that this
process opened and that nobody has opened since needs neither: its writer is kept, and Kafka refuses
what it sends if it is not the last one that opened the lane.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.kafka.complaints import client_logger
from penstock.kafka.errors import error_of, translated
from penstock.kafka.lanes.errors import (
    LaneExpiredError,
    LaneFencedError,
    LaneToBeKeptError,
    LaneTooLongError,
)
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, LaneEntry, added, mixed
from penstock.kafka.lanes.limits import MOST_BATCH_BYTES
from penstock.kafka.lanes.pulling import pulled
from penstock.kafka.lanes.reading import ledger_reader
from penstock.kafka.tables.entries import key_bytes
from penstock.kafka.tables.topic import PARTITION
from penstock.kafka.tables.transactions import fatal_errors_unwrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from penstock.kafka.connection import Connection
    from penstock.kafka.lanes.ledger import Lane
    from penstock.names import Offset, TopicName

    Headers = list[tuple[str, str | bytes | None]]
    Records = Callable[[int], Iterable[Sequence["RecordBatch"]]]
    """Gives the share of a lane behind its first so many rows, some rows at a time."""

logger = logging.getLogger(__name__)

_OPEN_SECONDS = 60.0
_COMMIT_SECONDS = 240.0
_SETTLE_SECONDS = 2.0
# Ending a transaction that failed is a courtesy to readers: the next writer ends it too.
_ABORT_SECONDS = 5.0
_PART_SHARE = 0.5
"""Of the time of a transaction: after it a part is committed; the rest is for sending it."""
_WAITING_SHARE = 0.8
"""Of the same: after it a part is committed that waits for more rows, and is sent meanwhile."""
_BUFFERED_RECORDS = 500_000
_BUFFERED_KILOBYTES = 256 * 1024
_FULL_SECONDS = 0.1
_LARGEST_RECORD_BYTES = 64 * 1024 * 1024  # brokers and topics have limits of their own
_NOTHING = LaneEntry(query_id="", batch_id=-1, plan="")
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

    fingerprint: int
    """Of these records, as in the ledger."""


class Parts(StrEnum):
    """Whether the share of a lane may be committed in parts."""

    AS_THEY_COME = "as they come"
    """It has the same rows in the same order whenever the batch is run again."""

    KEPT = "kept"
    """It would in a run that takes them from files, which this is not."""

    NEVER = "never"
    """It is short, and nothing keeps it."""


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
    """Who wrote to the lane last; None if nobody did since the driver started."""

    transaction_seconds: float
    """How long a transaction may be open."""

    parts: Parts

    batch_bytes: int = MOST_BATCH_BYTES
    """How many bytes of records may go to a partition at once."""

    behind: tuple[str, int] | None = None
    """Query and batch that the lane must have written last: behind others these records are wrong.

    None: they are those of their batch, whatever was written before."""


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

    def __init__(
        self,
        connection: Connection,
        lane: Lane,
        *,
        transaction_seconds: float = 600.0,
        batch_bytes: int = MOST_BATCH_BYTES,
    ) -> None:
        self._connection, self._lane = connection, lane
        self._transaction_seconds = transaction_seconds
        self._began = time.monotonic()
        """When the last transaction did, or this writer."""

        self.owner = uuid4().hex
        self.entry: LaneEntry | None = None
        """What the lane has written last."""
        self._client = Producer(
            connection.client_config()
            | {
                "transactional.id": lane.transactional_id,
                "transaction.timeout.ms": round(transaction_seconds * 1000),
                "message.timeout.ms": round(transaction_seconds * 1000),
                "partitioner": "murmur2_random",
                "compression.type": "lz4",
                "linger.ms": 20,
                "batch.size": batch_bytes,
                "queue.buffering.max.messages": _BUFFERED_RECORDS,
                "queue.buffering.max.kbytes": _BUFFERED_KILOBYTES,
                "message.max.bytes": _LARGEST_RECORD_BYTES,
                "reconnect.backoff.ms": 10,
                # A client that connects when it has to leaves the bootstrap address for a broker
                # that it is not told to connect to, and notices half a second later.
                "enable.sparse.connections": False,
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

    def write(self, task: LaneTask, records: Records) -> None:
        """Send a share of a batch but for the parts that are written, with its entry, and commit.

        Nothing happens when there are no records. After an error the writer is of no use. The
        records are taken in another thread.

        Raises:
            LaneFencedError: another has opened the lane; nothing more was written.
            LaneExpiredError: the transaction was open for too long; nothing more was written.
            LaneToBeKeptError: it takes too long; the next run of the batch must keep it first.
            LaneTooLongError: it takes too long.
            ClusterError: it was not written, or nobody knows.
        """
        last = self.entry
        is_part = last is not None and last.is_part_of(task.query_id, task.batch_id)
        rows = last.rows or 0 if last is not None and is_part else 0
        if is_part and task.parts is Parts.KEPT:
            raise LaneToBeKeptError(self._lane, seconds=self._transaction_seconds)
        share = _Share(task, rows=rows, must_end=is_part)
        try:
            with self._translated("write"):
                for some in pulled(records(rows), lambda: self._patience(share)):
                    if some is not None:
                        self._send_some(some, share)
                    if some is None or self._is_long(share):
                        self._end_part(share)
                if share.is_open or share.must_end:
                    self._begin(share)
                    self._commit(share.entry(rows=None))
                    share.is_open = False
        finally:
            if share.is_open:
                with suppress(KafkaException):
                    self._client.abort_transaction(_ABORT_SECONDS)

    def _patience(self, share: _Share) -> float | None:
        """Return how long the next rows may take; None: there is no transaction that waits."""
        if not share.is_open:
            return None
        return max(0.0, self._transaction_seconds * _WAITING_SHARE - self._seconds_open())

    def _is_long(self, share: _Share) -> bool:
        """Whether the transaction should end now."""
        return share.is_open and self._seconds_open() > self._transaction_seconds * _PART_SHARE

    def _seconds_open(self) -> float:
        return time.monotonic() - self._began

    def _send_some(self, some: Sequence[RecordBatch], share: _Share) -> None:
        for records in some:
            self._begin(share)
            self._send(records)
            share.take(records)

    def _begin(self, share: _Share) -> None:
        if not share.is_open:
            self._begin_transaction()
            share.is_open = True

    def _begin_transaction(self) -> None:
        self._began = time.monotonic()
        self._client.begin_transaction()

    def _end_part(self, share: _Share) -> None:
        """Commit what was sent so far, or say that the batch must be kept first."""
        task = share.task
        if task.parts is Parts.AS_THEY_COME:
            self._commit(share.entry(rows=share.rows))
            share.end_part()
            return
        self._client.abort_transaction(_COMMIT_SECONDS)
        share.is_open = False
        if task.parts is Parts.NEVER:
            raise LaneTooLongError(self._lane, seconds=self._transaction_seconds)
        share.end_part()
        self._begin_transaction()
        self._commit(share.entry(rows=0))
        raise LaneToBeKeptError(self._lane, seconds=self._transaction_seconds)

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

    def _commit(self, entry: LaneEntry) -> None:
        """Commit what was sent, which the counts and fingerprints of `entry` tell."""
        last = self.entry
        before = last if last is not None and last.query_id == entry.query_id else _NOTHING
        parts = before if before.is_part_of(entry.query_id, entry.batch_id) else _NOTHING
        whole = replace(
            entry,
            counts=added(parts.counts, entry.counts),
            fingerprints=mixed(parts.fingerprints, entry.fingerprints),
            totals=added(before.totals, entry.counts),
            total_fingerprints=mixed(before.total_fingerprints, entry.fingerprints),
        )
        # Behind it, readers of the ledger see nothing until the commit: so it comes last. Not when
        # that takes long: behind a record that was refused others are kept and never sent, and only
        # by taking no more the client tells.
        self._client.flush(_SETTLE_SECONDS)
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
                if self._seconds_open() > self._transaction_seconds:
                    seconds = self._transaction_seconds
                    raise LaneExpiredError(self._lane, seconds=seconds) from err
                raise LaneFencedError(self._lane) from err
            raise translated(
                error,
                action=f"{action} lane `{self._lane.key}`",
                bootstrap=self._connection.bootstrap,
            ) from err


class _Share:
    """How far the share of a lane has come."""

    def __init__(self, task: LaneTask, *, rows: int, must_end: bool) -> None:
        self.task, self.rows, self.must_end = task, rows, must_end
        """`must_end`: parts are written, so an entry must say that they are all."""
        self.is_open = False
        self.counts: dict[TopicName, int] = {}
        self.fingerprints: dict[TopicName, int] = {}

    def take(self, records: RecordBatch) -> None:
        """Note that records were sent."""
        topic = records.topic
        self.rows += len(records.keys)
        self.counts[topic] = self.counts.get(topic, 0) + len(records.keys)
        self.fingerprints[topic] = self.fingerprints.get(topic, 0) ^ records.fingerprint

    def end_part(self) -> None:
        """The transaction has ended, and what is written is not in the next."""
        self.is_open, self.must_end = False, True
        self.counts, self.fingerprints = {}, {}

    def entry(self, *, rows: int | None) -> LaneEntry:
        """Return the entry that says so many rows are written."""
        task = self.task
        return LaneEntry(
            query_id=task.query_id,
            batch_id=task.batch_id,
            plan=task.plan,
            rows=rows,
            counts=self.counts,
            fingerprints=self.fingerprints,
        )


def written_last(entry: LaneEntry | None) -> tuple[str, int]:
    """Return query and batch of an entry, also of none."""
    last = entry or _NOTHING
    return last.query_id, last.batch_id


_kept: dict[str, LaneWriter] = {}
"""The writers that this process has open, by transactional id; the last used is the last."""

_MOST_KEPT = 64
"""Lanes wander between workers, so that each would have a writer of every lane in the end."""


def write_lane(connection: Connection, task: LaneTask, records: Records) -> LaneResult:
    """Write the records of a batch into a lane, unless it has written them.

    Raises:
        ClusterError: it was not written, or nobody knows: run the task again.
    """
    writer = _kept.pop(task.lane.transactional_id, None)
    if writer is None or writer.owner != task.owner:
        writer = LaneWriter(
            connection,
            task.lane,
            transaction_seconds=task.transaction_seconds,
            batch_bytes=task.batch_bytes,
        )
        writer.open(known=task.known, position=task.position)
    found = writer.entry
    has_begun = found is not None and found.has_begun(task.query_id, task.batch_id)
    if found is not None and has_begun and found.plan != task.plan:
        # Another driver has planned the batch at the same time, with other records.
        raise LaneFencedError(task.lane)
    was_written = found is not None and found.has_written(task.query_id, task.batch_id)
    if not was_written and task.behind not in (None, written_last(found)):
        raise LaneFencedError(task.lane)
    if not was_written:
        writer.write(task, records)
    _kept[task.lane.transactional_id] = writer
    while len(_kept) > _MOST_KEPT:
        del _kept[next(iter(_kept))]  # whoever was not used for longest
    return LaneResult(entry=writer.entry, owner=writer.owner, was_written=was_written)
