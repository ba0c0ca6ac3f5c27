"""The producer: sends records, and tells what became of each.

Three ways: `send` without waiting, `send_and_wait`, and `send` with `on_delivery`. The errors are
in `delivery_errors.py`, the settings in `producer_options.py`, the disk spool in `spool.py`.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message

from penstock.errors import PenstockError
from penstock.kafka.client_figures import STATISTICS_SECONDS, Statistics
from penstock.kafka.complaints import Complaints, client_logger
from penstock.kafka.connection import Connection
from penstock.kafka.errors import error_of
from penstock.kafka.producer.errors import (
    BufferFullError,
    DeliveryCallbackError,
    DeliveryError,
    DeliveryTerms,
    ProducerClosedError,
    UndeliveredError,
    WaitingInCallbackError,
    delivery_error,
    too_large_here,
)
from penstock.kafka.producer.metrics import ProducerMetrics, Tally
from penstock.kafka.producer.options import Acks, Compression, ProducerOptions
from penstock.kafka.producer.outgoing import outgoing_record
from penstock.kafka.producer.partition_counts import PartitionCounts
from penstock.kafka.producer.pump import Pump
from penstock.kafka.producer.spool import Spool
from penstock.kafka.producer.spool_feeder import DeliveryReport, OnDelivery, SpoolFeeder
from penstock.kafka.records import Delivery, OutgoingRecord, milliseconds_of, moment_of
from penstock.names import Offset, Partition, TopicName

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from penstock.kafka.partitioning import Partitioner
    from penstock.kafka.producer.outgoing import Content, Headers

logger = logging.getLogger(__name__)

ClientReport = Callable[[KafkaError | None, Message], None]

# Spooled records are safe on disk: closing need not wait long for a cluster that is away.
_SPOOL_CLOSE_SECONDS = 5.0
# What the spool may hand to the client, and so what may be sent twice after a crash.
_SPOOL_WINDOW = 10_000
# How long `close` waits beyond the delivery timeout for the last reports to come in.
_GRACE_SECONDS = 5.0


class Producer:
    """Sends records to a cluster. Safe to share between threads; close it, or use `with`.

    Safe by default: idempotent with `acks=all` (no duplicates and no reordering by retries), and
    the same key goes to the same partition as with Java's client and Spark.

        with ps.Producer("127.0.0.1:9092") as producer:
            producer.send("orders", '{"id": 1}', key="customer-7")
            delivery = producer.send_and_wait("orders", b"...", key="customer-7")
            producer.send("orders", "...", on_delivery=lambda report: ...)

    Args:
        connection: how to reach the cluster; a string is its bootstrap addresses.
        acks: who must have a record. Anything but `ALL` switches idempotence off.
        compression: of batches.
        linger_seconds: how long a batch may wait for more records.
        batch_bytes: how large a batch of several records may grow. A broker refuses a batch that
            is larger than the topic's `max.message.bytes` with all its records, so keep it below.
        buffer_records: how many records may wait for their acknowledgement.
        buffer_bytes: how many bytes of them.
        block_seconds: how long `send` waits for room in the buffer.
        delivery_timeout_seconds: how long the client tries to deliver a record.
        max_record_bytes: the largest record; topics have their own `max.message.bytes`.
        partitioner: chooses the partition of records that name none. Default: murmur2 of the key,
            any partition without a key.
        spool: a folder that keeps records until they are acknowledged, also over restarts of this
            process. `send` then returns when the record is on disk, cluster or no cluster.
        spool_limit_bytes: how much may wait there.

    Raises:
        InvalidProducerSettingError: a setting is out of range.
    """

    def __init__(
        self,
        connection: Connection | str,
        *,
        acks: Acks = Acks.ALL,
        compression: Compression = Compression.LZ4,
        linger_seconds: float = 0.005,
        batch_bytes: int = 60_000,
        buffer_records: int = 100_000,
        buffer_bytes: int = 64 * 1024 * 1024,
        block_seconds: float = 60.0,
        delivery_timeout_seconds: float = 120.0,
        max_record_bytes: int = 1_000_000,
        partitioner: Partitioner | None = None,
        spool: Path | None = None,
        spool_limit_bytes: int = 1_000_000_000,
    ) -> None:
        self._connection = (
            Connection(bootstrap=connection) if isinstance(connection, str) else connection
        )
        self.options = ProducerOptions(
            acks=Acks(acks),
            compression=Compression(compression),
            linger_seconds=linger_seconds,
            batch_bytes=batch_bytes,
            buffer_records=buffer_records,
            buffer_bytes=buffer_bytes,
            block_seconds=block_seconds,
            delivery_timeout_seconds=delivery_timeout_seconds,
            max_record_bytes=max_record_bytes,
            spool_limit_bytes=spool_limit_bytes,
            spooled=spool is not None,
        )
        self._terms = DeliveryTerms(
            bootstrap=self._connection.bootstrap,
            max_record_bytes=max_record_bytes,
            batch_bytes=batch_bytes,
            delivery_timeout_seconds=delivery_timeout_seconds,
        )
        self._partitioner = partitioner
        self._callback_error: Exception | None = None
        self._closing = self._ended = False
        stored = Spool(spool, limit_bytes=spool_limit_bytes) if spool else None
        self._tally = Tally(sent=stored.pending if stored else 0)
        self._statistics = Statistics(failed=self._tally.failed_count)
        self._complaints = Complaints(self._connection.bootstrap, action="take records")
        self._pump = Pump(self._complaints)
        self._client = confluent_kafka.Producer(
            self.options.client_config(self._connection)
            | {
                "error_cb": self._complaints.note,
                "logger": client_logger,
                "statistics.interval.ms": round(STATISTICS_SECONDS * 1000),
                "stats_cb": self._statistics.note,
            }
        )
        self._partitions = PartitionCounts(self._client, self._connection, self._complaints)
        self._pump.start(self._client)
        weakref.finalize(self, self._pump.stop)
        self._spool_folder = spool
        self._feeder = self._feeder_of(stored) if stored else None

    def _feeder_of(self, spool: Spool) -> SpoolFeeder:
        return SpoolFeeder(
            spool,
            produce=self._produce_spooled,
            settled=self._settle,
            window=min(_SPOOL_WINDOW, self.options.buffer_records),
            progress=self._pump.progress,
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; an error of the block is not hidden by one of closing."""
        try:
            self.close()
        except PenstockError:
            if error is None:
                raise
            logger.exception("closing the producer failed after another error")

    def send(
        self,
        topic: str,
        value: Content,
        *,
        key: Content = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: datetime | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Send a record without waiting for it.

        Text is encoded as UTF-8; a null value is a tombstone. Waits only while the buffer is full.

        Args:
            topic: where to.
            value: the content.
            key: records of the same key keep their order.
            headers: names with values.
            partition: instead of the one that the key leads to.
            timestamp: of the event, with a time zone; default: now.
            on_delivery: called once with the `Delivery` or the `DeliveryError`, in a thread of
                the producer; it must be quick and must not wait for other deliveries. Without it
                a failure is counted and raised by `flush` or `close`. With a spool it is not
                called when the record is sent only after a restart.

        Raises:
            InvalidRecordError: the record cannot be sent as it is.
            RecordTooLargeError: it is larger than `max_record_bytes`.
            DeliveryError: the client knows already that it will fail, such as an unknown partition.
            BufferFullError: there was no room within `block_seconds`.
            SpoolFullError, SpoolWriteError: the spool does not take it.
        """
        record = outgoing_record(
            topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp
        )
        self.send_record(record, on_delivery=on_delivery)

    def send_and_wait(
        self,
        topic: str,
        value: Content,
        *,
        key: Content = None,
        headers: Headers = (),
        partition: int | None = None,
        timestamp: datetime | None = None,
    ) -> Delivery:
        """Send a record, wait for its acknowledgement and return where it stands.

        Raises:
            DeliveryError: it was not delivered; `retryable` tells whether later may help.
            UndeliveredError: with a spool, `delivery_timeout_seconds` have passed; the record
                stays in the spool and will be sent.
            PenstockError: what `send` raises.
        """
        record = outgoing_record(
            topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp
        )
        return self.send_record_and_wait(record)

    def send_record(self, record: OutgoingRecord, *, on_delivery: OnDelivery | None = None) -> None:
        """Send a record that is already built; otherwise as `send`."""
        self._refuse_when_closed()
        byte_count = record.byte_count
        if byte_count > self.options.max_record_bytes:
            raise too_large_here(record, self._terms)
        if self._feeder is None:
            self._produce_when_there_is_room(record, byte_count, on_delivery)
            return
        self._tally.count_sent(byte_count)
        try:
            self._feeder.submit(_with_timestamp(record), on_delivery)
        except BaseException:  # an interrupt too
            self._tally.uncount_sent(byte_count)
            raise

    def send_record_and_wait(self, record: OutgoingRecord) -> Delivery:
        """Send a record that is already built; otherwise as `send_and_wait`."""
        self._refuse_to_wait_for_itself("send_and_wait")
        reports: SimpleQueue[DeliveryReport] = SimpleQueue()
        self.send_record(record, on_delivery=reports.put)
        try:
            report = reports.get(timeout=self._longest_delivery_seconds())
        except Empty as err:
            waited = self._longest_delivery_seconds()
            raise self._undelivered(1, waited_seconds=waited) from err
        if isinstance(report, DeliveryError):
            raise report
        return report

    def flush(self, timeout_seconds: float | None = None) -> None:
        """Wait until the fate of every record sent so far is known.

        Args:
            timeout_seconds: default: until the client has given up on the last one.

        Raises:
            DeliveriesFailedError: records sent without `on_delivery` have failed.
            UndeliveredError: time ran out.
            DeliveryCallbackError: an `on_delivery` function raised.
        """
        self._refuse_to_wait_for_itself("flush")
        self._refuse_when_closed()
        limit = self._longest_delivery_seconds() if timeout_seconds is None else timeout_seconds
        left = self._wait_until_settled(limit)
        if left:
            raise self._undelivered(left, waited_seconds=limit)
        self._raise_what_nobody_saw()

    def close(self, timeout_seconds: float | None = None) -> None:
        """Wait for what was sent, then end the client and its thread. May be called twice.

        Without a spool, records that are not acknowledged in time are given up: their
        `on_delivery` is told, and `UndeliveredError` says how many. With a spool they stay on
        disk, which is no error.

        Args:
            timeout_seconds: how long to wait; default: until the client has given up on the last
                record, with a spool 5 seconds.

        Raises:
            DeliveriesFailedError, UndeliveredError, DeliveryCallbackError: as `flush`.
        """
        self._refuse_to_wait_for_itself("close")
        if self._closing:
            return
        default = _SPOOL_CLOSE_SECONDS if self._feeder else self._longest_delivery_seconds()
        limit = default if timeout_seconds is None else timeout_seconds
        self._closing = True
        try:
            left = self._wait_until_settled(limit)
        finally:
            self._end_client()
        if left and self._feeder is None:
            raise self._undelivered(left, waited_seconds=limit)
        if left:
            logger.info("records stay in the spool", extra={"spool": self._spool_folder})
        self._raise_what_nobody_saw()

    def metrics(self) -> ProducerMetrics:
        """Return the counts since the producer was opened, latencies, and what it does lately."""
        spooled = self._feeder.pending if self._feeder is not None else 0
        return self._tally.metrics(spooled=spooled, rates=self._statistics.producer_rates())

    def partitions_for(self, topic: str) -> tuple[Partition, ...]:
        """Return the partitions of `topic`, as of at most a minute ago.

        Raises:
            UnknownTopicError: there is no such topic.
            ClusterUnreachableError: nobody can tell.
        """
        return tuple(Partition(number) for number in range(self._partitions.count_of(topic)))

    def _produce_when_there_is_room(
        self, record: OutgoingRecord, byte_count: int, on_delivery: OnDelivery | None
    ) -> None:
        # Most records have no callback of their own: a bound method instead of a new function.
        report = partial(self._reported, on_delivery) if on_delivery else self._reported_quietly
        started: float | None = None
        while True:
            # Counted first: it may be delivered before this thread goes on, and settle another.
            self._tally.count_sent(byte_count)
            try:
                return self._produce(record, report)
            except BufferError as err:
                self._tally.uncount_sent(byte_count)
                started = time.monotonic() if started is None else started
                waited = time.monotonic() - started
                if waited >= self.options.block_seconds or self._pump.runs_here():
                    raise BufferFullError(
                        record.topic, waited_seconds=waited, held=self._tally.in_flight
                    ) from err
            except BaseException:  # an interrupt too: it counts as not accepted
                self._tally.uncount_sent(byte_count)
                raise
            self._pump.wait_for_progress(self.options.block_seconds - waited)

    def _produce_spooled(self, record: OutgoingRecord, report: OnDelivery) -> None:
        self._produce(record, lambda err, message: report(self._report_of(err, message)))

    def _produce(self, record: OutgoingRecord, report: ClientReport) -> None:
        """Hand `record` to the client; BufferError when the client is full."""
        partition = record.partition
        if partition is None and self._partitioner is not None:
            partition = Partition(
                self._partitioner(record.key, self._partitions.count_of(record.topic))
            )
        try:
            self._client.produce(
                record.topic,
                record.value,
                record.key,
                -1 if partition is None else partition,
                on_delivery=report,
                timestamp=0 if record.timestamp is None else milliseconds_of(record.timestamp),
                headers=[(h.name, h.value) for h in record.headers] if record.headers else None,
            )
        except KafkaException as err:
            if error_of(err).code() == KafkaError.MSG_SIZE_TOO_LARGE:
                raise too_large_here(record, self._terms) from err
            raise self._error_of(error_of(err), record.topic, partition, record.byte_count) from err

    def _reported_quietly(self, err: KafkaError | None, message: Message) -> None:
        if err is None:
            self._tally.count_delivered(message.latency() or 0.0)
        else:
            self._settle(self._report_of(err, message), None)

    def _reported(self, on_delivery: OnDelivery, err: KafkaError | None, message: Message) -> None:
        self._settle(self._report_of(err, message), on_delivery)

    def _settle(self, report: DeliveryReport, on_delivery: OnDelivery | None) -> None:
        """Tell who asked, then count: when `flush` returns, every `on_delivery` has returned."""
        if on_delivery is not None:
            try:
                on_delivery(report)
            except Exception as err:  # the caller's code in our thread; raised by `flush`
                logger.exception("an on_delivery function raised")
                self._callback_error = self._callback_error or err
        if isinstance(report, DeliveryError):
            self._tally.count_failed(report, told=on_delivery is not None)
        else:
            self._tally.count_delivered(report.latency_seconds)

    def _report_of(self, err: KafkaError | None, message: Message) -> DeliveryReport:
        topic, partition = message.topic() or "", message.partition()
        if err is not None:
            size = len(message.value() or b"") + len(message.key() or b"")
            return self._error_of(err, topic, partition, size)
        kind, milliseconds = message.timestamp()
        offset = message.offset()
        return Delivery(
            topic=TopicName(topic),
            partition=Partition(partition or 0),
            offset=None if offset is None or offset < 0 else Offset(offset),
            timestamp=moment_of(milliseconds) if kind else None,
            latency_seconds=message.latency() or 0.0,
        )

    def _error_of(
        self, err: KafkaError, topic: str, partition: int | None, byte_count: int
    ) -> DeliveryError:
        return delivery_error(
            err,
            topic=topic,
            partition=partition,
            byte_count=byte_count,
            terms=self._terms,
            refusal=self._complaints.refusal(),
        )

    def _wait_until_settled(self, limit_seconds: float) -> int:
        """Return how many records are still on their way when the time is over."""
        deadline = time.monotonic() + limit_seconds
        with self._pump.hurrying():
            while (left := self._tally.in_flight) > 0:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or (self._feeder and self._feeder.failure):
                    break
                self._pump.wait_for_progress(remaining)
        return left

    def _end_client(self) -> None:
        if self._feeder is not None:
            self._feeder.stop()
        self._ended = True
        self._statistics.end()
        self._client.purge()
        if self._feeder is None:
            # The reports of the records given up: every `on_delivery` is called exactly once.
            self._wait_until_settled(_GRACE_SECONDS)
        self._pump.stop()
        self._pump.join()
        try:
            self._client.close()
        except KafkaException as err:  # a fatal error that came after the thread had ended
            self._complaints.note(error_of(err))
        if self._feeder is not None:
            self._feeder.close()

    def _raise_what_nobody_saw(self) -> None:
        if self._feeder is not None and self._feeder.failure is not None:
            raise self._feeder.failure
        unseen = self._tally.take_unseen()
        if unseen is not None:
            raise unseen
        error, self._callback_error = self._callback_error, None
        if error is not None:
            raise DeliveryCallbackError(error) from error

    def _refuse_when_closed(self) -> None:
        # While `close` waits, an `on_delivery` function may still send what follows.
        if self._ended or (self._closing and not self._pump.runs_here()):
            raise ProducerClosedError

    def _refuse_to_wait_for_itself(self, call: str) -> None:
        if self._pump.runs_here():
            raise WaitingInCallbackError(call)

    def _longest_delivery_seconds(self) -> float:
        return self.options.delivery_timeout_seconds + _GRACE_SECONDS

    def _undelivered(self, count: int, *, waited_seconds: float) -> UndeliveredError:
        return UndeliveredError(
            count=count,
            waited_seconds=waited_seconds,
            last_word=self._complaints.last_word(),
            kept_in=str(self._spool_folder) if self._spool_folder else None,
        )


def _with_timestamp(record: OutgoingRecord) -> OutgoingRecord:
    """Return `record` with the time of sending, which a replay hours later must not change."""
    return record if record.timestamp else replace(record, timestamp=datetime.now(UTC))
