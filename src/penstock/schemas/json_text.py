"""JSON from outside: read with limits, so that no text can exhaust the stack or the clock."""

import json
import math
import re
from typing import NoReturn

from penstock.schemas.errors import InvalidSchemaError

MAX_DEPTH = 200
"""Of arrays and objects in each other. What walks such a value fits in Python's stack of 1,000."""

_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)


def load_json(text: str) -> object:
    """Return the value that `text` stands for; the last of equal keys wins.

    Raises:
        InvalidSchemaError: this is not JSON, or it cannot be stored or walked safely.
    """
    _check_depth(text)
    try:
        value: object = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded
        )
    except json.JSONDecodeError as error:
        raise InvalidSchemaError(
            reason=f"not JSON: {error.msg[0].lower()}{error.msg[1:]}",
            path=f"{error.lineno}:{error.colno}",
        ) from error
    _check_characters(text, value)
    return value


def pretty_text(text: str) -> str:
    """Return JSON with line breaks, and anything else, such as Protobuf, as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text.rstrip()


def dump_json(value: object, *, sort_keys: bool = False) -> str:
    """Return `value` without insignificant whitespace."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=sort_keys)


def _check_depth(text: str) -> None:
    depth = 0
    for match in _STRUCTURE.finditer(text):
        first = text[match.start()]
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
        if depth > MAX_DEPTH:
            raise InvalidSchemaError(
                reason=f"the schema is nested deeper than {MAX_DEPTH} levels",
                path=_line_and_column(text, match.start()),
            )


def _line_and_column(text: str, position: int) -> str:
    line_start = text.rfind("\n", 0, position) + 1
    return f"{text.count(chr(10), 0, position) + 1}:{position - line_start + 1}"


def _check_characters(text: str, value: object) -> None:
    """Refuse halves of surrogate pairs: no encoding could store or send them."""
    if "\\ud" not in text.lower() and text.isascii():
        return
    try:
        dump_json(value).encode()
    except UnicodeEncodeError as error:
        raise InvalidSchemaError(
            reason="not JSON: a surrogate stands without its other half"
        ) from error


def _refuse_constant(constant: str) -> NoReturn:
    raise InvalidSchemaError(reason=f"not JSON: `{constant}` is not a number there")


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise InvalidSchemaError(reason=f"the number `{number[:20]}` is too large for a double")
    return value


def _bounded(number: str) -> int:
    # Python refuses to convert more digits than this: the time grows with their square.
    if len(number) > 4000:
        raise InvalidSchemaError(reason=f"a number has {len(number):,} digits")
    return int(number)
