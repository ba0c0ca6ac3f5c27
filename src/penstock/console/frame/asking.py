"""What a page or an action knows of a request."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from penstock.console.access.users import User
    from penstock.console.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request of somebody who may make it."""

    world: World
    user: User
    at: datetime
    url: str
    """Path and query, as in the address bar."""

    path: Mapping[str, str] = field(default_factory=dict)
    """The variables of the path, decoded."""

    query: Mapping[str, str] = field(default_factory=dict)
    origin: str = "http://127.0.0.1"
    """How the one who asks reaches the console, for commands that ask it."""

    @property
    def curl(self) -> str:
        """The command that asks for the JSON twin of what is asked here."""
        address = f"{self.origin}{self.url}"
        return shlex.join(["curl", "-H", "Accept: application/json", address])

    def number(self, name: str, default: int, *, least: int = 0, most: int) -> int:
        """Return a number of the query; the default when it is none, and never out of bounds."""
        try:
            return min(most, max(least, int(self.query.get(name, default))))
        except ValueError:
            return default
