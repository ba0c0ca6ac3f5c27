"""How errors name a field and what was found in it, the same for all formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from penstock.kafka.formats.errors import UnfitRecordError
from penstock.names import nearest

if TYPE_CHECKING:
    from collections.abc import Collection

_KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}
_LONGEST_SHOWN = 40  # characters: enough for an id or a date, too few for a document


def below(path: str, name: object) -> str:
    """Return the JSON pointer to the field `name` of what is at `path`."""
    return f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"


def shown(found: object) -> str:
    """Return a JSON value as an error names it: its kind, and the value if it is short."""
    kind = _KINDS[type(found)]
    if found is None or isinstance(found, list | dict):
        return kind
    text = json.dumps(found, ensure_ascii=False)
    return f"{kind} ({text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '…'})"


def mismatch(found: object, wanted: str, path: str) -> UnfitRecordError:
    """Return the error for a value of another kind than `wanted`."""
    return UnfitRecordError(path, f"is {shown(found)}, not {wanted}")


def unknown_field(name: str, known: Collection[str], owner: str, path: str) -> UnfitRecordError:
    """Return the error for a field that `owner` does not have."""
    close = nearest(name, known)
    advice = f"did you mean `{close}`?" if close else None
    return UnfitRecordError(below(path, name), f"is not a field of `{owner}`", advice=advice)
