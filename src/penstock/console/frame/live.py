"""Pages that stay up to date: the parts of a page that changed, as server-sent events.

A page names the blocks of its template that may change. While somebody looks at it, it is loaded
again when the world has been looked at again, and the blocks that came out otherwise are sent. What
frames every page, why its figures may be out of date and how old they are, is sent every second,
however the page itself does.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from starlette.responses import StreamingResponse
from starlette.routing import compile_path

from penstock.console.access.roles import Role
from penstock.console.errors import NotAllowedError, NotFoundError
from penstock.console.frame.endpoints import Endpoint
from penstock.console.frame.pages import Parameter
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.console.access import Visitor
    from penstock.console.frame.answering import Answering
    from penstock.console.frame.asking import Ask
    from penstock.console.frame.pages import AnyPage
    from penstock.console.world import World

FRAME = ("faults", "freshness")
"""The blocks of the layout that every page has."""

_LAYOUT = "layout.html"
_TICK_SECONDS = 0.25
_FRAME_SECONDS = 1.0
_DRAW_SECONDS = 0.5
_PAUSE_PER_LOAD = 4.0
"""A page that takes a second to load is loaded again after no less than four."""

_MOST_STREAMS = 200


class Live:
    """Keeps the pages up to date that somebody looks at."""

    def __init__(self, pages: Sequence[AnyPage]) -> None:
        self._pages = [(compile_path(page.path)[0], page) for page in pages]
        self._streams = 0

    def endpoint(self) -> Endpoint:
        """Return the address of the events."""
        return Endpoint(
            path="/live",
            name="follow_page",
            summary="The parts of the page at `url` that change, as server-sent events.",
            role=Role.VIEWER,
            answer=self._answer,
            parameters=(Parameter(name="url", meaning="path and query of the page"),),
            is_asked_by_itself=True,
        )

    async def _answer(self, answering: Answering, ask: Ask, request: Request) -> Response:
        url = ask.query.get("url", "/")
        page, path = self._page_at(url)
        if ask.user.role < page.role:
            raise NotAllowedError(ask.user.name, role=ask.user.role.word, needed=page.role.word)
        if self._streams >= _MOST_STREAMS:
            # The browser asks again by itself; until then the page is as it was loaded.
            return StreamingResponse(iter(("retry: 10000\n\n",)), media_type="text/event-stream")
        follower = _Follower(answering, request, page, url, path)
        events = self._events(answering.world, follower)
        return StreamingResponse(
            events, media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    def _page_at(self, url: str) -> tuple[AnyPage, dict[str, str]]:
        try:
            place = urlsplit(url).path
        except ValueError:  # no address of anything
            raise NotFoundError(url) from None
        for pattern, page in self._pages:
            if found := pattern.match(place):
                return page, {name: unquote(value) for name, value in found.groupdict().items()}
        raise NotFoundError(place)

    async def _events(self, world: World, follower: _Follower) -> AsyncIterator[str]:
        self._streams += 1
        try:
            with world.followed():
                yield "retry: 2000\n\n"
                while not (world.is_ending or await follower.is_gone()):
                    if changed := await follower.changed():
                        yield f"event: parts\ndata: {json.dumps(changed)}\n\n"
                    await asyncio.sleep(_TICK_SECONDS)
        except PenstockError as error:
            told = {"message": error.message, "hint": error.hint}
            yield f"event: fault\ndata: {json.dumps(told)}\n\n"
        finally:
            self._streams -= 1


class _Follower:
    """Somebody who looks at a page, and what is shown to him."""

    def __init__(
        self, answering: Answering, request: Request, page: AnyPage, url: str, path: dict[str, str]
    ) -> None:
        self._answering, self._request, self._page = answering, request, page
        self._url, self._path = url, path
        self._query = dict(parse_qsl(urlsplit(url).query))
        self._shown: dict[str, str] = {}
        self._fault: PenstockError | None = None
        self._version = -1
        self._load_at = self._frame_at = float("-inf")

    async def is_gone(self) -> bool:
        """Return whether nobody looks any more."""
        return await self._request.is_disconnected()

    async def changed(self) -> dict[str, str]:
        """Return the parts that came out otherwise than when they were sent last.

        Raises:
            NotLoggedInError, NotAllowedError: the page is not for him any more.
        """
        world, now = self._answering.world, time.monotonic()
        is_new = self._page.live and world.version != self._version and now >= self._load_at
        if not is_new and now < self._frame_at:
            return {}
        # A session may have ended meanwhile, and a role is asked each time.
        visitor, asked = self._answering.admitted(self._request, self._page.role)
        ask = replace(asked, url=self._url, path=self._path, query=self._query)
        parts: dict[str, str] = {}
        if is_new:
            self._version = world.version
            parts = await self._loaded(ask, visitor)
            taken = time.monotonic() - now
            self._load_at = time.monotonic() + max(_DRAW_SECONDS, taken * _PAUSE_PER_LOAD)
        parts |= self._frame(ask, visitor)
        self._frame_at = now + _FRAME_SECONDS
        changed = {name: text for name, text in parts.items() if self._shown.get(name) != text}
        self._shown |= changed
        return changed

    async def _loaded(self, ask: Ask, visitor: Visitor) -> dict[str, str]:
        """Return the parts of the page; none when it cannot be loaded, which its frame tells."""
        answering, page = self._answering, self._page

        def drawn() -> dict[str, str]:
            variables = answering.page_variables(page, ask, visitor, page.load(ask))
            return answering.renderer.blocks(page.template, page.live, variables)

        try:
            parts: dict[str, str] = await answering.in_thread(drawn)
        except PenstockError as error:
            self._fault = error
            return {}
        self._fault = None
        return parts

    def _frame(self, ask: Ask, visitor: Visitor) -> dict[str, str]:
        known = self._answering.frame_variables(ask, visitor, menu=self._page.menu)
        told = (self._fault.message,) if self._fault else ()
        known["faults"] = tuple(dict.fromkeys((*known["faults"], *told)))
        variables = {**known, "title": "", "is_followed": True}
        return self._answering.renderer.blocks(_LAYOUT, FRAME, variables)
