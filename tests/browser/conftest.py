"""The browser that tests of the console look through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.browser import running_chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser of its own for each module: while it runs, nothing else may run asyncio."""
    with running_chromium() as browser:
        yield browser
