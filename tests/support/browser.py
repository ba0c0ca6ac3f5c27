"""Chromium, and what must be true of every page it shows."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import axe_playwright_python
import pytest
from playwright.sync_api import Error as PageError
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
INSTALL_COMMAND = "apt-get install --no-install-recommends chromium"

_AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
_VIOLATIONS = """
() => axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map(
  (rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`))
"""
_SECONDS = 45
"""Long enough for a machine that is busy; what has to be quick says so where it is waited for."""

_GONE = "net::ERR_ABORTED"
"""How requests end that a page leaves behind: such as the one for what happens live."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A window of a size, on a system that is dark or light."""

    name: str
    width: int
    height: int
    scheme: Literal["dark", "light"]


WIDE = Screen("wide", 1280, 900, "light")
NARROW = Screen("narrow", 390, 844, "dark")
WIDE_DARK = Screen("wide-dark", 1280, 900, "dark")
NARROW_LIGHT = Screen("narrow-light", 390, 844, "light")


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Run a browser; fail with the command that installs it if there is none."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail(f"Chromium is not installed; as root: {INSTALL_COMMAND}", pytrace=False)
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Window:
    """A page in the browser, and all that went wrong in it."""

    page: Page
    screen: Screen
    base: str
    faults: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def opened(cls, browser: Browser, screen: Screen, base: str) -> Iterator[Window]:
        """Open a window of its own: nothing is kept from others."""
        context = browser.new_context(
            viewport={"width": screen.width, "height": screen.height}, color_scheme=screen.scheme
        )
        context.set_default_timeout(_SECONDS * 1000)
        window = cls(context.new_page(), screen, base)
        window.page.on("console", window._on_console)
        window.page.on("pageerror", lambda error: window.faults.append(f"script: {error}"))
        window.page.on("requestfailed", window._on_failed)
        window.page.on("response", window._on_response)
        window.page.on("dialog", lambda dialog: window.faults.append(f"dialog: {dialog.message}"))
        try:
            yield window
        finally:
            context.close()

    def open(self, url: str) -> None:
        """Go to an address of the console; return when it is there."""
        self.page.goto(self.base + url)

    def enter(self, **fields: str) -> None:
        """Fill in the inputs of an action and go on to its question."""
        for field_id, text in fields.items():
            place = self.page.locator(f"#{field_id}")
            if place.evaluate("(input) => input.tagName") == "SELECT":
                place.select_option(text)
            else:
                place.fill(text)
        self.page.click("main form.fields button.primary")
        self.page.wait_for_load_state()

    def confirm(self, button: str) -> str:
        """Say yes to a question; return what the page that follows says was done."""
        self.page.click(f"main button:text-is('{button}')")
        self.page.wait_for_load_state()
        return self.text(".notice.done")

    def text(self, selector: str) -> str:
        """Return what an element shows."""
        return self.page.locator(selector).first.inner_text()

    def press(self, *keys: str) -> None:
        """Press one key after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, selector: str, *, most: int = 60) -> None:
        """Press Tab until an element that matches has the focus."""
        for _ in range(most):
            self.press("Tab")
            if self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
                return
        pytest.fail(f"{most} times Tab do not lead to `{selector}`")

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        wider: int = self.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider

    def stop_time(self) -> None:
        """Let the page do nothing later: some words it shows for a moment only."""
        self.page.evaluate("() => { window.setTimeout = () => 0; }")

    def violations(self) -> list[str]:
        """Return what axe-core has to say about the accessibility of the page."""
        self.page.evaluate(_AXE)
        found: list[str] = self.page.evaluate(_VIOLATIONS)
        return found

    def harm(self) -> Any:  # noqa: ANN401 - whatever a script has left
        """Return what a hostile script has left, if one has run."""
        return self.page.evaluate("() => window.harm ?? null")

    def keep(self, name: str) -> None:
        """Keep a picture of the whole page, for people to look at.

        Of a very long one a busy Chromium now and then cannot make any: then of its beginning.
        """
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}-{self.screen.name}.png"
        try:
            self.page.screenshot(path=path, full_page=True)
        except PageError:
            self.page.screenshot(path=path)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def _on_failed(self, request: Request) -> None:
        if request.failure != _GONE:
            self.faults.append(f"request: {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.faults.append(f"response: {response.url}: {response.status}")
