"""A search that tells what it finds and how far it is, as server-sent events, until it is enough.

The scan runs in a thread of its own and ends when nobody listens any more: its consumer is closed
within a moment of the page, or of its Cancel.
"""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.responses import StreamingResponse

from penstock.console.access.roles import Role
from penstock.console.frame.endpoints import Endpoint
from penstock.console.records.asked import PARAMETERS, Asked
from penstock.console.records.browsing import opened_topic, search_limits
from penstock.console.records.errors import TooManySearchesError
from penstock.console.records.rows import Row, row
from penstock.errors import PenstockError
from penstock.kafka.browsing import Ended, Ending, Found, Scanned
from penstock.kafka.browsing.places import direction_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.console.frame import Ask
    from penstock.console.frame.answering import Answering

_MOST: Final = 8
"""Searches at once: each keeps a thread busy, and a broker."""

_WAITING: Final = 100
"""Events that may wait for a slow listener before the search waits as well."""

_LOOK_SECONDS: Final = 0.2
"""How soon a search that waits for its listener notices that he has gone."""

Step = Found[Row] | Scanned | Ended | PenstockError


class Searches:
    """The searches that run now."""

    def __init__(self) -> None:
        self._running = 0

    async def answer(self, answering: Answering, ask: Ask, _request: Request) -> Response:
        """Answer with a stream of events.

        Raises:
            TooManySearchesError: as many run already as may.
            UsageError: the question cannot be understood, or asks for what is hidden.
        """
        self._ensure_room()
        asked = Asked.of(ask.query)
        await answering.in_thread(lambda: _checked(ask, asked))
        return StreamingResponse(
            self._events(answering, ask, asked),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    def _ensure_room(self) -> None:
        if self._running >= _MOST:
            raise TooManySearchesError(_MOST)

    async def _events(self, answering: Answering, ask: Ask, asked: Asked) -> AsyncIterator[str]:
        steps: asyncio.Queue[Step | None] = asyncio.Queue()
        room = threading.BoundedSemaphore(_WAITING)
        is_over, loop = threading.Event(), asyncio.get_running_loop()

        def tell(step: Step | None) -> None:
            """Hand a step over; waits while too many wait, unless it is over."""
            while not is_over.is_set():
                if room.acquire(timeout=_LOOK_SECONDS):
                    with suppress(RuntimeError):  # the server has ended meanwhile
                        loop.call_soon_threadsafe(steps.put_nowait, step)
                    return

        search = threading.Thread(
            target=_search,
            args=(ask, asked, tell, is_over.is_set),
            name="penstock-search",
            daemon=True,
        )
        try:
            self._ensure_room()  # others may have begun since the question was looked at
        except TooManySearchesError as error:
            yield _event(answering, ask, asked, error)
            return
        self._running += 1
        try:
            search.start()
            while (step := await steps.get()) is not None:
                room.release()
                yield _event(answering, ask, asked, step)
        finally:
            self._running -= 1
            is_over.set()


def _checked(ask: Ask, asked: Asked) -> None:
    with opened_topic(ask) as topic:
        topic.scan(asked, search_limits(asked), lambda seen, _: row(seen))


def _search(
    ask: Ask, asked: Asked, tell: Callable[[Step | None], None], is_over: Callable[[], bool]
) -> None:
    """Search to the end, and tell each step; None at last."""
    try:
        with opened_topic(ask) as topic:
            scan = topic.scan(
                asked, search_limits(asked), lambda seen, _: row(seen), is_stopped=is_over
            )
            for step in scan:
                tell(step)
    except PenstockError as error:
        tell(error)
    finally:
        tell(None)


def _event(answering: Answering, ask: Ask, asked: Asked, step: Step) -> str:
    if isinstance(step, PenstockError):
        return _written("fault", {"message": step.message, "hint": step.hint})
    if isinstance(step, Found):
        parts = answering.renderer.templates.get_template("records/parts.html").module
        return _written("records", str(parts.row(ask.path["topic"], step.kept, asked.uncommitted)))  # type: ignore[attr-defined]  # macros are attributes
    scanned = step.scanned if isinstance(step, Ended) else step
    is_complete = isinstance(step, Ended) and step.ending is Ending.NOTHING_LEFT
    how_far = f"{scanned.records:,} more records read in {scanned.seconds:.1f} s"
    if scanned.moment is not None:
        how_far += f", as far as {scanned.moment:%Y-%m-%d %H:%M:%S} UTC"
    ending = f": {step.ending}" if isinstance(step, Ended) else " …"
    onwards = asked.from_positions(scanned.positions, direction_of(asked.place))
    return _written(
        "ended" if isinstance(step, Ended) else "progress",
        {
            "sentence": f"{how_far}, {scanned.found} found{ending}",
            "records": scanned.records,
            "found": scanned.found,
            "positions": scanned.positions,
            "onwards": onwards.url(ask.path["topic"]),
            "is_complete": is_complete,
        },
    )


def _written(event: str, told: object) -> str:
    return f"event: {event}\ndata: {json.dumps(told)}\n\n"


SEARCH = Endpoint(
    path="/topics/{topic}/records/search",
    name="search_records",
    summary="Records that fulfill a filter, as server-sent events while they are found.",
    role=Role.VIEWER,
    answer=Searches().answer,
    parameters=PARAMETERS,
)
