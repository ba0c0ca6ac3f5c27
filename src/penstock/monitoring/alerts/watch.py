"""The watch: evaluates the rules of a cluster round by round, remembers, and tells.

Of several consoles on one cluster one is on duty; the others show what it finds and take over when
it falls silent. What is remembered is in memory first: alerts are told while Kafka is away, which
is when they matter most, and written to the table as soon as it is back. A console that begins
while Kafka is away cannot know whether it is on duty, and tells that Kafka is away all the same.

    with AlertWatch(connection, rules, deliveries, settings) as watch:
        watch.look(readings)        # after each round of sampling; never waits for a delivery

A delivery is told again when the process dies between a message and the writing down of it: an
alert told twice is better than one never told.
"""

from __future__ import annotations

import logging
import os
import platform
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Condition, Event, Lock, Thread
from typing import TYPE_CHECKING, Self

from penstock.errors import PenstockError
from penstock.kafka.tables import TableClosedError, TableLostError, VersionConflictError
from penstock.monitoring.alerts.deliveries.body import Message
from penstock.monitoring.alerts.errors import DeliveryFailedError
from penstock.monitoring.alerts.evaluating import Evaluation
from penstock.monitoring.alerts.states import advanced, ended
from penstock.monitoring.alerts.table import ALERTS_TOPIC, AlertTable, DeliveryResult, Duty
from penstock.monitoring.alerts.telling import Pace, owed, with_told
from penstock.monitoring.alerts.views import stored_view, view_of
from penstock.monitoring.catalog.brokers import CLUSTER_ANSWERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from penstock.kafka import Connection
    from penstock.monitoring.alerts.deliveries import Delivery
    from penstock.monitoring.alerts.readings import Readings
    from penstock.monitoring.alerts.rules import Rule
    from penstock.monitoring.alerts.silences import Silence, SilenceId
    from penstock.monitoring.alerts.states import Alert, AlertKey, DeliveryName, Past
    from penstock.monitoring.alerts.telling import Notice
    from penstock.monitoring.alerts.views import AlertsView
    from penstock.monitoring.catalog import MetricName
    from penstock.names import TopicName, Version
    from penstock.settings import AlertSettings

logger = logging.getLogger(__name__)

_TICK_SECONDS = 1.0
_RENEW = timedelta(seconds=10)
_TAKE_OVER = timedelta(seconds=30)
"""A console that has not renewed its duty for so long has missed it twice."""

_VALUES = timedelta(minutes=1)
"""How often an alert is written that only has another value."""

