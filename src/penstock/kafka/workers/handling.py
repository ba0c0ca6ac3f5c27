"""How a worker hands a record to its handler: alone, or inside a database transaction.

Both ways look the same to the worker (`worker.py`), which decides about retries, dead letters
and stopping. What the handler raised is told apart from what the database raised: a record may be
blamed for the first, never for the second.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol

from penstock.errors import PenstockError
from penstock.kafka.consumer.membership import Start
from penstock.kafka.offsets import TopicPartition, end_offsets, first_offsets
from penstock.kafka.workers.stored_offsets import Transaction
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from penstock.kafka.admin import Admin
    from penstock.kafka.consumer.consumer import Consumer
    from penstock.kafka.records import Record
    from penstock.kafka.workers.stored_offsets import OffsetStore
    from penstock.names import GroupId


class HandlerRaised(Exception):  # noqa: N818 - a signal to the worker, not a fault of ours
    """The handler raised `error`; if there was a transaction, it is rolled back."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class HandlerFailedError(PenstockError):
    """A handler failed on a record for good, and the worker stopped there."""

    code = "PEN-490"

    def __init__(self, record: Record, *, handler: str, attempts: int, error: Exception) -> None:
        where = f"{record.topic}-{record.partition}@{record.offset}"
        times = "once" if attempts == 1 else f"{attempts} times"
        super().__init__(
            f"handler `{handler}` failed {times} on `{where}`: {type(error).__name__}: {error}",
            hint=f"`penstock consume {record.topic} --partition {record.partition} "
            f"--from offset:{record.offset} --limit 1 --details` shows the record; with "
            "`dead_letters=` the worker would keep it aside and go on",
        )
        self.record, self.attempts = record, attempts


class OffsetStoreFailedError(PenstockError):
    """The database that keeps the worker's offsets did not do its part."""

    code = "PEN-494"
    retryable = True

    def __init__(self, action: str, *, error: Exception) -> None:
        super().__init__(
            f"cannot {action}: {type(error).__name__}: {str(error).strip()}",
            hint="nothing was committed for the record in hand; check the database, then start "
            "the worker again",
        )


class Handling(Protocol):
    """What the worker does with a record, whether or not there is a transaction."""

    def open(self) -> None:
        """Get ready, before the first partition comes."""

    def begin(self, consumer: Consumer, partitions: Collection[TopicPartition]) -> None:
        """Find where to read partitions that were just assigned."""

    def catch_up(self, consumer: Consumer, partition: TopicPartition) -> None:
        """Go on where another worker has left the partition."""

    def attempt(self, record: Record) -> None:
        """Call the handler once.

        Raises:
            HandlerRaised: the handler failed, and nothing of it remains.
            OffsetMovedError: another worker has the partition; the handler was not called.
            OffsetStoreFailedError: the database failed.
        """

    def skip(self, record: Record) -> None:
        """Count the record as handled without calling the handler."""

    def close(self) -> None:
        """Let go of everything."""


class PlainHandling:
    """The handler alone. Offsets are Kafka's, committed later: at least once."""

    def __init__(self, handler: Callable[[Record], None]) -> None:
        self._handler = handler

    def open(self) -> None:
        """Need nothing."""

    def begin(self, consumer: Consumer, partitions: Collection[TopicPartition]) -> None:
        """Leave it to the group's committed offsets."""

    def catch_up(self, consumer: Consumer, partition: TopicPartition) -> None:
        """Leave it to the group: nobody else moves offsets of this handling."""

    def attempt(self, record: Record) -> None:
        """Call the handler."""
        with _handler_faults():
            self._handler(record)

    def skip(self, record: Record) -> None:
        """Need nothing: the consumer counts what it has handed out."""

    def close(self) -> None:
        """Hold nothing."""


class TransactionalHandling(Generic[Transaction]):
    """The handler inside the transaction that also moves the stored offset: exactly once.

    Args:
        handler: gets the record and the open transaction.
        store: keeps the offsets.
        group: whose offsets they are.
        start: where to begin when neither the store nor the group has an offset.
        admin: answers where partitions begin and end.
    """

    def __init__(
        self,
        handler: Callable[[Record, Transaction], None],
        store: OffsetStore[Transaction],
        *,
        group: GroupId,
        start: Start,
        admin: Admin,
    ) -> None:
        self._handler, self._store = handler, store
        self._group, self._start, self._admin = group, start, admin
        self._stored: dict[TopicPartition, Offset] = {}

    def open(self) -> None:
        """Open the store."""
        with _store_faults("open the store of offsets"):
            self._store.open()

    def begin(self, consumer: Consumer, partitions: Collection[TopicPartition]) -> None:
        """Read on at the stored offsets, whatever the group has committed."""
        for partition, start in self._starts(consumer, partitions).items():
            self._go_to_stored(consumer, partition, start=start)

    def catch_up(self, consumer: Consumer, partition: TopicPartition) -> None:
        """Go to the stored offset; one that has been deleted is stored again."""
        self._go_to_stored(consumer, partition, start=self._stored[partition])

    def _go_to_stored(self, consumer: Consumer, partition: TopicPartition, start: Offset) -> None:
        with _store_faults(f"read the stored offset of `{partition}`"):
            stored = self._store.ensure_stored(self._group, partition, start=start)
        self._stored[partition] = stored
        consumer.seek(partition, stored)

    def attempt(self, record: Record) -> None:
        """Call the handler in a transaction that ends with the offset behind `record`."""
        with self._transaction(record) as transaction, _handler_faults():
            self._handler(record, transaction)

    def skip(self, record: Record) -> None:
        """Move the stored offset behind `record`."""
        with self._transaction(record):
            pass

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    @contextmanager
    def _transaction(self, record: Record) -> Iterator[Transaction]:
        partition = TopicPartition(record.topic, record.partition)
        following = Offset(record.offset + 1)
        with (
            _store_faults(f"store the offset of `{partition}@{record.offset}`"),
            self._store.transaction(
                self._group,
                partition,
                expected=self._stored[partition],
                following=following,
            ) as transaction,
        ):
            yield transaction
        self._stored[partition] = following

    def _starts(
        self, consumer: Consumer, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Offset]:
        committed = consumer.committed(partitions)
        open_ones = [item for item in partitions if committed.get(item) is None]
        listed = first_offsets if self._start is Start.EARLIEST else end_offsets
        chosen = listed(self._admin, open_ones)
        return {item: committed.get(item) or chosen.get(item, Offset(0)) for item in partitions}


@contextmanager
def _handler_faults() -> Iterator[None]:
    try:
        yield
    except Exception as err:
        raise HandlerRaised(err) from err


@contextmanager
def _store_faults(action: str) -> Iterator[None]:
    """Turn what the database's driver raises, which is foreign to us, into an error of ours."""
    try:
        yield
    except (PenstockError, HandlerRaised):
        raise
    except Exception as err:
        raise OffsetStoreFailedError(action, error=err) from err
