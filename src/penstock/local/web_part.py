"""The web servers of a platform, registry and console: their place, and how each is started.

Nothing here restarts or waits for readiness; that is `supervisor.py` and `web_start.py`. The
supervisor imports this module, so it imports neither Kafka's client nor a web server.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from penstock.local.ports import HOST
from penstock.local.processes import MARKER

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.local.broker import Folders

REGISTRY = "registry"
CONSOLE = "console"

MODULES = {
    REGISTRY: "penstock.local.registry_process",
    # By name: the console's package knows this one, not the other way round.
    CONSOLE: "penstock.console.process",
}
"""What runs each of them: `python -m MODULE -Dpenstock.platform=FOLDER`."""

_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPart:
    """A web server of the platform, and where it listens; kept, so that it stays there."""

    name: str
    """Under which status and logs know it."""

    port: int
    host: str = HOST
    secure: bool = False

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that it listens on."""
        return (self.port,)

    @property
    def url(self) -> str:
        """Where a client on this machine finds it."""
        scheme = "https" if self.secure else "http"
        host = HOST if self.host in _EVERY_ADDRESS else self.host
        return (
            f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"
        )


def spawn_web_part(part: WebPart, folders: Folders) -> subprocess.Popen[bytes]:
    """Start the process, in a session of its own so that Ctrl-C does not reach it."""
    folders.home(part).mkdir(parents=True, exist_ok=True)
    folders.logs.mkdir(parents=True, exist_ok=True)
    with folders.output(part).open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", MODULES[part.name], f"{MARKER}{folders.root}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folders.home(part),
            start_new_session=True,
        )


def log_to(path: Path) -> None:
    """Send the log of this process, one of those above, to a file that is rotated."""
    handler = RotatingFileHandler(path, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    layout = "[%(asctime)s] %(levelname)s %(message)s %(reason)s (%(name)s)"
    handler.setFormatter(logging.Formatter(layout, defaults={"reason": ""}))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
