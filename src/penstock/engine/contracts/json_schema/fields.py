"""What the values under a JSON Schema are: a tree of fields, each of the kind it has in Spark.

A schema says many things at once; here references, `allOf`, and choices of one type and `null` are
merged into what a value must fulfil. A field keeps the rules that Spark's own expressions can check
(`checking.py`); a schema that has others is not `complete`, and its documents are checked in
Arrow batches as well (`batches.py`).

No field is declared `NOT NULL`, required ones neither: Spark would take it for a promise, and the
columns of records that are about to be dropped, or of tombstones, are null.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.engine.contracts.errors import UnreadableSchemaError
from penstock.engine.contracts.json_schema.java_patterns import java_pattern
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

    from penstock.schemas.json_schema import JsonSchema
    from penstock.schemas.json_schema.shapes import Shape

MAX_FIELDS = 1_000
"""Of a schema, references written out: Spark plans no more in a reasonable time."""

MAX_DEPTH = 30
RECURSION_DEPTH = 5
"""How often an object may occur within itself; what is deeper is a column of JSON text."""


class JsonType(StrEnum):
    """What a JSON value is; numbers are split, so that integers are some of them."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FRACTION = "fraction"
    STRING = "string"
    ARRAY = "array"
    OBJECT = "object"


class Kind(StrEnum):
    """What a field is in Spark."""

    TEXT = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INTEGER = "bigint"
    NUMBER = "double"
    BOOLEAN = "boolean"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    JSON = "JSON text"
    """A string with the JSON of a value that has no single type."""


