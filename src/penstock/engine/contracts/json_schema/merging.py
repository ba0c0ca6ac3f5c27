"""What holds for one value under a JSON Schema: all that its schemas say, put together.

References, `allOf`, and choices between one type and `null` are merged. Of other choices only the
types remain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.engine.contracts.json_schema.fields import EVERY_TYPE, JsonType, Kind
from penstock.schemas.json_schema.documents import Node
from penstock.schemas.json_schema.shapes import (
    Anything,
    Combination,
    Conditional,
    Constant,
    Criterion,
    Enumeration,
    Items,
    Negation,
    Nothing,
    Number,
    Properties,
    Scalar,
    Text,
    Unevaluated,
)
from penstock.schemas.json_schema.shaping import Shaping

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.schemas.json_schema.documents import Documents
    from penstock.schemas.json_schema.shapes import Shape

NUMBERS = frozenset({JsonType.INTEGER, JsonType.FRACTION})
NULL = frozenset({JsonType.NULL})


@dataclass(slots=True)
class Rules:
    """All that holds for one value."""

    types: frozenset[JsonType] = EVERY_TYPE
    texts: list[Text] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    items: list[Items] = field(default_factory=list)
    objects: list[Properties] = field(default_factory=list)
    allowed: list[tuple[object, ...]] = field(default_factory=list)

    def take(self, other: Rules) -> None:
        """Add what `other` asks for; the types are the caller's matter."""
        self.texts += other.texts
        self.numbers += other.numbers
        self.items += other.items
        self.objects += other.objects
        self.allowed += other.allowed

    def only_types(self) -> bool:
        """Tell whether nothing but a type is asked for."""
        return (
            not self.allowed
            and not any(
                text.pattern or text.shortest or text.longest is not None for text in self.texts
            )
            and not any(_limits(number) for number in self.numbers)
            and not any(_asks_items(one) for one in self.items)
            and not any(_asks_properties(one) for one in self.objects)
        )


class Merging:
    """Merges what the nodes of one schema say."""

    def __init__(self, documents: Documents) -> None:
        self._shaping = Shaping(documents)
        self.complete = not documents.dynamic
        """Whether nothing was met that the rules do not hold."""

    def merged(self, nodes: Iterable[Node]) -> Rules:
        """Return all that `nodes` ask of the same value."""
        rules = Rules()
        for node in nodes:
            self._add(rules, self._shaping.shape(node))
        _narrow(rules)
        return rules

    def _add(self, rules: Rules, shape: Shape) -> None:
        match shape:
            case Anything():
                return
            case Nothing():
                rules.types = frozenset()
            case Scalar(type=name):
                rules.types &= {JsonType(name)}
            case Text(typed=typed):
                rules.texts.append(shape)
                rules.types &= {JsonType.STRING} if typed else EVERY_TYPE
            case Number(typed=typed, integer=integer):
                rules.numbers.append(shape)
                rules.types &= _number_types(integer=integer) if typed else EVERY_TYPE
            case Properties(typed=typed):
                rules.objects.append(shape)
                rules.types &= {JsonType.OBJECT} if typed else EVERY_TYPE
            case Items(typed=typed):
                rules.items.append(shape)
                rules.types &= {JsonType.ARRAY} if typed else EVERY_TYPE
            case Enumeration(values=values):
                _allow(rules, sorted(values))
            case Constant(value=value):
                _allow(rules, [value])
            case Combination():
                self._add_combination(rules, shape)
            case Negation() | Conditional() | Unevaluated():
                self.complete = False

    def _add_combination(self, rules: Rules, shape: Combination) -> None:
        members = [
            self._shaping.shape(one) if isinstance(one, Node) else one for one in shape.members
        ]
        if shape.criterion is Criterion.ALL:
            for member in members:
                self._add(rules, member)
            return
        options = [Rules() for _ in members]
        for option, member in zip(options, members, strict=True):
            self._add(option, member)
        self._add_options(rules, options, exactly_one=shape.criterion is Criterion.ONE)

    def _add_options(self, rules: Rules, options: list[Rules], *, exactly_one: bool) -> None:
        """Merge the only option beside `null`; of several ones, only their types are known."""
        others = [option for option in options if option.types != NULL]
        overlap = sum(len(one.types) for one in options) > len(_union(options))
        rules.types &= _union(options)
        if len(others) == 1:
            rules.take(others[0])
        elif not all(option.only_types() for option in others):
            self.complete = False
        if exactly_one and overlap:
            self.complete = False


def _narrow(rules: Rules) -> None:
    """Take a schema without any type for one of the only type that it has rules for."""
    if rules.types != EVERY_TYPE:
        return
    candidates: list[tuple[Sequence[object], frozenset[JsonType]]] = [
        (rules.texts, frozenset({JsonType.STRING})),
        (rules.numbers, NUMBERS),
        (rules.items, frozenset({JsonType.ARRAY})),
        (rules.objects, frozenset({JsonType.OBJECT})),
    ]
    found = [types for shapes, types in candidates if shapes]
    if len(found) == 1:
        rules.types = found[0] | NULL


def _allow(rules: Rules, keys: Iterable[str]) -> None:
    values = tuple(_value(key) for key in keys)
    rules.types &= {_type_of(value) for value in values}
    rules.allowed.append(values)


def _value(key: str) -> object:
    """Return the value that `value_key` has written."""
    return key[1:-1] if key.startswith('"') else json.loads(key)


def _type_of(value: object) -> JsonType:
    match value:
        case None:
            return JsonType.NULL
        case bool():
            return JsonType.BOOLEAN
        case int():
            return JsonType.INTEGER
        case float():
            return JsonType.FRACTION
        case str():
            return JsonType.STRING
        case list():
            return JsonType.ARRAY
        case _:
            return JsonType.OBJECT


def _number_types(*, integer: bool) -> frozenset[JsonType]:
    return frozenset({JsonType.INTEGER}) if integer else NUMBERS


def _union(options: Iterable[Rules]) -> frozenset[JsonType]:
    return frozenset().union(*(option.types for option in options))


def _limits(number: Number) -> bool:
    limits = (number.minimum, number.maximum, number.above, number.below, number.multiple_of)
    return any(limit is not None for limit in limits)


def _asks_items(items: Items) -> bool:
    limits = items.fewest, items.most
    rest = items.rest.schema
    return bool(
        items.first
        or items.contains
        or items.unique
        or any(limit is not None for limit in limits)
        or (rest is not None and rest.schema not in (True, {}))
    )


def _asks_properties(one: Properties) -> bool:
    return bool(one.named or one.required or is_restricted(one) or asks_more(one, Kind.MAP))


def asks_more(one: Properties, kind: Kind) -> bool:
    """Tell whether an object has rules that are not checked in Spark."""
    return bool(
        one.patterns
        or one.names
        or one.dependencies.required
        or one.dependencies.schemas
        or one.fewest is not None
        or one.most is not None
        or (kind is Kind.STRUCT and is_restricted(one) and not is_closed(one))
    )


def is_restricted(one: Properties) -> bool:
    """Tell whether properties without a name of their own are limited."""
    rest = one.rest.schema
    return rest is not None and rest.schema not in (True, {})


def is_closed(one: Properties) -> bool:
    """Tell whether an object may have no properties but those it names."""
    rest = one.rest.schema
    return rest is not None and rest.schema is False and not one.patterns
