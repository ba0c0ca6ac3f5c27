"""What a request carries, which may be more than anybody should have to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.console.errors import TooLargeError

if TYPE_CHECKING:
    from starlette.requests import Request


async def read_body(request: Request, *, most: int) -> bytes:
    """Return the body of a request.

    Raises:
        TooLargeError: it has more than `most` bytes; the rest has not been read.
    """
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise TooLargeError(most)
    return bytes(body)
