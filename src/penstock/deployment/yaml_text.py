"""Documents as YAML that people can read: blocks, no anchors, texts quoted where they must be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

Document = Mapping[str, "Document"] | Sequence["Document"] | str | int | bool | None

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_BLOCK = re.compile(r"(?:[!-~][ -~]*\n){2,}")
"""Lines that a block keeps as they are: none is empty, and none begins with a space."""

_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Plain words that YAML takes for something else than a text."""


def yaml_text(document: Document) -> str:
    """Return `document` as YAML."""
    return "".join(f"{line}\n" for line in _lines(document))


def _lines(value: Document) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [line for key, item in value.items() for line in _entry(f"{_text(key)}:", item)]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        return [line for item in value for line in _item(item)]
    return [_scalar(value)]


def _entry(key: str, value: Document) -> list[str]:
    if isinstance(value, str) and _BLOCK.fullmatch(value):
        return [f"{key} |", *(f"  {line}" for line in value.splitlines())]
    if isinstance(value, str | int | bool | None) or not value:
        return [f"{key} {_scalar(value)}"]
    return [key, *(f"  {line}" for line in _lines(value))]


def _item(value: Document) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _scalar(value: Document) -> str:
    match value:
        case str():
            return _text(value)
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case int():
            return str(value)
        case Mapping():
            return "{}"
        case _:
            return "[]"


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return json.dumps(text)  # a text of JSON is one of YAML
