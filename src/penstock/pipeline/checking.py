"""Checking the arguments of one declaration against the annotations of its class."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError

from penstock.pipeline.errors import InvalidDeclarationError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from penstock.errors import Origin

Declared = TypeVar("Declared")


# Fields that the functions users call name in their own way.
_CALLED = {("Flow", "targets"): "into", ("LookupFunction", "schema"): "returns"}


def checked(cls: type[Declared], *, what: str, origin: Origin, **arguments: object) -> Declared:
    """Return `cls` made of `arguments`; those it does not get take their defaults.

    Raises:
        ExceptionGroup: of an `InvalidDeclarationError` for each argument that is wrong; `what`
            is what their messages call the declaration.
    """
    values: dict[str, object] = {}
    problems: list[InvalidDeclarationError] = []
    adapters = _adapters(cast("Hashable", cls))
    for name, value in arguments.items():
        try:
            values[name] = adapters[name].validate_python(value)
        except ValidationError as err:
            called, reason = _CALLED.get((cls.__name__, name), name), _reason(err, value)
            problems.append(
                InvalidDeclarationError(what=what, argument=called, reason=reason, origin=origin)
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


def _reason(err: ValidationError, value: object) -> str:
    fault = err.errors(include_url=False)[0]
    text = re.sub(r"^(Input|String)\b", "it", fault["msg"].removeprefix("Value error, "))
    if fault["type"] == "value_error":
        return text
    # Elsewhere the place names branches of types, which say nothing to a user.
    key = f"`{fault['loc'][0]}`: " if isinstance(value, Mapping) and fault["loc"] else ""
    return f"{key}{text}, not `{reprlib.repr(fault['input'])}`"
