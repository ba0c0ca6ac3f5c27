"""The page at which people log in, and the end of a session."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.background import BackgroundTask
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from penstock.console.access.guard import PROOF
from penstock.console.errors import NotMeantError, UnknownHostError
from penstock.console.frame.bodies import read_body
from penstock.control.trail import TrailEntry

if TYPE_CHECKING:
    from starlette.requests import Request

    from penstock.console.access.guard import Login, Visitor
    from penstock.console.frame.answering import Answering

_LARGEST = 10_000
_LONGEST_NAME = 100
"""How much of a name that was tried is put on the trail."""

_WRONG = "name and password do not belong together"


def login_routes(answering: Answering) -> list[Route]:
    """Return `/login` and `/logout`."""
    guard = answering.guard

    async def show(request: Request) -> Response:
        if not guard.knows_host(request):
            raise UnknownHostError(request.headers.get("host", ""))
        return await drawn(request, _next(request.query_params.get("next", "/")))

    async def drawn(
        request: Request, after: str, *, fault: str | None = None, status: int = HTTPStatus.OK
    ) -> Response:
        visitor = guard.visitor(request)
        variables = {
            **answering.frame_variables(None, visitor, menu=None),
            "title": "Log in",
            "after": after,
            "fault": fault,
        }
        return await answering.drawn(request, visitor, "frame/login.html", variables, status=status)

    async def entered_by(request: Request) -> tuple[Visitor, dict[str, str]]:
        """Return who sends a form of ours, and what is in it."""
        if not guard.knows_host(request):
            raise UnknownHostError(request.headers.get("host", ""))
        body = await read_body(request, most=_LARGEST)
        entered = dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
        visitor = guard.visitor(request)
        if not guard.is_meant(request, visitor, entered.get(PROOF)):
            raise NotMeantError
        return visitor, entered

    async def log_in(request: Request) -> Response:
        visitor, entered = await entered_by(request)
        after = _next(entered.get("next", "/"))
        name, password = entered.get("name", ""), entered.get("password", "")
        login = await answering.in_thread(lambda: guard.log_in(visitor, name, password))
        if login.wait_seconds:
            # Not on the trail: that would be filled by whoever goes on trying.
            fault = f"too many attempts; try again in {login.wait_seconds:.0f} s"
            return await drawn(request, after, fault=fault, status=HTTPStatus.TOO_MANY_REQUESTS)
        response: Response
        if login.user is None:
            response = await drawn(request, after, fault=_WRONG, status=HTTPStatus.UNAUTHORIZED)
        else:
            response = RedirectResponse(after, HTTPStatus.SEE_OTHER)
            guard.set_cookie(response, login.cookie)
        # Once it is answered: whoever comes because Kafka is away does not wait for it here.
        response.background = BackgroundTask(answering.note, _entry(visitor, name, login))
        return response

    async def log_out(request: Request) -> Response:
        visitor, _ = await entered_by(request)
        guard.log_out(visitor)
        response = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
        guard.set_cookie(response, guard.new_cookie())
        return response

    return [
        Route("/login", show, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ]


def _entry(visitor: Visitor, name: str, login: Login) -> TrailEntry:
    """Return what the trail tells of an attempt: a name that was tried may be anything."""
    return TrailEntry(
        at=datetime.now(UTC),
        who=name[:_LONGEST_NAME],
        role=login.user.role.word if login.user else None,
        address=visitor.address,
        action="log_in",
        target="console",
        done="logged in" if login.user else None,
        refused=None if login.user else _WRONG,
    )


def _next(wanted: str) -> str:
    """Return a page of ours: an address that leads elsewhere is dropped."""
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_ours and wanted.isprintable() else "/"
