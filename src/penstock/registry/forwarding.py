"""Forwarding: writes go to the instance that leads, whichever of them a client asks.

Reads are answered by every instance. A write that was forwarded is answered when this instance has
folded it too, so a client finds what it wrote where it wrote it.

While nobody leads, after a crash, a write waits. An answer that got lost on the way leaves open
whether the write was done; what may be repeated is sent again, a deletion is not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import httpx2

from penstock.errors import PenstockError
from penstock.names import Offset
from penstock.registry.api import error_answer
from penstock.registry.election import deciding_in
from penstock.registry.errors import ForwardingError, NotLeaderError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from penstock.kafka.schemas_log import SchemasLog
    from penstock.registry.election import Election

logger = logging.getLogger(__name__)

FORWARD_HEADER = b"x-forward"
"""With the value `false`: answer this yourself, or say that you do not lead."""

POSITION_HEADER = b"x-penstock-position"
"""Up to which offset whoever answered has folded the topic."""

# Longer than the group takes to notice that a leader has died.
_LEADER_SECONDS = 15.0
_PAUSE_SECONDS = 0.2
# How often to look whether a leader that takes its time still is one.
_LOOK_SECONDS = 1.0
# A leader may wait ten seconds for Kafka.
_ANSWER_SECONDS = 20.0
_CATCH_UP_SECONDS = 2.0
_NO_LEADER = NotLeaderError("").code
# Those that concern one connection, or that are made anew on each.
_PASSED_ON = (b"accept", b"authorization", b"content-type")


class LeaderGoneError(Exception):
    """The instance that was asked leads no more, and has not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A whole response."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def is_without_leader(self) -> bool:
        """Whether the one who answered does not lead: nothing was done."""
        if self.status != 500:
            return False
        with suppress(ValueError, AttributeError):
            return bool(json.loads(self.body).get("error_code") == _NO_LEADER)
        return False

    async def send(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status, "headers": [*self.headers]}
        )
        await send({"type": "http.response.body", "body": self.body})


