"""All that there is to say of alerts at one moment: what commands print and pages show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.monitoring.alerts.silences import silence_of
from penstock.monitoring.alerts.states import Phase

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from penstock.monitoring.alerts.silences import Silence
    from penstock.monitoring.alerts.states import Alert, Past
    from penstock.monitoring.alerts.table import AlertTable, Duty

_SILENT = timedelta(seconds=60)
"""A console evaluates every few seconds and says so several times a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertView:
    """An alert, and the silence that covers it."""

    alert: Alert
    silence: Silence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertsView:
    """The alerts of a cluster."""

    at: datetime
    alerts: tuple[AlertView, ...]
    """Those that fire or are pending, the worst and oldest first."""

    past: tuple[Past, ...]
    silences: tuple[Silence, ...]
    """Those that have not ended."""

    duty: Duty | None
    """The console that evaluates the rules, or did last."""

    @property
    def firing(self) -> tuple[AlertView, ...]:
        """Those that fire and are not silenced."""
        return tuple(
            view
            for view in self.alerts
            if view.alert.phase is Phase.FIRING and view.silence is None
        )

    @property
    def pending(self) -> tuple[AlertView, ...]:
        """Those whose hold-down has not passed."""
        return tuple(view for view in self.alerts if view.alert.phase is Phase.PENDING)

    @property
    def silenced(self) -> tuple[AlertView, ...]:
        """Those that fire, of which nothing is told."""
        return tuple(
            view
            for view in self.alerts
            if view.alert.phase is Phase.FIRING and view.silence is not None
        )

    @property
    def is_evaluated(self) -> bool:
        """Whether a console evaluates the rules; without one, all this is as it was last."""
        duty = self.duty
        return duty is not None and not duty.is_over and self.at - duty.evaluated_at < _SILENT


def view_of(
    alerts: Iterable[Alert],
    *,
    past: Iterable[Past],
    silences: Iterable[Silence],
    duty: Duty | None,
    now: datetime,
) -> AlertsView:
    """Return what there is to say at `now`."""
    silences = tuple(silence for silence in silences if silence.until > now)
    order = ("critical", "warning", "info")
    active = [alert for alert in alerts if alert.phase is not Phase.RESOLVED]
    active.sort(key=lambda alert: (order.index(alert.severity), alert.since, alert.key))
    return AlertsView(
        at=now,
        alerts=tuple(
            AlertView(alert=alert, silence=silence_of(alert, silences, now)) for alert in active
        ),
        past=tuple(past),
        silences=silences,
        duty=duty,
    )


def stored_view(table: AlertTable, now: datetime) -> AlertsView:
    """Return what the table says."""
    duty = table.duty()
    return view_of(
        table.alerts().values(),
        past=table.past(),
        silences=table.silences(),
        duty=duty[0] if duty else None,
        now=now,
    )
