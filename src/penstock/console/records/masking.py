"""Masking: what of records is hidden from a role, before anything leaves the server.

It fails closed: where fields of a value are to be hidden and the value cannot be decoded, or is not
shaped as the fields say, all of it is hidden; so is what it was written as. Names of fields are
compared without case, `_` and `-`: the same field is called differently in different formats.
Filters run on what is left, and those on hidden fields are refused, so that nobody learns by asking
what he may not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import reduce
from typing import TYPE_CHECKING, Final

from penstock.console.records.errors import HiddenFieldError, InvalidMaskError
from penstock.kafka.formats import Side
from penstock.kafka.json_pointer import parse_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.kafka import JsonCondition, Pointer
    from penstock.settings import MaskSettings

MASK: Final = "****"
"""What stands in the place of what is hidden."""

_EVERY: Final = "*"
_REMOVED: Final = object()


@dataclass(frozen=True, slots=True)
class _Path:
    """A place in documents, and what becomes of what is there."""

    steps: Pointer
    is_removed: bool


class Masking:
    """What of the records of one topic is hidden from one role."""

    def __init__(self, topic: str, masks: Iterable[MaskSettings]) -> None:
        """Take the masks that count.

        Raises:
            InvalidMaskError: a path cannot be understood.
        """
        masks = tuple(masks)
        self._topic = topic
        self._paths = {
            side: tuple(
                _Path(steps_of(path, mask), mask.kind == "remove")
                for mask in masks
                for path in (mask.key if side is Side.KEY else mask.value)
            )
            for side in Side
        }
        self._headers = tuple(
            (pattern.casefold(), mask.kind == "remove")
            for mask in masks
            for pattern in mask.headers
        )

    def hides(self, side: Side) -> bool:
        """Whether something of the key or value is hidden."""
        return bool(self._paths[side])

    def hides_all(self, side: Side) -> bool:
        """Whether all of it is."""
        return any(not path.steps for path in self._paths[side])

    def document(self, side: Side, document: object) -> object:
        """Return what may be seen of a decoded key or value."""
        left = reduce(lambda found, path: _without(found, path), self._paths[side], document)
        return MASK if left is _REMOVED else left

    def hides_header(self, name: str) -> bool:
        """Whether the value of a header is hidden."""
        return any(fnmatchcase(name.casefold(), pattern) for pattern, _ in self._headers)

    def removes_header(self, name: str) -> bool:
        """Whether a header is not even mentioned."""
        return any(
            is_removed and fnmatchcase(name.casefold(), pattern)
            for pattern, is_removed in self._headers
        )

    def require_visible_key(self) -> None:
        """Refuse a filter by key where something of keys is hidden.

        Raises:
            HiddenFieldError: it is.
        """
        if self.hides(Side.KEY):
            raise HiddenFieldError(self._topic, what="their key")

    def require_visible_header(self, name: str) -> None:
        """Refuse a filter by a header that is hidden.

        Raises:
            HiddenFieldError: it is.
        """
        if self.hides_header(name):
            raise HiddenFieldError(self._topic, what=f"header `{name}`")

    def require_visible(self, condition: JsonCondition) -> None:
        """Refuse a condition on a field that is hidden, or that has something hidden in it.

        Raises:
            HiddenFieldError: it has.
        """
        if any(_overlap(condition.pointer, path.steps) for path in self._paths[Side.VALUE]):
            place = "$" + "".join(f".{step}" for step in condition.pointer)
            raise HiddenFieldError(self._topic, what=f"`{place}`")


def masking_for(
    masks: Sequence[MaskSettings], topic: str, *, may_see: Callable[[str], bool]
) -> Masking:
    """Return what is hidden of `topic`; `may_see` says whether a role's word is one's own or below.

    Raises:
        InvalidMaskError: a path of the settings cannot be understood: nothing is shown then.
    """
    return Masking(
        topic,
        (
            mask
            for mask in masks
            if fnmatchcase(topic, mask.topics) and not may_see(mask.visible_from)
        ),
    )


def steps_of(path: str, mask: MaskSettings) -> Pointer:
    """Return the steps of a path of `mask`; none for the whole.

    Raises:
        InvalidMaskError: it is not a path.
    """
    steps = parse_path(path)
    if steps is None:
        raise InvalidMaskError(path, topics=mask.topics)
    return steps


def _without(document: object, path: _Path) -> object:
    return document if document is _REMOVED else _hidden(document, path.steps, path)


def _hidden(found: object, steps: Pointer, path: _Path) -> object:
    """Return `found` without what is at `steps` in it; `_REMOVED` when nothing is left."""
    if not steps:
        return _REMOVED if path.is_removed else MASK
    if isinstance(found, dict):
        wanted = _plainly(steps[0])
        changed = {
            name: _hidden(item, steps[1:], path)
            if steps[0] == _EVERY or _plainly(name) == wanted
            else item
            for name, item in found.items()
        }
        return {name: item for name, item in changed.items() if item is not _REMOVED}
    if isinstance(found, list):
        items = [_hidden_in(item, number, steps, path) for number, item in enumerate(found)]
        return [item for item in items if item is not _REMOVED]
    # Something else stands where fields were expected: it may be what is to be hidden.
    return None if found is None else _REMOVED if path.is_removed else MASK


def _hidden_in(item: object, number: int, steps: Pointer, path: _Path) -> object:
    """Return an item of an array: steps may name it, or go through all items without saying so."""
    if steps[0] == _EVERY or steps[0] == str(number):
        return _hidden(item, steps[1:], path)
    return item if steps[0].isdecimal() else _hidden(item, steps, path)


def _plainly(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _overlap(pointer: Pointer, steps: Pointer) -> bool:
    """Whether one of the places contains the other; positions in arrays are left out."""
    one = [step for step in pointer if not step.isdecimal()]
    other = [step for step in steps if not step.isdecimal()]
    return all(
        _EVERY in (left, right) or _plainly(left) == _plainly(right)
        for left, right in zip(one, other, strict=False)
    )
