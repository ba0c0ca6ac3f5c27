"""What the script of every page does, in Chromium, over parts that the test sends."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.console.frame.rendering import STATIC
from support.browser import WIDE, Window
from support.consoles import served
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from playwright.sync_api import Browser
    from starlette.requests import Request

pytestmark = pytest.mark.timeout(120)

PAGE = """<!doctype html><html lang="en"><head><title>Page</title>
<style>pre { height: 60px; overflow: auto }</style><script src="/console.js" defer></script></head>
<body data-live-page><main><div data-live="log">%s</div>
<p data-live="count"></p></main>
<code id="same">penstock list</code><button data-copy="same">Copy</button>
<span id="live-state"></span></body></html>"""


def log(count: int) -> str:
    lines = "\n".join(f"line {number}" for number in range(count))
    return f'<pre class="log" tabindex="0" role="region" aria-label="Log">{lines}</pre>'


class Pages:
    """A page that is followed, and what is sent to whoever follows it."""

    def __init__(self) -> None:
        self.lines, self.followers = 30, 0
        self.app = Starlette(
            routes=[
                Route("/", self._page),
                Route("/live", self._live),
                Route("/console.js", self._script),
                Route("/favicon.ico", self._nothing),
            ]
        )

    async def _page(self, _request: Request) -> Response:
        return HTMLResponse(PAGE % log(self.lines))

    async def _script(self, _request: Request) -> Response:
        text = (STATIC / "console.js").read_text()
        return Response(text, media_type="text/javascript")

    async def _nothing(self, _request: Request) -> Response:
        return Response(status_code=204)

    async def _live(self, request: Request) -> Response:
        return StreamingResponse(self._events(request), media_type="text/event-stream")

    async def _events(self, request: Request) -> AsyncIterator[str]:
        self.followers += 1
        sent = 0
        try:
            while not await request.is_disconnected():
                if self.lines != sent:
                    sent = self.lines
                    parts = json.dumps({"log": log(sent), "count": f"{sent} lines"})
                    yield f"event: parts\ndata: {parts}\n\n"
                await asyncio.sleep(0.02)
        finally:
            self.followers -= 1


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def window(chromium: Browser, pages: Pages) -> Iterator[Window]:
    with (
        served(pages.app) as port,
        Window.opened(chromium, WIDE, f"http://127.0.0.1:{port}") as window,
    ):
        yield window
        with suppress(Exception):  # so that nothing is followed when the server ends
            window.page.goto("about:blank")
        assert window.faults == []


def hide(window: Window, *, hidden: bool) -> None:
    """Let the page believe that its tab is, or is not, the one that is seen."""
    window.page.evaluate(
        """(hidden) => {
          Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def await_line(window: Window, number: int) -> None:
    window.page.wait_for_function(
        "(line) => document.querySelector('pre').textContent.endsWith(line)", arg=f"line {number}"
    )


def from_end(window: Window) -> int:
    """Return how many pixels of the log are below what is seen of it."""
    left: int = window.page.evaluate(
        "() => { const log = document.querySelector('pre');"
        " return Math.round(log.scrollHeight - log.clientHeight - log.scrollTop); }"
    )
    return left


def test_a_log_is_shown_from_its_end_and_stays_there(window: Window, pages: Pages) -> None:
    window.open("/")
    assert from_end(window) == 0

    pages.lines = 60
    await_line(window, 59)
    assert from_end(window) == 0


def test_a_log_stands_still_while_somebody_reads_further_up(window: Window, pages: Pages) -> None:
    window.open("/")
    window.page.get_by_text("30 lines").wait_for()
    window.page.evaluate("document.querySelector('pre').scrollTop = 20")

    pages.lines = 60
    window.page.get_by_text("60 lines").wait_for()
    assert window.page.evaluate("document.querySelector('pre').scrollTop") == 20
    assert window.text("pre").endswith("line 29")

    window.page.evaluate("document.querySelector('pre').scrollTop = 10000")
    await_line(window, 59)
    assert from_end(window) == 0


def test_a_log_keeps_the_focus(window: Window, pages: Pages) -> None:
    window.open("/")
    window.page.focus("pre")
    pages.lines = 60
    await_line(window, 59)

    assert window.page.evaluate("document.activeElement.tagName") == "PRE"


def test_a_tab_that_nobody_sees_has_no_connection(window: Window, pages: Pages) -> None:
    """Seven tabs would be more than a browser has connections to one console."""
    window.open("/")
    eventually(lambda: pages.followers == 1, within_seconds=10)
    hide(window, hidden=True)
    eventually(lambda: pages.followers == 0, within_seconds=10)

    pages.lines = 60
    hide(window, hidden=False)
    await_line(window, 59)
    eventually(lambda: pages.followers == 1, within_seconds=10)


def test_a_command_is_copied_where_the_browser_has_no_clipboard(window: Window) -> None:
    """As on plain HTTP from another machine."""
    window.page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.addEventListener('copy', () => { window.copied = String(getSelection()); });"
    )
    window.open("/")
    window.stop_time()
    window.page.click("[data-copy]")
    window.page.get_by_text("Copied").wait_for()

    assert window.page.evaluate("window.copied") == "penstock list"
