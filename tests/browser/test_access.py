"""What those see in Chromium who have not logged in, and what everybody sees where nothing is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from penstock.console.access import Role, load_users, user_line
from support.browser import NARROW, NARROW_LIGHT, WIDE, WIDE_DARK, Screen, Window
from support.consoles import running_console, served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from penstock.local.cluster import KafkaCluster

pytestmark = pytest.mark.timeout(240)

NAME, PASSWORD = "alice", "open sesame"
NOWHERE = "/nowhere"
on_each_screen = pytest.mark.parametrize(
    "screen", [WIDE, NARROW, WIDE_DARK, NARROW_LIGHT], ids=lambda screen: screen.name
)


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A console with one user."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "users").write_text(f"{user_line(NAME, Role.OPERATOR, PASSWORD)}\n")
    users = load_users(folder / "users")
    with (
        running_console(kafka.connection, folder, users=users) as client,
        served(client.app) as port,
    ):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def opened(chromium: Browser, screen: Screen, console: str, url: str) -> Iterator[Window]:
    with Window.opened(chromium, screen, console) as window:
        window.open(url)
        yield window


def look_of(window: Window) -> tuple[int, list[str]]:
    return window.overflow(), window.violations()


def log_in(window: Window, password: str) -> None:
    window.page.fill("#name", NAME)
    window.page.fill("#password", password)
    window.press("Enter")


def answers(window: Window) -> set[str]:
    """Return the ends of what the window found at fault; Chromium tells of each answer twice."""
    told = {fault for fault in window.faults if not fault.startswith("console: Failed to load")}
    return {fault.removeprefix(f"response: {window.base}") for fault in told}


@on_each_screen
def test_the_page_to_log_in_fits_reads_well_and_works(
    chromium: Browser, console: str, screen: Screen
) -> None:
    with opened(chromium, screen, console, "/topics") as window:
        window.keep("login")

        assert window.page.url == f"{console}/login?next=%2Ftopics"
        assert (look_of(window), window.faults) == ((0, []), [])


def test_a_wrong_password_is_refused_and_the_page_says_so(chromium: Browser, console: str) -> None:
    with opened(chromium, NARROW, console, "/login") as window:
        log_in(window, "open barley")
        window.page.get_by_role("alert").wait_for()

        assert "do not belong together" in window.text("main")
        assert (look_of(window), answers(window)) == ((0, []), {"/login: 401"})


def test_keys_lead_through_the_log_in_to_the_page_that_was_wanted_and_out_again(
    chromium: Browser, console: str
) -> None:
    with opened(chromium, WIDE, console, "/topics?q=orders") as window:
        window.page.wait_for_function("() => document.activeElement.id === 'name'")
        window.page.keyboard.type(NAME)
        window.press("Tab")
        window.page.keyboard.type(PASSWORD)
        window.press("Enter")
        window.page.wait_for_url("**/topics?q=orders")
        assert f"{NAME}, operator" in window.text("header")
        assert look_of(window) == (0, [])

        window.page.click("text=Log out")
        window.page.wait_for_url("**/login")
        window.open("/topics")
        assert "/login?next=" in window.page.url
        assert window.faults == []


@on_each_screen
def test_a_page_that_is_not_there_fits_reads_well_and_leads_on(
    chromium: Browser, console: str, screen: Screen
) -> None:
    with opened(chromium, screen, console, "/login") as window:
        log_in(window, PASSWORD)
        window.page.wait_for_url(f"{console}/")
        window.open(NOWHERE)
        window.keep("fault")

        assert "PEN-" in window.text("main")
        assert (look_of(window), answers(window)) == ((0, []), {f"{NOWHERE}: 404"})
        window.page.click("nav >> text=Home")
        window.page.wait_for_url(f"{console}/")
