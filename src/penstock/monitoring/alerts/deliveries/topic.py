"""Alerts as records of a topic: JSON values, the rule as key."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka import Producer
from penstock.monitoring.alerts.deliveries.body import notice_fields
from penstock.monitoring.alerts.errors import DeliveryFailedError

if TYPE_CHECKING:
    from penstock.kafka import Connection
    from penstock.monitoring.alerts.deliveries.body import Message
    from penstock.monitoring.alerts.states import DeliveryName
    from penstock.settings import TopicDelivery

_TIMEOUT_SECONDS = 15.0


class Topic:
    """Sends a record for each alert of a message."""

    def __init__(self, name: DeliveryName, settings: TopicDelivery, connection: Connection) -> None:
        self._name, self._settings, self._connection = name, settings, connection
        self._producer: Producer | None = None

    @property
    def where(self) -> str:
        """Where messages go."""
        return f"topic {self._settings.topic}"

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            DeliveryFailedError: not all records were written; the others are written again.
        """
        try:
            producer = self._open()
            for notice in message.notices:
                record = {
                    "cluster": message.cluster,
                    "sent_at": message.sent_at.isoformat(),
                    **notice_fields(notice),
                }
                producer.send(self._settings.topic, json.dumps(record), key=notice.alert.rule)
            producer.flush(_TIMEOUT_SECONDS)
        except PenstockError as err:
            # What waits in the client would arrive together with the next attempt.
            self.close()
            raise DeliveryFailedError(self._name, reason=err.message) from err

    def close(self) -> None:
        """Close the producer."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(PenstockError):
                producer.close(1.0)

    def _open(self) -> Producer:
        if self._producer is None:
            self._producer = Producer(self._connection, delivery_timeout_seconds=_TIMEOUT_SECONDS)
        return self._producer
