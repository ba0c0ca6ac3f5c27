"""JSON pointers (RFC 6901): `/user/id` names a field of a JSON document."""

from __future__ import annotations

from typing import Final

Pointer = tuple[str, ...]

MISSING: Final = object()
"""What `value_at` returns when there is nothing; None is JSON's null."""


def parse_pointer(text: str) -> Pointer | None:
    """Return the steps of a pointer such as `/user/id`; None when `text` is not a pointer."""
    if text and not text.startswith("/"):
        return None
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def value_at(pointer: Pointer, document: object) -> object:
    """Return what `document` has at `pointer`, or MISSING."""
    found = document
    for token in pointer:
        if isinstance(found, dict):
            found = found.get(token, MISSING)
        elif isinstance(found, list) and token.isdecimal() and int(token) < len(found):
            found = found[int(token)]
        else:
            return MISSING
    return found
