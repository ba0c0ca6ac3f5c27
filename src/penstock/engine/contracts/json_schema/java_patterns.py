"""Regular expressions of JSON Schema (ECMA 262) that Java reads alike, in Java's spelling.

Only a common part of both languages is taken over: characters, classes, groups, choices, and
repetitions that cannot make Java's backtracking explode. `.` and `$` are spelled otherwise, because
Java knows other line ends and lets `$` stand before the last one. Whatever else a pattern has is
left to `penstock.schemas.json_schema`, which matches without backtracking.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_CHARS = 20_000
"""Of a text that is compared with a pattern of two repetitions without an end: the time grows with
the square of it. The matcher of `penstock.schemas` gives up at about the same length."""

_MAX_WAYS = 10_000
"""In how many ways the bounded parts of a pattern may be tried at one place."""

_MANY_WAYS = 100
_MAX_DEGREE = 2
_MAX_GROUP_REPEATS = 500
"""Java recurses into each repetition of a group, and its stack ends somewhere."""

_ANY = r"[^\n\r\x{2028}\x{2029}]"
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f", "v": r"\x0B"}
_QUANTIFIER = re.compile(r"(?:([?*+])|\{(\d{1,4})(?:(,)(\d{0,4}))?\})(\??)", re.ASCII)
_CODE = re.compile(r"u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaPattern:
    """A pattern for `rlike`."""

    text: str
    max_chars: int | None
    """How long a text may be that it is compared with."""


def java_pattern(pattern: str) -> JavaPattern | None:
    """Return `pattern` for Java, None if it is not in the common part of both languages."""
    try:
        return _Reader(pattern).whole()
    except _NotCommonError:
        return None


class _NotCommonError(Exception):
    """The pattern has a part that Java reads otherwise, or too slowly."""


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    ways: int = 1
    endless: int = 0
    """How many repetitions without an end are in it."""

    single: bool = False
    """Whether it stands for exactly one character."""


class _Reader:
    """Recursive descent over the pattern's text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> JavaPattern:
        """Read all of the text."""
        anchored = self._take("^")
        ends = self.text.endswith("$") and not self.text.endswith("\\$")
        if ends:
            self.text = self.text[:-1]
        # An anchor beside a choice belongs to one side of it only.
        part = self._sequence() if anchored or ends else self._choice()
        degree = part.endless + (0 if anchored else 1)
        if self.at < len(self.text) or degree > _MAX_DEGREE:
            raise _NotCommonError
        text = ("^" if anchored else "") + part.text + (r"\z" if ends else "")
        slow = degree == _MAX_DEGREE or part.ways > _MANY_WAYS
        return JavaPattern(text=text, max_chars=MAX_CHARS if slow else None)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, wanted: str) -> bool:
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def _choice(self) -> _Part:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        ways = sum(part.ways for part in parts)
        endless = sum(part.endless for part in parts)
        return _Part("|".join(part.text for part in parts), _bounded(ways), endless)

    def _sequence(self) -> _Part:
        text, ways, endless = "", 1, 0
        while self._peek() not in ("", "|", ")"):
            part = self._quantified(self._atom())
            text += part.text
            ways = _bounded(ways * part.ways)
            endless += part.endless
        return _Part(text, ways, endless)

    def _quantified(self, part: _Part) -> _Part:
        found = _QUANTIFIER.match(self.text, self.at)
        if found is None:
            return part
        self.at = found.end()
        least, most = _bounds(found)
        text = part.text + found[0]
        if most is None:
            if not part.single:
                raise _NotCommonError
            return _Part(text, 1, 1)
        if part.endless or least > most or (most > _MAX_GROUP_REPEATS and not part.single):
            raise _NotCommonError
        return _Part(text, _bounded(part.ways ** min(most, 100) * (most - least + 1)))

    def _atom(self) -> _Part:
        sign = self._peek()
        self.at += 1
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return _Part(self._escape(), single=True)
            case ".":
                return _Part(_ANY, single=True)
            case "^" | "$" | "*" | "+" | "?" | "{" | "}" | "]":
                raise _NotCommonError
            case _:
                return _Part(re.escape(sign), single=True)

    def _group(self) -> _Part:
        if self._peek() == "?" and not self._take("?:"):
            raise _NotCommonError
        inner = self._choice()
        if not self._take(")"):
            raise _NotCommonError
        return _Part(f"(?:{inner.text})", inner.ways, inner.endless)

    def _escape(self) -> str:
        sign = self._peek()
        self.at += 1
        if sign and sign in "dDwW":
            return f"\\{sign}"
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        if code := _CODE.match(self.text, self.at - 1):
            self.at = code.end()
            number = code[1] or code[2]
            if 0xD800 <= int(number, 16) <= 0xDFFF:
                raise _NotCommonError
            return f"\\x{{{number}}}"
        if not sign or sign.isalnum():
            raise _NotCommonError
        return re.escape(sign)

    def _class(self) -> _Part:
        text = "[^" if self._take("^") else "["
        begin = self.at
        while not self._take("]"):
            text += self._class_entry(first=self.at == begin)
        if self.at == begin + 1:
            raise _NotCommonError
        return _Part(text + "]", single=True)

    def _class_entry(self, *, first: bool) -> str:
        sign = self._peek()
        self.at += 1
        if sign == "-":
            # In the middle it may belong to a range, or to none after a class of characters.
            if not first and self._peek() != "]":
                raise _NotCommonError
            return r"\-"
        low = self._class_character(sign)
        if self._peek() != "-" or self.text[self.at + 1 : self.at + 2] == "]":
            return low
        self.at += 2
        high = self._class_character(self.text[self.at - 1 : self.at])
        if low[1:] in ("d", "D", "w", "W") or high[1:] in ("d", "D", "w", "W"):
            raise _NotCommonError
        return f"{low}-{high}"

    def _class_character(self, sign: str) -> str:
        if sign == "\\":
            return self._escape()
        if sign in ("", "[", "&"):
            raise _NotCommonError
        return sign if sign.isalnum() or not sign.isascii() else f"\\{sign}"


def _bounds(found: re.Match[str]) -> tuple[int, int | None]:
    match found[1]:
        case "?":
            return 0, 1
        case "*":
            return 0, None
        case "+":
            return 1, None
    least = int(found[2])
    if not found[3]:
        return least, least
    return least, int(found[4]) if found[4] else None


def _bounded(ways: int) -> int:
    if ways > _MAX_WAYS:
        raise _NotCommonError
    return ways
