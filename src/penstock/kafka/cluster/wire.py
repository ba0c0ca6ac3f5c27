"""Kafka's wire protocol, as much as is needed to ask what the client library cannot.

librdkafka offers no request for log directories, the controller quorum, finalized features and
cluster-wide broker configs. One such request is a frame on a plain socket, so this works for
clusters with `security_protocol = PLAINTEXT` alone; `docs/decisions/0003-log-dir-sizes.md` says
why. Everything here speaks the flexible versions of the protocol: compact lengths, tagged fields.

What the requests mean is in `log_directories.py`, `quorum.py` and `cluster_defaults.py`.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kafka.reachability import Address

Item = TypeVar("Item")

_CLIENT_ID = b"penstock"
_API_VERSIONS_KEY = 18
# A broker of ten thousand partitions answers with about 500 kB; far more is not Kafka talking.
_MAX_FRAME_BYTES = 100_000_000


class WireError(PenstockError):
    """A broker did not answer a plain request as Kafka does."""

    code = "PEN-412"
    retryable = True

    def __init__(self, address: Address, *, reason: str) -> None:
        super().__init__(
            f"broker at `{address}` did not answer a plain request: {reason}",
            hint="`penstock cluster describe` shows which brokers are there",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: which, in which version, and its encoded body."""

    api_key: int
    api_version: int
    body: bytes

    def framed(self) -> bytes:
        """Return header and body as they go over the socket, with their length before."""
        header = struct.pack(">hhih", self.api_key, self.api_version, 0, len(_CLIENT_ID))
        content = header + _CLIENT_ID + NO_TAGS + self.body
        return struct.pack(">i", len(content)) + content

    @property
    def header_has_tags(self) -> bool:
        """Whether the response header has tagged fields: all but one, readable by old clients."""
        return self.api_key != _API_VERSIONS_KEY


NO_TAGS = b"\x00"


def encoded_length(count: int) -> bytes:
    """Return a compact length: one more than `count`, as an unsigned varint. 0 means null."""
    value, encoded = count + 1, b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def encoded_text(text: str | None) -> bytes:
    """Return a compact nullable string."""
    if text is None:
        return b"\x00"
    data = text.encode()
    return encoded_length(len(data)) + data


def encoded_array(items: Sequence[bytes]) -> bytes:
    """Return a compact array of structures, each with its empty tagged fields."""
    return encoded_length(len(items)) + b"".join(item + NO_TAGS for item in items)


class Reader:
    """Takes values from the front of a response, in the order of the protocol's definition."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int8(self) -> int:
        """Take one signed byte."""
        return self._number(">b", 1)

    def int16(self) -> int:
        """Take a 16-bit number."""
        return self._number(">h", 2)

    def int32(self) -> int:
        """Take a 32-bit number."""
        return self._number(">i", 4)

    def int64(self) -> int:
        """Take a 64-bit number."""
        return self._number(">q", 8)

    def unsigned(self) -> int:
        """Take an unsigned varint."""
        value = shift = 0
        while True:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> str | None:
        """Take a compact nullable string."""
        length = self.unsigned() - 1
        return None if length < 0 else self.raw(length).decode()

    def name(self) -> str:
        """Take a compact string that is never null."""
        return self.text() or ""

    def array(self, item: Callable[[Reader], Item]) -> tuple[Item, ...]:
        """Take a compact array; `item` takes one structure without its tagged fields."""
        items = []
        for _ in range(self.unsigned() - 1):
            items.append(item(self))
            self.tags()
        return tuple(items)

    def tags(self) -> dict[int, Reader]:
        """Take tagged fields, by tag."""
        found = {}
        for _ in range(self.unsigned()):
            tag = self.unsigned()
            found[tag] = Reader(self.raw(self.unsigned()))
        return found

    def raw(self, count: int) -> bytes:
        """Take `count` bytes."""
        piece = self._data[self._at : self._at + count]
        if len(piece) < count:
            raise EOFError
        self._at += count
        return piece

    def _number(self, layout: str, count: int) -> int:
        value: int = struct.unpack(layout, self.raw(count))[0]
        return value


def ask(
    address: Address,
    request: Request,
    decode: Callable[[Reader], Item],
    *,
    timeout_seconds: float,
) -> Item:
    """Send `request` on a connection of its own and return the decoded response.

    Raises:
        WireError: no connection, no answer, or one that `decode` cannot follow, such as that of a
            broker too old for the version asked.
    """
    try:
        with socket.create_connection((address.host, address.port), timeout_seconds) as connection:
            connection.sendall(request.framed())
            reader = Reader(_frame(connection))
        reader.int32()  # the correlation id: one connection carries one request
        if request.header_has_tags:
            reader.tags()
        return decode(reader)
    except OSError as err:
        raise WireError(address, reason=str(err)) from err
    except (EOFError, UnicodeDecodeError) as err:
        raise WireError(address, reason="the answer ends early") from err


def _frame(connection: socket.socket) -> bytes:
    (length,) = struct.unpack(">i", _received(connection, 4))
    if not 4 <= length <= _MAX_FRAME_BYTES:
        raise EOFError
    return _received(connection, length)


def _received(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
