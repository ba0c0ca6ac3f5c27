"""Take the pictures of the README from a console that runs, such as that of `penstock demo --keep`.

`.venv/bin/python tools/screenshots.py http://127.0.0.1:PORT PIPELINE` writes them to `docs/images`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1280, 800


def main(console: str, pipeline: str) -> None:
    """Take the first page, and the page of a pipeline with its graph."""
    IMAGES.mkdir(exist_ok=True)
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments
        )
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for name, url in (("home", "/"), ("pipeline", f"/pipelines/{pipeline}")):
            page.goto(console + url)
            page.locator("#live-state", has_text="live").wait_for()
            page.screenshot(path=IMAGES / f"{name}.png")
        chromium.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
