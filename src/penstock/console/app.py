"""The application: every page, action and endpoint, behind one guard."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.console.access.login import login_routes
from penstock.console.access.roles import Role
from penstock.console.alerts import PARTS as ALERTS
from penstock.console.cluster import PARTS as CLUSTER
from penstock.console.errors import NotFoundError
from penstock.console.frame.answering import Answering, Entry
from penstock.console.frame.headers import SafeHeaders
from penstock.console.frame.live import Live
from penstock.console.frame.openapi import description
from penstock.console.frame.rendering import STATIC, Renderer, environment
from penstock.console.groups import PARTS as GROUPS
from penstock.console.home import PARTS as HOME
from penstock.console.ledger import PARTS as LEDGER
from penstock.console.metrics import PARTS as METRICS
from penstock.console.pipelines import PARTS as PIPELINES
from penstock.console.records import PARTS as RECORDS
from penstock.console.schemas import PARTS as SCHEMAS
from penstock.console.topics import PARTS as TOPICS
from penstock.console.trail import PARTS as TRAIL
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from penstock.console.access import Guard
    from penstock.console.frame.actions import AnyAction
    from penstock.console.frame.endpoints import Endpoint
    from penstock.console.frame.pages import AnyPage
    from penstock.console.parts import Parts
    from penstock.console.world import World

MENU: tuple[Entry, ...] = (
    Entry(title="Home", path="/"),
    Entry(title="Pipelines", path="/pipelines"),
    Entry(title="Topics", path="/topics"),
    Entry(title="Groups", path="/groups"),
    Entry(title="Schemas", path="/schemas"),
    Entry(title="Ledger", path="/ledger"),
    Entry(title="Cluster", path="/cluster"),
    Entry(title="Metrics", path="/explorer"),
    Entry(title="Service levels", path="/service-levels"),
    Entry(title="Alerts", path="/alerts"),
    Entry(title="Trail", path="/trail"),
)

NOUNS: tuple[Parts, ...] = (
    HOME,
    PIPELINES,
    GROUPS,
    SCHEMAS,
    LEDGER,
    METRICS,
    ALERTS,
    RECORDS,
    TRAIL,
    TOPICS,
    CLUSTER,
)

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All addresses, as they were declared: also what tests and the description are made from."""

    pages: tuple[AnyPage, ...]
    actions: tuple[AnyAction, ...]
    endpoints: tuple[Endpoint, ...]


def table(nouns: tuple[Parts, ...] = NOUNS) -> Table:
    """Return all addresses of the console."""
    pages = tuple(page for noun in nouns for page in noun.pages)
    return Table(
        pages=pages,
        actions=tuple(action for noun in nouns for action in noun.actions),
        endpoints=(
            *(endpoint for noun in nouns for endpoint in noun.endpoints),
            Live(pages).endpoint(),
        ),
    )


def create_app(world: World, guard: Guard, known: Table | None = None) -> ASGIApp:
    """Return the console over `world`, for those whom `guard` lets in: all of `table`, or less."""
    answering = Answering(world=world, guard=guard, renderer=Renderer(environment()), menu=MENU)
    app = Starlette(
        routes=routes(known or table(), answering),
        exception_handlers={
            PenstockError: answering.fault,
            HTTPException: partial(_http_fault, answering),
            Exception: answering.fault,
        },
    )
    app.router.redirect_slashes = False
    return SafeHeaders(app)


def routes(known: Table, answering: Answering) -> list[Route]:
    """Return all that is answered: what `known` declares, and what comes before and beside it."""
    return [
        Route("/health", partial(_health, answering)),
        Route("/static/{version}/{name}", _static),
        Route("/openapi.json", partial(_openapi, known, answering)),
        *login_routes(answering),
        *_declared(known, answering),
    ]


def _declared(known: Table, answering: Answering) -> Iterator[Route]:
    for action in known.actions:
        yield Route(action.path, partial(answering.question, action), methods=["GET"])
        yield Route(action.path, partial(answering.perform, action), methods=["POST"])
    for endpoint in known.endpoints:
        serve = partial(answering.serve, endpoint)
        yield Route(endpoint.path, serve, methods=[endpoint.method])
    for page in known.pages:
        yield Route(page.path, partial(answering.show, page), methods=["GET"])


async def _health(answering: Answering, request: Request) -> Response:
    """Say that the console answers, and whether something is wrong; to those who may know, what."""
    faults = answering.world.faults
    told: dict[str, object] = {"ok": True, "state": "trouble" if faults else "ok"}
    if answering.guard.visitor(request).user is not None:
        told["faults"] = list(faults)
    return JSONResponse(told)


async def _openapi(known: Table, answering: Answering, request: Request) -> Response:
    answering.admitted(request, Role.VIEWER)
    version = importlib.metadata.version("penstock")
    told = description(known.pages, known.actions, known.endpoints, version=version)
    return JSONResponse(told)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    found = next((item for item in STATIC.iterdir() if item.name == name), None)
    if found is None:
        raise NotFoundError(request.url.path)
    kind = next((kind for end, kind in _TYPES.items() if name.endswith(end)), "text/plain")
    return Response(found.read_bytes(), media_type=kind, headers={"Cache-Control": _FOR_EVER})


async def _http_fault(answering: Answering, request: Request, error: Exception) -> Response:
    is_missing = isinstance(error, HTTPException) and error.status_code in (404, 405)
    return await answering.fault(request, NotFoundError(request.url.path) if is_missing else error)
