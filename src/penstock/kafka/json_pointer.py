"""JSON pointers (RFC 6901) and plain JSON paths: `/user/id` and `$.user.id` name the same field."""

from __future__ import annotations

import re
from typing import Final

Pointer = tuple[str, ...]

MISSING: Final = object()
"""What `value_at` returns when there is nothing; None is JSON's null."""


def parse_pointer(text: str) -> Pointer | None:
    """Return the steps of a pointer such as `/user/id`; None when `text` is not a pointer."""
    if text and not text.startswith("/"):
        return None
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


_STEP = r"""(?:\.[^\s=!<>.'"\[\]]+|\[(?:\d+|\*)\]|\['[^']*'\]|\["[^"]*"\])"""
_STEPS = re.compile(_STEP)
PATH_PATTERN: Final = rf"\$(?:{_STEP})*"
"""What a path looks like: `$`, and then `.name`, `[2]`, `['any name']` or, for all of them, `*`."""


def parse_path(text: str) -> Pointer | None:
    """Return the steps of a path such as `$.user.id` or `$.items[0]`; None for anything else."""
    if not re.fullmatch(PATH_PATTERN, text):
        return None
    return tuple(_step(written) for written in _STEPS.findall(text))


def _step(written: str) -> str:
    if written.startswith("."):
        return written[1:]
    return written[2:-2] if written[1] in "'\"" else written[1:-1]


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
