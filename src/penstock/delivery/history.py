"""The history of batches: the topic `_penstock.batches`, its writer and its readers.

Drivers write a record for each batch behind Spark's commit. A batch never waits for that: the
record is sent by a thread. What a driver that died has not sent is found out by the next one.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from penstock.delivery.records import BatchRecord, from_bytes, to_bytes
from penstock.errors import PenstockError
from penstock.kafka import (
    Admin,
    Consumer,
    Isolation,
    Producer,
    Start,
    TopicExistsError,
    TopicPartition,
    create_topic,
    first_offsets,
    offsets_at,
)
from penstock.kafka.browsing import Ended, Found, Limits, Newest, Scan
from penstock.kafka.lanes.ledger import LEDGER_TOPIC, LaneEntry
from penstock.names import FlowName, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.delivery.records import HistoryRecord
    from penstock.kafka import Connection, Record

logger = logging.getLogger(__name__)

BATCHES_TOPIC = TopicName("_penstock.batches")

KEPT = timedelta(days=14)
"""How long batches are remembered, unless there are too many of them."""

_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": str(round(KEPT.total_seconds() * 1000)),
    "retention.bytes": str(2 * 1024**3),
    "segment.bytes": str(64 * 1024**2),
}
_PARTITION = TopicPartition(BATCHES_TOPIC, Partition(0))
_DELIVERY_SECONDS = 600.0
"""A cluster that is away for longer has stopped the flows, too."""
_RETRY_SECONDS = 5.0
_MOST_WAITING = 10_000
"""What waits longer, because nobody may write the topic, is left out."""


def history_key(pipeline: str, flow: str) -> str:
    """Return the key of all records of a flow."""
    return f"{pipeline}/{flow}"


class HistoryWriter:
    """Writes records behind the batches. Its methods may be called from any thread."""

    def __init__(self, connection: Connection) -> None:
        """Do nothing before the first record."""
        self.connection = connection
        self._waiting: SimpleQueue[HistoryRecord | None] = SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._closing = Event()
        self._noted: dict[str, tuple[str, int]] = {}

    def note(self, record: HistoryRecord) -> None:
        """Write a record, later."""
        with self._lock:
            if isinstance(record, BatchRecord):
                self._noted[record.flow] = record.query_id, record.batch_id
            if self._waiting.qsize() < _MOST_WAITING:
                self._waiting.put(record)
            if self._thread is None:
                self._closing = Event()
                self._thread = Thread(target=self._run, name="penstock-history", daemon=True)
                self._thread.start()

    def has_noted(self, flow: str, query_id: str, batch_id: int) -> bool:
        """Whether this process has noted that batch of a flow, or a later one."""
        with self._lock:
            known_id, last = self._noted.get(flow, ("", -1))
        return known_id == query_id and last >= batch_id

    def close(self, timeout_seconds: float) -> None:
        """Wait until all is written, for so long at most; it may be used again after that."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._waiting.put(None)
            thread.join(timeout_seconds)
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._write()
                break
            except PenstockError:
                # The flows do not need it; the audit names what is missing.
                logger.warning("the history of batches cannot be written", exc_info=True)
            except Exception:  # the top of a thread
                logger.exception("writing the history of batches failed")
            self._closing.wait(_RETRY_SECONDS)

    def _write(self) -> None:
        with Admin(self.connection) as admin:
            ensure_topic(admin)
        with Producer(self.connection, delivery_timeout_seconds=_DELIVERY_SECONDS) as producer:
            while (record := self._waiting.get()) is not None:
                producer.send(
                    BATCHES_TOPIC,
                    to_bytes(record),
                    key=history_key(record.pipeline, record.flow),
                    partition=_PARTITION.partition,
                    timestamp=record.at,
                )


