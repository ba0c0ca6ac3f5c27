"""Where tests let alerts be told: a real web server and a real mail server in this process."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from penstock.local.ports import free_ports
from penstock.settings import MailDelivery, WebhookDelivery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiosmtpd.smtp import SMTP, Envelope, Session

LOCALHOST = "127.0.0.1"


@dataclass
class Webhook:
    """A web server that keeps what is posted to it."""

    url: str = ""
    status: int = 204
    """What it answers; may be changed at any time."""

    endless: bool = False
    """Whether its answer has a body that never ends."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refused: int = 0

    @property
    def delivery(self) -> WebhookDelivery:
        return WebhookDelivery(url=_secret(self.url))

    @property
    def news(self) -> list[tuple[str, str]]:
        """What was told, in order: what, and of which rule."""
        return [(alert["news"], alert["rule"]) for body in self.bodies for alert in body["alerts"]]


def _secret(text: str) -> Any:  # noqa: ANN401 - pydantic's
    from pydantic import SecretStr

    return SecretStr(text)


@contextmanager
def webhook() -> Iterator[Webhook]:
    """Run a web server that takes alerts."""
    sink = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if 200 <= sink.status < 300:
                sink.headers.append(dict(self.headers))
                sink.bodies.append(json.loads(body))
            else:
                sink.refused += 1
            self.send_response(sink.status)
            self.end_headers()
            with suppress(OSError):  # whoever asked has gone
                while sink.endless:
                    self.wfile.write(b"and so on ")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer((LOCALHOST, 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    sink.url = f"http://{LOCALHOST}:{server.server_port}/hooks/s3cret"
    try:
        yield sink
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Mailbox:
    """A mail server that keeps what it is sent."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    refuses: bool = False
    unknown: set[str] = field(default_factory=set)
    """Recipients that it refuses."""

    logins: list[bool] = field(default_factory=list)
    """Of each login whether it was right."""

    @property
    def delivery(self) -> MailDelivery:
        return MailDelivery(
            host=LOCALHOST,
            port=self.port,
            starttls=False,
            sender="penstock@example.org",
            recipients=("ops@example.org", "night@example.org"),
        )

    async def handle_RCPT(  # noqa: N802 - the name is aiosmtpd's
        self,
        server: SMTP,  # noqa: ARG002 - aiosmtpd's signature
        session: Session,  # noqa: ARG002
        envelope: Envelope,
        address: str,
        options: list[str],  # noqa: ARG002
    ) -> str:
        if address in self.unknown:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 yes"

    async def handle_DATA(  # noqa: N802 - the name is aiosmtpd's
        self,
        server: SMTP,  # noqa: ARG002 - aiosmtpd's signature
        session: Session,  # noqa: ARG002
        envelope: Envelope,
    ) -> str:
        if self.refuses:
            return "451 not today"
        content = envelope.content
        assert isinstance(content, bytes)
        mail = message_from_bytes(content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"


@contextmanager
def mailbox(password: str | None = None) -> Iterator[Mailbox]:
    """Run a mail server; with a password, it lets the user `penstock` log in."""
    box = Mailbox()

    def authenticate(*arguments: object) -> AuthResult:
        data = arguments[-1]
        assert isinstance(data, LoginPassword)
        right = (data.login, data.password) == (b"penstock", (password or "").encode())
        box.logins.append(right)
        return AuthResult(success=right, handled=False)

    controller = Controller(
        box,
        hostname=LOCALHOST,
        port=free_ports(1)[0],
        authenticator=authenticate if password else None,
        auth_require_tls=False,
        ready_timeout=60,
    )
    controller.start()
    box.port = controller.port
    try:
        yield box
    finally:
        controller.stop()