class Forwarding:
    """An application that answers what `app` answers, with writes done by the leader.

    Args:
        app: the registry's API on this instance.
        election: who leads.
        log: what this instance has folded.
        ca: PEM file with the authorities that other instances' certificates come from.
        max_request_bytes: what is larger is left to `app`, which refuses it.
    """

    def __init__(
        self,
        app: ASGIApp,
        election: Election,
        log: SchemasLog,
        *,
        ca: Path | None,
        max_request_bytes: int,
    ) -> None:
        self._app, self._election, self._log = app, election, log
        self._max_request_bytes = max_request_bytes
        self._ca = ca

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not is_write(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        body, rest = await self._read(receive)
        if rest is not None:
            await self._app(scope, rest, send)
            return
        may_forward = dict(scope["headers"]).get(FORWARD_HEADER, b"").lower() != b"false"
        answer = await (self._done(scope, body) if may_forward else self._done_here(scope, body))
        await answer.send(send)

    async def _done(self, scope: Scope, body: bytes) -> _Answer:
        """Return the answer of the leader, whoever that is, or becomes."""
        deadline = time.monotonic() + _LEADER_SECONDS
        error: ForwardingError | NotLeaderError = NotLeaderError("no instance leads")
        while True:
            if self._election.term is not None:
                answer = await self._done_here(scope, body)
                if not answer.is_without_leader:
                    return answer
            elif leader := await asyncio.to_thread(self._election.leader):
                try:
                    answer = await self._forwarded(leader, scope, body)
                except (httpx2.HTTPError, LeaderGoneError) as err:
                    error = ForwardingError(f"the leader at {leader} does not answer: {err!r}")
                    if not _may_be_repeated(scope["method"], err):
                        return _error(error)
                else:
                    if not answer.is_without_leader:
                        return answer
                self._election.forget_leader(leader)
            if time.monotonic() > deadline:
                return _error(error)
            await asyncio.to_thread(self._election.await_term, _PAUSE_SECONDS)

    async def _done_here(self, scope: Scope, body: bytes) -> _Answer:
        """Return what this instance answers as the leader, if it is."""
        term = self._election.term
        if term is None:
            return _error(NotLeaderError("this instance does not lead"))
        deciding_in.set(term)
        parts: list[Message] = []

        async def collect(message: Message) -> None:
            parts.append(message)

        await self._app(scope, _replayed(body), collect)
        headers = [*parts[0]["headers"], (POSITION_HEADER, str(self._log.position).encode())]
        content = b"".join(part.get("body", b"") for part in parts[1:])
        return _Answer(status=parts[0]["status"], headers=tuple(headers), body=content)

    async def _forwarded(self, leader: str, scope: Scope, body: bytes) -> _Answer:
        query = f"?{scope['query_string'].decode()}" if scope["query_string"] else ""
        headers = [(name, value) for name, value in scope["headers"] if name in _PASSED_ON]
        asking = self._client.request(
            scope["method"],
            f"{leader}{scope['raw_path'].decode()}{query}",
            headers=[*headers, (FORWARD_HEADER, b"false")],
            content=body,
        )
        response = await self._while_leading(leader, asyncio.ensure_future(asking))
        await self._catch_up(response.headers.get(POSITION_HEADER.decode(), ""))
        content_type = response.headers.get("content-type", "").encode()
        return _Answer(
            status=response.status_code,
            headers=((b"content-type", content_type),),
            body=response.content,
        )

    async def _while_leading(
        self, leader: str, asking: asyncio.Future[httpx2.Response]
    ) -> httpx2.Response:
        """Return the response; give up when another leads: a frozen process answers nothing."""
        while not asking.done():
            await asyncio.wait({asking}, timeout=_LOOK_SECONDS)
            if not asking.done() and not await asyncio.to_thread(self._election.may_lead, leader):
                asking.cancel()
                raise LeaderGoneError(leader)
        return asking.result()

    async def _catch_up(self, position: str) -> None:
        if position.isdigit():
            with suppress(PenstockError):  # it is written; that it is not seen here yet is no fault
                await asyncio.to_thread(
                    self._log.await_position, Offset(int(position)), _CATCH_UP_SECONDS
                )

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
        trusted = ssl.create_default_context(cafile=self._ca)
        # Instances are near each other: a proxy of the environment is for the world outside.
        return httpx2.AsyncClient(verify=trusted, timeout=_ANSWER_SECONDS, trust_env=False)

    async def _read(self, receive: Receive) -> tuple[bytes, Receive | None]:
        """Return the body; of one that is too large, how to receive it from its beginning."""
        parts: list[Message] = []
        size, more = 0, True
        while more and size <= self._max_request_bytes:
            message = await receive()
            parts.append(message)
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        if size <= self._max_request_bytes:
            return b"".join(part.get("body", b"") for part in parts), None

        async def again() -> Message:
            return parts.pop(0) if parts else await receive()

        return b"", again


def is_write(method: str, path: str) -> bool:
    """Tell requests that write from those that only ask; a look-up is a POST, too."""
    if method == "POST":
        steps = path.strip("/").split("/")
        steps = steps[2:] if steps[0] == "contexts" else steps
        return steps[:1] == ["subjects"] and steps[-1] == "versions"
    return method in ("PUT", "DELETE")


def _may_be_repeated(method: str, err: httpx2.HTTPError | LeaderGoneError) -> bool:
    """Whether sending a request again does no harm: it never arrived, or comes to the same."""
    return method != "DELETE" or isinstance(err, httpx2.ConnectError | httpx2.ConnectTimeout)


def _replayed(body: bytes) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def _error(error: ForwardingError | NotLeaderError) -> _Answer:
    response = error_answer(error)
    return _Answer(
        status=response.status_code, headers=tuple(response.raw_headers), body=bytes(response.body)
    )
