"""Whether a new schema accepts all documents of an old one: Confluent's rules for JSON Schema.

Each pair of subschemas is compared by the rules for their shapes (`object_rules.py` and its
siblings). Where two schemas refer to themselves, a pair that is met again while it is being
compared counts as compatible: that holds if nothing else is wrong, because the document gets
smaller on the way.

A verdict of "compatible" means that every document of the old schema is valid in the new one, but
for what Confluent's registry allows on purpose:

- A new required property passes when it has a default.
- `oneOf` is a sum of alternatives, even if they overlap (`combination_rules.py`).

Some changes pass there by oversight and fail here: a `type` added where other types were accepted,
required names that are not under `properties`, `patternProperties`, `propertyNames`, `contains`,
`if`/`then`/`else`, `unevaluated…`, exclusive limits of draft-04.
"""

from collections.abc import Iterable, Iterator

from penstock.schemas.json_schema.array_rules import ArrayRules
from penstock.schemas.json_schema.combination_rules import CombinationRules
from penstock.schemas.json_schema.differences import Difference, below
from penstock.schemas.json_schema.documents import REFERENCE_KEYWORDS, Documents, Node, pointer
from penstock.schemas.json_schema.object_rules import ObjectRules
from penstock.schemas.json_schema.patterns import Budget, read_pattern
from penstock.schemas.json_schema.scalar_rules import (
    constant_differences,
    enumeration_differences,
    number_differences,
    text_differences,
)
from penstock.schemas.json_schema.shapes import (
    Anything,
    Combination,
    Conditional,
    Constant,
    Criterion,
    Enumeration,
    Items,
    Member,
    Negation,
    Nothing,
    Number,
    Properties,
    Scalar,
    Shape,
    Text,
    Unevaluated,
)
from penstock.schemas.json_schema.shaping import Shaping
from penstock.schemas.json_text import dump_json
from penstock.schemas.schema import Incompatibility

MAX_COMPARISONS = 40_000
"""Of two subschemas with each other: a second at most. Real schemas need about as many as they have
parts; members of `anyOf` that refer to each other could ask for any number."""

MAX_PATTERN_STEPS = 200_000
"""In all names that are matched with patterns: a tenth of a second. What is left then counts as not
known."""

MAX_TOLD = 100
"""Incompatibilities in one answer: nobody reads more."""

MAX_TOLD_CHARS = 1_000
"""Of a path or a message: names in a schema may be as long as the schema."""


class _TooComplexError(Exception):
    """More than `MAX_COMPARISONS` would be needed."""


def incompatibilities_of(old: Documents, new: Documents) -> list[Incompatibility]:
    """Return why `new` refuses documents that `old` accepts: empty if it does not."""
    if _equal(old, new):
        return []
    if old.dynamic or new.dynamic:
        return [
            _incompatibility(
                Difference(
                    kind="TYPE_CHANGED",
                    message="schemas in which `$dynamicRef` or `$recursiveRef` may lead to several "
                    "anchors are compatible only when they are equal",
                )
            )
        ]
    try:
        found = SchemaComparison(old, new).differences(old.root, new.root)
    except (_TooComplexError, RecursionError):
        found = (
            Difference(
                kind="COMPARISON_TOO_COMPLEX",
                message="the schemas have too many parts that refer to each other to be compared",
            ),
        )
    return [_incompatibility(difference) for difference in dict.fromkeys(found[:MAX_TOLD])]


def _equal(old: Documents, new: Documents) -> bool:
    """Whether the schemas are the same, and so are all they refer to."""
    return (
        old.reference_names == new.reference_names
        and old.reference_texts == new.reference_texts
        and _text(old.root) == _text(new.root)
    )


def _text(node: Node) -> str:
    return dump_json(node.schema, sort_keys=True)


def _incompatibility(difference: Difference) -> Incompatibility:
    return Incompatibility(
        kind=difference.kind,
        path=pointer(difference.way)[:MAX_TOLD_CHARS],
        message=difference.message[:MAX_TOLD_CHARS],
    )


