"""From the spool to the cluster: a thread that sends what is on disk, in order.

It hands records to the client as long as fewer than `window` of them are unacknowledged; the client
keeps trying without end while the cluster is away. A record leaves the spool when it is
acknowledged, or when the cluster refuses it for good: then it is put aside in `refused.jsonl`.

At least once across restarts: records of the window that were written by the cluster just before
this process died, and whose acknowledgement was not yet stored, are sent again by the next
producer on the same spool. That is at most `window` records, in their order.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka.producer.errors import DeliveryError, ProducerFailedError
from penstock.kafka.records import Delivery

if TYPE_CHECKING:
    from penstock.kafka.producer.progress import Progress
    from penstock.kafka.producer.spool import Spool
    from penstock.kafka.records import OutgoingRecord

logger = logging.getLogger(__name__)

DeliveryReport = Delivery | DeliveryError
OnDelivery = Callable[[DeliveryReport], None]
Produce = Callable[["OutgoingRecord", OnDelivery], None]

# How long the thread waits without being woken: for a full client, for a cluster that is away.
_PAUSE_SECONDS = 0.2


class SpoolFeeder:
    """Owns a spool: takes records from any thread, sends them from its own.

    Args:
        spool: what to send.
        produce: hands a record to the client; raises BufferError when the client is full, and a
            `PenstockError` when the record cannot be handed over.
        settled: called once for each record whose fate is known, with the caller's own callback.
        window: how many unacknowledged records the client may hold.
        progress: announced whenever the client has made some; its lock guards the spool.
    """

    def __init__(
        self,
        spool: Spool,
        *,
        produce: Produce,
        settled: Callable[[DeliveryReport, OnDelivery | None], None],
        window: int,
        progress: Progress,
    ) -> None:
        self._spool = spool
        self._produce = produce
        self._settled = settled
        self._window = window
        self._progress = progress
        self._callbacks: dict[int, OnDelivery] = {}
        self._with_client = 0
        self._must_rewind = False
        self._stopping = False
        self.failure: PenstockError | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-spool", daemon=True)
        self._thread.start()

    @property
    def pending(self) -> int:
        """The records on disk that are not acknowledged."""
        return self._spool.pending

    def submit(self, record: OutgoingRecord, on_delivery: OnDelivery | None) -> None:
        """Store `record`; when this returns it will be sent, by this process or the next.

        Raises:
            PenstockError: the spool does not take it, or the feeder has stopped for good.
        """
        with self._progress.lock:
            if self.failure is not None:
                raise self.failure
            sequence = self._spool.append(record)
            if on_delivery is not None:
                self._callbacks[sequence] = on_delivery
            self._progress.announce()

    def stop(self) -> None:
        """Hand over nothing more; reports of what the client holds may still come."""
        with self._progress.lock:
            self._stopping = True
            self._progress.announce()
        self._thread.join()

    def close(self) -> None:
        """Close the spool. The client must have been emptied before."""
        with self._progress.lock:
            self._spool.close()

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._feed()
        except PenstockError as err:
            self._fail(err)
        except Exception as err:  # the top of a thread: what is left here would be lost
            logger.exception("the spool is no longer sent", extra={"spool": self._spool.folder})
            self._fail(ProducerFailedError("(spool)", reason=f"{type(err).__name__}: {err}"))

    def _feed(self) -> None:
        """Hand over one record, or wait until that may be possible."""
        with self._progress.lock:
            self._spool.sync_if_due()
            if self._must_rewind and not self._with_client:
                self._spool.rewind()
                self._must_rewind = False
            blocked = self._must_rewind or self._spool.handed_out >= self._window
            entry = None if blocked else self._spool.next_entry()
            if entry is None:
                self._progress.wait(_PAUSE_SECONDS)
                return
            self._with_client += 1
        sequence, stored = entry
        self._hand_over(sequence, stored.record)

    def _hand_over(self, sequence: int, record: OutgoingRecord) -> None:
        report = partial(self._reported, sequence, record)
        while not self._stopping:
            try:
                self._produce(record, report)
            except BufferError:
                self._pause()
            except ProducerFailedError:
                raise
            except PenstockError as err:
                if not err.retryable:
                    self._reported(sequence, record, _as_delivery_error(record, err))
                    return
                self._pause()
            else:
                return

    def _pause(self) -> None:
        self._progress.wait(_PAUSE_SECONDS)

    def _reported(self, sequence: int, record: OutgoingRecord, report: DeliveryReport) -> None:
        with self._progress.lock:
            self._with_client -= 1
            if isinstance(report, ProducerFailedError):
                self.failure = report
                return
            if isinstance(report, DeliveryError) and report.retryable:
                # What follows it must not overtake it: all of the window is sent again.
                self._must_rewind = True
                return
            if isinstance(report, DeliveryError):
                self._spool.refuse(record, report)
            self._spool.acknowledge(sequence)
            callback = self._callbacks.pop(sequence, None)
        self._settled(report, callback)

    def _fail(self, error: PenstockError) -> None:
        with self._progress.lock:
            self.failure = error
            self._progress.announce()


def _as_delivery_error(record: OutgoingRecord, err: PenstockError) -> DeliveryError:
    if isinstance(err, DeliveryError):
        return err
    return DeliveryError(record.topic, reason=err.message, hint=err.hint)