def ensure_topic(admin: Admin) -> None:
    """Create the topic if there is none.

    Raises:
        ClusterError: the cluster is away, or refuses.
    """
    if BATCHES_TOPIC not in admin.metadata().topics:
        with suppress(TopicExistsError):  # another driver created it at the same moment
            create_topic(admin, BATCHES_TOPIC, partition_count=1, config=_CONFIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """What reading the history of a pipeline may cost at most; the newest of it is read first."""

    records: int
    byte_count: int
    """Of these records, as they are stored."""

    seconds: float


class HistoryReader:
    """Reads the records of one pipeline, and later those that have come since."""

    def __init__(
        self,
        connection: Connection,
        pipeline: str,
        *,
        since: datetime | None,
        limits: HistoryLimits | None = None,
    ) -> None:
        """Find where to begin.

        Args:
            connection: how to reach the cluster.
            pipeline: whose records to read.
            since: the first moment; None: all there is.
            limits: what of it to leave out; None: nothing, however long it takes.

        Raises:
            ClusterError: the cluster is away, or refuses.
        """
        self._prefix, self._since = history_key(pipeline, "").encode(), since
        self._consumer: Consumer | None = None
        self._recent: list[HistoryRecord] = []
        self.cut: datetime | None = None
        """Before that moment lies what was left out for the sake of `limits`; None: nothing."""

        with Admin(connection) as admin:
            if BATCHES_TOPIC not in admin.metadata().topics:
                return
            place = (
                first_offsets(admin, [_PARTITION])
                if since is None
                else offsets_at(admin, [_PARTITION], since)
            )
        if limits is not None:
            place = {_PARTITION: self._read_back(connection, place[_PARTITION], limits)}
        self._consumer = Consumer(connection)
        self._consumer.assign(tuple(place), place)

    def __enter__(self) -> HistoryReader:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        if self._consumer is not None:
            self._consumer.close()

    def read(self) -> Iterator[HistoryRecord]:
        """Yield what is there and was not read yet; what cannot be understood is left out."""
        if self._consumer is None:
            return
        while self._recent:
            yield self._recent.pop()
        for record in self._consumer.read_to_end():
            if (found := self._understood(record)) is not None:
                yield found

    def _understood(self, record: Record) -> HistoryRecord | None:
        """Return what a record says, if it is one of those to be read."""
        if record.key is None or record.value is None:
            return None
        if not record.key.startswith(self._prefix):
            return None
        try:
            found = from_bytes(record.value)
        except (ValueError, KeyError, TypeError, AttributeError):
            logger.warning("unreadable record", extra={"offset": record.offset})
            return None
        return found if self._since is None or found.at >= self._since else None

    def _read_back(self, connection: Connection, first: Offset, limits: HistoryLimits) -> Offset:
        """Read what there is back to `first`, or to a limit; return where to read on later.

        All pipelines share the topic: reading onwards would spend the limits on the oldest.
        """
        held, position = 0, None

        def select(record: Record) -> HistoryRecord | None:
            nonlocal held, position
            position = record.offset
            found = self._understood(record) if record.offset >= first else None
            held += record.byte_count if found is not None else 0
            return found

        def is_enough() -> bool:
            return held >= limits.byte_count or (position is not None and position <= first)

        scan: Scan[HistoryRecord] = Scan(
            connection,
            BATCHES_TOPIC,
            Newest(),
            isolation=Isolation.READ_COMMITTED,
            select=select,
            limits=Limits(
                found=limits.records,
                records=sys.maxsize,
                byte_count=sys.maxsize,
                seconds=limits.seconds,
            ),
            is_stopped=is_enough,
        )
        for step in scan:
            if isinstance(step, Found):
                self._recent.append(step.kept)
        assert isinstance(step, Ended)  # noqa: S101 - a scan has a last word, or has raised
        if step.scanned.positions[_PARTITION.partition] > first:
            self.cut = step.scanned.moment or datetime.now(UTC)
        return Offset(step.begins[_PARTITION.partition])


def read_ledger(connection: Connection, pipeline: str) -> dict[FlowName, dict[str, LaneEntry]]:
    """Return the entries of a pipeline's lanes, by flow and lane; open transactions are passed.

    The ledger is only read here: as a table it would end a transaction that hangs.

    Raises:
        ClusterError: the cluster is away, or refuses.
    """
    with Admin(connection) as admin:
        if LEDGER_TOPIC not in admin.metadata().topics:
            return {}
    found: dict[FlowName, dict[str, LaneEntry]] = {}
    with Consumer(connection) as consumer:
        partition = TopicPartition(LEDGER_TOPIC, Partition(0))
        consumer.assign([partition], Start.EARLIEST)
        for record in consumer.read_to_end():
            key = (record.key or b"").decode(errors="replace")
            if not key.startswith(f"{pipeline}/"):
                continue
            _, flow, lane = key.split("/", 2)
            entries = found.setdefault(FlowName(flow), {})
            entries.pop(lane, None)
            if record.value is not None:
                entries[lane] = LaneEntry.from_bytes(record.value)
    return found
