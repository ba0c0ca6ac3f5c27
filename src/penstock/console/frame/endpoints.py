"""An address that is neither a page nor an action: a stream, a file, a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel
    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.console.access.roles import Role
    from penstock.console.frame.answering import Answering
    from penstock.console.frame.asking import Ask
    from penstock.console.frame.pages import Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One address; its answer runs on the event loop: what waits goes to `answering.in_thread`."""

    path: str
    name: str
    """Unique, such as `scan_records`."""

    summary: str
    role: Role
    answer: Callable[[Answering, Ask, Request], Awaitable[Response]]
    parameters: tuple[Parameter, ...] = ()
    """Of its query."""

    body: type[BaseModel] | None = None
    """The JSON that is sent to it."""

    method: Literal["GET", "POST"] = "GET"
    changes_something: bool = False
    """Whether a page of ours, or a program, must be proved to have asked."""

    is_asked_by_itself: bool = False
    """Whether open pages ask again and again: that keeps no session alive."""
