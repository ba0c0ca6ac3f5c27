"""When a new schema of strings, numbers or listed values refuses what the old one accepts."""

from collections.abc import Iterator
from fractions import Fraction

from penstock.schemas.json_schema.differences import Difference
from penstock.schemas.json_schema.shapes import Constant, Enumeration, Number, Text

Limit = int | Fraction | None


def text_differences(old: Text, new: Text) -> Iterator[Difference]:
    """Yield what keeps strings of `old` from being strings of `new`."""
    yield from typing_differences(old=old.typed, new=new.typed)
    yield from upper_limit("maxLength", "MAX_LENGTH", old.longest, new.longest)
    yield from lower_limit("minLength", "MIN_LENGTH", old.shortest, new.shortest)
    if new.pattern is None or new.pattern == old.pattern:
        return
    if old.pattern is None:
        kind, message = "PATTERN_ADDED", f"strings must match `{new.pattern}`"
    else:
        kind = "PATTERN_CHANGED"
        message = f"strings must match `{new.pattern}` instead of `{old.pattern}`"
    yield Difference(kind=kind, way=("pattern",), message=message)


def number_differences(old: Number, new: Number) -> Iterator[Difference]:
    """Yield what keeps numbers of `old` from being numbers of `new`."""
    yield from typing_differences(old=old.typed, new=new.typed)
    yield from upper_limit("maximum", "MAXIMUM", old.maximum, new.maximum)
    yield from lower_limit("minimum", "MINIMUM", old.minimum, new.minimum)
    yield from upper_limit("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", old.below, new.below)
    yield from lower_limit("exclusiveMinimum", "EXCLUSIVE_MINIMUM", old.above, new.above)
    yield from _multiple_of(old.multiple_of, new.multiple_of)
    if new.integer and not old.integer:
        yield Difference(kind="TYPE_NARROWED", message="numbers must be integers")


def enumeration_differences(old: Enumeration, new: Enumeration) -> Iterator[Difference]:
    """Yield which values are not listed any more."""
    missing = sorted(old.values - new.values)
    if not missing:
        return
    narrowed = new.values < old.values
    yield Difference(
        kind="ENUM_ARRAY_NARROWED" if narrowed else "ENUM_ARRAY_CHANGED",
        way=("enum",),
        message=f"not listed any more: {_listed(missing)}",
    )


def constant_differences(old: Constant, new: Constant) -> Iterator[Difference]:
    """Yield that the one value is another one."""
    if old.value != new.value:
        yield Difference(
            kind="ENUM_ARRAY_CHANGED",
            way=("const",),
            message=f"the value must be {_listed([new.value])} instead of {_listed([old.value])}",
        )


def typing_differences(*, old: bool, new: bool) -> Iterator[Difference]:
    """Yield that values of other types passed before.

    Confluent's registry overlooks this: with keywords for one type and no `type`, a schema accepts
    everything of any other type.
    """
    if new and not old:
        yield Difference(
            kind="TYPE_NARROWED", message="`type` is new: values of other types were accepted"
        )


def upper_limit(keyword: str, kind: str, old: Limit, new: Limit) -> Iterator[Difference]:
    """Yield that the greatest allowed number is new or smaller."""
    if new is not None and old is None:
        yield Difference(
            kind=f"{kind}_ADDED", way=(keyword,), message=f"`{keyword}` {_number(new)} is new"
        )
    elif new is not None and old is not None and new < old:
        yield _changed(keyword, f"{kind}_DECREASED", old, new)


def lower_limit(keyword: str, kind: str, old: Limit, new: Limit) -> Iterator[Difference]:
    """Yield that the least allowed number is new or greater."""
    if new is not None and old is None:
        yield Difference(
            kind=f"{kind}_ADDED", way=(keyword,), message=f"`{keyword}` {_number(new)} is new"
        )
    elif new is not None and old is not None and new > old:
        yield _changed(keyword, f"{kind}_INCREASED", old, new)


def _multiple_of(old: Fraction | None, new: Fraction | None) -> Iterator[Difference]:
    if new is None or new == old:
        return
    if old is None:
        yield Difference(
            kind="MULTIPLE_OF_ADDED",
            way=("multipleOf",),
            message=f"`multipleOf` {_number(new)} is new",
        )
    elif new % old == 0:
        yield _changed("multipleOf", "MULTIPLE_OF_EXPANDED", old, new)
    elif old % new != 0:
        yield _changed("multipleOf", "MULTIPLE_OF_CHANGED", old, new)


def _changed(keyword: str, kind: str, old: int | Fraction, new: int | Fraction) -> Difference:
    return Difference(
        kind=kind,
        way=(keyword,),
        message=f"`{keyword}` is {_number(new)} instead of {_number(old)}",
    )


def _number(value: int | Fraction) -> str:
    return str(value) if value == int(value) else str(float(value))


def _listed(values: list[str]) -> str:
    shown = ", ".join(f"`{value[:50]}`" for value in values[:5])
    return shown if len(values) <= 5 else f"{shown} and {len(values) - 5:,} more"
