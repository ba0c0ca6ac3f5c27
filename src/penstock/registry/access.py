"""Who may use the registry: HTTP basic authentication against a file of users.

Each line of the file is `NAME:scrypt:N:R:P:SALT:HASH`, as `penstock registry user` writes it; empty
lines and those that begin with `#` do not count. The file is read once.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from typing import TYPE_CHECKING

from penstock.passwords import SHAPE, HashedPassword
from penstock.registry.api import error_answer
from penstock.registry.errors import RegistryError
from penstock.registry.serving_errors import UsersFileError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

_REMEMBERED = 1000


def user_line(name: str, password: str) -> str:
    """Return the line of the file for a user."""
    return f"{name}:{HashedPassword.of(password)}"


def load_users(path: Path) -> dict[str, HashedPassword]:
    """Return the users of a file by name.

    Raises:
        UsersFileError: a line is not one that `penstock registry user` writes.
    """
    users = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            name, password = _user(line, path, number)
            users[name] = password
    if not users:
        raise UsersFileError(path, line=None, reason="it names no user")
    return users


def _user(line: str, path: Path, number: int) -> tuple[str, HashedPassword]:
    name, _, hashed = line.strip().partition(":")
    if not name:
        raise UsersFileError(path, line=number, reason=f"it is not `NAME:{SHAPE}`")
    try:
        return name, HashedPassword.parse(hashed)
    except ValueError as err:
        raise UsersFileError(path, line=number, reason=str(err)) from err


class BasicAuth:
    """An application that answers what `app` answers, to those who may ask."""

    def __init__(self, app: ASGIApp, users: dict[str, HashedPassword]) -> None:
        self._app, self._users = app, users
        self._unknown = next(iter(users.values()))
        self._accepted: dict[bytes, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or await self._is_accepted(dict(scope["headers"])):
            await self._app(scope, receive, send)
            return
        refusal = error_answer(RegistryError(401, 401, "Unauthorized"))
        refusal.headers["WWW-Authenticate"] = 'Basic realm="schema registry"'
        await refusal(scope, receive, send)

    async def _is_accepted(self, headers: dict[bytes, bytes]) -> bool:
        header = headers.get(b"authorization", b"")
        # Hashing each time would slow every request down; a header that was right stays right.
        mark = hashlib.sha256(header).digest()
        if mark in self._accepted:
            return True
        credentials = _credentials(header)
        if credentials is None or not await asyncio.to_thread(self._matches, *credentials):
            return False
        if len(self._accepted) >= _REMEMBERED:
            self._accepted.clear()
        self._accepted[mark] = None
        return True

    def _matches(self, name: str, password: str) -> bool:
        # A name that is not there takes as long to refuse as one that is.
        right = self._users.get(name, self._unknown).matches(password)
        return right and name in self._users


def _credentials(header: bytes) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip()).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (name, password) if colon else None
