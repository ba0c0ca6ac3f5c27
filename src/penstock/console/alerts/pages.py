"""The page of alerts."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from penstock.console.frame import Page
from penstock.monitoring.alerts import AlertsView, shown

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.monitoring.alerts import (
        Alert,
        AlertView,
        AlertWatch,
        Delivery,
        DeliveryName,
        Past,
        Rule,
        Silence,
    )

_MOST_PAST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLine:
    """An alert that fires or is pending."""

    rule: str
    severity: str
    message: str
    labels: Mapping[str, str]
    value: float
    since: datetime
    silence: str | None
    silenced_until: datetime | None
    silence_url: str
    """Where it can be silenced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLine:
    """An alert that is over."""

    rule: str
    severity: str
    message: str
    labels: Mapping[str, str]
    fired_at: datetime
    resolved_at: datetime
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceLine:
    """A silence that has not ended."""

    id: str
    rule: str
    where: Mapping[str, str]
    begun_at: datetime
    until: datetime
    who: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """A rule and its threshold."""

    name: str
    severity: str
    metric: str
    looks_at: str
    """What of the metric is compared."""

    where: Mapping[str, str]
    broken_when: str
    for_seconds: float
    enabled: bool
    is_ready_made: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLine:
    """Where alerts are told, and how that has gone."""

    name: str
    where: str
    arrived_at: datetime | None
    failed_at: datetime | None
    reason: str | None
    """Why the last message did not arrive; None when it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """What the page of alerts tells."""

    at: datetime
    is_known: bool
    """Whether the table of alerts has been read."""

    is_evaluated: bool
    evaluator: str | None
    evaluated_at: datetime | None
    firing: tuple[AlertLine, ...]
    pending: tuple[AlertLine, ...]
    silenced: tuple[AlertLine, ...]
    past: tuple[PastLine, ...]
    past_count: int
    silences: tuple[SilenceLine, ...]
    rules: tuple[RuleLine, ...]
    deliveries: tuple[DeliveryLine, ...]


def load(ask: Ask) -> Alerts:
    """Return the page of alerts."""
    watch = ask.world.alerts
    view = watch.view()
    known = view or AlertsView(at=ask.at, alerts=(), past=(), silences=(), duty=None)
    duty = known.duty
    return Alerts(
        at=ask.at,
        is_known=view is not None,
        is_evaluated=known.is_evaluated,
        evaluator=f"process {duty.pid} on {duty.host}" if duty else None,
        evaluated_at=duty.evaluated_at if duty else None,
        firing=tuple(alert_line(item) for item in known.firing),
        pending=tuple(alert_line(item) for item in known.pending),
        silenced=tuple(alert_line(item) for item in known.silenced),
        past=tuple(_past(item) for item in known.past[:_MOST_PAST]),
        past_count=len(known.past),
        silences=tuple(_silence(item) for item in known.silences),
        rules=tuple(_rule(rule) for rule in watch.rules),
        deliveries=tuple(
            _delivery(name, delivery, watch) for name, delivery in watch.deliveries.items()
        ),
    )


def alert_line(item: AlertView) -> AlertLine:
    """Return an alert as pages show it."""
    alert, silence = item.alert, item.silence
    return AlertLine(
        rule=alert.rule,
        severity=alert.severity,
        message=alert.message,
        labels=dict(alert.labels),
        value=alert.value,
        since=alert.since,
        silence=silence.id if silence else None,
        silenced_until=silence.until if silence else None,
        silence_url=f"/alerts/silence?{urlencode(_to_silence(alert))}",
    )


def _to_silence(alert: Alert) -> dict[str, str]:
    where = "\n".join(f"{label}={value}" for label, value in alert.labels)
    return {"rule": alert.rule, "where": where}


def _past(past: Past) -> PastLine:
    return PastLine(
        rule=past.rule,
        severity=past.severity,
        message=past.message,
        labels=dict(past.labels),
        fired_at=past.fired_at,
        resolved_at=past.resolved_at,
        seconds=(past.resolved_at - past.fired_at).total_seconds(),
    )


def _silence(silence: Silence) -> SilenceLine:
    return SilenceLine(
        id=silence.id,
        rule=silence.rule,
        where=dict(silence.where),
        begun_at=silence.begun_at,
        until=silence.until,
        who=silence.who,
        why=silence.why,
    )


def _rule(rule: Rule) -> RuleLine:
    return RuleLine(
        name=rule.name,
        severity=rule.severity,
        metric=rule.condition.metric,
        looks_at=rule.condition.meaning,
        where=dict(rule.where),
        broken_when=f"{rule.comparison} {shown(rule.threshold, rule.condition.unit)}",
        for_seconds=rule.hold_seconds,
        enabled=rule.enabled,
        is_ready_made=rule.is_ready_made,
    )


def _delivery(name: DeliveryName, delivery: Delivery, watch: AlertWatch) -> DeliveryLine:
    result = watch.result(name)
    return DeliveryLine(
        name=name,
        where=delivery.where,
        arrived_at=result.arrived_at,
        failed_at=result.failed_at,
        reason=result.reason,
    )


ALERTS = Page(
    path="/alerts",
    name="show_alerts",
    summary="What fires, is pending or silenced, what was, the rules and the deliveries.",
    template="alerts/alerts.html",
    model=Alerts,
    load=load,
    title=lambda _: "Alerts",
    command=lambda _ask, _model: "penstock alerts list --past",
    live=("state", "active", "silences", "deliveries", "past"),
    menu="Alerts",
)