_EVERY_TYPE = frozenset(JsonType)
_NUMBERS = frozenset({JsonType.INTEGER, JsonType.FRACTION})
_NULL = frozenset({JsonType.NULL})
_KINDS = {
    frozenset({JsonType.INTEGER}): Kind.INTEGER,
    frozenset({JsonType.FRACTION}): Kind.NUMBER,
    _NUMBERS: Kind.NUMBER,
    frozenset({JsonType.BOOLEAN}): Kind.BOOLEAN,
}
_FORMATS = {"date": Kind.DATE, "date-time": Kind.TIMESTAMP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A value: its kind in Spark, and the rules of that kind."""

    kind: Kind
    types: frozenset[JsonType]
    texts: tuple[Text, ...] = ()
    numbers: tuple[Number, ...] = ()
    items: tuple[Items, ...] = ()
    closed: tuple[frozenset[str], ...] = ()
    """Names, beside which an object may have no others."""

    required: tuple[str, ...] = ()
    allowed: tuple[tuple[object, ...], ...] = ()
    """Lists of values of which it must be one each; `null` is a matter of `types`."""

    members: tuple[Member, ...] = ()
    element: Field | None = None
    """Of an array or a map."""

    @property
    def nullable(self) -> bool:
        """Whether `null` may stand here; a field that is not required may be missing anyway."""
        return JsonType.NULL in self.types

    @property
    def inner(self) -> tuple[Field, ...]:
        """The fields below."""
        members = tuple(one.field for one in self.members)
        return members if self.element is None else (*members, self.element)

    @property
    def unrestricted(self) -> bool:
        """Whether any value may stand here."""
        return self.kind is Kind.JSON and self.types == _EVERY_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A property of an object."""

    name: str
    field: Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What a schema says of its documents."""

    root: Field
    complete: bool
    """Whether the rules of the fields are all that the schema asks for."""


def derived(schema: JsonSchema) -> Derived:
    """Return the fields of `schema`.

    A schema that names no type, but has rules for values of one type only, is for that type.

    Raises:
        UnreadableSchemaError: it has too many fields, or names that Spark cannot tell apart.
    """
    for depth in range(RECURSION_DEPTH, 1, -1):
        try:
            return _Deriving(schema, depth).whole()
        except UnreadableSchemaError:
            # An object that holds itself in several places has too many fields sooner.
            continue
    return _Deriving(schema, 1).whole()


@dataclass(slots=True)
class _Rules:
    """All that holds for one value."""

    types: frozenset[JsonType] = _EVERY_TYPE
    texts: list[Text] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    items: list[Items] = field(default_factory=list)
    objects: list[Properties] = field(default_factory=list)
    allowed: list[tuple[object, ...]] = field(default_factory=list)

    def take(self, other: _Rules) -> None:
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


class _Deriving:
    def __init__(self, schema: JsonSchema, recursion_depth: int) -> None:
        self._name = schema.name
        self._recursion_depth = recursion_depth
        self._root = schema.documents.root
        self._shaping = Shaping(schema.documents)
        self._complete = not schema.documents.dynamic
        self._count = 0

    def whole(self) -> Derived:
        root = self._field([self._root], ())
        return Derived(root=root, complete=self._complete)

    def _field(self, nodes: Iterable[Node], above: tuple[Shape, ...]) -> Field:
        self._count += 1
        if self._count > MAX_FIELDS:
            raise UnreadableSchemaError(
                self._name, reason=f"it has more than {MAX_FIELDS:,} fields"
            )
        rules = _Rules()
        for node in nodes:
            self._add(rules, self._shaping.shape(node))
        _narrow(rules)
        shapes: list[Shape] = [*rules.objects, *rules.items]
        too_deep = len(above) > MAX_DEPTH or any(
            above.count(shape) >= self._recursion_depth for shape in shapes
        )
        if too_deep:
            return self._json(rules)
        return self._of_kind(rules, (*above, *shapes))

    def _add(self, rules: _Rules, shape: Shape) -> None:
        match shape:
            case Anything():
                return
            case Nothing():
                rules.types = frozenset()
            case Scalar(type=name):
                rules.types &= {JsonType(name)}
            case Text(typed=typed):
                rules.texts.append(shape)
                rules.types &= {JsonType.STRING} if typed else _EVERY_TYPE
            case Number(typed=typed, integer=integer):
                rules.numbers.append(shape)
                rules.types &= _number_types(integer=integer) if typed else _EVERY_TYPE
            case Properties(typed=typed):
                rules.objects.append(shape)
                rules.types &= {JsonType.OBJECT} if typed else _EVERY_TYPE
            case Items(typed=typed):
                rules.items.append(shape)
                rules.types &= {JsonType.ARRAY} if typed else _EVERY_TYPE
            case Enumeration(values=values):
                _allow(rules, sorted(values))
            case Constant(value=value):
                _allow(rules, [value])
            case Combination():
                self._add_combination(rules, shape)
            case Negation() | Conditional() | Unevaluated():
                self._complete = False

    def _add_combination(self, rules: _Rules, shape: Combination) -> None:
        members = [
            self._shaping.shape(one) if isinstance(one, Node) else one for one in shape.members
        ]
        if shape.criterion is Criterion.ALL:
            for member in members:
                self._add(rules, member)
            return
        options = [_Rules() for _ in members]
        for option, member in zip(options, members, strict=True):
            self._add(option, member)
        self._add_options(rules, options, exactly_one=shape.criterion is Criterion.ONE)

    def _add_options(self, rules: _Rules, options: list[_Rules], *, exactly_one: bool) -> None:
        """Merge the only option beside `null`; of several ones, only their types are known."""
        others = [option for option in options if option.types != _NULL]
        overlap = sum(len(one.types) for one in options) > len(_union(options))
        rules.types &= _union(options)
        if len(others) == 1:
            rules.take(others[0])
        elif not all(option.only_types() for option in others):
            self._complete = False
        if exactly_one and overlap:
            self._complete = False

    def _of_kind(self, rules: _Rules, above: tuple[Shape, ...]) -> Field:
        types = rules.types - _NULL
        if types == {JsonType.STRING}:
            return self._text(rules)
        if types == {JsonType.OBJECT} and rules.objects:
            return self._object(rules, above)
        if types == {JsonType.ARRAY}:
            return self._array(rules, above)
        if types not in _KINDS:
            return self._json(rules)
        if any(not is_native_divisor(one, _KINDS[types]) for one in rules.numbers):
            self._complete = False
        return Field(
            kind=_KINDS[types],
            types=rules.types,
            numbers=tuple(rules.numbers),
            allowed=tuple(rules.allowed),
        )

    def _json(self, rules: _Rules) -> Field:
        if not rules.only_types():
            self._complete = False
        return Field(kind=Kind.JSON, types=rules.types)

    def _text(self, rules: _Rules) -> Field:
        if any(text.pattern and java_pattern(text.pattern) is None for text in rules.texts):
            self._complete = False
        kind = Kind.TEXT
        if rules.only_types():
            # Other rules are about the text, and a date has lost it.
            kinds = [_FORMATS[one.format] for one in rules.texts if one.format in _FORMATS]
            kind = kinds[0] if kinds else Kind.TEXT
        return Field(
            kind=kind,
            types=rules.types,
            texts=tuple(rules.texts),
            allowed=tuple(rules.allowed),
        )

    def _array(self, rules: _Rules, above: tuple[Shape, ...]) -> Field:
        if any(one.first for one in rules.items):
            return self._json(rules)
        if rules.allowed or any(one.contains or one.unique for one in rules.items):
            self._complete = False
        nodes = [one.rest.schema for one in rules.items if one.rest.schema is not None]
        return Field(
            kind=Kind.ARRAY,
            types=rules.types,
            items=tuple(rules.items),
            element=self._field(nodes, above),
        )

    def _object(self, rules: _Rules, above: tuple[Shape, ...]) -> Field:
        nodes = _named(rules.objects)
        kind = Kind.STRUCT if nodes else Kind.MAP
        rest = [one.rest.schema for one in rules.objects if _is_restricted(one)]
        if kind is Kind.MAP and (len(rest) != 1 or any(one.patterns for one in rules.objects)):
            return self._json(rules)
        if rules.allowed or any(_asks_more(one, kind) for one in rules.objects):
            self._complete = False
        self._check_names(nodes)
        return Field(
            kind=kind,
            types=rules.types,
            required=tuple(sorted({name for one in rules.objects for name in one.required})),
            closed=tuple(frozenset(one.named) for one in rules.objects if _is_closed(one)),
            members=tuple(
                Member(name=name, field=self._field(its_nodes, above))
                for name, its_nodes in nodes.items()
            ),
            element=self._field([node for node in rest if node], above)
            if kind is Kind.MAP
            else None,
        )

    def _check_names(self, names: Iterable[str]) -> None:
        seen: dict[str, str] = {}
        for name in names:
            if not name:
                raise UnreadableSchemaError(self._name, reason="a property has an empty name")
            other = seen.setdefault(name.lower(), name)
            if other != name:
                reason = f"the properties `{other}` and `{name}` differ only in case"
                raise UnreadableSchemaError(self._name, reason=reason)


def is_native_divisor(number: Number, kind: Kind) -> bool:
    """Tell whether Spark can decide exactly what is a multiple; see `checking.py`."""
    divisor = number.multiple_of
    if divisor is None:
        return True
    if kind is Kind.INTEGER:
        return divisor.numerator < 2**63
    return 10**9 % divisor.denominator == 0 and divisor < 10**9


def _narrow(rules: _Rules) -> None:
    """Take a schema without any type for one of the only type that it has rules for."""
    if rules.types != _EVERY_TYPE:
        return
    candidates: list[tuple[Sequence[object], frozenset[JsonType]]] = [
        (rules.texts, frozenset({JsonType.STRING})),
        (rules.numbers, _NUMBERS),
        (rules.items, frozenset({JsonType.ARRAY})),
        (rules.objects, frozenset({JsonType.OBJECT})),
    ]
    found = [types for shapes, types in candidates if shapes]
    if len(found) == 1:
        rules.types = found[0] | _NULL


def _allow(rules: _Rules, keys: Iterable[str]) -> None:
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
    return frozenset({JsonType.INTEGER}) if integer else _NUMBERS


def _union(options: Iterable[_Rules]) -> frozenset[JsonType]:
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
    return bool(one.named or one.required or _is_restricted(one) or _asks_more(one, Kind.MAP))


def _asks_more(one: Properties, kind: Kind) -> bool:
    """Tell whether an object has rules that are not checked in Spark."""
    return bool(
        one.patterns
        or one.names
        or one.dependencies.required
        or one.dependencies.schemas
        or one.fewest is not None
        or one.most is not None
        or (kind is Kind.STRUCT and _is_restricted(one) and not _is_closed(one))
    )


def _is_restricted(one: Properties) -> bool:
    rest = one.rest.schema
    return rest is not None and rest.schema not in (True, {})


def _is_closed(one: Properties) -> bool:
    rest = one.rest.schema
    return rest is not None and rest.schema is False and not one.patterns


def _named(objects: Iterable[Properties]) -> dict[str, list[Node]]:
    nodes: dict[str, list[Node]] = {}
    for one in objects:
        for name, node in one.named.items():
            nodes.setdefault(name, []).append(node)
    return nodes
