"""Paging: `offset` and `limit`, with Confluent's limits."""

from collections.abc import Sequence
from typing import TypeVar

from starlette.requests import Request

from penstock.registry.api.requests import number

MAX_SCHEMAS = 1_000
MAX_NAMES = 20_000
"""Of subjects, versions and contexts."""

_Item = TypeVar("_Item")


def page(request: Request, items: Sequence[_Item], maximum: int) -> Sequence[_Item]:
    """Return the part of a list that a request asks for; a limit that is none is the maximum."""
    start = max(0, number(request, "offset", 0))
    limit = number(request, "limit", -1)
    return items[start : start + (limit if 0 < limit <= maximum else maximum)]
