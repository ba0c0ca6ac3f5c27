"""Health over HTTP, for those who start and replace drivers: containers, load balancers, people.

    GET /health    200 while the driver can do its work at all; 503 when it should be replaced
    GET /ready     200 while every flow runs or waits for input and this driver holds the lease
    GET /metrics   what the pipeline measures, as Prometheus reads it

The first two answer with JSON that says why. The server is a thread; its libraries are imported
when a port is set, and not before.
"""

from __future__ import annotations

import socket
from dataclasses import asdict, dataclass
from threading import Thread
from typing import TYPE_CHECKING, Self

from penstock.control.supervision import FlowState
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.applications import Starlette
    from starlette.responses import Response
    from uvicorn import Server

    from penstock.monitoring.catalog import Sample
    from penstock.names import FlowName, PipelineName

SILENT_SECONDS = 20.0
"""The loop of a run goes round five times a second; after so long it hangs."""

_END_SECONDS = 2.0
_READY_STATES = frozenset({FlowState.RUNNING, FlowState.IDLE, FlowState.FINISHED})


class HealthPortTakenError(PenstockError):
    """Nothing can listen on the port for health."""

    code = "PEN-239"

    def __init__(self, host: str, port: int, *, reason: str) -> None:
        super().__init__(
            f"health cannot be served on `{host}:{port}`: {reason}",
            hint="set `pipeline.health_port` to another port, or to 0 for any free one",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a driver does at one moment."""

    pipeline: PipelineName
    flows: Mapping[FlowName, FlowState]
    has_begun: bool
    """Whether the flows have been started; checks and topics come before."""

    silent_seconds: float
    """How long ago the loop of the run went round."""

    spark_is_alive: bool
    lease_is_held: bool

    @property
    def trouble(self) -> str | None:
        """Why the driver should be replaced; None while it does its work."""
        if not self.spark_is_alive:
            return "Spark's JVM has ended"
        if self.has_begun and self.silent_seconds > SILENT_SECONDS:
            return f"the loop of the run has not moved for {self.silent_seconds:.0f} s"
        return None

    @property
    def obstacle(self) -> str | None:
        """Why the pipeline is not ready; None while all of it runs."""
        if self.trouble is not None:
            return self.trouble
        if not self.lease_is_held:
            return "this driver does not hold the lease of the pipeline"
        if not self.has_begun:
            return "the flows have not been started yet"
        waiting = [name for name, state in self.flows.items() if state not in _READY_STATES]
        return ", ".join(f"`{name}` is {self.flows[name]}" for name in waiting) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    pipeline: PipelineName
    ok: bool
    why: str | None
    flows: Mapping[FlowName, FlowState]


class HealthServer:
    """Serves the health of a driver while the `with` block runs."""

    def __init__(
        self,
        host: str,
        port: int,
        look: Callable[[], Health],
        measure: Callable[[], Iterable[Sample]],
    ) -> None:
        """Take the port, so that the address is known; answer when the block begins.

        Args:
            host: the address to listen at.
            port: 0 for any free one.
            look: says how the driver does.
            measure: says what is to be read at `/metrics`.

        Raises:
            HealthPortTakenError: the port is not free, or not allowed.
        """
        self._socket = _listening(host, port)
        self._server = _server(_application(look, measure))
        self._thread = Thread(target=self._serve, name="penstock-health", daemon=True)

    @property
    def address(self) -> str:
        """Where it is served, such as `http://127.0.0.1:8080`."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering and give the port back."""
        self._server.should_exit = True
        self._thread.join(_END_SECONDS)
        self._socket.close()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as err:
        raise HealthPortTakenError(host, port, reason=err.strerror or str(err)) from err


def _server(application: Starlette) -> Server:
    from uvicorn import Config, Server

    # Signals are the run's, and its log is no place for every look of a container.
    config = Config(
        application, access_log=False, log_config=None, log_level="warning", lifespan="off"
    )
    return Server(config)


def _application(look: Callable[[], Health], measure: Callable[[], Iterable[Sample]]) -> Starlette:
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Route

    from penstock.monitoring.exposition import CONTENT_TYPE, exposition

    def answer(why: str | None, health: Health) -> Response:
        said = _Answer(pipeline=health.pipeline, ok=why is None, why=why, flows=health.flows)
        return JSONResponse(asdict(said), status_code=200 if said.ok else 503)

    async def alive(_request: object) -> Response:
        health = look()
        return answer(health.trouble, health)

    async def ready(_request: object) -> Response:
        health = look()
        return answer(health.obstacle, health)

    async def metrics(_request: object) -> Response:
        return PlainTextResponse(exposition(measure()), media_type=CONTENT_TYPE)

    routes = [Route("/health", alive), Route("/ready", ready), Route("/metrics", metrics)]
    return Starlette(routes=routes)
