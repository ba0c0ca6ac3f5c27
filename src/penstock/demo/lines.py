"""Web-log lines as the demonstration's traffic has them: good ones, and ones broken on purpose.

A good line is in the Common Log Format and has ten fields between spaces:

    64.242.88.10 - - [08/Mar/2026:07:54:30 +0000] "GET /index.html HTTP/1.1" 200 12846

The maker knows whether the address it drew is blocked; it never reads its own line again, so that
its count is independent of every parser. Sending and counting are in `generator.py`.
"""

from __future__ import annotations

from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

BLOCKED_OCTETS = frozenset({*range(10, 17), 91, 92, 112, 126, 163, 194, 198, 212, 224})
"""First octets of addresses that count as fraud: 16 of 256, so 6.25 % of uniform addresses."""

_DOMAINS = (
    "lj1090.inktomisearch.com",
    "crawler.example.org",
    "proxy-3.example.com",
    # Names that begin like a blocked address are names all the same, never fraud.
    "10gbit.example.net",
    "12-34-56-78.dsl.example.net",
    "198.static.example.net",
)
_REQUESTS = (
    "GET /index.html HTTP/1.1",
    "GET /twiki/bin/edit/Main/Unknown_local_recipient_reject_code?topicparent=Main HTTP/1.1",
    "GET /twiki/bin/view/TWiki/WebTopicEditTemplate HTTP/1.1",
    "POST /orders HTTP/1.1",
    # Commas and brackets in a URL shift columns in readers that split or strip them.
    "GET /search?ids=[1,2,3]&sort=price,desc HTTP/1.1",
    "HEAD /images/logo.gif HTTP/1.0",
)
_STATUSES = (200, 200, 200, 301, 401, 404, 500)
_LARGEST_BODY_BYTES = 20_000
# Neither byte can start a character of UTF-8.
_NOT_UTF8 = b"\xff\xfe"
_GARBAGE_BYTES = 40
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Breakage(StrEnum):
    """What is wrong with a line that was broken on purpose."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    NO_STATUS = "no status"
    NOT_UTF8 = "not UTF-8"
    GARBAGE = "garbage"

    @property
    def is_text(self) -> bool:
        """Whether the bytes are UTF-8 nevertheless: a reader of text takes them, a parser does not.

        `GARBAGE` is not: it begins with bytes that no text has.
        """
        return self not in (Breakage.NOT_UTF8, Breakage.GARBAGE)


_BREAKAGES = tuple(Breakage)


class Line(NamedTuple):
    """A line to be sent, and what its maker knows about it.

    A tuple, because tens of thousands are made in a second.

    `host` is None for broken lines, whatever their bytes look like; `is_hit` is then False.
    """

    value: bytes
    moment: datetime
    host: str | None
    is_hit: bool
    breakage: Breakage | None = None


class LineMaker:
    """Makes lines; the same seed and shares give the same lines, apart from their times.

    Args:
        seed: of the dice.
        broken_share: which part of all lines is broken, from 0 to 1.
        domain_share: which part of the good lines has a domain name as host, from 0 to 1.
    """

    def __init__(self, *, seed: int, broken_share: float, domain_share: float) -> None:
        self._random = Random(seed)  # noqa: S311 - traffic, not secrets
        self._broken_share, self._domain_share = broken_share, domain_share
        self._stamped: datetime | None = None
        self._stamp = ""

    def line(self, moment: datetime) -> Line:
        """Return the next line, which happens at `moment` (aware, UTC)."""
        dice = self._random.random
        good = self._good(moment, dice)
        if dice() >= self._broken_share:
            return good
        breakage = self._random.choice(_BREAKAGES)
        value = self._broken(good.value, breakage)
        return Line(value, moment, host=None, is_hit=False, breakage=breakage)

    def _good(self, moment: datetime, dice: Callable[[], float]) -> Line:
        host, is_hit = self._host(dice)
        request = _REQUESTS[int(dice() * len(_REQUESTS))]
        status = _STATUSES[int(dice() * len(_STATUSES))]
        size = int(dice() * _LARGEST_BODY_BYTES)
        text = f'{host} - - [{self._stamp_of(moment)}] "{request}" {status} {size}'
        return Line(text.encode(), moment, host, is_hit)

    def _host(self, dice: Callable[[], float]) -> tuple[str, bool]:
        if dice() < self._domain_share:
            return _DOMAINS[int(dice() * len(_DOMAINS))], False
        address = self._random.getrandbits(32)
        first = address >> 24
        host = f"{first}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"
        return host, first in BLOCKED_OCTETS

    def _stamp_of(self, moment: datetime) -> str:
        """Return the time as the log writes it; lines of one second share it."""
        second = moment.replace(microsecond=0)
        if second != self._stamped:
            month = _MONTHS[second.month - 1]  # `%b` would follow the locale
            self._stamp = f"{second:%d}/{month}/{second:%Y:%H:%M:%S} +0000"
            self._stamped = second
        return self._stamp

    def _broken(self, value: bytes, breakage: Breakage) -> bytes:
        match breakage:
            case Breakage.EMPTY:
                return b""
            case Breakage.TRUNCATED:
                return value[: self._random.randint(1, value.rindex(b'"'))]
            case Breakage.NO_STATUS:
                return value[: value.rindex(b'"') + 1]
            case Breakage.NOT_UTF8:
                cut = value.index(b"/") + 1
                return value[:cut] + _NOT_UTF8 + value[cut:]
            case Breakage.GARBAGE:
                return _NOT_UTF8 + self._random.randbytes(_GARBAGE_BYTES)
