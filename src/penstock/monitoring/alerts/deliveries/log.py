"""Alerts as lines of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from penstock.monitoring.alerts.telling import News

if TYPE_CHECKING:
    from penstock.monitoring.alerts.deliveries.body import Message

logger = logging.getLogger(__name__)


class Log:
    """Writes one line for each alert."""

    where = "the log of the console"

    def send(self, message: Message) -> None:
        """Write a message."""
        for notice in message.notices:
            alert = notice.alert
            is_bad = notice.news in (News.FIRING, News.STILL_FIRING)
            logger.log(
                logging.WARNING if is_bad else logging.INFO,
                "alert %s: %s",
                notice.news,
                alert.message,
                extra={
                    "news": str(notice.news),
                    "rule": alert.rule,
                    "severity": str(alert.severity),
                    "labels": dict(alert.labels),
                    "value": alert.value,
                },
            )

    def close(self) -> None:
        """Keep nothing."""
