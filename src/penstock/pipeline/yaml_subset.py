"""The part of YAML that pipeline specs are written in: maps, lists, scalars, quotes and comments.

A spec is ten lines that people write by hand. Whatever else YAML has (anchors, tags, flow
collections, texts over several lines) is refused with its line instead of being half understood,
and a plain scalar that YAML takes for something else than a text has to be quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

Plain = str | int | bool | None
"""What a scalar can be."""

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NULLS = ("", "~", "null", "Null", "NULL")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NOT_TEXT = re.compile(
    r"[-+]?[.]?[0-9][0-9_.:eE+-]*|[-+]?0[xXoObB][0-9a-fA-F_]+|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\b.*"
    r"|[-+]?[.](inf|Inf|INF|nan|NaN|NAN)|<<|="
)
"""What YAML may read as another number or as a time."""

_KEY = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^\s"'#](?:[^:#]|:(?=\S)|(?<=\S)#)*?)\s*:(?=\s|$)"""
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "0": "\0", " ": " "}
_REFUSED = {
    "&": "an anchor",
    "*": "an alias",
    "!": "a tag",
    "|": "a text over several lines",
    ">": "a text over several lines",
    "[": "a list in brackets",
    "{": "a map in braces",
    "%": "a directive",
    "@": "a reserved character",
    "`": "a reserved character",
    "?": "a key of several parts",
}


class YamlError(Exception):
    """A line that is not of this subset."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line, self.reason = line, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlScalar:
    """A text, a whole number, a truth value, or nothing."""

    value: Plain
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlList:
    """A block list."""

    items: tuple[YamlNode, ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlEntry:
    """A key of a map, where it stands, and its value."""

    key: str
    value: YamlNode
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlMap:
    """A block map; every key is there once."""

    entries: tuple[YamlEntry, ...]
    line: int


YamlNode = YamlScalar | YamlList | YamlMap


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    text: str


def read_yaml(text: str) -> YamlNode:
    """Return the document in `text`.

    Raises:
        YamlError: a line is not of this subset.
    """
    lines = _significant(text)
    if not lines:
        return YamlScalar(value=None, line=1)
    reader = _Reader(lines)
    node = reader.block(lines[0].indent)
    reader.end()
    return node


def _significant(text: str) -> list[_Line]:
    lines: list[_Line] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        content = raw.lstrip(" ")
        if content.startswith("\t") and content.strip():
            raise YamlError(number, "it is indented with a tab, which YAML does not allow")
        if not content.strip() or content.startswith("#"):
            continue
        if re.match(r"---(\s|$)", raw) and not lines:
            if raw[3:].strip() and not raw[3:].strip().startswith("#"):
                raise YamlError(number, "a document that begins beside `---` is not supported")
            continue
        if re.match(r"(---|\.\.\.)(\s|$)", raw):
            raise YamlError(number, "several documents in one file are not supported")
        lines.append(_Line(number, len(raw) - len(content), content.rstrip()))
    return lines


class _Reader:
    """Goes once through the lines; `block` reads what is indented alike."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines, self._next = lines, 0

    def block(self, indent: int) -> YamlNode:
        line = self._lines[self._next]
        if _is_item(line.text):
            return self._list(indent)
        if _KEY.match(line.text):
            return self._map(indent)
        self._next += 1
        return YamlScalar(value=_scalar(line.text, line.number), line=line.number)

    def end(self) -> None:
        if self._next < len(self._lines):
            _refuse_place(self._lines[self._next])

    def _peek(self) -> _Line | None:
        return self._lines[self._next] if self._next < len(self._lines) else None

    def _list(self, indent: int) -> YamlList:
        first = self._lines[self._next].number
        items: list[YamlNode] = []
        while (line := self._peek()) and line.indent == indent and _is_item(line.text):
            rest = line.text[1:].lstrip()
            if not rest or rest.startswith("#"):
                self._next += 1
                items.append(self._nested(indent, line.number))
                continue
            # What follows the dash is a block of its own, indented as far as it stands.
            inner = indent + len(line.text) - len(rest)
            self._lines[self._next] = _Line(line.number, inner, rest)
            items.append(self.block(inner))
            self._no_deeper(indent)
        return YamlList(items=tuple(items), line=first)

    def _map(self, indent: int) -> YamlMap:
        first = self._lines[self._next].number
        entries: dict[str, YamlEntry] = {}
        while (line := self._peek()) and line.indent == indent and not _is_item(line.text):
            match = _KEY.match(line.text)
            if match is None:
                _refuse_place(line)
            key = _key(match[1], line.number)
            if key in entries:
                raise YamlError(line.number, f"the key `{key}` is there twice")
            self._next += 1
            value = self._value(line.text[match.end() :].strip(), line, indent)
            entries[key] = YamlEntry(key=key, value=value, line=line.number)
            self._no_deeper(indent)
        return YamlMap(entries=tuple(entries.values()), line=first)

    def _value(self, rest: str, line: _Line, indent: int) -> YamlNode:
        if rest and not rest.startswith("#"):
            return YamlScalar(value=_scalar(rest, line.number), line=line.number)
        following = self._peek()
        # A list may stand as far left as the key it belongs to.
        if following and following.indent == indent and _is_item(following.text):
            return self._list(indent)
        return self._nested(indent, line.number)

    def _nested(self, indent: int, line: int) -> YamlNode:
        following = self._peek()
        if following is None or following.indent <= indent:
            return YamlScalar(value=None, line=line)
        return self.block(following.indent)

    def _no_deeper(self, indent: int) -> None:
        following = self._peek()
        if following and following.indent > indent:
            _refuse_place(following)


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _refuse_place(line: _Line) -> NoReturn:
    raise YamlError(line.number, f"`{line.text}` fits neither by its form nor by its indentation")


