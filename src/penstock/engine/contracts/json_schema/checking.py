"""The rules of a JSON Schema as Spark's own expressions.

Each rule gives a sentence where it is broken, and null elsewhere: also where there is no value, or
one of a type that the rule is not about. Numbers are compared as the columns hold them: integers
exactly, others as doubles.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F

from penstock.engine.contracts.json_schema.fields import JsonType, Kind, is_native_divisor
from penstock.engine.contracts.json_schema.java_patterns import java_pattern
from penstock.engine.contracts.json_schema.places import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    from pyspark.sql import Column

    from penstock.engine.contracts.json_schema.fields import Field
    from penstock.schemas.json_schema.shapes import Items, Number, Text

_OBJECT, _ARRAY, _MAP = "struct<>", "array<variant>", "map<string,variant>"
_ANY_ARRAY = "array<struct<>>"
"""The type of any array that costs the least: what is no object in it is null."""

_WORDS = {
    Kind.TEXT: "a string",
    Kind.DATE: "a string",
    Kind.TIMESTAMP: "a string",
    Kind.INTEGER: "an integer",
    Kind.NUMBER: "a number",
    Kind.BOOLEAN: "a boolean",
    Kind.ARRAY: "an array",
    Kind.MAP: "an object",
    Kind.STRUCT: "an object",
}
_FOUND = {
    "VOID": "null",
    "STRING": "a string",
    "BOOLEAN": "a boolean",
    "OBJECT": "an object",
    "ARRAY": "an array",
}
_NAMES = {
    JsonType.NULL: "VOID",
    JsonType.BOOLEAN: "BOOLEAN",
    JsonType.STRING: "STRING",
}
_PREFIXES = {JsonType.ARRAY: "ARRAY", JsonType.OBJECT: "OBJECT"}
_VALUES: dict[Kind, type | tuple[type, ...]] = {
    Kind.TEXT: str,
    Kind.INTEGER: int,
    Kind.NUMBER: (int, float),
    Kind.BOOLEAN: bool,
}
_MAX_LONG = 2**63
_MAX_TOLD = 5


def broken(field: Field, place: Place) -> Column:
    """Return the first rule that the value at `place` breaks, null if it breaks none."""
    return F.coalesce(*_broken(field, place), F.lit(None).cast("string"))


def date_in(text: Column) -> Column:
    """Return the date in a text as RFC 3339 writes it, null if it is none."""
    return F.when(text.rlike(r"^\d{4}-\d\d-\d\d\z"), text.try_cast("date"))


def timestamp_in(text: Column) -> Column:
    """Return the time in a text as RFC 3339 writes it, null if it is none; without zone: UTC."""
    is_time = text.rlike(r"^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,30})?([Zz]|[+-]\d\d:\d\d)?\z")
    upper = F.upper(text)
    has_zone = upper.endswith("Z") | F.substring(text, -6, 1).isin("+", "-")
    zoned = F.when(has_zone, upper).otherwise(F.concat(upper, F.lit("Z")))
    return F.when(is_time, zoned.try_cast("timestamp"))


def _broken(field: Field, place: Place, *, required: bool = False) -> Iterator[Column]:
    """Yield the rules in order; most values are of their usual type, which is one look."""
    usual = _is_usual(field.kind, place)
    unusual = [*_missing(place)] if required else []
    unusual += [] if field.unrestricted else _wrong_type(field, place)
    inside = [*_rules(field, place)]
    if usual is None:
        yield from unusual
        yield from inside
    elif field.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT):
        yield F.when(~usual, F.coalesce(*unusual)).otherwise(
            F.coalesce(*inside, F.lit(None).cast("string"))
        )
    else:
        yield F.when(~usual, F.coalesce(*unusual))
        yield from inside


def _is_usual(kind: Kind, place: Place) -> Column | None:
    """Tell whether a value is as most are, never null; None if there is no usual type."""
    match kind:
        case Kind.TEXT | Kind.DATE | Kind.TIMESTAMP:
            return place.type_name().eqNullSafe("STRING")
        case Kind.INTEGER:
            return place.type_name().eqNullSafe("BIGINT")
        case Kind.BOOLEAN:
            return place.type_name().eqNullSafe("BOOLEAN")
        case Kind.NUMBER:
            return F.coalesce(place.type_name().startswith("DECIMAL"), F.lit(False))  # noqa: FBT003 - a literal of Spark
        case Kind.ARRAY:
            return place.as_type(_ANY_ARRAY).isNotNull()
        case Kind.MAP | Kind.STRUCT:
            return place.as_type(_OBJECT).isNotNull()
        case Kind.JSON:
            return None


def _missing(place: Place) -> Iterator[Column]:
    yield F.when(place.variant().isNull(), place.told(" is missing"))


def _wrong_type(field: Field, place: Place) -> Iterator[Column]:
    """Yield what is wrong with a value that is not of the usual type."""
    right = F.lit(False)  # noqa: FBT003 - a literal of Spark
    if field.kind not in (Kind.ARRAY, Kind.MAP, Kind.STRUCT):
        right = _is_one_of(field.types, place)
    elif field.nullable:
        right = F.is_variant_null(place.variant())
    told = place.told(" is ", _found(place), f", not {_wanted(field)}")
    yield F.when(place.variant().isNotNull() & ~right, told)
    if field.kind is Kind.INTEGER:
        lost = (place.type_name() != "VOID") & place.as_type("bigint").isNull()
        yield F.when(lost, place.told(" does not fit into 64 bits"))
    if field.kind is Kind.NUMBER:
        infinite = F.abs(place.as_type("double")) == math.inf
        yield F.when(infinite, place.told(" does not fit into 64 bits"))


def _rules(field: Field, place: Place) -> Iterator[Column]:
    yield from _not_allowed(field, place)
    match field.kind:
        case Kind.TEXT:
            for text in field.texts:
                yield from _text_rules(text, place)
        case Kind.DATE:
            yield from _unless_read(place, date_in, "is not a date")
        case Kind.TIMESTAMP:
            yield from _unless_read(place, timestamp_in, "is not a date and time")
        case Kind.INTEGER | Kind.NUMBER:
            for number in field.numbers:
                yield from _number_rules(number, field.kind, place)
        case Kind.ARRAY:
            yield from _array_rules(field, place)
        case Kind.MAP | Kind.STRUCT:
            yield from _object_rules(field, place)
        case Kind.BOOLEAN | Kind.JSON:
            pass


def _is_one_of(types: frozenset[JsonType], place: Place) -> Column:
    """Tell whether a scalar, or a value of several types, is of one of `types`."""
    found = place.type_name()
    right = found.isin([name for kind, name in _NAMES.items() if kind in types])
    for kind, prefix in _PREFIXES.items():
        if kind in types:
            right = right | found.startswith(prefix)
    if JsonType.INTEGER in types and JsonType.FRACTION not in types:
        number = place.as_type("double")
        right = right | (found == "BIGINT") | (found.startswith("DECIMAL") & found.endswith(",0)"))
        right = right | ((found == "DOUBLE") & (F.floor(number) == number))
    if JsonType.FRACTION in types:
        right = right | found.isin("BIGINT", "DOUBLE") | found.startswith("DECIMAL")
    return right


def _found(place: Place) -> Column:
    name = place.type_name()
    word = F.lit("a number")
    for prefix, its_word in _FOUND.items():
        word = F.when(name.startswith(prefix), F.lit(its_word)).otherwise(word)
    return word


def _wanted(field: Field) -> str:
    if field.kind is not Kind.JSON:
        return _WORDS[field.kind]
    names = {"number" if kind is JsonType.FRACTION else str(kind) for kind in field.types}
    return " or ".join(sorted(names)) or "allowed at all"


def _not_allowed(field: Field, place: Place) -> Iterator[Column]:
    if field.kind not in _VALUES:
        return
    value = place.as_type(field.kind)
    for allowed in field.allowed:
        values = [one for one in allowed if _fits(one, field.kind)]
        told = ", ".join(f"`{one}`" for one in values[:_MAX_TOLD])
        more = ", …" if len(values) > _MAX_TOLD else ""
        text = f" is not {told}" if len(values) == 1 else f" is none of {told}{more}"
        yield F.when(~value.isin(values), place.told(text))


def _fits(value: object, kind: Kind) -> bool:
    if not isinstance(value, _VALUES[kind]) or isinstance(value, bool) != (kind is Kind.BOOLEAN):
        return False
    return kind is not Kind.INTEGER or -_MAX_LONG <= cast("int", value) < _MAX_LONG


def _text_rules(text: Text, place: Place) -> Iterator[Column]:
    value = place.as_type("string")
    if text.shortest:
        too_short = F.char_length(value) < text.shortest
        yield F.when(
            too_short, place.told(f" is shorter than {_counted(text.shortest, 'character')}")
        )
    if text.longest is not None:
        too_long = F.char_length(value) > text.longest
        yield F.when(too_long, place.told(f" is longer than {_counted(text.longest, 'character')}"))
    pattern = java_pattern(text.pattern) if text.pattern else None
    if pattern is not None:
        if pattern.max_chars is not None:
            told = place.told(f" has more than {pattern.max_chars:,} characters to be matched")
            yield F.when(F.char_length(value) > pattern.max_chars, told)
        yield F.when(~value.rlike(pattern.text), place.told(f" does not match `{text.pattern}`"))


def _unless_read(place: Place, reading: Callable[[Column], Column], told: str) -> Iterator[Column]:
    text = place.as_type("string")
    yield F.when(text.isNotNull() & reading(text).isNull(), place.told(f" {told}"))


def _number_rules(number: Number, kind: Kind, place: Place) -> Iterator[Column]:
    value = place.as_type(kind)
    rules: list[tuple[Fraction | None, Callable[[Fraction], Column], str]] = [
        (number.minimum, lambda limit: _less(value, limit, kind), "is less than"),
        (number.maximum, lambda limit: _greater(value, limit, kind), "is greater than"),
        (number.above, lambda limit: ~_greater(value, limit, kind), "is not greater than"),
        (number.below, lambda limit: ~_less(value, limit, kind), "is not less than"),
    ]
    for limit, is_broken, told in rules:
        if limit is not None:
            yield F.when(is_broken(limit), place.told(f" {told} {_written(limit)}"))
    divisor = number.multiple_of
    if divisor is not None and is_native_divisor(number, kind):
        told = f" is not a multiple of {_written(divisor)}"
        yield F.when(_is_no_multiple(place, divisor, kind), place.told(told))


def _less(value: Column, limit: Fraction, kind: Kind) -> Column:
    """Tell whether a value is less than `limit`, null if there is no value."""
    return value < (_long(math.ceil(limit)) if kind is Kind.INTEGER else _double(limit))


def _greater(value: Column, limit: Fraction, kind: Kind) -> Column:
    return value > (_long(math.floor(limit)) if kind is Kind.INTEGER else _double(limit))


def _long(limit: int) -> Column:
    """Return a limit that Spark compares without loss; one beyond 64 bits as a decimal."""
    if -_MAX_LONG <= limit < _MAX_LONG:
        return F.lit(limit).cast("bigint")
    bounded = max(min(limit, 10**30), -(10**30))
    return F.lit(Decimal(bounded))


def _double(limit: Fraction) -> Column:
    try:
        return F.lit(float(limit))
    except OverflowError:
        return F.lit(math.copysign(math.inf, limit))


def _is_no_multiple(place: Place, divisor: Fraction, kind: Kind) -> Column:
    if kind is Kind.INTEGER:
        # A whole number is a multiple of p/q, which cannot be reduced, if it is one of p.
        return place.as_type("bigint") % divisor.numerator != 0
    value, by = place.as_type("double"), F.lit(_decimal(divisor))
    exact, large = place.as_type("decimal(38,18)"), place.as_type("decimal(38,0)")
    rest = F.coalesce(exact % by, large % by)
    rounded_away = (exact == 0) & (value != 0)
    return value.isNotNull() & (rest.isNull() | (rest != 0) | rounded_away)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _written(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else str(_decimal(number))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _array_rules(field: Field, place: Place) -> Iterator[Column]:
    for items in field.items:
        yield from _count_rules(items, F.array_size(place.as_type(_ANY_ARRAY)), place)
    element = field.element
    if element is None or element.unrestricted:
        return

    def broken_at(value: Column, index: Column) -> Column:
        pointer = (*place.pointer, "/", index.cast("string"))
        return broken(element, Place(root=value, pointer=pointer))

    yield first_of(F.transform(place.as_type(_ARRAY), broken_at))


def _count_rules(items: Items, size: Column, place: Place) -> Iterator[Column]:
    if items.fewest:
        told = f" has fewer than {_counted(items.fewest, 'item')}"
        yield F.when(size < items.fewest, place.told(told))
    if items.most is not None:
        told = f" has more than {_counted(items.most, 'item')}"
        yield F.when(size > items.most, place.told(told))


def _object_rules(field: Field, place: Place) -> Iterator[Column]:
    named = {member.name for member in field.members}
    for name in field.required:
        if name not in named:
            yield from _missing(place.child(name))
    for names in field.closed:
        yield _unknown_property(names, place)
    for member in field.members:
        required = member.name in field.required
        yield from _broken(member.field, place.child(member.name), required=required)
    element = field.element
    if element is not None and not element.unrestricted:

        def broken_at(entry: Column) -> Column:
            pointer = (*place.pointer, "/", entry["key"])
            return broken(element, Place(root=entry["value"], pointer=pointer))

        yield first_of(F.transform(F.map_entries(place.as_type(_MAP)), broken_at))


def _unknown_property(names: frozenset[str], place: Place) -> Column:
    known = F.array(*(F.lit(name) for name in sorted(names))).cast("array<string>")
    extra = F.get(F.array_except(F.map_keys(place.as_type(_MAP)), known), F.lit(0))
    unknown = Place(root=place.root, pointer=(*place.pointer, "/", extra))
    return F.when(extra.isNotNull(), unknown.told(" is not a property that the schema allows"))


def first_of(sentences: Column) -> Column:
    """Return the first of an array that is not null."""
    return F.get(F.filter(sentences, lambda one: one.isNotNull()), F.lit(0))
