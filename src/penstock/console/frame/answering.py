"""From a request to an answer: who asks, what is shown or done, and what went wrong."""

from __future__ import annotations

import json
import logging
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from anyio import CapacityLimiter, to_thread
from pydantic import TypeAdapter
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from penstock.console.access.guard import PROOF
from penstock.console.access.roles import Role
from penstock.console.access.sessions import Attempts
from penstock.console.errors import (
    HiddenError,
    InvalidFormError,
    NotAllowedError,
    NotFoundError,
    NotLoggedInError,
    NotMeantError,
    OverloadedError,
    TooLargeError,
    UnforeseenError,
    UnknownHostError,
)
from penstock.console.frame.actions import ASKED, Action, Question
from penstock.console.frame.asking import Ask
from penstock.console.frame.bodies import read_body
from penstock.console.frame.endpoints import Endpoint
from penstock.console.frame.forms import Input, inputs_of, parsed
from penstock.control.errors import UnknownPipelineError
from penstock.control.trail import TrailEntry
from penstock.errors import PenstockError, UsageError
from penstock.kafka import (
    OffsetNotThereError,
    UnknownBrokerError,
    UnknownGroupError,
    UnknownPartitionError,
    UnknownTopicError,
)
from penstock.kafka.browsing import RecordNotThereError
from penstock.registry.client import NotRegisteredError
from penstock.settings import DEFAULT_PROFILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from penstock.console.access import Guard, Visitor
    from penstock.console.frame.actions import AnyAction
    from penstock.console.frame.pages import AnyPage
    from penstock.console.frame.rendering import Renderer
    from penstock.console.world import World

    Wanted = AnyPage | AnyAction | Endpoint

logger = logging.getLogger(__name__)

_DONE = "penstock_done"
"""The cookie that carries what was done to the page that is shown next."""

_PROOF_HEADER = "x-penstock-proof"
"""Where scripts of ours put what forms carry in a field."""

_WHOLE = "form"
_THREADS = 16
_LONGEST_SENTENCE = 300
"""Of a sentence in a cookie, which holds four kilobytes: that much in any script."""

_TRAIL_THREADS = 4
"""So many wait for the trail at once: while Kafka is away, pages still have their threads."""

_LARGEST_FORM = 12 * 1024 * 1024
"""A record of ten megabytes, with what surrounds it."""

