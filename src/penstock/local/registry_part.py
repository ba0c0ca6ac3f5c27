"""The schema registry of a platform: its place, and how its process is started.

Nothing here restarts or waits for readiness; that is `supervisor.py` and `registry_start.py`. The
supervisor imports this module, so it imports neither Kafka's client nor a web server.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.local.ports import HOST
from penstock.local.processes import MARKER

if TYPE_CHECKING:
    from penstock.local.broker import Folders

REGISTRY = "registry"
"""Under which name status and logs know it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryShape:
    """Where the registry listens; kept, so that its address stays the same."""

    port: int

    @property
    def name(self) -> str:
        """Under which name status and logs know it."""
        return REGISTRY

    @property
    def ports(self) -> tuple[int, ...]:
        """Every port that it listens on."""
        return (self.port,)

    @property
    def url(self) -> str:
        """What goes into `schema.registry.url` of clients."""
        return f"http://{HOST}:{self.port}"


def spawn_registry(shape: RegistryShape, folders: Folders) -> subprocess.Popen[bytes]:
    """Start the process, in a session of its own so that Ctrl-C does not reach it."""
    folders.home(shape).mkdir(parents=True, exist_ok=True)
    folders.logs.mkdir(parents=True, exist_ok=True)
    with folders.output(shape).open("wb") as output:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "penstock.local.registry_process",
                f"{MARKER}{folders.root}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folders.home(shape),
            start_new_session=True,
        )
