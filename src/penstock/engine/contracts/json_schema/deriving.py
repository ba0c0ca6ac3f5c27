"""From a JSON Schema to its fields: which kind a value has in Spark, and which rules it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.contracts.errors import UnreadableSchemaError
from penstock.engine.contracts.json_schema.fields import (
    Derived,
    Field,
    JsonType,
    Kind,
    Member,
    is_native_divisor,
)
from penstock.engine.contracts.json_schema.java_patterns import java_pattern
from penstock.engine.contracts.json_schema.merging import (
    NULL,
    NUMBERS,
    Merging,
    Rules,
    asks_more,
    is_closed,
    is_restricted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.schemas.json_schema import JsonSchema
    from penstock.schemas.json_schema.documents import Node
    from penstock.schemas.json_schema.shapes import Properties, Shape

MAX_FIELDS = 1_000
"""Of a schema, references written out: Spark plans no more in a reasonable time."""

MAX_DEPTH = 30
RECURSION_DEPTH = 5
"""How often an object may occur within itself; what is deeper is a column of JSON text."""

_KINDS = {
    frozenset({JsonType.INTEGER}): Kind.INTEGER,
    frozenset({JsonType.FRACTION}): Kind.NUMBER,
    NUMBERS: Kind.NUMBER,
    frozenset({JsonType.BOOLEAN}): Kind.BOOLEAN,
}
_FORMATS = {"date": Kind.DATE, "date-time": Kind.TIMESTAMP}


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


class _Deriving:
    def __init__(self, schema: JsonSchema, recursion_depth: int) -> None:
        self._name = schema.name
        self._recursion_depth = recursion_depth
        self._root = schema.documents.root
        self._merging = Merging(schema.documents)
        self._count = 0

    def whole(self) -> Derived:
        root = self._field([self._root], ())
        return Derived(root=root, complete=self._merging.complete)

    def _field(self, nodes: Iterable[Node], above: tuple[Shape, ...]) -> Field:
        self._count += 1
        if self._count > MAX_FIELDS:
            raise UnreadableSchemaError(
                self._name, reason=f"it has more than {MAX_FIELDS:,} fields"
            )
        rules = self._merging.merged(nodes)
        shapes: list[Shape] = [*rules.objects, *rules.items]
        too_deep = len(above) > MAX_DEPTH or any(
            above.count(shape) >= self._recursion_depth for shape in shapes
        )
        if too_deep:
            return self._json(rules)
        return self._of_kind(rules, (*above, *shapes))

    def _of_kind(self, rules: Rules, above: tuple[Shape, ...]) -> Field:
        types = rules.types - NULL
        if types == {JsonType.STRING}:
            return self._text(rules)
        if types == {JsonType.OBJECT} and rules.objects:
            return self._object(rules, above)
        if types == {JsonType.ARRAY}:
            return self._array(rules, above)
        if types not in _KINDS:
            return self._json(rules)
        if any(not is_native_divisor(one, _KINDS[types]) for one in rules.numbers):
            self._merging.complete = False
        return Field(
            kind=_KINDS[types],
            types=rules.types,
            numbers=tuple(rules.numbers),
            allowed=tuple(rules.allowed),
        )

    def _json(self, rules: Rules) -> Field:
        if not rules.only_types():
            self._merging.complete = False
        return Field(kind=Kind.JSON, types=rules.types)

    def _text(self, rules: Rules) -> Field:
        if any(text.pattern and java_pattern(text.pattern) is None for text in rules.texts):
            self._merging.complete = False
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

    def _array(self, rules: Rules, above: tuple[Shape, ...]) -> Field:
        if any(one.first for one in rules.items):
            return self._json(rules)
        if rules.allowed or any(one.contains or one.unique for one in rules.items):
            self._merging.complete = False
        nodes = [one.rest.schema for one in rules.items if one.rest.schema is not None]
        return Field(
            kind=Kind.ARRAY,
            types=rules.types,
            items=tuple(rules.items),
            element=self._field(nodes, above),
        )

    def _object(self, rules: Rules, above: tuple[Shape, ...]) -> Field:
        nodes = _named(rules.objects)
        kind = Kind.STRUCT if nodes else Kind.MAP
        rest = [one.rest.schema for one in rules.objects if is_restricted(one)]
        if kind is Kind.MAP and (len(rest) != 1 or any(one.patterns for one in rules.objects)):
            return self._json(rules)
        if rules.allowed or any(asks_more(one, kind) for one in rules.objects):
            self._merging.complete = False
        self._check_names(nodes)
        return Field(
            kind=kind,
            types=rules.types,
            required=tuple(sorted({name for one in rules.objects for name in one.required})),
            closed=tuple(frozenset(one.named) for one in rules.objects if is_closed(one)),
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


def _named(objects: Iterable[Properties]) -> dict[str, list[Node]]:
    nodes: dict[str, list[Node]] = {}
    for one in objects:
        for name, node in one.named.items():
            nodes.setdefault(name, []).append(node)
    return nodes