_STATUS = {
    NotFoundError: HTTPStatus.NOT_FOUND,
    UnknownTopicError: HTTPStatus.NOT_FOUND,
    UnknownPartitionError: HTTPStatus.NOT_FOUND,
    OffsetNotThereError: HTTPStatus.NOT_FOUND,
    RecordNotThereError: HTTPStatus.NOT_FOUND,
    HiddenError: HTTPStatus.FORBIDDEN,
    OverloadedError: HTTPStatus.SERVICE_UNAVAILABLE,
    NotAllowedError: HTTPStatus.FORBIDDEN,
    NotMeantError: HTTPStatus.FORBIDDEN,
    NotLoggedInError: HTTPStatus.UNAUTHORIZED,
    UnknownHostError: HTTPStatus.MISDIRECTED_REQUEST,
    InvalidFormError: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooLargeError: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnforeseenError: HTTPStatus.INTERNAL_SERVER_ERROR,
    UnknownPipelineError: HTTPStatus.NOT_FOUND,
    UnknownGroupError: HTTPStatus.NOT_FOUND,
    UnknownBrokerError: HTTPStatus.NOT_FOUND,
    NotRegisteredError: HTTPStatus.NOT_FOUND,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the menu."""

    title: str
    path: str


@dataclass(frozen=True)
class Answering:
    """Answers requests for pages and actions."""

    world: World
    guard: Guard
    renderer: Renderer
    menu: Sequence[Entry]

    @cached_property
    def threads(self) -> CapacityLimiter:
        """How many requests are worked on at once; others wait."""
        return CapacityLimiter(_THREADS)

    @cached_property
    def _trail_threads(self) -> CapacityLimiter:
        return CapacityLimiter(_TRAIL_THREADS)

    @cached_property
    def _refusals(self) -> Attempts:
        return Attempts()

    async def show(self, page: AnyPage, request: Request) -> Response:
        """Answer with a page, or its JSON twin."""
        visitor, ask = await self._let_in(page, request)
        model = await self.in_thread(lambda: page.load(ask))
        if wants_json(request):
            return JSONResponse(_as_json(page.model, model))
        variables = self.page_variables(page, ask, visitor, model)
        return await self.drawn(request, visitor, page.template, variables)

    def page_variables(
        self, page: AnyPage, ask: Ask, visitor: Visitor, model: object
    ) -> dict[str, Any]:
        """Return what the template of a page may use."""
        return {
            **self.frame_variables(ask, visitor, menu=page.menu),
            "title": page.title(model),
            "model": model,
            "ask": ask,
            "command": self._same((page.command and page.command(ask, model)) or ask.curl),
            "live": page.live,
            "json_url": ask.url,
        }

    async def question(self, action: AnyAction, request: Request) -> Response:
        """Answer with the inputs of an action, or with the question whether to do it."""
        visitor, ask = await self._let_in(action, request)
        entered = {name: value for name, value in ask.query.items() if name != ASKED}
        is_asked = ASKED in ask.query or not action.form.model_fields
        return await self._asked(action, request, visitor, ask, entered, is_asked=is_asked)

    async def perform(self, action: AnyAction, request: Request) -> Response:
        """Do what an action is for, and put it on the trail; or ask, where that was wanted."""
        visitor, ask = await self._let_in(action, request)
        entered = await _entered(request)
        proof = str(entered.pop(PROOF, "")) or None
        await self._require_intent(action, request, visitor, ask, proof)
        if entered.pop(ASKED, None):
            texts = {name: str(value) for name, value in entered.items()}
            return await self._asked(action, request, visitor, ask, texts, is_asked=True)
        form = parsed(action.form, entered)
        try:
            done = await self.in_thread(lambda: action.perform(ask, form))
        except PenstockError as error:
            await self.note(_entry(action, request, visitor, ask, refused=error.message))
            raise
        except Exception as error:
            # What it did before it broke is done, and nobody else tells of it.
            refused = f"unexpected fault, maybe halfway: {type(error).__name__}"
            await self.note(_entry(action, request, visitor, ask, refused=refused))
            raise
        await self.note(_entry(action, request, visitor, ask, done=done))
        if wants_json(request):
            return JSONResponse({"done": done})
        response = RedirectResponse(action.back(ask), status_code=HTTPStatus.SEE_OTHER)
        # Shown once by the next page; the text is escaped there like any other.
        told = quote(done[:_LONGEST_SENTENCE])
        secure = self.guard.secure
        response.set_cookie(
            _DONE, told, max_age=20, secure=secure, httponly=True, samesite="strict"
        )
        return response

    async def _asked(
        self,
        action: AnyAction,
        request: Request,
        visitor: Visitor,
        ask: Ask,
        entered: dict[str, str],
        *,
        is_asked: bool,
    ) -> Response:
        initial = await self.in_thread(lambda: action.initial(ask) if action.initial else {})
        form, question, fault = None, None, None
        if is_asked:
            try:
                form = parsed(action.form, entered)
                question = await self.in_thread(lambda: action.question(ask, form))
            except PenstockError as error:
                if not action.form.model_fields or wants_json(request):
                    raise
                fault = error
        settled = question.settled if question is not None else {}
        inputs = inputs_of(action.form, {**initial, **entered, **settled})
        if wants_json(request):
            told = {"inputs": _as_json(tuple[Input, ...], inputs)}
            if question is not None:
                told["question"] = _as_json(Question, question)
            return JSONResponse(told)
        variables = {
            **self.frame_variables(ask, visitor, menu=action.menu),
            "title": action.title,
            "action": action,
            "ask": ask,
            "asked_field": ASKED,
            "inputs": inputs,
            "question": question,
            "fault": fault,
            "back": action.back(ask),
            "command": self._same(action.command(ask, form))
            if action.command and form and question
            else None,
        }
        status = _status_of(fault) if fault else HTTPStatus.OK
        return await self.drawn(request, visitor, "frame/action.html", variables, status=status)

    async def serve(self, endpoint: Endpoint, request: Request) -> Response:
        """Answer with what is neither a page nor an action."""
        visitor, ask = await self._let_in(endpoint, request)
        if endpoint.changes_something:
            proof = request.headers.get(_PROOF_HEADER)
            await self._require_intent(endpoint, request, visitor, ask, proof)
        return await endpoint.answer(self, ask, request)

    async def _let_in(self, wanted: Wanted, request: Request) -> tuple[Visitor, Ask]:
        """Return who asks and what; that somebody was refused is put on the trail.

        Raises:
            NotLoggedInError, NotAllowedError, UnknownHostError: the request is not for him.
        """
        visitor, ask = self.admitted(request, Role.VIEWER)
        if not (isinstance(wanted, Endpoint) and wanted.is_asked_by_itself):
            self.guard.note_use(visitor)
        if ask.user.role < wanted.role:
            role = ask.user.role.word
            refusal = NotAllowedError(ask.user.name, role=role, needed=wanted.role.word)
            await self._note_refusal(wanted, request, visitor, ask, refusal)
            raise refusal
        return visitor, ask

    async def _require_intent(
        self,
        wanted: AnyAction | Endpoint,
        request: Request,
        visitor: Visitor,
        ask: Ask,
        proof: str | None,
    ) -> None:
        if not self.guard.is_meant(request, visitor, proof):
            refusal = NotMeantError()
            await self._note_refusal(wanted, request, visitor, ask, refusal)
            raise refusal

    async def _note_refusal(
        self, wanted: Wanted, request: Request, visitor: Visitor, ask: Ask, refusal: UsageError
    ) -> None:
        # The same is told a few times per minute: nobody can fill the trail by asking.
        if not self._refusals.begin(f"{wanted.name} {visitor.address} {ask.user.name}"):
            await self.note(_entry(wanted, request, visitor, ask, refused=refusal.message))

    async def note(self, entry: TrailEntry) -> None:
        """Put on the trail what was done or refused; a silent cluster does not undo it."""
        try:
            await to_thread.run_sync(self.world.trail.record, entry, limiter=self._trail_threads)
        except PenstockError as error:
            logger.warning("the trail has a gap", extra={"reason": error.message, "entry": entry})

    def admitted(self, request: Request, role: Role) -> tuple[Visitor, Ask]:
        """Return who asks and what.

        Raises:
            NotLoggedInError, NotAllowedError, UnknownHostError: the request is not for him.
        """
        if not self.guard.knows_host(request):
            raise UnknownHostError(request.headers.get("host", ""))
        visitor = self.guard.visitor(request)
        if visitor.user is None:
            raise NotLoggedInError
        if visitor.user.role < role:
            raise NotAllowedError(visitor.user.name, role=visitor.user.role.word, needed=role.word)
        url = quote(request.scope["path"]) + (f"?{request.url.query}" if request.url.query else "")
        return visitor, Ask(
            world=self.world,
            user=visitor.user,
            at=datetime.now(UTC),
            url=url,
            path=dict(request.path_params),
            query=dict(request.query_params),
            origin=str(request.base_url).rstrip("/"),
        )

    def frame_variables(
        self, ask: Ask | None, visitor: Visitor, *, menu: str | None
    ) -> dict[str, Any]:
        """Return what the layout of every page uses."""
        now = ask.at if ask else datetime.now(UTC)
        return {
            "menu": self.menu,
            "menu_now": menu,
            "user": visitor.user,
            "logs_in": self.guard.users is not None,
            "now": now,
            "profile": self.world.place.profile,
            "faults": self.world.faults if visitor.user else (),
            "as_of": self.world.as_of(now),
            "is_followed": False,
            "live": None,
            "command": None,
            "json_url": None,
            "done": None,
        }

    def _same(self, command: str) -> str:
        """Return the command for the cluster of this console: that of its profile."""
        profile = self.world.place.profile
        ours = any(word == "penstock" for word in command.split())
        if not ours or profile == DEFAULT_PROFILE:
            return command
        return f"{command} --profile {shlex.quote(profile)}"

    async def drawn(
        self,
        request: Request,
        visitor: Visitor,
        template: str,
        variables: Mapping[str, Any],
        *,
        status: int = HTTPStatus.OK,
    ) -> Response:
        """Return a page as HTML; a browser that has no cookie gets one."""
        cookie = visitor.cookie or self.guard.new_cookie()
        known = {**variables, "proof_field": PROOF, "proof": self.guard.proof_of(cookie)}
        done = request.cookies.get(_DONE)
        known["done"] = unquote(done) if done else None
        text = await self.in_thread(lambda: self.renderer.page(template, known))
        response = HTMLResponse(text, status_code=status)
        if not visitor.cookie:
            self.guard.set_cookie(response, cookie)
        if done:
            response.delete_cookie(_DONE)
        return response

    async def fault(self, request: Request, error: Exception) -> Response:
        """Answer with what went wrong: one sentence, a hint and a code."""
        shown = error if isinstance(error, PenstockError) else UnforeseenError(error)
        if not isinstance(error, PenstockError):
            logger.error("a request failed", exc_info=error, extra={"path": request.url.path})
        status = _status_of(shown)
        if wants_json(request) or request.method not in ("GET", "HEAD", "POST"):
            told = {"code": shown.code, "message": shown.message, "hint": shown.hint}
            return JSONResponse(told, status_code=status)
        visitor = self.guard.visitor(request)
        if isinstance(error, NotLoggedInError):
            url = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"/login?{urlencode({'next': url})}", HTTPStatus.SEE_OTHER)
        variables = {
            **self.frame_variables(None, visitor, menu=None),
            "title": HTTPStatus(status).phrase,
            "fault": shown,
        }
        return await self.drawn(request, visitor, "frame/fault.html", variables, status=status)

    async def in_thread(self, function: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever it returns
        """Return what `function`, which may wait for Kafka, returns."""
        return await to_thread.run_sync(function, limiter=self.threads)


def wants_json(request: Request) -> bool:
    """Return whether the JSON twin is asked for."""
    accepted = request.headers.get("accept", "")
    return "application/json" in accepted and "text/html" not in accepted


def _entry(
    wanted: Wanted,
    request: Request,
    visitor: Visitor,
    ask: Ask,
    *,
    done: str | None = None,
    refused: str | None = None,
) -> TrailEntry:
    return TrailEntry(
        at=ask.at,
        who=ask.user.name,
        role=ask.user.role.word,
        address=visitor.address,
        action=wanted.name,
        target=wanted.target(ask) if isinstance(wanted, Action) else request.url.path,
        done=done,
        refused=refused,
    )


def _status_of(error: PenstockError) -> int:
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return status
    if isinstance(error, UsageError):
        return HTTPStatus.BAD_REQUEST
    return HTTPStatus.SERVICE_UNAVAILABLE if error.retryable else HTTPStatus.CONFLICT


def _as_json(model: Any, value: object) -> Any:  # noqa: ANN401 - what pydantic takes and makes
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    return adapter.dump_python(value, mode="json")


async def _entered(request: Request) -> dict[str, object]:
    body = await read_body(request, most=_LARGEST_FORM)
    try:
        if request.headers.get("content-type", "").startswith("application/json"):
            found = json.loads(body or b"{}")
            if not isinstance(found, dict):
                raise InvalidFormError(_WHOLE, reason="it is not a JSON object")
            return found
        return dict(parse_qsl(body.decode(), keep_blank_values=True))
    except ValueError as err:
        raise InvalidFormError(_WHOLE, reason=str(err)) from err
