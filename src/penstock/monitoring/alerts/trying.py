"""Trying deliveries: a message that says it is a test, sent now, and whether it arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.monitoring.alerts.deliveries.body import Message
from penstock.monitoring.alerts.rules import RuleName, Severity
from penstock.monitoring.alerts.states import Alert, Phase
from penstock.monitoring.alerts.telling import News, Notice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from penstock.monitoring.alerts.deliveries import Delivery
    from penstock.monitoring.alerts.states import DeliveryName

_RULE = RuleName("test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of a test."""

    delivery: DeliveryName
    where: str
    error: PenstockError | None
    """Why it did not arrive; None when it did."""


def try_deliveries(
    deliveries: Mapping[DeliveryName, Delivery], *, cluster: str, who: str, now: datetime
) -> list[Trial]:
    """Send a test to each of `deliveries`, one after the other."""
    alert = Alert(
        rule=_RULE,
        labels=(),
        severity=Severity.INFO,
        phase=Phase.PENDING,
        since=now,
        measured_at=now,
        value=0,
        message=f"a test by {who}: nothing is wrong",
    )
    message = Message(cluster=cluster, sent_at=now, notices=[Notice(news=News.TEST, alert=alert)])
    return [_tried(name, delivery, message) for name, delivery in deliveries.items()]


def _tried(name: DeliveryName, delivery: Delivery, message: Message) -> Trial:
    try:
        delivery.send(message)
    except PenstockError as error:
        return Trial(delivery=name, where=delivery.where, error=error)
    return Trial(delivery=name, where=delivery.where, error=None)
