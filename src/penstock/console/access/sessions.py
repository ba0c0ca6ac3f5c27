"""Sessions of people who have logged in, and how often somebody may try to."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.console.access.users import User

IDLE_SECONDS = 8 * 3600.0
"""A session ends when nobody used it for a working day."""

LONGEST_SECONDS = 24 * 3600.0
"""A session ends a day after it began, however much it is used."""

_MOST_SESSIONS = 10_000
_TRIES, _TRY_SECONDS = 5, 60.0
_MOST_TRIERS = 10_000


@dataclass(slots=True, kw_only=True)
class _Session:
    user: User
    opened_at: float
    used_at: float


class Sessions:
    """Who has logged in; threads may share it.

    Sessions are in memory: a console that starts again asks again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def open(self, user: User) -> str:
        """Return the secret of a new session of `user`."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            while len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.popitem(last=False)
            self._sessions[secret] = _Session(user=user, opened_at=now, used_at=now)
        return secret

    def user_of(self, secret: str) -> User | None:
        """Return whose session it is; None when it is over. To ask is not to use it."""
        now = self._clock()
        with self._lock:
            session = self._sessions.get(secret)
            if session is None:
                return None
            if now - session.used_at > IDLE_SECONDS or now - session.opened_at > LONGEST_SECONDS:
                del self._sessions[secret]
                return None
            return session.user

    def note_use(self, secret: str) -> None:
        """Remember that somebody has used a session that is not over."""
        with self._lock:
            if session := self._sessions.get(secret):
                session.used_at = self._clock()
                self._sessions.move_to_end(secret)

    def close(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(secret, None)


class Attempts:
    """Lets whoever tries do so a few times per minute; threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._made: OrderedDict[str, list[float]] = OrderedDict()

    def begin(self, *triers: str) -> float:
        """Count an attempt of these; or return how long they have to wait before the next.

        It counts before its outcome is known: many at once are no more than one after the other.
        """
        now = self._clock()
        with self._lock:
            waits = [0.0]
            for trier in triers:
                recent = [at for at in self._made.get(trier, ()) if now - at < _TRY_SECONDS]
                if len(recent) >= _TRIES:
                    waits.append(_TRY_SECONDS - (now - recent[-_TRIES]))
            if wait := max(waits):
                return wait
            for trier in triers:
                made = self._made.setdefault(trier, [])
                made.append(now)
                del made[:-_TRIES]
                self._made.move_to_end(trier)
            while len(self._made) > _MOST_TRIERS:
                self._made.popitem(last=False)
        return 0.0

    def forgive(self, *triers: str) -> None:
        """Count the last attempt of these no more: it has succeeded."""
        with self._lock:
            for trier in triers:
                if made := self._made.get(trier):
                    made.pop()


class Intents:
    """Tells forms of ours from those that another site makes a browser send.

    The proof is in each form and belongs to a cookie that only the same browser has.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def proof(self, cookie: str) -> str:
        """Return what forms shown to the holder of `cookie` carry."""
        return hmac.new(self._key, cookie.encode(), hashlib.sha256).hexdigest()

    def is_proved(self, cookie: str, proof: str) -> bool:
        """Return whether a form was made for the holder of `cookie`."""
        # As bytes, which may be any: `compare_digest` raises for texts that are not ASCII.
        sent = proof.encode(errors="replace")
        return bool(cookie) and hmac.compare_digest(self.proof(cookie).encode(), sent)
