"""Regular expressions as JSON Schema has them (ECMA 262), matched without backtracking.

Python's `re` takes exponential time for some patterns, and those of a schema come from anybody.
Here a pattern maps the set of positions where it may begin to the set where it may end, so the
time is bounded by pattern and text, and by a budget on top of that. What this module does not
evaluate (back references, looking behind, extensions of other dialects) is neither a match nor
none: the caller is told `None`.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

MAX_PATTERN_CHARS = 5_000
MAX_GROUP_DEPTH = 50
"""Deeper ones are not evaluated: reading and matching recurse into groups."""

MAX_STEPS = 200_000
"""Positions looked at for one text: a tenth of a second."""

_LINE_ENDS = "\n\r\u2028\u2029"
_SPACES = " \t\n\r\f\v\ufeff\u2028\u2029"


class PatternError(ValueError):
    """The text is not a regular expression."""

    def __init__(self, *, reason: str, position: int | None = None) -> None:
        super().__init__(reason if position is None else f"{reason} at position {position}")


class _NotEvaluatedError(Exception):
    """The pattern has a part that this module does not evaluate."""


class _TooManyStepsError(Exception):
    """The budget of a match is used up."""


Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Character:
    test: Test
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple["_Part", ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    parts: tuple["_Part", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: "_Part"
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _Boundary:
    kind: str
    """`^`, `$`, `b` or `B`."""


@dataclass(frozen=True, slots=True)
class _Ahead:
    part: "_Part"
    negative: bool


_Part = _Character | _Sequence | _Choice | _Repeat | _Boundary | _Ahead


class Budget:
    """How many positions may still be looked at, in one match or in many."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Take `steps` away, or give up."""
        self._left -= steps
        if self._left < 0:
            raise _TooManyStepsError


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that was read; `tree` is None when it is not evaluated."""

    text: str
    tree: _Part | None

    def found_in(self, text: str, budget: Budget | None = None) -> bool | None:
        """Tell whether the pattern matches somewhere in `text`; None if that is not known."""
        if self.tree is None:
            return None
        match = _Match(text, budget or Budget(MAX_STEPS))
        try:
            return bool(match.ends(self.tree, set(range(len(text) + 1))))
        except _TooManyStepsError:
            return None

    @property
    def harmless(self) -> bool:
        """Whether Python's `re` reads it alike, and takes no more than quadratic time for it."""
        return self.tree is not None and _repeats(self.tree) <= 1 and _known_to_python(self.text)

    def excludes(self, other: "Pattern") -> bool:
        """Tell whether surely no text matches both; they begin with other characters then."""
        mine, theirs = _beginning(self.tree), _beginning(other.tree)
        return not (mine.startswith(theirs) or theirs.startswith(mine))


@lru_cache(maxsize=4096)
def read_pattern(text: str) -> Pattern:
    """Return the pattern in `text`.

    Raises:
        PatternError: neither ECMA 262 nor Python takes it for a regular expression.
    """
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternError(reason=f"it has more than {MAX_PATTERN_CHARS:,} characters")
    try:
        return Pattern(text, _Reader(text).whole())
    except _NotEvaluatedError:
        return Pattern(text, None)
    except PatternError:
        # Other dialects are in use, too. They are kept as they are, and not evaluated.
        if _known_to_python(text):
            return Pattern(text, None)
        raise


