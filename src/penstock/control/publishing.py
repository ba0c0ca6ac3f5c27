"""Publishing the status of a run, from a thread of its own: the run never waits for Kafka.

Only the latest status counts. While no broker answers the run goes on, and the status of the day is
published when one does.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from threading import Condition, Thread
from typing import TYPE_CHECKING

from penstock.control.status_fold import StatusFold
from penstock.control.status_records import (
    PUBLISH_SECONDS,
    encode_status,
    status_key,
    status_of_key,
)
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.control.status_fold import Clean, Identity
    from penstock.control.status_records import PipelineRecord
    from penstock.control.supervision import FlowState
    from penstock.engine.events import PipelineEvent
    from penstock.kafka.tables import KafkaTable
    from penstock.names import FlowName

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
_REST_SECONDS = 0.5
"""Between two records: a flow may change between running and idle many times in a second."""


class StatusPublisher:
    """Publishes how a run does, on every change of a state and every few seconds.

    Its methods may be called from any thread; none of them waits for Kafka but `end`.
    """

    def __init__(self, table: KafkaTable, identity: Identity, *, clean: Clean = str) -> None:
        """Begin to publish that the driver is starting.

        Args:
            table: the table `_penstock.status`; stays open.
            identity: who speaks; it must have the lease of its pipeline.
            clean: removes secrets from sentences that others wrote.
        """
        self._table, self._identity = table, identity
        self._fold = StatusFold(identity, at=identity.driver.started_at, clean=clean)
        self._wake = Condition()
        self._is_due, self._is_over, self._is_silent = True, False, False
        self._thread = Thread(target=self._publish, name="penstock-status", daemon=True)
        self._thread.start()

    def begin(self, flows: Sequence[FlowName], *, at_first: FlowState) -> None:
        """The project is loaded: these flows are to be run."""
        self._change(lambda now: self._fold.begin(flows, at_first=at_first, at=now))

    def describe(
        self,
        *,
        spark_application_id: str | None = None,
        spark_ui: str | None = None,
        health: str | None = None,
    ) -> None:
        """Make known how Spark knows the driver, and where to look at it; None: as before."""
        with self._wake:
            known = self._fold.addresses
            self._fold.addresses = replace(
                known,
                spark_application_id=spark_application_id or known.spark_application_id,
                spark_ui=spark_ui or known.spark_ui,
                health=health or known.health,
            )
            self._tell_soon()

    def notify(self, event: PipelineEvent) -> None:
        """Take in what happened."""
        with self._wake:
            if self._fold.apply(event):
                self._tell_soon()

    def stop(self, why: str | None = None) -> None:
        """Somebody wants the end; running batches are being finished."""
        self._change(lambda now: self._fold.stop(why, at=now))

    def end(self, error: BaseException | None, *, within_seconds: float) -> None:
        """Publish the end, for so long at most; `error` is why, unless that was wanted."""
        self._change(lambda now: self._fold.end(error, at=now))
        with self._wake:
            self._is_over = True
            self._wake.notify_all()
        self._thread.join(within_seconds)
        self.fall_silent()

    def fall_silent(self) -> None:
        """Publish nothing more: another driver may be speaking by now."""
        with self._wake:
            self._is_silent = True
            self._wake.notify_all()

    def _change(self, change: Callable[[datetime], None]) -> None:
        with self._wake:
            change(datetime.now(UTC))
            self._tell_soon()

    def _tell_soon(self) -> None:
        self._is_due = True
        self._wake.notify_all()

    def _publish(self) -> None:
        key, is_first = status_key(self._identity.pipeline, self._identity.epoch), True
        while (record := self._next()) is not None:
            try:
                self._table.put(key, encode_status(record))
                if is_first:
                    self._remove_predecessors()
                    is_first = False
            except PenstockError:
                self._try_again()
            except Exception:  # the top of a thread: a run does not end for want of a listener
                logger.exception("publishing the status failed")
                self._try_again()
            else:
                self._rest(_REST_SECONDS)

    def _remove_predecessors(self) -> None:
        """Remove what earlier drivers of the pipeline said: only the last one's word counts."""
        pipeline, epoch = self._identity.pipeline, self._identity.epoch
        for key in self._table.snapshot():
            said_by = status_of_key(key)
            if said_by and said_by[0] == pipeline and said_by[1] < epoch:
                self._table.delete(key)

    def _try_again(self) -> None:
        """What was not published stays due; but not at once, or this would spin."""
        with self._wake:
            self._is_due = True
        self._rest(_RETRY_SECONDS)

    def _rest(self, seconds: float) -> None:
        with self._wake:
            self._wake.wait_for(lambda: self._is_over or self._is_silent, seconds)

    def _next(self) -> PipelineRecord | None:
        """Return what to publish, when something has changed or some time has passed.

        None: all has been said.
        """
        with self._wake:
            self._wake.wait_for(
                lambda: self._is_due or self._is_over or self._is_silent, PUBLISH_SECONDS
            )
            if self._is_silent or (self._is_over and not self._is_due):
                return None
            self._is_due = False
            return self._fold.record(datetime.now(UTC))
