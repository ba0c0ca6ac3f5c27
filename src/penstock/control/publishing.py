"""Publishing the status of a run, from a thread of its own: the run never waits for Kafka.

Only the latest status counts. While no broker answers the run goes on, and the status of the day is
published when one does.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import UTC, datetime
from threading import Condition, Thread
from typing import TYPE_CHECKING

from penstock.control.about import (
    PlanRecord,
    about_key,
    bounded_plan,
    encode_about,
    encode_plan,
    plan_key,
    told_by,
)
from penstock.control.status_fold import StatusFold
from penstock.control.status_records import (
    PUBLISH_SECONDS,
    encode_status,
    status_key,
    status_of_key,
)
from penstock.engine.events import FlowPlanned
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.control.about import AboutRecord
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


_LOOK_SECONDS = 1.5
"""How long numbers may have changed before that is told; with the rest above, two seconds."""


class StatusPublisher:
    """Publishes how a run does: changes of a state at once, numbers within two seconds.

    While nothing changes it says every few seconds that the driver lives.

    Its methods may be called from any thread; none of them waits for Kafka but `end`.
    """

    def __init__(self, table: KafkaTable, identity: Identity, *, clean: Clean = str) -> None:
        """Begin to publish that the driver is starting.

        Args:
            table: the table `_penstock.status`; stays open.
            identity: who speaks; it must have the lease of its pipeline.
            clean: removes secrets from sentences that others wrote.
        """
        self._table, self._identity, self._clean = table, identity, clean
        self._fold = StatusFold(identity, at=identity.driver.started_at, clean=clean)
        self._wake = Condition()
        self._beside: dict[str, bytes] = {}
        self._told: PipelineRecord | None = None
        self._silent_until = 0.0
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
        if isinstance(event, FlowPlanned):
            key = plan_key(self._identity.pipeline, self._identity.epoch, event.flow)
            plan = PlanRecord(at=event.at, text=bounded_plan(self._clean(event.plan)))
            self._tell_beside(key, encode_plan(plan))
            return
        with self._wake:
            if self._fold.apply(event):
                self._tell_soon()

    def tell_about(self, told: AboutRecord) -> None:
        """Make known what does not change while the driver runs."""
        key = about_key(self._identity.pipeline, self._identity.epoch)
        self._tell_beside(key, encode_about(told))

    def _tell_beside(self, key: str, value: bytes) -> None:
        with self._wake:
            self._beside[key] = value
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

    def record(self) -> PipelineRecord:
        """Return what would be published at this moment."""
        with self._wake:
            return self._fold.record(datetime.now(UTC))

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
                self._told, self._silent_until = record, time.monotonic() + PUBLISH_SECONDS
                if is_first:
                    self._remove_predecessors()
                    is_first = False
                self._put_beside()
            except PenstockError:
                self._try_again()
            except Exception:  # the top of a thread: a run does not end for want of a listener
                logger.exception("publishing the status failed")
                self._try_again()
            else:
                self._rest(_REST_SECONDS)

    def _put_beside(self) -> None:
        """Publish what lies beside the status, as far as it is new."""
        while True:
            with self._wake:
                if not self._beside:
                    return
                key, value = next(iter(self._beside.items()))
            self._table.put(key, value)
            with self._wake:
                if self._beside[key] is value:  # it may have been said anew meanwhile
                    del self._beside[key]

    def _remove_predecessors(self) -> None:
        """Remove what earlier drivers of the pipeline said: only the last one's word counts."""
        pipeline, epoch = self._identity.pipeline, self._identity.epoch
        for key in self._table.snapshot():
            said_by = status_of_key(key) or told_by(key)
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
        """Return what to publish, when something has changed or it has been silent for long.

        None: all has been said.
        """
        with self._wake:
            while True:
                left = max(0.0, self._silent_until - time.monotonic())
                self._wake.wait_for(
                    lambda: self._is_due or self._is_over or self._is_silent,
                    min(left, _LOOK_SECONDS),
                )
                if self._is_silent or (self._is_over and not self._is_due):
                    return None
                record = self._fold.record(datetime.now(UTC))
                if self._is_due or record != self._told or time.monotonic() >= self._silent_until:
                    self._is_due = False
                    return record
