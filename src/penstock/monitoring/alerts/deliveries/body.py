"""The message itself: JSON for programs, text for people. `docs/alerts.md` describes the JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.monitoring.alerts.telling import News

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from penstock.monitoring.alerts.telling import Notice

FORMAT_VERSION = 1

MOST_SHOWN = 50
"""Alerts that a message lists; of more it says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a delivery is told at once."""

    cluster: str
    sent_at: datetime
    notices: Sequence[Notice]

    @property
    def subject(self) -> str:
        """One line that says what is the matter."""
        first = self.notices[0]
        more = f" and {len(self.notices) - 1} more" if len(self.notices) > 1 else ""
        return f"[{first.news}] {first.alert.message}{more}"

    @property
    def text(self) -> str:
        """All of it, for people."""
        lines = [_line(notice) for notice in self.notices[:MOST_SHOWN]]
        if len(self.notices) > MOST_SHOWN:
            lines.append(f"... and {len(self.notices) - MOST_SHOWN} more")
        return "\n".join([*lines, "", f"cluster: {self.cluster}", f"sent: {_time(self.sent_at)}"])

    def as_json(self) -> str:
        """All of it, for programs."""
        return json.dumps(
            {
                "version": FORMAT_VERSION,
                "cluster": self.cluster,
                "sent_at": self.sent_at.isoformat(),
                "count": len(self.notices),
                "alerts": [notice_fields(notice) for notice in self.notices[:MOST_SHOWN]],
            }
        )


def notice_fields(notice: Notice) -> dict[str, object]:
    """Return one alert of a message as it stands in JSON."""
    alert = notice.alert
    return {
        "news": notice.news,
        "rule": alert.rule,
        "severity": alert.severity,
        "labels": dict(alert.labels),
        "message": alert.message,
        "value": alert.value,
        "since": alert.since.isoformat(),
        "fired_at": alert.fired_at.isoformat() if alert.fired_at else None,
        "resolved_at": alert.resolved_at.isoformat()
        if alert.resolved_at and notice.news is News.RESOLVED
        else None,
    }


def _line(notice: Notice) -> str:
    alert = notice.alert
    since = f"since {_time(alert.since)}"
    if notice.news is News.RESOLVED and alert.resolved_at:
        since = f"{_time(alert.since)} to {_time(alert.resolved_at)}"
    return f"{notice.news.upper()} ({alert.severity}) {alert.message}\n  {alert.rule}, {since}"


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
