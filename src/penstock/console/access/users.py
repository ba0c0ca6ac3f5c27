"""The file of users: lines from `penstock console user` and `penstock console token`.

    NAME:ROLE:scrypt:N:R:P:SALT:HASH      somebody who logs in
    NAME:ROLE:token:SHA256                a program, which sends the token with each request

Empty lines and those that begin with `#` do not count. The file is read when the console starts.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.console.access.roles import Role
from penstock.console.errors import ConsoleUsersError
from penstock.passwords import SHAPE, HashedPassword

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOKEN_PREFIX = "penstock_"  # noqa: S105 - by which a token that leaked can be found
_SHAPES = f"`NAME:ROLE:{SHAPE}` or `NAME:ROLE:token:SHA256`"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody who may use the console."""

    name: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Who may use a console, and how each proves to be who he says."""

    passwords: Mapping[str, tuple[User, HashedPassword]] = field(default_factory=dict)
    tokens: Mapping[str, User] = field(default_factory=dict)
    """By the hash of the token."""

    def of_password(self, name: str, password: str) -> User | None:
        """Return the user; None when name and password do not belong together."""
        # A name that is not there takes as long to refuse as one that is.
        user, hashed = self.passwords.get(name) or next(iter(self.passwords.values()), (None, None))
        right = hashed is not None and hashed.matches(password)
        return user if right and name in self.passwords else None

    def of_token(self, token: str) -> User | None:
        """Return whose token it is; None when it is nobody's."""
        return self.tokens.get(_hashed(token))


def user_line(name: str, role: Role, password: str) -> str:
    """Return the line of the file for somebody who logs in."""
    return f"{name}:{role.word}:{HashedPassword.of(password)}"


def token_line(name: str, role: Role) -> tuple[str, str]:
    """Return a new token, which is shown once, and the line of the file for it."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    return token, f"{name}:{role.word}:token:{_hashed(token)}"


def load_users(path: Path) -> Users:
    """Return the users of a file.

    Raises:
        ConsoleUsersError: a line is none of the two kinds, or there is no line.
    """
    passwords: dict[str, tuple[User, HashedPassword]] = {}
    tokens: dict[str, User] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            user, proof = _parsed(line.strip())
        except ValueError as err:
            raise ConsoleUsersError(path, line=number, reason=str(err)) from err
        if isinstance(proof, HashedPassword):
            passwords[user.name] = user, proof
        else:
            tokens[proof] = user
    if not passwords and not tokens:
        raise ConsoleUsersError(path, line=None, reason="it names no user")
    return Users(passwords=passwords, tokens=tokens)


def _parsed(line: str) -> tuple[User, HashedPassword | str]:
    name, _, rest = line.partition(":")
    role, _, proof = rest.partition(":")
    if not name or not proof:
        reason = f"it is neither {_SHAPES}"
        raise ValueError(reason)
    user = User(name=name, role=Role.parse(role))
    if proof.startswith("token:"):
        return user, proof.removeprefix("token:").lower()
    return user, HashedPassword.parse(proof)


def _hashed(token: str) -> str:
    # A token is 256 random bits: nobody guesses it, so a quick hash is enough.
    return hashlib.sha256(token.encode()).hexdigest()
