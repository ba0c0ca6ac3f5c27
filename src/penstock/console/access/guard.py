"""The guard at the door: who asks, with which role, and whether he means it.

Without a file of users everybody is an admin: then the console serves this machine only, and
answers only to names of this machine, so that no page of a stranger reaches it through a browser.
"""

from __future__ import annotations

import base64
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.console.access.roles import Role
from penstock.console.access.sessions import LONGEST_SECONDS, Attempts, Intents, Sessions
from penstock.console.access.users import TOKEN_PREFIX, User

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.console.access.users import Users

COOKIE = "penstock_session"
PROOF = "_proof"
"""The field of forms that proves whose form it is."""

_LOCAL = User(name="local", role=Role.ADMIN)
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who sends a request."""

    user: User | None
    """None: somebody who has not logged in."""

    address: str
    cookie: str
    """Of this browser; empty for programs."""

    by_token: bool = False

    @property
    def role(self) -> Role | None:
        """What the visitor may do; None: log in."""
        return self.user.role if self.user else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What became of an attempt to log in."""

    user: User | None = None
    """None: name and password do not belong together, or were not looked at."""

    cookie: str = ""
    """Of the new session."""

    wait_seconds: float = 0.0
    """How long to wait before the next attempt, when there were too many."""


class Guard:
    """Knows who sends a request."""

    def __init__(
        self,
        users: Users | None,
        *,
        secure: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Guard a console.

        Args:
            users: who may use it; None: whoever is on this machine.
            secure: whether browsers reach it with HTTPS, so that cookies go no other way.
            clock: seconds, by which sessions end.
        """
        self.users, self.secure = users, secure
        self._sessions, self._attempts = Sessions(clock), Attempts(clock)
        self._intents = Intents()

    def knows_host(self, request: Request) -> bool:
        """Return whether the request was sent to a name that this console answers to."""
        try:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname
        except ValueError:  # no name of anything
            return False
        return self.users is not None or host in _LOCAL_NAMES

    def visitor(self, request: Request) -> Visitor:
        """Return who sends a request; that alone uses no session."""
        address = request.client.host if request.client else ""
        cookie = request.cookies.get(COOKIE, "")
        token = _token_of(request.headers.get("authorization", ""))
        if token is not None and self.users is not None:
            user = self.users.of_token(token)
            return Visitor(user=user, address=address, cookie="", by_token=True)
        if not self.knows_host(request):
            return Visitor(user=None, address=address, cookie=cookie)
        user = _LOCAL if self.users is None else self._sessions.user_of(cookie)
        return Visitor(user=user, address=address, cookie=cookie)

    def note_use(self, visitor: Visitor) -> None:
        """Remember that somebody uses his session: it ends when nobody does for long."""
        self._sessions.note_use(visitor.cookie)

    def proof_of(self, cookie: str) -> str:
        """Return what forms shown to the browser with this cookie carry."""
        return self._intents.proof(cookie)

    def is_meant(self, request: Request, visitor: Visitor, proof: str | None) -> bool:
        """Return whether a request that changes something comes from a page of ours or a program.

        Browsers let strange sites send forms, but neither JSON nor an `Authorization` header.
        """
        origin = request.headers.get("origin")
        if origin not in (None, "null"):
            _, _, sender = (origin or "").partition("://")
            if sender != request.headers.get("host"):
                return False
        if visitor.by_token:
            return True
        is_json = request.headers.get("content-type", "").startswith("application/json")
        if is_json and self.users is None:
            return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        return proof is not None and self._intents.is_proved(visitor.cookie, proof)

    def log_in(self, visitor: Visitor, name: str, password: str) -> Login:
        """Open a session for whom name and password belong together.

        Takes as long as hashing a password does: call it in a thread.
        """
        triers = (f"address {visitor.address}", f"name {name}")
        if wait := self._attempts.begin(*triers):
            return Login(wait_seconds=wait)
        user = self.users.of_password(name, password) if self.users else None
        if user is None:
            return Login()
        self._attempts.forgive(*triers)
        return Login(user=user, cookie=self._sessions.open(user))

    def log_out(self, visitor: Visitor) -> None:
        """End the session of `visitor`."""
        self._sessions.close(visitor.cookie)

    def new_cookie(self) -> str:
        """Return a cookie for a browser that has none: forms need one, logged in or not."""
        return secrets.token_urlsafe(32)

    def set_cookie(self, response: Response, value: str) -> None:
        """Give the browser its cookie, out of reach for scripts and for forms of other sites.

        Links from elsewhere carry it, so that an address can be shared; they change nothing.
        """
        cookie: SimpleCookie = SimpleCookie()
        cookie[COOKIE] = value
        morsel = cookie[COOKIE]
        morsel["path"], morsel["httponly"], morsel["samesite"] = "/", True, "Lax"
        # Whether a session is over is known here; the browser forgets when it must be.
        morsel["max-age"] = str(round(LONGEST_SECONDS))
        if self.secure:
            morsel["secure"] = True
        response.headers.append("set-cookie", morsel.OutputString())


def _token_of(authorization: str) -> str | None:
    """Return the token that a program sends: alone, or as the password beside whatever name.

    Another password is for a proxy on the way, which lets browsers through to our own login.
    """
    scheme, _, sent = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return sent.strip()
    if scheme.lower() == "basic":
        with suppress(ValueError):
            _, _, password = base64.b64decode(sent).decode().partition(":")
            return password if password.startswith(TOKEN_PREFIX) else None
    return None
