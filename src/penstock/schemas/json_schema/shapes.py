"""What a schema says, sorted into the shapes that compatibility rules compare.

A JSON Schema may say several things at once: a type, an enumeration, a combination. Each becomes
a shape; several of them are a combination in which all hold. The division is that of Confluent's
registry, because its rules, and its names for what breaks them, are about these shapes.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from penstock.schemas.json_schema.documents import Node


class Criterion(StrEnum):
    """How many members of a combination have to hold."""

    ALL = "allOf"
    ANY = "anyOf"
    ONE = "oneOf"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anything:
    """Every value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nothing:
    """No value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scalar:
    """The booleans, or `null`."""

    type: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Text:
    """Strings. `typed` is false when values of other types pass, too; so it is below."""

    typed: bool
    shortest: int | None
    longest: int | None
    pattern: str | None
    format: str | None
    """What the text is said to be, `date` for example; no rule compares it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Number:
    """Numbers, or whole numbers only."""

    typed: bool
    integer: bool
    minimum: Fraction | None
    maximum: Fraction | None
    above: Fraction | None
    below: Fraction | None
    multiple_of: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rest:
    """What properties or items may be that are not listed; `schema` is None for anything."""

    keyword: str
    schema: Node | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dependencies:
    """What the presence of a property asks for, by its name."""

    keyword: str
    required: dict[str, frozenset[str]]
    schemas_keyword: str
    schemas: dict[str, Node]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Properties:
    """Objects."""

    typed: bool
    named: dict[str, Node]
    required: frozenset[str]
    patterns: dict[str, Node]
    rest: Rest
    names: Node | None
    dependencies: Dependencies
    fewest: int | None
    most: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Items:
    """Arrays. `first` are the schemas of a tuple, `rest` is for what comes after them."""

    typed: bool
    first: tuple[Node, ...]
    first_keyword: str
    rest: Rest
    contains: Node | None
    fewest_contained: int
    most_contained: int | None
    unique: bool
    fewest: int | None
    most: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Enumeration:
    """Listed values, as `value_key` writes them."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Constant:
    """One value."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Negation:
    """All that `schema` refuses."""

    schema: Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditional:
    """What passes `then` or `otherwise`, as `condition` has it; None for anything."""

    condition: Node
    then: Node | None
    otherwise: Node | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unevaluated:
    """A limit to what no keyword of `schema`, wherever it stands, has looked at."""

    keyword: str
    schema: Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combination:
    """Several schemas or shapes together."""

    criterion: Criterion
    members: tuple["Member", ...]


Shape = (
    Anything
    | Nothing
    | Scalar
    | Text
    | Number
    | Properties
    | Items
    | Enumeration
    | Constant
    | Negation
    | Conditional
    | Unevaluated
    | Combination
)
Member = Node | Shape
