"""What somebody asks of the record browser, as it stands in the address, which can be shared."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlencode

from penstock.console.frame.pages import Parameter
from penstock.console.records.errors import InvalidQuestionError
from penstock.console.records.wanted import Wanted
from penstock.kafka import Isolation, parse_condition
from penstock.kafka.browsing import (
    AtOffset,
    Continued,
    Direction,
    Newest,
    Oldest,
    Place,
    Since,
)
from penstock.names import Offset
from penstock.pipeline import parse_moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

STARTS = ("newest", "oldest", "time", "offset")
SIZE = 50
MOST = 500

UNCOMMITTED = Parameter(
    name="uncommitted", meaning="1: also records of open and aborted transactions"
)
PARAMETERS = (
    Parameter(name="start", meaning="where to begin: newest, oldest, time or offset"),
    Parameter(name="time", meaning="with start=time: ISO-8601, epoch milliseconds or `6h`"),
    Parameter(name="offset", meaning="with start=offset", kind=int),
    Parameter(name="partition", meaning="numbers with commas between them; default: all"),
    Parameter(name="key", meaning="only records of this key"),
    Parameter(name="everywhere", meaning="1: the key is looked for in all partitions"),
    Parameter(name="text", meaning="only records whose value contains this text"),
    Parameter(name="where", meaning="only records whose value fulfills this: `$.amount > 100`"),
    Parameter(name="header", meaning="only records with this header: `name` or `name=value`"),
    UNCOMMITTED,
    Parameter(name="size", meaning="how many records, at most 500", kind=int),
    Parameter(name="at", meaning="positions to go on from, as in the links to other pages"),
    Parameter(name="go", meaning="with `at`: older or newer"),
)
"""What the query of an address may say, as `Asked` takes it."""

_POSITIONS = re.compile(r"\d{1,10}\.\d{1,19}(?:_\d{1,10}\.\d{1,19})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The form of the record browser: everything as it was entered."""

    start: str = "newest"
    """Where to begin: `newest`, `oldest`, `time` or `offset`."""

    time: str = ""
    offset: str = ""
    partition: str = ""
    """Numbers with commas between them; empty: all."""

    key: str = ""
    everywhere: str = ""
    """`1`: the key is looked for in all partitions."""

    text: str = ""
    where: str = ""
    header: str = ""
    """`name`, or `name=value`."""

    uncommitted: str = ""
    """`1`: records of open and aborted transactions are shown as well."""

    size: str = ""
    at: str = ""
    """The positions to go on from, such as `0.120_1.88`; wins over `start`."""

    go: str = ""
    """In which direction: `older` or `newer`."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Return what the query of an address asks; what it does not know is left out."""
        known = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in query.items() if name in known})

    @property
    def place(self) -> Place:
        """Where to begin.

        Raises:
            InvalidQuestionError: something was entered that cannot be understood.
        """
        if self.at:
            return Continued(self._positions(), self._direction())
        match self.start:
            case "newest":
                return Newest()
            case "oldest":
                return Oldest()
            case "time":
                return Since(self._moment())
            case "offset":
                return AtOffset(Offset(self._number("offset", self.offset)))
        raise InvalidQuestionError(self.start, name="start", wanted=f"one of {', '.join(STARTS)}")

    @property
    def partitions(self) -> tuple[int, ...]:
        """The partitions that were asked for; none: all."""
        parts = self.partition.split(",") if self.partition.strip() else []
        return tuple(sorted({self._number("partition", part.strip()) for part in parts}))

    @property
    def isolation(self) -> Isolation:
        """Whether aborted and open transactions are shown."""
        return Isolation.READ_UNCOMMITTED if self.uncommitted else Isolation.READ_COMMITTED

    @property
    def count(self) -> int:
        """How many records to show."""
        return min(MOST, max(1, self._number("size", self.size))) if self.size else SIZE

    @property
    def wanted(self) -> Wanted:
        """What records must fulfill.

        Raises:
            InvalidConditionError: the condition is none.
        """
        name, separator, value = self.header.partition("=")
        return Wanted(
            key=self.key or None,
            text=self.text or None,
            header=(name.strip(), value if separator else None) if self.header else None,
            condition=parse_condition(self.where) if self.where.strip() else None,
        )

    def from_positions(self, positions: Mapping[int, int], direction: Direction) -> Asked:
        """Return the same question for the records before or behind some positions."""
        at = "_".join(f"{partition}.{offset}" for partition, offset in sorted(positions.items()))
        return replace(self, at=at, go=direction.value)

    def url(self, topic: str, page: str = "") -> str:
        """Return the address of this question, or of something else about the same records."""
        known = {name: value for name, value in asdict(self).items() if value}
        if known.get("start") == "newest":
            del known["start"]
        query = urlencode(known)
        return f"/topics/{quote(topic, safe='')}/records{page}" + (f"?{query}" if query else "")

    def _positions(self) -> dict[int, int]:
        if not _POSITIONS.fullmatch(self.at):
            raise InvalidQuestionError(self.at, name="at", wanted="positions such as `0.120_1.88`")
        pairs = (part.split(".") for part in self.at.split("_"))
        return {int(partition): int(offset) for partition, offset in pairs}

    def _direction(self) -> Direction:
        try:
            return Direction(self.go or Direction.OLDER)
        except ValueError:
            wanted = "`older` or `newer`"
            raise InvalidQuestionError(self.go, name="go", wanted=wanted) from None

    def _moment(self) -> datetime:
        try:
            return parse_moment(self.time.strip().removesuffix(" ago"))
        except (ValueError, OverflowError, OSError):
            wanted = "a time such as `2026-05-01T12:00:00Z`, epoch milliseconds or `6h`"
            raise InvalidQuestionError(self.time, name="time", wanted=wanted) from None

    def _number(self, name: str, text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text):
            raise InvalidQuestionError(text, name=name, wanted="a number from 0 on")
        return int(text)
