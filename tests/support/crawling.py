"""Finding an example of each address of the console by following links from its first page."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import httpx2
from starlette.routing import compile_path

from penstock.console.app import table

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_EXAMPLES = 3
"""Of each address: the first topic may have nothing that leads on, and the next one has."""

_BESIDE = ("/openapi.json",)
"""Addresses that no table declares."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """What was found."""

    examples: dict[str, list[str]] = field(default_factory=dict)
    """Where each page and each action is, by its declared path."""

    dead: dict[str, str] = field(default_factory=dict)
    """Links that lead to nothing that was declared, each with a page that has it."""


class _Links(HTMLParser):
    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") if tag == "a" else None
        if href and href.startswith("?"):
            href = self._place + href
        if href and href.startswith("/"):
            self.found.append(href.partition("#")[0])


def crawl(base: str, begin: Sequence[str] = ("/",)) -> Crawl:
    """Follow links from the first page; each page that is opened must be there."""
    known = table()
    endpoints = [item.path for item in known.endpoints]
    actions, pages = [item.path for item in known.actions], [item.path for item in known.pages]
    # In the order in which the console looks for an address.
    patterns = [(compile_path(path)[0], path) for path in (*actions, *endpoints, *pages, *_BESIDE)]
    found = Crawl()
    waiting, seen = deque((url, "") for url in begin), set(begin)
    with httpx2.Client(base_url=base, timeout=30) as client:
        while waiting:
            url, origin = waiting.popleft()
            place = unquote(urlsplit(url).path)
            path = next((path for pattern, path in patterns if pattern.match(place)), None)
            if path is None:
                found.dead[url] = origin
                continue
            if (
                path in (*endpoints, *_BESIDE)
                or len(found.examples.get(path, ())) >= _MOST_EXAMPLES
            ):
                continue
            found.examples.setdefault(path, []).append(url)
            answer = client.get(url, headers={"Accept": "text/html"})
            assert answer.status_code == 200, f"{url} on {origin}: {answer.status_code}"
            links = _Links(urlsplit(url).path)
            links.feed(answer.text)
            waiting.extend((link, url) for link in dict.fromkeys(links.found) if link not in seen)
            seen.update(links.found)
    return found
