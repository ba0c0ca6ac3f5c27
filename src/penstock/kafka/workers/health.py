"""The health of a worker: a snapshot for programs, and the same over HTTP for schedulers.

Beside it, at `/metrics`, what the worker's clients measure of themselves.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from penstock.kafka.offsets import TopicPartition
    from penstock.names import GroupId, TopicName

ADDRESS = "127.0.0.1"
"""Health is for the scheduler on the same machine; it is not served to the network."""


class WorkerState(StrEnum):
    """Where a worker stands in its life."""

    IDLE = "idle"
    """`run` has not been called."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    """Asked to stop; the record in hand is being finished."""

    STOPPED = "stopped"
    FAILED = "failed"


_ALIVE = {WorkerState.STARTING, WorkerState.RUNNING, WorkerState.STOPPING}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHealth:
    """What a worker was doing at one moment."""

    state: WorkerState
    topics: tuple[TopicName, ...]
    group: GroupId
    handled: int
    """Records whose handler succeeded."""

    failed_attempts: int
    """Calls of the handler that raised; a record may account for several."""

    dead_lettered: int
    overtaken: int
    """Records that another worker had handled when this one came to them."""

    partitions: tuple[TopicPartition, ...]
    lag: int | None
    """Offsets between the worker and the end of its partitions; None before the first fetch."""

    last_record_at: datetime | None
    """When the newest record came in."""

    overdue: bool
    """Whether the record in hand has taken longer than `max_handling_seconds`."""

    failure: str | None
    """Why the worker failed."""

    @property
    def healthy(self) -> bool:
        """Whether a scheduler should leave the worker alone."""
        return self.state in _ALIVE and not self.overdue

    def as_json(self) -> str:
        """Return the snapshot as `/health` answers it."""
        fields = asdict(self) | {
            "healthy": self.healthy,
            "partitions": [str(partition) for partition in self.partitions],
            "last_record_at": self.last_record_at and self.last_record_at.isoformat(),
        }
        return json.dumps(fields)


@contextmanager
def served_health(port: int, health: Callable[[], WorkerHealth]) -> Iterator[int]:
    """Answer `GET /health` on `port` of this machine; yield the port (0 takes a free one).

    200 while the worker is healthy, 503 when it is not; the body is the snapshot in both cases.
    `GET /metrics` tells Prometheus what the consumers and producers of this process do.
    """
    server = ThreadingHTTPServer((ADDRESS, port), _handler_for(health))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="penstock-health", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler_for(health: Callable[[], WorkerHealth]) -> type[BaseHTTPRequestHandler]:
    class HealthHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path:
                case "/health":
                    snapshot = health()
                    is_well = snapshot.healthy
                    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
                    self._answer(status, "application/json", snapshot.as_json())
                case "/metrics":
                    # Its library takes a fifth of a second to load: not for those who do not ask.
                    from penstock.kafka.client_exposition import CONTENT_TYPE, client_exposition

                    self._answer(HTTPStatus.OK, CONTENT_TYPE, client_exposition())
                case _:
                    reason = "a worker answers at /health and /metrics"
                    self.send_error(HTTPStatus.NOT_FOUND, reason)

        def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing: a probe every few seconds is not news."""

    return HealthHandler