class SchemaComparison:
    """Compares parts of two schemas and remembers the answers."""

    def __init__(self, old: Documents, new: Documents) -> None:
        self._shapings = {
            document: shaping
            for documents in (old, new)
            for shaping in [Shaping(documents)]
            for document in documents.documents
        }
        self._answers: dict[tuple[Shape, Shape], tuple[Difference, ...]] = {}
        self._open: dict[tuple[Shape, Shape], int] = {}
        self._assumed = len(self._open)
        self._count = 0
        self._budget = Budget(MAX_PATTERN_STEPS)

    def shape(self, member: Member) -> Shape:
        """Return what a part of either schema says."""
        return self._shapings[member.document].shape(member) if isinstance(member, Node) else member

    def found_in(self, pattern: str, name: str) -> bool | None:
        """Tell whether `name` matches `pattern`; None if that is not known."""
        self._spend()
        return read_pattern(pattern).found_in(name, self._budget)

    def differences(self, old: Member, new: Member) -> tuple[Difference, ...]:
        """Return why `new` refuses what `old` accepts."""
        pair = (self.shape(old), self.shape(new))
        if pair in self._answers:
            return self._answers[pair]
        if pair in self._open:
            self._assumed = min(self._assumed, self._open[pair])
            return ()
        return self._compared(pair)

    def _compared(self, pair: tuple[Shape, Shape]) -> tuple[Difference, ...]:
        """Compare, and keep the answer unless it rests on a pair that is still being compared."""
        self._spend()
        depth = self._open[pair] = len(self._open)
        outer, self._assumed = self._assumed, depth
        found = tuple(self._between(*pair))
        del self._open[pair]
        if found or self._assumed >= depth:
            self._answers[pair] = found
        self._assumed = min(outer, self._assumed)
        return found

    def _spend(self) -> None:
        self._count += 1
        if self._count > MAX_COMPARISONS:
            raise _TooComplexError

    def _between(self, old: Shape, new: Shape) -> Iterable[Difference]:
        if isinstance(new, Anything) or isinstance(old, Nothing):
            return ()
        if isinstance(old, Combination) != isinstance(new, Combination):
            return self._with_combination(old, new)
        return self._alike(old, new)

    def _with_combination(self, old: Shape, new: Shape) -> Iterable[Difference]:
        """Compare when one is a combination and the other is not."""
        if isinstance(new, Combination):
            if len(new.members) == 1:
                return self.differences(old, new.members[0])
            if new.criterion is not Criterion.ALL and any(
                not self.differences(old, member) for member in new.members
            ):
                return ()
        if isinstance(old, Combination):
            if len(old.members) == 1:
                return self.differences(old.members[0], new)
            if old.criterion is Criterion.ALL and any(
                not self.differences(member, new) for member in old.members
            ):
                return ()
        return [_type_changed(old, new)]

    def _alike(self, old: Shape, new: Shape) -> Iterable[Difference]:
        match old, new:
            case Text(), Text():
                return text_differences(old, new)
            case Number(), Number():
                return number_differences(old, new)
            case Properties(), Properties():
                return ObjectRules(self, old, new).differences()
            case Items(), Items():
                return ArrayRules(self, old, new).differences()
            case Enumeration(), Enumeration():
                return enumeration_differences(old, new)
            case Constant(), Constant():
                return constant_differences(old, new)
            case Combination(), Combination():
                return CombinationRules(self, old, new).differences()
            case _:
                return self._alike_by_subschemas(old, new)

    def _alike_by_subschemas(self, old: Shape, new: Shape) -> Iterable[Difference]:
        match old, new:
            case Scalar(), Scalar() if old.type == new.type:
                return ()
            case Negation(), Negation():
                return self._negations(old, new)
            case Conditional(), Conditional():
                return self._conditionals(old, new)
            case Unevaluated(), Unevaluated() if old.keyword == new.keyword:
                return self._unevaluated(old, new)
            case _:
                return [_type_changed(old, new)]

    def _negations(self, old: Negation, new: Negation) -> Iterator[Difference]:
        if self.differences(new.schema, old.schema):
            yield Difference(
                kind="NOT_TYPE_EXTENDED", way=("not",), message="`not` refuses more than before"
            )

    def _conditionals(self, old: Conditional, new: Conditional) -> Iterator[Difference]:
        if self.differences(old.condition, new.condition) or self.differences(
            new.condition, old.condition
        ):
            yield Difference(
                kind="COMBINED_TYPE_SUBSCHEMAS_CHANGED",
                way=("if",),
                message="the condition is another one",
            )
        anything = Anything()
        for keyword, before, after in (
            ("then", old.then, new.then),
            ("else", old.otherwise, new.otherwise),
        ):
            found = self.differences(before or anything, after or anything)
            yield from below((keyword,), found)

    def _unevaluated(self, old: Unevaluated, new: Unevaluated) -> Iterator[Difference]:
        """Accept equal schemas only: what is unevaluated depends on all keywords around.

        With references in them, equal texts may mean different schemas.
        """
        text = _text(new.schema)
        refers = any(f'"{keyword}"' in text for keyword in REFERENCE_KEYWORDS)
        if refers or _text(old.schema) != text:
            name = "PROPERTIES" if new.keyword == "unevaluatedProperties" else "ITEMS"
            yield Difference(
                kind=f"UNEVALUATED_{name}_NARROWED",
                way=(new.keyword,),
                message=f"`{new.keyword}` is compatible only when nothing else changes beside it",
            )


def _type_changed(old: Shape, new: Shape) -> Difference:
    return Difference(kind="TYPE_CHANGED", message=f"{_told(new)} instead of {_told(old)}")


def _told(shape: Shape) -> str:
    match shape:
        case Anything():
            return "anything"
        case Nothing():
            return "nothing"
        case Scalar(type=kind):
            return "a boolean" if kind == "boolean" else kind
        case Text():
            return "a string"
        case Number(integer=integer):
            return "an integer" if integer else "a number"
        case Properties():
            return "an object"
        case Items():
            return "an array"
        case Enumeration():
            return "one of listed values"
        case Constant():
            return "a constant"
        case Negation():
            return "all but one schema"
        case Conditional():
            return "what a condition decides"
        case Unevaluated(keyword=keyword):
            return f"`{keyword}`"
        case Combination(criterion=criterion):
            return f"`{criterion}`"
