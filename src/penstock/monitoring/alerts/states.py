"""What becomes of rules: ok, pending, firing, resolved. No clock, no Kafka, no delivery here.

A rule that is broken is pending until that has lasted for its hold-down, and firing then. It is
resolved when all has been well for as long. A series that is not measured any more keeps its
state for a while, and as long as its rule is blind: what cannot be asked has not recovered.

What was told to whom is part of the state: an alert is forgotten only when everybody who was told
of it has been told that it is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType

from penstock.monitoring.alerts.rules import Rule, RuleName, Severity
from penstock.monitoring.catalog import Labels

DeliveryName = NewType("DeliveryName", str)

Numbers = Mapping[RuleName, Mapping[Labels, float]]
"""What rules compare with their thresholds, in one round."""

MISSING = timedelta(minutes=5)
"""After so long without a measurement there is nothing left that could be broken.

What looks at a time has that time on top: after a gap it takes as long until anything is known.
"""

QUIET = timedelta(minutes=5)
"""Who was told that an alert is over is not told for so long that it is back: it flaps."""

GIVEN_UP = timedelta(days=1)
"""A delivery that has failed for so long is not told any more that something is over."""

MAX_SERIES = 200
"""Of one rule; what breaks more series at once has one cause, and the worst ones show it."""


class Phase(StrEnum):
    """Where an alert is in its life."""

    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Told:
    """What a delivery was told last of an alert, and when."""

    at: datetime
    is_open: bool
    """Whether that was that it fires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A rule that one series has broken."""

    rule: RuleName
    labels: Labels
    severity: Severity
    phase: Phase
    since: datetime
    """Since when the rule is broken."""

    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    well_since: datetime | None = None
    """Since when it is not broken any more, while that has not lasted long enough."""

    measured_at: datetime
    """When it was measured last, or nothing could be."""

    value: float
    message: str
    told: Mapping[DeliveryName, Told] = field(default_factory=dict)

    @property
    def key(self) -> tuple[RuleName, Labels]:
        """What tells it from all others."""
        return self.rule, self.labels

    @property
    def is_owed(self) -> bool:
        """Whether somebody believes that it fires."""
        return any(told.is_open for told in self.told.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An alert that is over."""

    rule: RuleName
    labels: Labels
    severity: Severity
    message: str
    fired_at: datetime
    resolved_at: datetime


AlertKey = tuple[RuleName, Labels]


def advanced(
    alerts: Mapping[AlertKey, Alert],
    rules: Iterable[Rule],
    numbers: Numbers,
    now: datetime,
    *,
    blind: Collection[RuleName] = (),
) -> dict[AlertKey, Alert]:
    """Return the alerts after one round; what is over and owed to nobody is left out.

    Args:
        alerts: those after the round before.
        rules: all rules; what was broken by others is over.
        numbers: what was measured in this round.
        now: when.
        blind: the rules whose metrics cannot be measured: nothing is over because of that.
    """
    active = {rule.name: rule for rule in rules if rule.enabled}
    found: dict[AlertKey, Alert] = {}
    for name, rule in active.items():
        tracked = {key[1]: alert for key, alert in alerts.items() if key[0] == name}
        measured = numbers.get(name, {})
        for labels in _worth_tracking(rule, tracked, measured):
            known = tracked.get(labels)
            if name in blind and known is not None:
                known = replace(known, measured_at=now)
            after = _after(rule, labels, known, measured.get(labels), now)
            if after is not None:
                found[after.key] = after
    for key, alert in alerts.items():
        if key[0] not in active and (after := _kept(_resolved(alert, now), now)) is not None:
            found[key] = after
    return found


def _worth_tracking(
    rule: Rule, tracked: Mapping[Labels, Alert], measured: Mapping[Labels, float]
) -> list[Labels]:
    broken = [
        labels
        for labels, number in measured.items()
        if labels not in tracked and rule.is_broken_by(number)
    ]
    room = max(0, MAX_SERIES - len(tracked))
    if len(broken) > room:
        broken.sort(key=lambda labels: -abs(measured[labels] - rule.threshold))
    return [*tracked, *broken[:room]]


def _after(
    rule: Rule, labels: Labels, alert: Alert | None, number: float | None, now: datetime
) -> Alert | None:
    if number is None:
        patience = MISSING + timedelta(seconds=rule.window_seconds)
        if alert is None or now - alert.measured_at < patience:
            return alert
        return _kept(_resolved(alert, now), now)
    fires = alert is not None and alert.phase is Phase.FIRING
    if rule.is_still_broken_by(number) if fires else rule.is_broken_by(number):
        return _broken(rule, labels, alert, number, now)
    return _well(rule, alert, number, now) if alert is not None else None


def _broken(rule: Rule, labels: Labels, alert: Alert | None, number: float, now: datetime) -> Alert:
    said = rule.said_of(labels, number)
    if alert is None or alert.phase is Phase.RESOLVED:
        alert = Alert(
            rule=rule.name,
            labels=labels,
            severity=rule.severity,
            phase=Phase.PENDING,
            since=now,
            measured_at=now,
            value=number,
            message=said,
            told=alert.told if alert is not None else {},
        )
    alert = replace(
        alert,
        severity=rule.severity,
        measured_at=now,
        value=number,
        message=said,
        well_since=None,
    )
    held = now - alert.since >= timedelta(seconds=rule.hold_seconds)
    if alert.phase is Phase.PENDING and held:
        return replace(alert, phase=Phase.FIRING, fired_at=now)
    return alert


def _well(rule: Rule, alert: Alert, number: float, now: datetime) -> Alert | None:
    alert = replace(alert, measured_at=now)
    if alert.phase is Phase.PENDING:
        return _kept(_resolved(alert, now), now)
    if alert.phase is Phase.RESOLVED:
        return _kept(alert, now)
    well_since = alert.well_since or now
    if now - well_since < timedelta(seconds=rule.hold_seconds):
        return replace(alert, well_since=well_since)
    return _kept(replace(_resolved(alert, now), value=number), now)


def _resolved(alert: Alert, now: datetime) -> Alert:
    if alert.phase is Phase.RESOLVED:
        return alert
    return replace(alert, phase=Phase.RESOLVED, resolved_at=now, well_since=None)


def _kept(alert: Alert, now: datetime) -> Alert | None:
    """Return an alert that is over, as long as that matters to anybody."""
    over_since = alert.resolved_at or now
    told = {
        name: told
        for name, told in alert.told.items()
        if (now - over_since < GIVEN_UP if told.is_open else now - told.at < QUIET)
    }
    return replace(alert, told=told) if told else None


def ended(
    before: Mapping[AlertKey, Alert], after: Mapping[AlertKey, Alert], now: datetime
) -> list[Past]:
    """Return what fired before a round and does not after it."""
    return [
        Past(
            rule=alert.rule,
            labels=alert.labels,
            severity=alert.severity,
            message=alert.message,
            fired_at=alert.fired_at,
            resolved_at=now,
        )
        for key, alert in before.items()
        if alert.phase is Phase.FIRING and alert.fired_at is not None
        if key not in after or after[key].phase is not Phase.FIRING
    ]
