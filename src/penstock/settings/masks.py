"""Masks: which parts of records the console shows only to some, as `[[console.masks]]` says it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, model_validator


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskSettings:
    """One mask: what of the records of some topics is hidden, and from whom."""

    topics: Annotated[str, Field(min_length=1)]
    """A name, or a pattern with `*`: `payments-*`."""

    value: tuple[str, ...] = ()
    """Fields of the value as JSON paths, such as `$.card.number`; `$` is the whole value."""

    key: tuple[str, ...] = ()
    """Fields of the key; `$` is the whole key."""

    headers: tuple[str, ...] = ()
    """Names of headers, or patterns with `*`."""

    kind: Literal["mask", "remove"] = "mask"
    """Whether something stands in the place of what is hidden."""

    visible_from: Literal["operator", "admin"] = "admin"
    """The first role that sees it all the same."""

    @model_validator(mode="after")
    def _hides_something(self) -> "MaskSettings":
        if not (self.value or self.key or self.headers):
            reason = f"the mask of `{self.topics}` hides nothing: give `value`, `key` or `headers`"
            raise ValueError(reason)
        return self


def _masks(given: object) -> object:
    """Build masks from tables, or from JSON in an environment variable."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            reason = "it must be a JSON array of objects"
            raise ValueError(reason) from None
    if isinstance(given, list) and not all(isinstance(item, Mapping) for item in given):
        reason = "each mask must be a table: `[[console.masks]]`"
        raise ValueError(reason)
    if isinstance(given, list):
        _refuse_unknown_keys(given)
    return _ADAPTER.validate_python(given)


def _refuse_unknown_keys(tables: list[Mapping[str, object]]) -> None:
    """A key that is not understood would leave something visible."""
    known = [item.name for item in fields(MaskSettings)]
    for table in tables:
        for key in table:
            if key not in known:
                reason = f"a mask has no `{key}`: it has {', '.join(f'`{name}`' for name in known)}"
                raise ValueError(reason)


def shown_masks(masks: tuple[MaskSettings, ...]) -> tuple[str, ...]:
    """Return each mask as a line for people."""
    return tuple(
        " ".join(
            f"{name}={','.join(item) if isinstance(item, tuple) else item}"
            for name, item in asdict(mask).items()
            if item
        )
        for mask in masks
    )


_ADAPTER = TypeAdapter(tuple[MaskSettings, ...])

Masks = Annotated[tuple[MaskSettings, ...], BeforeValidator(_masks)]
