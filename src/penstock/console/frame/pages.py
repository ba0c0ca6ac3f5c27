"""A page: loaded once per look, drawn for people and given as JSON for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.console.access.roles import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.console.frame.asking import Ask

Model = TypeVar("Model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a page's query."""

    name: str
    meaning: str
    kind: type = str


LISTING = (
    Parameter(name="q", meaning="show only what contains this text"),
    Parameter(name="sort", meaning="the column to sort by; with `-` before it, downwards"),
    Parameter(name="page", meaning="which page of the list, from 1", kind=int),
    Parameter(name="size", meaning="how many entries are on a page, at most 500", kind=int),
)
"""The parameters of every long list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Model]):
    """One address that shows something.

    `load` runs in a thread and may wait for Kafka, for the one thing that is shown: lists come
    from what the world has sampled. It raises `PenstockError` for what cannot be shown.
    """

    path: str
    """With Starlette's variables, such as `/topics/{topic}`."""

    name: str
    """Unique; the operation of the description of the API, such as `show_topic`."""

    summary: str
    template: str
    model: type[Model]
    """A frozen dataclass: the JSON twin is exactly that."""

    load: Callable[[Ask], Model]
    title: Callable[[Model], str]
    command: Callable[[Ask, Model], str] | None
    """What shows the same in a terminal; where nothing does (None, or empty for this model), the
    page says how to ask for its JSON twin."""

    parameters: tuple[Parameter, ...] = ()
    live: tuple[str, ...] = ()
    """The blocks of the template that are drawn again when what they show has changed."""

    menu: str | None = None
    """The entry of the menu that it belongs to."""

    role: Role = Role.VIEWER


AnyPage = Page[Any]
