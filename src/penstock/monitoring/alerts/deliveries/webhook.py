"""Alerts posted as JSON to an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from penstock.monitoring.alerts.errors import DeliveryFailedError

if TYPE_CHECKING:
    from penstock.monitoring.alerts.deliveries.body import Message
    from penstock.monitoring.alerts.states import DeliveryName
    from penstock.settings import WebhookDelivery

_TIMEOUT_SECONDS = 10.0


class Webhook:
    """Posts messages; what answers with anything but 2xx has not taken one."""

    def __init__(self, name: DeliveryName, settings: WebhookDelivery) -> None:
        self._name, self._settings = name, settings

    @property
    def where(self) -> str:
        """Where messages go, without what may be secret of the address."""
        url = httpx2.URL(self._settings.url.get_secret_value())
        return f"{url.scheme}://{url.netloc.decode('ascii').rpartition('@')[2]}"

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            DeliveryFailedError: it was not taken.
        """
        headers = {"Content-Type": "application/json", "User-Agent": "penstock"}
        if self._settings.secret is not None:
            headers[self._settings.header] = self._settings.secret.get_secret_value()
        try:
            # What it says besides the status is not read: it could be endless.
            with httpx2.stream(
                "POST",
                self._settings.url.get_secret_value(),
                content=message.as_json(),
                headers=headers,
                timeout=_TIMEOUT_SECONDS,
                follow_redirects=False,
            ) as answer:
                status, is_taken = answer.status_code, answer.is_success
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as err:
            # The text of an error may hold the address, and that a secret.
            raise DeliveryFailedError(
                self._name, reason=f"{self.where} cannot be reached ({type(err).__name__})"
            ) from err
        if not is_taken:
            raise DeliveryFailedError(
                self._name, reason=f"{self.where} answered with status {status}"
            )

    def close(self) -> None:
        """Keep nothing."""
