"""What comparing two schemas yields, and the comparison that rules call again for subschemas."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.schemas.json_schema.shapes import Member, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One reason why the new schema refuses what the old one accepts."""

    kind: str
    """Confluent's word for it."""

    way: tuple[str, ...] = ()
    message: str


class Comparison(Protocol):
    """An old and a new schema, compared part by part."""

    def differences(self, old: Member, new: Member) -> tuple[Difference, ...]:
        """Return why `new` refuses what `old` accepts, with ways that start at these two.

        For what `not` holds, a part of the new schema takes the place of the old one.
        """

    def shape(self, member: Member) -> Shape:
        """Return what a part of either schema says."""

    def found_in(self, pattern: str, name: str) -> bool | None:
        """Tell whether `name` matches `pattern`; None if that is not known."""


def below(way: Iterable[str], found: Iterable[Difference]) -> Iterator[Difference]:
    """Yield what was found at the end of `way`."""
    prefix = tuple(way)
    for difference in found:
        yield replace(difference, way=prefix + difference.way)


def counted(count: int, noun: str) -> str:
    """Return `1 member`, `2 members`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
