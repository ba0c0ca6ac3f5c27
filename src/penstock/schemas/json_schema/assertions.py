"""The library's validators, with what they decide otherwise or slowly replaced.

- Patterns are matched by `patterns.py`: as ECMA 262 reads them, and never for minutes.
- `uniqueItems` takes linear time also for mixed values.
- `multipleOf` is exact: 0.3 is a multiple of 0.1.
- A property that is missing, or that must not be there, is where the error's path leads to.
- A whole number is an integer however it is written (`1.0`), in every draft: JSON has one kind of
  number.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Protocol, cast

from jsonschema import Draft6Validator, Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validates

from penstock.schemas.json_schema.drafts import Draft
from penstock.schemas.json_schema.patterns import read_pattern
from penstock.schemas.json_text import dump_json

Errors = Iterator[ValidationError]

# The library's reading for 2019-09 takes the keywords in `additionalProperties` for properties.
_LATER_READING = {
    Draft.DRAFT_2019_09: {
        "unevaluatedProperties": Draft202012Validator.VALIDATORS["unevaluatedProperties"]
    }
}


class Descending(Protocol):
    """What the library's validators offer to their keywords."""

    def descend(
        self, instance: object, schema: object, path: object = None, schema_path: object = None
    ) -> Errors:
        """Yield what is wrong with a part of the document."""


@cache
def strict(draft: Draft) -> type[Validator]:
    """Return the validator for `draft`; formats are annotations and not checked."""
    validator: Any = extend(  # type: ignore[no-untyped-call]
        draft.validator,
        {
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "additionalProperties": _additional_properties,
            "required": _required,
            "uniqueItems": _unique_items,
            "multipleOf": _multiple_of,
            **_LATER_READING.get(draft, {}),
        },
        type_checker=Draft6Validator.TYPE_CHECKER,
    )
    # The library picks a validator by `$schema` whenever it follows a reference. Under a name of
    # their own, these are picked again; the library's own ones stay what they are for others.
    validator.META_SCHEMA = {draft.id_keyword: dialect(draft)}
    return cast("type[Validator]", validates(dialect(draft))(validator))


def dialect(draft: Draft) -> str:
    """Return what `$schema` has to say for these validators to be used throughout."""
    return f"penstock:{draft.name.lower()}"


def value_key(value: object) -> str:
    """Return the same text for values that JSON Schema takes for equal, and only for those."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return dump_json(_plain(value), sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, str | int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


def exact(number: object) -> Fraction:
    """Return the number that was written: `0.1`, and not the double closest to it."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(str(number))


def _pattern(_validator: Descending, pattern: str, instance: object, _schema: object) -> Errors:
    if not isinstance(instance, str):
        return
    found = read_pattern(pattern).found_in(instance)
    if found is None:
        yield ValidationError(f"{instance!r} cannot be compared with the pattern {pattern!r}")
    elif not found:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Descending, patterns: Mapping[str, object], instance: object, _schema: object
) -> Errors:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            found = read_pattern(pattern).found_in(name)
            if found is None:
                yield ValidationError(f"{name!r} cannot be compared with the pattern {pattern!r}")
            elif found:
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional_properties(
    validator: Descending, allowed: object, instance: object, schema: Mapping[str, object]
) -> Errors:
    if not isinstance(instance, dict) or allowed is True:
        return
    for name in instance:
        if _is_declared(name, schema):
            continue
        if allowed is False:
            yield ValidationError(f"{name!r} is not a property that the schema allows", path=[name])
        else:
            yield from validator.descend(instance[name], allowed, path=name)


def _is_declared(name: str, schema: Mapping[str, object]) -> bool:
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    if isinstance(properties, dict) and name in properties:
        return True
    return isinstance(patterns, dict) and any(
        # One that cannot be evaluated is reported by `patternProperties`.
        read_pattern(pattern).found_in(name) is not False
        for pattern in patterns
    )


def _required(
    _validator: Descending, names: list[str], instance: object, _schema: object
) -> Errors:
    for name in names:
        if isinstance(instance, dict) and name not in instance:
            yield ValidationError(f"{name!r} is missing, and the schema requires it", path=[name])


def _unique_items(
    _validator: Descending, wanted: object, instance: object, _schema: object
) -> Errors:
    if wanted is not True or not isinstance(instance, list):
        return
    seen: set[str] = set()
    for item in instance:
        key = value_key(item)
        if key in seen:
            yield ValidationError(f"{item!r} is there more than once")
            return
        seen.add(key)


def _multiple_of(
    _validator: Descending, divisor: object, instance: object, _schema: object
) -> Errors:
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if exact(instance) % exact(divisor):
        yield ValidationError(f"{instance!r} is not a multiple of {divisor!r}")
