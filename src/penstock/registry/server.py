"""Serving a registry: its state from Kafka, its part in the election, its API over HTTP.

`serve` runs until the process is asked to end, then answers what it has begun and leaves the
election, so that another instance leads at once.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from starlette.responses import JSONResponse

from penstock.kafka import ClusterError
from penstock.registry.access import BasicAuth, load_users
from penstock.registry.api.app import DEFAULT_MAX_REQUEST_BYTES, create_app
from penstock.registry.election import Election
from penstock.registry.figures import Figures
from penstock.registry.forwarding import Forwarding
from penstock.registry.service import Registry
from penstock.registry.serving_errors import (
    CertificateError,
    RegistryLostError,
    RegistryPortError,
)
from penstock.registry.state import RegistryState
from penstock.registry.storage import KafkaLog, open_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp, Receive, Scope, Send

    from penstock.kafka import Connection
    from penstock.kafka.schemas_log import SchemasLog
    from penstock.names import TopicName

logger = logging.getLogger(__name__)

_GRACE_SECONDS = 5
_PAUSE_SECONDS = 0.1
_LOOK_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a registry is served."""

    topic: TopicName
    host: str = "127.0.0.1"
    port: int = 0
    """0: any free one."""

    advertised_url: str | None = None
    """Where other instances find this one; None: at host and port."""

    users: Path | None = None
    """Who may ask; None: everybody."""

    certificate: Path | None = None
    key: Path | None = None
    ca: Path | None = None
    """Whom to trust when a write is forwarded; None: the system's authorities."""

    waits_for_kafka: bool = False
    """Whether a cluster that is away is waited for; otherwise it is an error."""


def serve(connection: Connection, serving: Serving, *, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is told the address.

    Raises:
        UsageError: the users or the certificate cannot be used; nothing was started.
        RegistryPortError: the port is taken.
        ClusterError: the cluster is away, or refuses.
        RegistryLostError: the topic is gone, or the cluster does not let this instance go on.
    """
    users = load_users(serving.users) if serving.users else None
    secure = _checked_certificate(serving)
    with closing(_bound(serving.host, serving.port)) as listening:
        url = _url(listening, secure=secure)
        state = RegistryState()
        with closing(_opened(connection, serving, state)) as log:
            election = Election(connection, log, address=serving.advertised_url or url)
            registry = Registry(state, KafkaLog(log, election))
            app: ASGIApp = create_app(
                registry,
                max_request_bytes=DEFAULT_MAX_REQUEST_BYTES,
                kafka_cluster_id=log.cluster_id(),
            )
            app = Forwarding(
                app, election, log, ca=serving.ca, max_request_bytes=DEFAULT_MAX_REQUEST_BYTES
            )
            figures = Figures(state, leads=lambda: election.term is not None)
            app = figures.answering(app)
            app = figures.counting(app if users is None else BasicAuth(app, users))
            server = _Server(_config(Health(app, election, log), serving), log, election)
            election.start()
            with closing(election):
                server.serve_on(listening, on_ready=lambda: on_ready(url))
            if server.fault is not None:
                raise RegistryLostError(serving.topic, reason=server.fault) from None


class Health:
    """An application that tells at `/health` how the instance is, and else answers as `app`."""

    def __init__(self, app: ASGIApp, election: Election, log: SchemasLog) -> None:
        self._app, self._election, self._log = app, election, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] != "/health":
            await self._app(scope, receive, send)
            return
        why = fault_of(self._log, self._election)
        said = {
            "ok": why is None,
            "why": why,
            "leads": self._election.term is not None,
            "position": self._log.position,
        }
        await JSONResponse(said, status_code=200 if why is None else 503)(scope, receive, send)


def fault_of(log: SchemasLog, election: Election) -> str | None:
    """Return why an instance cannot go on; None while it can."""
    if log.fault is not None:
        return log.fault.message
    return repr(election.fault) if election.fault is not None else None


class _Server(uvicorn.Server):
    """Ends with the process's signals, and when the registry behind it cannot go on."""

    def __init__(self, config: uvicorn.Config, log: SchemasLog, election: Election) -> None:
        super().__init__(config)
        self._log, self._election = log, election
        self._on_ready: Callable[[], None] = lambda: None
        self.fault: str | None = None

    def serve_on(self, listening: socket.socket, *, on_ready: Callable[[], None]) -> None:
        self._on_ready = on_ready
        self.run(sockets=[listening])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._watching = asyncio.create_task(self._watch())
        self._on_ready()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await asyncio.to_thread(self._log.look)

    async def on_tick(self, counter: int) -> bool:
        self.fault = fault_of(self._log, self._election)
        return await super().on_tick(counter) or self.fault is not None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # The library would raise each signal again, which ends the process before the election
        # has been left.
        def end(_number: int, _frame: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True

        handled = (signal.SIGTERM, signal.SIGINT)
        before = [(number, signal.signal(number, end)) for number in handled]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)


def _opened(connection: Connection, serving: Serving, state: RegistryState) -> SchemasLog:
    said = ""
    while True:
        try:
            return open_log(connection, serving.topic, state)
        except ClusterError as err:
            if not (serving.waits_for_kafka and err.retryable):
                raise
            if err.message != said:
                said = err.message
                logger.info("waiting for Kafka", extra={"reason": said})
        time.sleep(_PAUSE_SECONDS)


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that has the port and does not listen yet: nothing could be answered."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off only for sockets that name their protocol; with it, each
    # answer on a kept connection waits 40 ms for an acknowledgement.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as err:
        bound.close()
        reason = (err.strerror or str(err)).lower()
        raise RegistryPortError(host, port, reason=reason) from err
    return bound


def _url(listening: socket.socket, *, secure: bool) -> str:
    host, port = listening.getsockname()[:2]
    scheme = "https" if secure else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _checked_certificate(serving: Serving) -> bool:
    """Return whether HTTPS is served."""
    certificate, key = serving.certificate, serving.key
    if certificate is None and key is None:
        return False
    if certificate is None or key is None:
        raise CertificateError(certificate, key, reason="one needs the other")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as err:
        raise CertificateError(certificate, key, reason=str(err)) from err
    return True


def _config(app: ASGIApp, serving: Serving) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="warning",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=serving.certificate,
        ssl_keyfile=serving.key,
    )
