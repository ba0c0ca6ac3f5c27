"""Serving the console until the process is asked to end."""

from __future__ import annotations

import ipaddress
import signal
import socket
import ssl
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn

from penstock.console.access import Guard, load_users
from penstock.console.app import create_app
from penstock.console.errors import (
    ConsoleCertificateError,
    ConsolePortError,
    OpenConsoleError,
    PlainConsoleError,
)
from penstock.console.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp

    from penstock.console.world import Place
    from penstock.settings import Settings

DEFAULT_PORT = 8090
"""Where the console is looked for first."""

_GRACE_SECONDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a console is served."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""

    users: Path | None = None
    """Who may use it; None: whoever is on this machine."""

    certificate: Path | None = None
    key: Path | None = None
    https_proxies: tuple[str, ...] = ()
    """Addresses of proxies that serve HTTPS in front of it; they tell from where requests come."""

    @classmethod
    def of(cls, settings: Settings, *, port: int) -> Serving:
        """Return what the settings say, at `port`."""
        wish = settings.console
        return cls(
            host=wish.host,
            port=port,
            users=wish.users,
            certificate=wish.certificate,
            key=wish.key,
            https_proxies=wish.https_proxies,
        )


def serve(place: Place, serving: Serving, *, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is told the address.

    A cluster that is away is waited for: pages say so.

    Raises:
        UsageError: the users or the certificate cannot be used, everybody could come in, or
            passwords would go over a network without HTTPS.
        ConsolePortError: the port is taken.
    """
    if serving.users is None and not _is_this_machine(serving.host):
        raise OpenConsoleError(serving.host)
    users = load_users(serving.users) if serving.users else None
    has_https = _checked_certificate(serving)
    secure = has_https or bool(serving.https_proxies)
    if not secure and not _is_this_machine(serving.host):
        raise PlainConsoleError(serving.host)
    with closing(_bound(serving.host, serving.port)) as listening:
        url = _url(listening, has_https=has_https)
        with World(place) as world:
            app = create_app(world, Guard(users, secure=secure))
            server = _Server(uvicorn_config(app, serving), world, lambda: on_ready(url))
            server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says when it answers, and ends with the process's signals."""

    def __init__(self, config: uvicorn.Config, world: World, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._world = world
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The library would raise each signal again, which ends the process before the world is
        # closed.
        def end(_number: int, _frame: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = self._world.is_ending = True

        handled = (signal.SIGTERM, signal.SIGINT)
        before = [(number, signal.signal(number, end)) for number in handled]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as err:
        bound.close()
        reason = (err.strerror or str(err)).lower()
        raise ConsolePortError(host, port, reason=reason) from err
    return bound


def _url(listening: socket.socket, *, has_https: bool) -> str:
    host, port = listening.getsockname()[:2]
    scheme = "https" if has_https else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _checked_certificate(serving: Serving) -> bool:
    """Return whether HTTPS is served."""
    certificate, key = serving.certificate, serving.key
    if certificate is None and key is None:
        return False
    if certificate is None or key is None:
        raise ConsoleCertificateError(certificate, key, reason="one needs the other")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as err:
        raise ConsoleCertificateError(certificate, key, reason=str(err)) from err
    return True


def uvicorn_config(app: ASGIApp, serving: Serving) -> uvicorn.Config:
    """Return how `app` is served.

    From where a request comes is what its connection says: the library would believe headers of
    everybody on this machine. Only proxies that the settings name are believed instead.
    """
    return uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="warning",
        lifespan="off",
        server_header=False,
        proxy_headers=bool(serving.https_proxies),
        forwarded_allow_ips=list(serving.https_proxies),
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=serving.certificate,
        ssl_keyfile=serving.key,
    )