def _known_to_python(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _repeats(part: _Part) -> int:
    """Return how many repetitions without an end, or with a late one, a pattern has."""
    match part:
        case _Sequence(parts=parts) | _Choice(parts=parts):
            return sum(_repeats(one) for one in parts)
        case _Repeat(part=inner, most=most):
            return _repeats(inner) * 2 + (0 if most is not None and most <= 1 else 1)
        case _Ahead(part=inner):
            return _repeats(inner)
        case _:
            return 0


def _beginning(tree: _Part | None) -> str:
    """Return the characters that every match of a text's beginning begins with."""
    if not isinstance(tree, _Sequence) or not tree.parts or tree.parts[0] != _Boundary("^"):
        return ""
    literals = []
    for part in tree.parts[1:]:
        if not isinstance(part, _Character) or part.literal is None:
            break
        literals.append(part.literal)
    return "".join(literals)


class _Match:
    """One attempt on one text."""

    def __init__(self, text: str, budget: Budget) -> None:
        self.text = text
        self.budget = budget

    def ends(self, part: _Part, starts: set[int]) -> set[int]:
        """Return where a match of `part` may end when it begins at one of `starts`."""
        self.budget.spend(len(starts) + 1)
        match part:
            case _Character(test=test):
                text = self.text
                return {at + 1 for at in starts if at < len(text) and test(text[at])}
            case _Sequence(parts=parts):
                for one in parts:
                    starts = self.ends(one, starts) if starts else starts
                return starts
            case _Choice(parts=parts):
                return set().union(*(self.ends(one, starts) for one in parts))
            case _Repeat():
                return self._repeated(part, starts)
            case _Boundary(kind=kind):
                return {at for at in starts if self._at_boundary(kind, at)}
            case _Ahead(part=inner, negative=negative):
                return {at for at in starts if bool(self.ends(inner, {at})) is not negative}

    def _repeated(self, repeat: _Repeat, starts: set[int]) -> set[int]:
        for _ in range(repeat.least):
            starts = self.ends(repeat.part, starts)
            if not starts:
                return starts
        reached, fresh = set(starts), starts
        rounds = repeat.least
        while fresh and (repeat.most is None or rounds < repeat.most):
            fresh = self.ends(repeat.part, fresh) - reached
            reached |= fresh
            rounds += 1
        return reached

    def _at_boundary(self, kind: str, at: int) -> bool:
        if kind == "^":
            return at == 0
        if kind == "$":
            return at == len(self.text)
        before = at > 0 and _is_word(self.text[at - 1])
        after = at < len(self.text) and _is_word(self.text[at])
        return (before != after) is (kind == "b")


class _Reader:
    """Recursive descent over the pattern's text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> _Part:
        """Read all of the text."""
        tree = self._choice()
        if self.at < len(self.text):
            raise PatternError(reason="a `)` without its `(`", position=self.at)
        return tree

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _take(self, wanted: str) -> bool:
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return True
        return False

    def _choice(self) -> _Part:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Choice(tuple(parts))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._quantified(self._atom()))
        return _Sequence(tuple(parts))

    def _quantified(self, part: _Part) -> _Part:
        bounds = self._quantifier()
        if bounds is None:
            return part
        if isinstance(part, _Boundary):
            raise PatternError(reason="nothing to repeat", position=self.at - 1)
        self._take("?")
        if self._peek() in ("*", "+", "?"):
            raise PatternError(reason="nothing to repeat", position=self.at)
        return _Repeat(part, *bounds)

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        counted = re.compile(r"\{(\d{1,9})(?:(,)(\d{0,9}))?\}", re.ASCII).match(self.text, self.at)
        if counted is None:
            return None
        least = int(counted[1])
        most = (int(counted[3]) if counted[3] else None) if counted[2] else least
        if most is not None and most < least:
            raise PatternError(reason="the bounds are out of order", position=self.at)
        self.at = counted.end()
        return least, most

    def _atom(self) -> _Part:
        sign = self._peek()
        self.at += 1
        match sign:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case ".":
                return _Character(lambda char: char not in _LINE_ENDS)
            case "^" | "$":
                return _Boundary(sign)
            case "*" | "+" | "?":
                raise PatternError(reason="nothing to repeat", position=self.at - 1)
            case _:
                return _literal(sign)

    def _group(self) -> _Part:
        begin = self.at - 1
        self.depth += 1
        if self.depth > MAX_GROUP_DEPTH:
            raise _NotEvaluatedError
        ahead = next((sign for sign in ("?=", "?!") if self._take(sign)), None)
        if ahead is None and not self._take("?:"):
            self._group_name(begin)
        part = self._choice()
        if not self._take(")"):
            raise PatternError(reason="a `(` without its `)`", position=begin)
        self.depth -= 1
        return _Ahead(part, ahead == "?!") if ahead else part

    def _group_name(self, begin: int) -> None:
        if self._peek() != "?":
            return
        name = re.compile(r"\?<[A-Za-z_$][\w$]*>").match(self.text, self.at)
        if name is None:
            if self._peek(1) == "<" and self._peek(2) in ("=", "!"):
                raise _NotEvaluatedError
            raise PatternError(reason="an unknown kind of group", position=begin)
        self.at = name.end()

    def _escape(self) -> _Part:
        sign = self._peek()
        if sign in ("b", "B"):
            self.at += 1
            return _Boundary(sign)
        return self._character_escape()

    def _character_escape(self) -> _Character:
        begin = self.at - 1
        sign = self._peek()
        self.at += 1
        if not sign:
            raise PatternError(reason="a lone backslash", position=begin)
        if sign in _CLASSES:
            return _Character(_CLASSES[sign])
        if sign in _CONTROLS:
            return _literal(_CONTROLS[sign])
        if sign in ("x", "u"):
            return _literal(self._code_point(sign))
        if sign in ("p", "P"):
            return self._property(negative=sign == "P")
        if sign.isalnum():
            raise _NotEvaluatedError
        return _literal(sign)

    def _code_point(self, sign: str) -> str:
        form = (
            r"([0-9A-Fa-f]{2})" if sign == "x" else r"(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))"
        )
        digits = re.compile(form).match(self.text, self.at)
        if digits is None:
            return sign
        self.at = digits.end()
        code = int(next(group for group in digits.groups() if group), 16)
        if code > 0x10FFFF:
            raise PatternError(reason=f"no character has the number {code:x}")
        if 0xD800 <= code <= 0xDFFF:
            raise _NotEvaluatedError
        return chr(code)

    def _property(self, *, negative: bool) -> _Character:
        name = re.compile(r"\{(?:(?:General_Category|gc)=)?([A-Z][a-z]?)\}").match(
            self.text, self.at
        )
        if name is None:
            raise _NotEvaluatedError
        self.at = name.end()
        category = name[1]
        return _Character(
            lambda char: unicodedata.category(char).startswith(category) is not negative
        )

    def _class(self) -> _Part:
        begin = self.at - 1
        negative = self._take("^")
        tests: list[Test] = []
        while not self._take("]"):
            if not self._peek():
                raise PatternError(reason="a `[` without its `]`", position=begin)
            tests.append(self._class_entry())
        return _Character(lambda char: any(test(char) for test in tests) is not negative)

    def _class_entry(self) -> Test:
        low = self._class_character()
        if self._peek() != "-" or self._peek(1) in ("]", ""):
            return low.test
        self.at += 1
        high = self._class_character()
        if low.literal is None or high.literal is None:
            return lambda char: low.test(char) or high.test(char) or char == "-"
        first, last = low.literal, high.literal
        if first > last:
            raise PatternError(reason="a range is out of order", position=self.at - 1)
        return lambda char: first <= char <= last

    def _class_character(self) -> _Character:
        sign = self._peek()
        self.at += 1
        if sign in ("[", "&") and self._peek() in (":", "&"):
            raise _NotEvaluatedError
        if sign != "\\":
            return _literal(sign)
        if self._take("b"):
            return _literal("\b")
        return self._character_escape()


def _literal(char: str) -> _Character:
    return _Character(lambda other: other == char, char)


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _is_space(char: str) -> bool:
    return char in _SPACES or unicodedata.category(char) == "Zs"


_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CLASSES: dict[str, Test] = {
    "d": lambda char: "0" <= char <= "9",
    "D": lambda char: not "0" <= char <= "9",
    "w": _is_word,
    "W": lambda char: not _is_word(char),
    "s": _is_space,
    "S": lambda char: not _is_space(char),
}
