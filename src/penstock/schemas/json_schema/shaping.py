"""From a node to its shape: which keywords count in which draft, and what they are called."""

from fractions import Fraction
from typing import cast

from penstock.schemas.json_schema.assertions import exact, value_key
from penstock.schemas.json_schema.documents import REFERENCE_KEYWORDS, Documents, Node
from penstock.schemas.json_schema.drafts import Draft, Keywords
from penstock.schemas.json_schema.shapes import (
    Anything,
    Combination,
    Conditional,
    Constant,
    Criterion,
    Dependencies,
    Enumeration,
    Items,
    Member,
    Negation,
    Nothing,
    Number,
    Properties,
    Rest,
    Scalar,
    Shape,
    Text,
    Unevaluated,
)

_TEXT_KEYWORDS = frozenset({"minLength", "maxLength", "pattern", "format"})
_NUMBER_KEYWORDS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)
_OBJECT_KEYWORDS = frozenset(
    {
        "properties",
        "required",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
    }
)
_ARRAY_KEYWORDS = frozenset(
    {
        "items",
        "additionalItems",
        "unevaluatedItems",
        "prefixItems",
        "contains",
        "minItems",
        "maxItems",
        "uniqueItems",
    }
)
# Keywords whose subschemas look at the same value, and so count for `unevaluated…` beside them.
_IN_PLACE = frozenset(
    {*REFERENCE_KEYWORDS, "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "contains"}
)


class Shaping:
    """Makes the shapes of one schema's nodes, each once."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._known: dict[Node, Shape] = {}

    def shape(self, node: Node) -> Shape:
        """Return what `node` says, references followed."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._made(node)
        return known

    def _made(self, node: Node) -> Shape:
        if isinstance(node.schema, bool):
            return Anything() if node.schema else Nothing()
        if "$ref" in node.schema and node.draft.ref_replaces_siblings:
            return self.shape(self._documents.target(node, "$ref"))
        parts = _Parts(self._documents, node, node.schema).all()
        if not parts:
            return Anything()
        if len(parts) > 1:
            return Combination(criterion=Criterion.ALL, members=tuple(parts))
        return self.shape(parts[0]) if isinstance(parts[0], Node) else parts[0]


class _Parts:
    """The shapes side by side in one schema."""

    def __init__(self, documents: Documents, node: Node, schema: Keywords) -> None:
        self.documents = documents
        self.node = node
        self.schema = schema
        self.draft = node.draft

    def all(self) -> list[Member]:
        """Return them in the order in which Confluent's registry looks for them."""
        parts: list[Member] = []
        if not self.draft.ref_replaces_siblings:
            parts += [
                self.documents.target(self.node, keyword)
                for keyword in REFERENCE_KEYWORDS
                if keyword in self.schema
            ]
        if isinstance(values := self.schema.get("enum"), list):
            parts.append(Enumeration(values=frozenset(value_key(value) for value in values)))
        parts += self._combinations()
        if "not" in self.schema:
            parts.append(Negation(schema=self._child("not")))
        if "const" in self.schema and self.draft >= Draft.DRAFT_06:
            parts.append(Constant(value=value_key(self.schema["const"])))
        parts += self._by_type()
        parts += self._conditional()
        parts += self._unevaluated()
        return parts

    def _child(self, *way: str) -> Node:
        return self.documents.child(self.node, *way)

    def _children(self, keyword: str) -> tuple[Node, ...]:
        entries = self.schema.get(keyword)
        count = len(entries) if isinstance(entries, list) else 0
        return tuple(self._child(keyword, str(position)) for position in range(count))

    def _named_children(self, keyword: str) -> dict[str, Node]:
        entries = self.schema.get(keyword)
        names = entries if isinstance(entries, dict) else {}
        return {
            name: self._child(keyword, name)
            for name, entry in names.items()
            if not isinstance(entry, list)
        }

    def _combinations(self) -> list[Shape]:
        return [
            Combination(criterion=criterion, members=_distinct(members))
            for criterion in Criterion
            if (members := self._children(criterion))
        ]

    def _by_type(self) -> list[Shape]:
        kinds = self.schema.get("type")
        if isinstance(kinds, str):
            return [self._of_type(kinds)]
        if isinstance(kinds, list):
            members = tuple(self._of_type(str(kind)) for kind in kinds)
            return [Combination(criterion=Criterion.ANY, members=members)]
        shapes: list[Shape] = []
        if not _ARRAY_KEYWORDS.isdisjoint(self.schema):
            shapes.append(self._items(typed=False))
        if not _OBJECT_KEYWORDS.isdisjoint(self.schema):
            shapes.append(self._properties(typed=False))
        if not _NUMBER_KEYWORDS.isdisjoint(self.schema):
            shapes.append(self._number(typed=False, integer=False))
        if not _TEXT_KEYWORDS.isdisjoint(self.schema):
            shapes.append(self._text(typed=False))
        return shapes

    def _of_type(self, kind: str) -> Shape:
        match kind:
            case "string":
                return self._text(typed=True)
            case "number" | "integer":
                return self._number(typed=True, integer=kind == "integer")
            case "object":
                return self._properties(typed=True)
            case "array":
                return self._items(typed=True)
            case _:
                return Scalar(type=kind)

    def _conditional(self) -> list[Shape]:
        then, otherwise = ("then" in self.schema), ("else" in self.schema)
        if self.draft < Draft.DRAFT_07 or "if" not in self.schema or not (then or otherwise):
            return []
        return [
            Conditional(
                condition=self._child("if"),
                then=self._child("then") if then else None,
                otherwise=self._child("else") if otherwise else None,
            )
        ]

    def _unevaluated(self) -> list[Shape]:
        return [
            Unevaluated(keyword=keyword, schema=self.node)
            for keyword in ("unevaluatedProperties", "unevaluatedItems")
            if self.draft >= Draft.DRAFT_2019_09
            and self.schema.get(keyword) not in (None, True, {})
            and not self._stands_alone()
        ]

    def _stands_alone(self) -> bool:
        """Whether `unevaluated…` means the same here as `additional…` would."""
        return _IN_PLACE.isdisjoint(self.schema)

    def _text(self, *, typed: bool) -> Text:
        pattern, format_ = self.schema.get("pattern"), self.schema.get("format")
        return Text(
            typed=typed,
            shortest=self._count("minLength"),
            longest=self._count("maxLength"),
            pattern=pattern if isinstance(pattern, str) else None,
            format=format_ if isinstance(format_, str) else None,
        )

    def _number(self, *, typed: bool, integer: bool) -> Number:
        minimum, above = self._limit("minimum", "exclusiveMinimum")
        maximum, below = self._limit("maximum", "exclusiveMaximum")
        divisor = self.schema.get("multipleOf")
        return Number(
            typed=typed,
            integer=integer,
            minimum=minimum,
            maximum=maximum,
            above=above,
            below=below,
            multiple_of=None if divisor is None else exact(divisor),
        )

    def _limit(self, inclusive: str, exclusive: str) -> tuple[Fraction | None, Fraction | None]:
        limit, beyond = self.schema.get(inclusive), self.schema.get(exclusive)
        number = None if limit is None else exact(limit)
        if isinstance(beyond, bool):
            # In draft-04 this makes the limit beside it exclusive.
            return (None, number) if beyond else (number, None)
        return number, None if beyond is None else exact(beyond)

    def _count(self, keyword: str) -> int | None:
        count = self.schema.get(keyword)
        return int(count) if isinstance(count, int | float) else None

    def _properties(self, *, typed: bool) -> Properties:
        required = self.schema.get("required")
        return Properties(
            typed=typed,
            named=self._named_children("properties"),
            required=frozenset(required) if isinstance(required, list) else frozenset(),
            patterns=self._named_children("patternProperties"),
            rest=self._rest("additionalProperties", "unevaluatedProperties"),
            names=self._since(Draft.DRAFT_06, "propertyNames"),
            dependencies=self._dependencies(),
            fewest=self._count("minProperties"),
            most=self._count("maxProperties"),
        )

    def _dependencies(self) -> Dependencies:
        modern = self.draft >= Draft.DRAFT_2019_09
        keyword = "dependentRequired" if modern else "dependencies"
        schemas_keyword = "dependentSchemas" if modern else "dependencies"
        entries = cast("Keywords", self.schema.get(keyword, {}))
        return Dependencies(
            keyword=keyword,
            required={
                name: frozenset(entry) for name, entry in entries.items() if isinstance(entry, list)
            },
            schemas_keyword=schemas_keyword,
            schemas=self._named_children(schemas_keyword),
        )

    def _items(self, *, typed: bool) -> Items:
        modern = self.draft >= Draft.DRAFT_2020_12
        first_keyword = "prefixItems" if modern else "items"
        first = self._children(first_keyword)
        if isinstance(self.schema.get("items"), list):
            rest = self._rest("additionalItems", "unevaluatedItems")
        else:
            rest = self._rest("items", "unevaluatedItems")
        contains = self._since(Draft.DRAFT_06, "contains")
        counted = self.draft >= Draft.DRAFT_2019_09
        fewest_contained = self._count("minContains") if counted else None
        return Items(
            typed=typed,
            first=first,
            first_keyword=first_keyword,
            rest=rest,
            contains=contains,
            fewest_contained=1 if fewest_contained is None else fewest_contained,
            most_contained=self._count("maxContains") if counted else None,
            unique=self.schema.get("uniqueItems") is True,
            fewest=self._count("minItems"),
            most=self._count("maxItems"),
        )

    def _rest(self, keyword: str, unevaluated: str) -> Rest:
        replaced = unevaluated in self.schema and keyword not in self.schema
        if replaced and self.draft >= Draft.DRAFT_2019_09 and self._stands_alone():
            return Rest(keyword=unevaluated, schema=self._child(unevaluated))
        return Rest(
            keyword=keyword, schema=self._child(keyword) if keyword in self.schema else None
        )

    def _since(self, draft: Draft, keyword: str) -> Node | None:
        return self._child(keyword) if self.draft >= draft and keyword in self.schema else None


def _distinct(members: tuple[Node, ...]) -> tuple[Node, ...]:
    """Leave out repetitions: Confluent's registry counts equal members once."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for member in members:
        key = (member.base, value_key(member.schema))
        if key not in seen:
            seen.add(key)
            kept.append(member)
    return tuple(kept)
