"""Compatibility levels: which earlier schemas a new one is compared with, in which direction.

What makes two schemas incompatible is each type's own matter: `Schema.can_read`.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

from penstock.schemas.schema import Incompatibility, Schema


class Level(StrEnum):
    """What a subject promises to those who read and write its data."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def transitive(self) -> bool:
        """Whether all earlier schemas count, and not just the last one."""
        return self.value.endswith("_TRANSITIVE")

    @property
    def backward(self) -> bool:
        """Whether the new schema must read what was written with an earlier one."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def forward(self) -> bool:
        """Whether an earlier schema must read what is written with the new one."""
        return self.value.startswith(("FORWARD", "FULL"))


def incompatibilities(
    new: Schema, earlier: Sequence[Schema], level: Level
) -> list[Incompatibility]:
    """Return what keeps `new` from following `earlier` (oldest first): empty if nothing does.

    The newest schemas are looked at first. As in Confluent's registry the search ends with the
    first one that does not fit, so all that is returned is about the same two schemas.
    """
    compared = earlier if level.transitive else earlier[-1:]
    for old in reversed(compared):
        found = _between(new, old, level)
        if found:
            return found
    return []


def _between(new: Schema, old: Schema, level: Level) -> list[Incompatibility]:
    found = []
    if level.backward:
        found += _told("the new schema cannot read old data", new.can_read(old))
    if level.forward:
        found += _told("the old schema cannot read new data", old.can_read(new))
    return found


def _told(direction: str, found: list[Incompatibility]) -> list[Incompatibility]:
    return [replace(one, message=f"{direction}: {one.message}") for one in found]
