"""Alerts as e-mail, over SMTP."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import TYPE_CHECKING

from penstock.monitoring.alerts.errors import DeliveryFailedError
from penstock.monitoring.alerts.telling import News

if TYPE_CHECKING:
    from penstock.monitoring.alerts.deliveries.body import Message
    from penstock.monitoring.alerts.states import DeliveryName
    from penstock.settings import MailDelivery

_TIMEOUT_SECONDS = 15.0
_LONGEST_SUBJECT = 200


class Mail:
    """Sends each message as one mail to all recipients."""

    def __init__(self, name: DeliveryName, settings: MailDelivery) -> None:
        self._name, self._settings = name, settings

    @property
    def where(self) -> str:
        """Where messages go."""
        return ", ".join(self._settings.recipients)

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            DeliveryFailedError: the mail server refused it, or some of the recipients.
        """
        settings = self._settings
        try:
            with smtplib.SMTP(settings.host, settings.port, timeout=_TIMEOUT_SECONDS) as server:
                if settings.starttls:
                    server.starttls(context=ssl.create_default_context())
                if settings.username is not None and settings.password is not None:
                    server.login(settings.username, settings.password.get_secret_value())
                refused = server.send_message(self._mail(message))
        except UnicodeError as err:  # what cannot be said may hold a secret
            reason = "it holds characters that a mail server is not told"
            raise DeliveryFailedError(self._name, reason=reason) from err
        except (smtplib.SMTPException, OSError) as err:
            raise DeliveryFailedError(self._name, reason=self._reason(err)) from err
        if refused:
            reason = f"`{settings.host}:{settings.port}` refused {', '.join(sorted(refused))}"
            raise DeliveryFailedError(self._name, reason=reason, is_taken=True)

    def close(self) -> None:
        """Keep nothing."""

    def _mail(self, message: Message) -> EmailMessage:
        mail = EmailMessage()
        mail["From"] = self._settings.sender
        mail["To"] = ", ".join(self._settings.recipients)
        # A label may hold any text, and a header only one line.
        mail["Subject"] = " ".join(message.subject.split())[:_LONGEST_SUBJECT]
        mail["Date"] = format_datetime(message.sent_at)
        mail["Message-ID"] = make_msgid(domain="penstock.invalid")
        mail["Auto-Submitted"] = "auto-generated"
        if any(_is_urgent(notice.news, notice.alert.severity) for notice in message.notices):
            mail["X-Priority"] = "1"
        mail.set_content(message.text)
        return mail

    def _reason(self, err: smtplib.SMTPException | OSError) -> str:
        """Return why it failed; what a server says of a login may repeat what was sent."""
        place = f"`{self._settings.host}:{self._settings.port}`"
        if isinstance(err, smtplib.SMTPAuthenticationError):
            return f"{place} refused the login ({err.smtp_code})"
        if isinstance(err, smtplib.SMTPResponseException):
            return f"{place} answered with {err.smtp_code}"
        if isinstance(err, smtplib.SMTPRecipientsRefused):
            return f"{place} refused {', '.join(sorted(err.recipients))}"
        if isinstance(err, smtplib.SMTPException):
            return f"{place}: {err}"
        return f"{place} cannot be reached: {err.strerror or err}"


def _is_urgent(news: News, severity: str) -> bool:
    return news is News.FIRING and severity == "critical"