def _key(text: str, line: int) -> str:
    key = _scalar(text, line)
    if not isinstance(key, str):
        raise YamlError(line, f"the key `{text}` is not a text; put it in quotes")
    return key


def _scalar(text: str, line: int) -> Plain:
    if text[0] in "\"'":
        return _quoted(text, line)
    plain = re.split(r"\s+#", text, maxsplit=1)[0].rstrip()
    if plain[0] in _REFUSED:
        raise YamlError(line, f"{_REFUSED[plain[0]]} is not supported: `{plain}`")
    if plain[0] in ",]}" or re.search(r":(\s|$)", plain):
        raise YamlError(line, f"`{plain}` has to be put in quotes")
    return _resolved(plain, line)


def _resolved(plain: str, line: int) -> Plain:
    if plain in _NULLS:
        return None
    if plain in {form for word in _BOOLEANS for form in (word, word.title(), word.upper())}:
        return _BOOLEANS[plain.lower()]
    if _INTEGER.fullmatch(plain):
        return int(plain)
    if _NOT_TEXT.fullmatch(plain):
        raise YamlError(line, f"`{plain}` has to be put in quotes: YAML may not take it for text")
    return plain


def _quoted(text: str, line: int) -> str:
    quote = text[0]
    pattern = r'"((?:\\.|[^"\\])*)"' if quote == '"' else r"'((?:''|[^'])*)'"
    match = re.match(pattern + r"\s*(#.*)?$", text)
    if match is None or (match[2] and not text[: match.start(2)].endswith((" ", "\t"))):
        raise YamlError(line, f"the quotes of `{text}` do not close on this line")
    if quote == "'":
        return match[1].replace("''", "'")
    return re.sub(r"\\(.)", lambda escape: _unescaped(escape[1], line), match[1])


def _unescaped(letter: str, line: int) -> str:
    if letter not in _ESCAPES:
        raise YamlError(line, f"the escape `\\{letter}` is not supported")
    return _ESCAPES[letter]