_JOIN_SECONDS = 3.0
_SILENCE_KEPT = timedelta(days=1)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class AlertWatch:
    """Watches one cluster. Use it as a context manager."""

    def __init__(
        self,
        connection: Connection,
        rules: Sequence[Rule],
        deliveries: Mapping[DeliveryName, Delivery],
        settings: AlertSettings,
        *,
        now: Callable[[], datetime] = _utc_now,
        topic: TopicName = ALERTS_TOPIC,
    ) -> None:
        self.rules, self.deliveries = tuple(rules), deliveries
        self._connection, self._settings, self._now = connection, settings, now
        self._topic = topic
        self._evaluation = Evaluation(rules)
        self._id = uuid.uuid4().hex
        self._changed, self._over, self._opening = Condition(), Event(), Lock()
        self._table: AlertTable | None = None
        self._on_duty = False
        self._duty_seen: tuple[Version | None, datetime] | None = None
        self._renewed_at: datetime | None = None
        self._evaluated_at: datetime | None = None
        self._alerts: dict[AlertKey, Alert] = {}
        self._written: dict[AlertKey, tuple[Alert, datetime]] = {}
        self._ended: list[Past] = []
        self._results: dict[DeliveryName, DeliveryResult] = {}
        self._telling_is_over = Event()
        self._keeper = Thread(target=self._keep, name="penstock-alerts", daemon=True)
        self._tellers = [
            Thread(target=self._deliver, args=(name,), name=f"penstock-alerts-{name}", daemon=True)
            for name in deliveries
        ]

    def __enter__(self) -> Self:
        """Begin; rules are evaluated as soon as what was told before is known."""
        for thread in (self._keeper, *self._tellers):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End; what has not been told is told by the next watch."""
        self._telling_is_over.set()
        with self._changed:
            self._changed.notify_all()
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in self._tellers:
            thread.join(max(0.0, deadline - time.monotonic()))
        # Only then, so that what was told last is written down.
        self._over.set()
        self._keeper.join(_JOIN_SECONDS)
        for delivery in self.deliveries.values():
            delivery.close()

    @property
    def is_on_duty(self) -> bool:
        """Whether this watch evaluates the rules; otherwise another one of the cluster does."""
        return self._on_duty

    def look(self, readings: Readings, *, unmeasured: Collection[MetricName] = ()) -> None:
        """Evaluate all rules once, if this watch is on duty.

        Args:
            readings: the values of this round, and of the time before.
            unmeasured: the metrics that cannot be measured: that they are missing means nothing.
        """
        is_on_duty, rules = self._on_duty, self._rules_to_look_at()
        if not rules:
            return
        now = self._now()
        numbers = self._evaluation.numbers(readings, now)
        is_away = 0 in readings.latest(CLUSTER_ANSWERS.name).values()
        blind = {
            rule.name
            for rule in rules
            if is_away or rule.name not in numbers or rule.condition.metric in unmeasured
        }
        with self._changed:
            if is_on_duty is not self._on_duty:
                return  # these were the alerts of another role
            before = self._alerts
            self._alerts = advanced(before, rules, numbers, now, blind=blind)
            self._ended += ended(before, self._alerts, now)
            self._evaluated_at = now
            self._changed.notify_all()

    def _rules_to_look_at(self) -> Sequence[Rule]:
        """Return all rules on duty; before the table could be read those that say why it could not.

        What they began is looked at to its end, whoever is on duty by then.
        """
        if self._on_duty:
            return self.rules
        if self._table is not None and not self._alerts:
            return ()
        return [rule for rule in self.rules if rule.condition.metric == CLUSTER_ANSWERS.name]

    def view(self) -> AlertsView | None:
        """Return what there is to say now, without waiting; None until the table has been read."""
        table = self._table
        try:
            stored = stored_view(table, self._now()) if table is not None else None
        except (TableLostError, TableClosedError):
            return None  # it is being opened again
        if stored is None or not self._on_duty:
            return stored
        with self._changed:
            mine, duty = list(self._alerts.values()), self._duty_record()
        return view_of(mine, past=stored.past, silences=stored.silences, duty=duty, now=stored.at)

    def result(self, delivery: DeliveryName) -> DeliveryResult:
        """Return how a delivery has done last, in this console or the one on duty."""
        with self._changed:
            mine = self._results.get(delivery)
        table = self._table
        if mine is not None or self._on_duty or table is None:
            return mine or DeliveryResult()
        stored = table.duty()
        return (stored[0].deliveries if stored else {}).get(delivery, DeliveryResult())

    def add_silence(self, silence: Silence) -> None:
        """Begin a silence.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        (self._table or self._opened()).add_silence(silence)

    def end_silence(self, silence: SilenceId) -> Silence:
        """End a silence and return it.

        Raises:
            UnknownSilenceError: there is none of that id.
            PenstockError: Kafka cannot be used.
        """
        return (self._table or self._opened()).end_silence(silence)

    # Telling: a thread for each delivery.

    def _deliver(self, name: DeliveryName) -> None:
        pace = Pace(self._settings.messages_per_minute)
        while not self._telling_is_over.is_set():
            try:
                self._tell(name, pace)
            except Exception as error:  # the top of a thread: without it nobody would be told more
                logger.exception("telling alerts failed", extra={"delivery": name})
                reason = f"{type(error).__name__}, which the log of the console tells more of"
                self._note(name, reason, has_arrived=False)
                pace.failed(self._now())
            with self._changed:
                if not self._telling_is_over.is_set():
                    self._changed.wait(_TICK_SECONDS)

    def _tell(self, name: DeliveryName, pace: Pace) -> None:
        now = self._now()
        if pace.wait_until(now) > now:
            return
        was_on_duty, notices = self._on_duty, self._owed(name, now)
        if not notices:
            return
        message = Message(cluster=self._connection.bootstrap, sent_at=now, notices=notices)
        try:
            self.deliveries[name].send(message)
        except DeliveryFailedError as error:
            logger.warning("alerts not delivered", extra={"delivery": name, "reason": error.reason})
            self._note(name, error.reason, has_arrived=error.is_taken)
            if not error.is_taken:
                pace.failed(self._now())
                return
        else:
            self._note(name, None, has_arrived=True)
        pace.sent(self._now())
        with self._changed:
            if self._on_duty or not was_on_duty:
                self._alerts = with_told(self._alerts, name, notices, now)

    def _owed(self, name: DeliveryName, now: datetime) -> list[Notice]:
        table = self._table
        with self._changed:
            if self._on_duty and table is None:
                return []  # it is being opened again
            alerts = list(self._alerts.values())
        try:
            silences = table.silences() if alerts and table is not None else ()
        except (TableLostError, TableClosedError):
            return []
        repeat = timedelta(seconds=self._settings.repeat_seconds)
        return owed(name, alerts, silences, repeat=repeat, now=now)

    def _note(self, name: DeliveryName, reason: str | None, *, has_arrived: bool) -> None:
        """Keep what became of a message; `reason` is why it did not arrive, or not everywhere."""
        with self._changed:
            known, now = self._results.get(name, DeliveryResult()), self._now()
            self._results[name] = DeliveryResult(
                arrived_at=now if has_arrived else known.arrived_at,
                failed_at=now if reason is not None else known.failed_at,
                reason=reason,
            )
            self._renewed_at = None  # so that all who look see it soon

    # Remembering: one thread, the only one that writes alerts and duty.

    def _keep(self) -> None:
        complaint = ""
        while not self._over.wait(_TICK_SECONDS if self._on_duty else _TICK_SECONDS / 4):
            try:
                self._remember()
                complaint = ""
            except PenstockError as error:
                if error.message != complaint:
                    complaint = error.message
                    logger.warning("alerts not written down", extra={"reason": complaint})
            except Exception:  # the top of a thread: state would be lost silently
                logger.exception("keeping alerts failed")
        self._leave()

    def _remember(self) -> None:
        table = self._table or self._opened()
        try:
            if not self._on_duty:
                self._look_after_duty(table)
            if self._on_duty:
                self._write(table)
                self._renew(table)
        except (TableLostError, TableClosedError):
            # Deleted, or made anew: what is in memory is all that is left, and is written again.
            self._table, self._duty_seen, self._renewed_at = None, None, None
            self._written.clear()
            table.close()
            raise

    def _opened(self) -> AlertTable:
        # A lock of its own: opening may take long, and no round of sampling waits for it.
        with self._opening:
            if self._table is None:
                self._table = AlertTable(self._connection, self._topic)
            return self._table

    def _look_after_duty(self, table: AlertTable) -> None:
        """Take the duty over when nobody has it any more."""
        now, found, version = self._now(), table.duty(), table.duty_version()
        if self._duty_seen is None or self._duty_seen[0] != version:
            self._duty_seen = version, now
        is_free = found is None or found[0].is_over or found[0].evaluator == self._id
        if not is_free and now - self._duty_seen[1] < _TAKE_OVER:
            return
        try:
            taken = table.take_duty(self._duty_record(), version=version)
        except VersionConflictError:
            return  # another was quicker
        table.refresh()
        stored = table.alerts()
        # Nobody has looked since the console before this one ended.
        kept = {key: replace(alert, measured_at=now) for key, alert in stored.items()}
        with self._changed:
            self._alerts = {**kept, **self._alerts}
            self._written = {key: (alert, now) for key, alert in stored.items()}
            self._duty_seen, self._renewed_at, self._on_duty = (taken, now), now, True

    def _renew(self, table: AlertTable) -> None:
        now = self._now()
        if self._renewed_at is not None and now - self._renewed_at < _RENEW:
            return
        version = self._duty_seen[0] if self._duty_seen else None
        with self._changed:
            self._renewed_at, duty = now, self._duty_record()
        try:
            self._duty_seen = table.take_duty(duty, version=version), now
        except VersionConflictError as conflict:
            found = table.duty()
            if found is not None and found[0].evaluator == self._id:
                # An earlier renewal was written, and its confirmation was lost.
                self._duty_seen = found[1], now
                return
            logger.warning("another console evaluates alerts", extra={"reason": conflict.message})
            with self._changed:
                self._on_duty, self._duty_seen, self._alerts = False, None, {}

    def _duty_record(self) -> Duty:
        return Duty(
            evaluator=self._id,
            host=platform.node() or "unknown",
            pid=os.getpid(),
            evaluated_at=self._evaluated_at or self._now(),
            rule_count=sum(rule.enabled for rule in self.rules),
            deliveries=dict(self._results),
        )

    def _write(self, table: AlertTable) -> None:
        """Write down what has changed; what fails is tried again."""
        now = self._now()
        with self._changed:
            alerts, past = dict(self._alerts), list(self._ended)
        for key in self._written.keys() - alerts.keys():
            table.write_alert(key, None)
            del self._written[key]
        for key, alert in alerts.items():
            if self._is_worth_writing(key, alert, now):
                table.write_alert(key, alert)
                self._written[key] = alert, now
        for item in past:
            table.add_past(item)
            with self._changed:
                self._ended.remove(item)
        for silence in table.silences():
            if now - silence.until > _SILENCE_KEPT:
                table.end_silence(silence.id)

    def _is_worth_writing(self, key: AlertKey, alert: Alert, now: datetime) -> bool:
        if key not in self._written:
            return True
        known, at = self._written[key]
        if (known.phase, known.told, known.since) != (alert.phase, alert.told, alert.since):
            return True
        return now - at >= _VALUES and alert != known

    def _leave(self) -> None:
        """Write down what is left, and let another console begin at once."""
        table = self._table
        if table is None:
            return
        try:
            if self._on_duty:
                self._write(table)
                duty = replace(self._duty_record(), is_over=True)
                table.take_duty(duty, version=self._duty_seen[0] if self._duty_seen else None)
        except PenstockError as error:
            logger.warning("alerts not written down", extra={"reason": error.message})
        finally:
            table.close()
