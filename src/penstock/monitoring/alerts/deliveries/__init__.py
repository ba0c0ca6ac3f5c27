"""Where alerts are told: a file each, all with `where`, `send` and `close`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

from penstock.monitoring.alerts.deliveries.body import Message
from penstock.monitoring.alerts.states import DeliveryName
from penstock.settings import LogDelivery, MailDelivery, TopicDelivery, WebhookDelivery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kafka import Connection
    from penstock.settings import DeliverySettings


class Delivery(Protocol):
    """A way to tell alerts."""

    @property
    def where(self) -> str:
        """Where messages go, for people to read; no secret."""
        ...

    def send(self, message: Message) -> None:
        """Send a message; return when it has arrived.

        Raises:
            DeliveryFailedError: it has not, or (`is_taken`) not everywhere.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened; safe to repeat."""
        ...


def open_deliveries(
    settings: Mapping[str, DeliverySettings], connection: Connection
) -> dict[DeliveryName, Delivery]:
    """Return the deliveries that the settings name; nothing is reached yet."""
    names = {DeliveryName(name): item for name, item in settings.items()}
    return {name: _opened(name, item, connection) for name, item in names.items()}


def _opened(name: DeliveryName, settings: DeliverySettings, connection: Connection) -> Delivery:
    # Each of them brings libraries that a command without alerts need not load.
    match settings:
        case LogDelivery():
            from penstock.monitoring.alerts.deliveries.log import Log

            return Log()
        case WebhookDelivery():
            from penstock.monitoring.alerts.deliveries.webhook import Webhook

            return Webhook(name, settings)
        case MailDelivery():
            from penstock.monitoring.alerts.deliveries.mail import Mail

            return Mail(name, settings)
        case TopicDelivery():
            from penstock.monitoring.alerts.deliveries.topic import Topic

            return Topic(name, settings, connection)
        case _:
            assert_never(settings)


__all__ = ["Delivery", "Message", "open_deliveries"]
