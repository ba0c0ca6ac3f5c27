"""Checking the arguments of one declaration against the annotations of its class."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from penstock.pipeline.errors import InvalidDeclarationError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from penstock.errors import Origin

Declared = TypeVar("Declared")


def checked(cls: type[Declared], *, origin: Origin, **arguments: object) -> Declared:
    """Return `cls` made of `arguments`.

    Raises:
        ExceptionGroup: of an `InvalidDeclarationError` for each argument that is wrong.
    """
    values: dict[str, object] = {}
    problems: list[InvalidDeclarationError] = []
    adapters = _adapters(cast("Hashable", cls))
    for name, adapter in adapters.items():
        if name not in arguments:
            continue
        try:
            values[name] = adapter.validate_python(arguments[name])
        except ValidationError as err:
            problems.append(
                InvalidDeclarationError(
                    what=f"{cls.__name__.lower()} `{arguments.get('name', '')}`",
                    argument=name,
                    reason=_reason(err),
                    origin=origin,
                )
            )
    if problems:
        message = "wrong arguments of a declaration"
        raise ExceptionGroup(message, problems)
    if "origin" in adapters:
        values["origin"] = origin
    return cls(**values)


@cache
def _adapters(cls: Hashable) -> dict[str, TypeAdapter[object]]:
    assert isinstance(cls, type)  # noqa: S101 - mypy wants arguments of caches hashable
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(cls)}


def _reason(err: ValidationError) -> str:
    text = err.errors(include_input=False, include_url=False)[0]["msg"]
    return text.removeprefix("Value error, ").replace("Input", "it", 1)
