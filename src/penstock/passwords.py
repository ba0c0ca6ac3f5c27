"""Passwords that can be checked and not read, and the text that keeps them in files."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

# About 50 ms and 16 MB for each guess: what RFC 7914 recommends for logging in.
_COST, _BLOCK_SIZE, _PARALLEL = 2**14, 8, 1
_MAX_MEMORY = 64 * 1024 * 1024
SHAPE = "scrypt:N:R:P:SALT:HASH"
_FIELDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedPassword:
    """A password that can be checked and not read."""

    cost: int
    block_size: int
    parallel: int
    salt: bytes
    digest: bytes

    @classmethod
    def of(cls, password: str) -> "HashedPassword":
        """Return `password` with a salt of its own."""
        salt = secrets.token_bytes(16)
        numbers = _COST, _BLOCK_SIZE, _PARALLEL
        return cls(
            cost=_COST,
            block_size=_BLOCK_SIZE,
            parallel=_PARALLEL,
            salt=salt,
            digest=_hashed(password, salt, *numbers),
        )

    @classmethod
    def parse(cls, text: str) -> "HashedPassword":
        """Return what `str` of a hashed password has made.

        Raises:
            ValueError: it has not, or scrypt refuses the numbers.
        """
        fields = text.split(":")
        if len(fields) != _FIELDS or fields[0] != "scrypt":
            reason = f"it is not `{SHAPE}`"
            raise ValueError(reason)
        cost, block_size, parallel = (int(item) for item in fields[1:4])
        salt, digest = (bytes.fromhex(item) for item in fields[4:])
        password = cls(
            cost=cost, block_size=block_size, parallel=parallel, salt=salt, digest=digest
        )
        password.matches("")  # numbers that scrypt refuses are found before anybody logs in
        return password

    def __str__(self) -> str:
        """Return the text that `parse` understands."""
        numbers = f"{self.cost}:{self.block_size}:{self.parallel}"
        return f"scrypt:{numbers}:{self.salt.hex()}:{self.digest.hex()}"

    def matches(self, password: str) -> bool:
        """Return whether `password` is it."""
        made = _hashed(password, self.salt, self.cost, self.block_size, self.parallel)
        return hmac.compare_digest(made, self.digest)


def _hashed(password: str, salt: bytes, cost: int, block_size: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=cost, r=block_size, p=parallel, maxmem=_MAX_MEMORY
    )
