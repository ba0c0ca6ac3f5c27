"""Consoles for tests: the real application over a real cluster, asked without a socket."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import uvicorn
from starlette.testclient import TestClient

from penstock.console.access import Guard
from penstock.console.app import create_app
from penstock.console.world import Place, World
from penstock.control.detached import Detached
from penstock.settings import AlertSettings
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from penstock.console.access import Users
    from penstock.console.app import Table
    from penstock.kafka import Connection
    from penstock.names import BrokerId
    from penstock.registry.client import RegistryAddress
    from penstock.settings import MaskSettings

ADDRESS = "http://127.0.0.1:8090"


@contextmanager
def running_console(
    connection: Connection,
    folder: Path,
    *,
    users: Users | None = None,
    registry: RegistryAddress | None = None,
    exporters: Mapping[BrokerId, str] | None = None,
    masks: tuple[MaskSettings, ...] = (),
    alerts: AlertSettings | None = None,
    known: Table | None = None,
    clock: Callable[[], float] = time.monotonic,
    is_there: bool = True,
) -> Iterator[TestClient]:
    """Return a client of a console that has looked at everything once, if the cluster is there.

    It looks as often as while somebody follows a page: tests wait for what it sees.
    """
    place = Place(
        connection=connection,
        profile="local",
        detached=Detached(folder / "data"),
        folder=folder / "console",
        registry=registry,
        exporters=lambda: exporters or {},
        masks=masks,
        alerts=alerts or AlertSettings(),
    )
    with World(place) as world, world.followed():
        if is_there:
            eventually(lambda: all(watch.at for watch in world.watches), within_seconds=60)
        app = create_app(world, Guard(users, secure=False, clock=clock), known)
        yield TestClient(app, base_url=ADDRESS, follow_redirects=False)


def proof_in(page: str) -> str:
    """Return the proof that a page carries for what is sent from it."""
    return page.partition('data-proof="')[2].partition('"')[0]


@contextmanager
def followed(console: TestClient, url: str, *, within_seconds: float) -> Iterator[Iterator[str]]:
    """Follow a page as a browser does; what comes is all of its live parts, after each change."""
    with (
        served(console.app) as port,
        httpx2.stream(
            "GET",
            f"http://127.0.0.1:{port}/live",
            params={"url": url},
            timeout=within_seconds,
        ) as events,
    ):
        yield _shown(events.iter_lines())


def _shown(lines: Iterator[str]) -> Iterator[str]:
    parts: dict[str, str] = {}
    for line in lines:
        if line.startswith("data: "):
            parts |= json.loads(line.removeprefix("data: "))
            yield "\n".join(f"[{name}] {text.strip()}" for name, text in sorted(parts.items()))


@contextmanager
def served(app: Any) -> Iterator[int]:  # noqa: ANN401 - whatever uvicorn serves
    """Serve an application on a socket, as the console does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        serving.start()
        try:
            eventually(lambda: server.started, within_seconds=10)
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            serving.join(10)
