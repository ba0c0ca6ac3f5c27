"""Long lists: searched, sorted and cut into pages on the server."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.console.frame.asking import Ask

Item = TypeVar("Item")
Shown = TypeVar("Shown")

PAGE_SIZE = 50
_MOST = 500
_OWN = frozenset({"q", "sort", "page", "size"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[Item]):
    """One page of a list, and where it stands in the whole."""

    items: tuple[Item, ...]
    total: int
    """How many there are that contain the text."""

    page: int
    pages: int
    size: int
    sort: str
    """The column, with `-` before it when it goes downwards."""

    q: str = ""
    url: str = field(default="", repr=False)

    def shown_as(self, line: Callable[[Item], Shown]) -> Listing[Shown]:
        """Return the same page with what is shown of each item."""
        kept = {item.name: getattr(self, item.name) for item in fields(self)}
        return Listing(**kept | {"items": tuple(line(item) for item in self.items)})

    def at_page(self, page: int) -> str:
        """Return the address of another page of this list."""
        return self._with(page=str(page))

    def sorted_by(self, column: str) -> str:
        """Return the address of this list sorted by `column`; again: the other way round."""
        return self._with(sort=f"-{column}" if self.sort == column else column, page="1")

    def direction(self, column: str) -> str:
        """Return the value of `aria-sort` for the head of `column`."""
        if self.sort.removeprefix("-") != column:
            return "none"
        return "descending" if self.sort.startswith("-") else "ascending"

    def everything(self) -> str:
        """Return the address of this list without a text to look for."""
        return self._with(q="", page="1")

    def others(self) -> dict[str, str]:
        """Return what else the query says: it stays when the list is searched or turned."""
        query = dict(parse_qsl(urlsplit(self.url).query))
        return {name: value for name, value in query.items() if name not in _OWN}

    def _with(self, **changes: str) -> str:
        own = {"q": self.q, "sort": self.sort, "size": str(self.size), **changes}
        parts = {**self.others(), **{name: value for name, value in own.items() if value}}
        return f"{urlsplit(self.url).path}?{urlencode(parts)}"


def listing(
    items: Iterable[Item],
    ask: Ask,
    *,
    text: Callable[[Item], str],
    columns: Mapping[str, Callable[[Item], Any]],
    sort: str,
) -> Listing[Item]:
    """Return the page of `items` that `ask` wants.

    Args:
        items: all of them.
        ask: whose query has `q`, `sort`, `page`, `size`.
        text: in which `q` is looked for, in any case.
        columns: by which it can be sorted; None sorts last, either way.
        sort: the column when the query names none that is known.
    """
    q = ask.query.get("q", "").strip()
    found = [item for item in items if q.lower() in text(item).lower()] if q else list(items)
    wanted = ask.query.get("sort", sort)
    wanted = wanted if wanted.removeprefix("-") in columns else sort
    key, downwards = columns[wanted.removeprefix("-")], wanted.startswith("-")
    known = [item for item in found if key(item) is not None]
    known.sort(key=key, reverse=downwards)
    ordered = known + [item for item in found if key(item) is None]
    size = ask.number("size", PAGE_SIZE, least=1, most=_MOST)
    pages = max(1, math.ceil(len(ordered) / size))
    page = ask.number("page", 1, least=1, most=pages)
    return Listing(
        items=tuple(ordered[(page - 1) * size : page * size]),
        total=len(ordered),
        page=page,
        pages=pages,
        size=size,
        sort=wanted,
        q=q,
        url=ask.url,
    )
