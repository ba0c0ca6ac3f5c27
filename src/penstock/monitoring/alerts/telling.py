"""What a delivery has yet to be told: the difference between what is and what it believes.

Nothing is queued. What could not be sent is still owed in the next round, as it is then: an alert
that came and went meanwhile is never told, and a console that restarts reads what was told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.monitoring.alerts.silences import silence_of
from penstock.monitoring.alerts.states import QUIET, Alert, Phase, Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.monitoring.alerts.silences import Silence
    from penstock.monitoring.alerts.states import AlertKey, DeliveryName

_MINUTE = timedelta(minutes=1)
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=5)


class News(StrEnum):
    """What is told of an alert."""

    FIRING = "firing"
    STILL_FIRING = "still firing"
    RESOLVED = "resolved"
    TEST = "test"
    """Nothing is wrong: somebody tries whether this arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One alert of a message."""

    news: News
    alert: Alert


def owed(
    delivery: DeliveryName,
    alerts: Iterable[Alert],
    silences: Iterable[Silence],
    *,
    repeat: timedelta,
    now: datetime,
) -> list[Notice]:
    """Return what `delivery` has yet to be told, the worst first; together they are one message."""
    silences = list(silences)
    notices = [
        Notice(news=news, alert=alert)
        for alert in alerts
        if (news := _news(alert, alert.told.get(delivery), silences, repeat, now)) is not None
    ]
    order = ("critical", "warning", "info")
    return sorted(notices, key=lambda item: (order.index(item.alert.severity), item.alert.since))


def _news(
    alert: Alert,
    told: Told | None,
    silences: Iterable[Silence],
    repeat: timedelta,
    now: datetime,
) -> News | None:
    believed = told is not None and told.is_open
    if alert.phase is Phase.RESOLVED:
        # A silence does not keep back that something is over of which was told before.
        return News.RESOLVED if believed else None
    # What is well for the moment may be over soon, and is no news.
    is_broken = alert.phase is Phase.FIRING and alert.well_since is None
    if not is_broken or silence_of(alert, silences, now) is not None:
        return None
    if told is None:
        return News.FIRING
    if believed:
        return News.STILL_FIRING if now - told.at >= repeat else None
    return News.FIRING if now - told.at >= QUIET else None


def with_told(
    alerts: Mapping[AlertKey, Alert],
    delivery: DeliveryName,
    notices: Iterable[Notice],
    now: datetime,
) -> dict[AlertKey, Alert]:
    """Return `alerts` after `delivery` has taken a message."""
    found = dict(alerts)
    for notice in notices:
        # What came and went while the message was on its way has yet to be told to be over.
        gone = replace(notice.alert, phase=Phase.RESOLVED, resolved_at=now)
        alert = found.get(notice.alert.key, gone)
        told = Told(at=now, is_open=notice.news is not News.RESOLVED)
        found[alert.key] = replace(alert, told={**alert.told, delivery: told})
    return found


class Pace:
    """When a delivery may send its next message: not too many a minute, and later after failures.

    The pauses after failures double, up to five minutes.
    """

    def __init__(self, messages_per_minute: int) -> None:
        self._limit = messages_per_minute
        self._sent: list[datetime] = []
        self._failures = 0
        self._not_before: datetime | None = None

    def wait_until(self, now: datetime) -> datetime:
        """Return when the next message may be sent; now or earlier: at once."""
        self._sent = [at for at in self._sent if now - at < _MINUTE]
        earliest = now if len(self._sent) < self._limit else self._sent[-self._limit] + _MINUTE
        return max(earliest, self._not_before or earliest)

    def sent(self, now: datetime) -> None:
        """A message was taken."""
        self._sent.append(now)
        self._failures, self._not_before = 0, None

    def failed(self, now: datetime) -> None:
        """A message was not taken; the attempt counts as one."""
        self._sent.append(now)
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._failures)
        self._failures, self._not_before = min(self._failures + 1, 10), now + pause
