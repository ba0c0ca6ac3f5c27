"""Whether data written with one Avro schema can be read with another: schema resolution.

The rules are those of the specification, the words for what is wrong those of Avro's Java library,
which Confluent's registry passes on. Named types match by their name without namespace, or by an
alias of the reader's. Beyond the Java library, decimals match only with equal scale and precision,
as the specification has it: other readers would take 1.23 for 12.3.

Types are trees (`types.py`) in which records are met again by name, so two recursive schemas are a
graph of pairs of records. A pair is taken to fit until something in it does not, and a pair that
turns out bad has those that rely on it looked at again: the greatest fixed point, without recursion
deeper than the text of a schema.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.schemas.avro.types import (
    Array,
    Definition,
    Enum,
    Field,
    Fixed,
    FullName,
    Kind,
    Map,
    Named,
    Primitive,
    Record,
    Type,
    Union,
    are_alike,
    decimal_of,
    simple_name,
    type_word,
)
from penstock.schemas.schema import Incompatibility

MAX_COMPARISONS = 75_000
"""Of types with types: less than half a second. A megabyte of nullable fields needs 60,000."""

PROMOTED_TO: Mapping[Kind, tuple[Kind, ...]] = {
    Kind.INT: (Kind.LONG, Kind.FLOAT, Kind.DOUBLE),
    Kind.LONG: (Kind.FLOAT, Kind.DOUBLE),
    Kind.FLOAT: (Kind.DOUBLE,),
    Kind.STRING: (Kind.BYTES,),
    Kind.BYTES: (Kind.STRING,),
}
"""As which other types the data of a type can be read."""

Pair = tuple[FullName, FullName]
"""The names of a reader's record and of a writer's."""

# Stands for the two schemas as a whole. No type has an empty name.
_WHOLE: Pair = (FullName(""), FullName(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A schema: its outermost type, and all types that it names."""

    root: Type
    definitions: Mapping[FullName, Definition]

    def resolved(self, some: Type) -> Type:
        """Return the definition that a name stands for, or the type itself."""
        return self.definitions[some.name] if isinstance(some, Named) else some


def why_unreadable(reader: Graph, writer: Graph) -> list[Incompatibility]:
    """Return what keeps `reader` from reading data of `writer`: empty if nothing does."""
    try:
        return _Resolution(reader, writer).incompatibilities()
    except _TooManyComparisons:
        message = f"more than {MAX_COMPARISONS:,} comparisons of types would be needed"
        return [_problem("SCHEMA_TOO_COMPLEX", "", message)]


class _TooManyComparisons(Exception):  # noqa: N818 - a signal to `why_unreadable`, never a fault
    pass


@dataclass(frozen=True, slots=True)
class _Inner:
    """Two records that meet within two others: whether they fit is told apart."""

    pair: Pair
    path: str


_Problem = Incompatibility | _Inner


class _Branches:
    """The branches of a reader's union, found by the data they may take."""

    def __init__(self, union: Union, schema: Graph) -> None:
        self._unnamed: dict[str, Type] = {}
        self._by_name: dict[str, list[Definition]] = {}
        self._by_alias: dict[FullName, list[Definition]] = {}
        for branch in map(schema.resolved, union.branches):
            if isinstance(branch, Definition):
                self._by_name.setdefault(simple_name(branch.name), []).append(branch)
                for alias in branch.aliases:
                    self._by_alias.setdefault(alias, []).append(branch)
            else:
                self._unnamed[type_word(branch)] = branch

    def candidates(self, writer: Type) -> Iterator[Type]:
        if isinstance(writer, Definition):
            yield from self._by_name.get(simple_name(writer.name), ())
            yield from self._by_alias.get(writer.name, ())
        else:
            words = [type_word(writer)]
            if isinstance(writer, Primitive):
                words += PROMOTED_TO.get(writer.kind, ())
            yield from (self._unnamed[word] for word in words if word in self._unnamed)


class _Resolution:
    def __init__(self, reader: Graph, writer: Graph) -> None:
        self._reader, self._writer = reader, writer
        self._records: dict[Pair, tuple[Record, Record]] = {}
        self._bad: set[Pair] = set()
        self._relying_on: dict[Pair, set[Pair]] = {}
        self._to_check: dict[Pair, None] = {}
        self._being_checked = _WHOLE
        self._comparisons = 0
        self._branches: dict[int, _Branches] = {}
        self._fields: dict[FullName, dict[str, Field]] = {}
        self._symbols: dict[Pair, list[str]] = {}

    def incompatibilities(self) -> list[Incompatibility]:
        """Return all of them, outer ones first; each pair of records is told about once."""
        self._find_bad_pairs()
        # What is told takes no more comparisons than were needed to find it.
        self._comparisons = 0
        found: list[Incompatibility] = []
        told: set[Pair] = set()
        waiting: list[_Problem] = [_Inner(_WHOLE, "")]
        while waiting:
            problem = waiting.pop()
            if isinstance(problem, Incompatibility):
                found.append(problem)
            elif problem.pair in self._bad and problem.pair not in told:
                told.add(problem.pair)
                waiting += reversed(list(self._within(problem.pair, problem.path)))
        return found

    def _find_bad_pairs(self) -> None:
        self._is_good(_WHOLE)
        while self._to_check:
            pair, _ = self._to_check.popitem()
            self._being_checked = pair
            # All of it is looked at, even after the first fault: the others are told too.
            good = [self._is_nothing(problem) for problem in self._within(pair, "")]
            if not all(good) and pair not in self._bad:
                self._bad.add(pair)
                self._to_check.update(dict.fromkeys(self._relying_on[pair]))

    def _is_good(self, pair: Pair) -> bool:
        if pair not in self._relying_on:
            self._relying_on[pair] = set()
            self._to_check[pair] = None
        self._relying_on[pair].add(self._being_checked)
        return pair not in self._bad

    def _is_nothing(self, problem: _Problem) -> bool:
        return isinstance(problem, _Inner) and self._is_good(problem.pair)

    def _fits(self, candidate: Type, writer: Type) -> bool:
        """Whether a branch takes the data; records among the candidates have the right name."""
        if isinstance(candidate, Record) and isinstance(writer, Record):
            self._count_comparison()
            return self._is_good(self._pair(candidate, writer))
        return all(self._is_nothing(problem) for problem in self._between(candidate, writer, ""))

    def _count_comparison(self) -> None:
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            raise _TooManyComparisons

    def _within(self, pair: Pair, path: str) -> Iterator[_Problem]:
        if pair == _WHOLE:
            return self._between(self._reader.root, self._writer.root, path)
        return self._between_fields(*self._records[pair], f"{path}/fields")

    def _pair(self, reader: Record, writer: Record) -> Pair:
        pair = (reader.name, writer.name)
        self._records[pair] = (reader, writer)
        return pair

    def _between(self, reader: Type, writer: Type, path: str) -> Iterator[_Problem]:
        """Yield what keeps a type from reading data of another, and inner pairs of records."""
        self._count_comparison()
        reader, writer = self._reader.resolved(reader), self._writer.resolved(writer)
        match reader, writer:
            case Union(), Union():
                yield from self._between_unions(reader, writer, path)
            case _, Union():
                for branch in writer.branches:
                    yield from self._between(reader, branch, path)
            case Union(), _:
                yield from self._into_union(reader, writer, path)
            case Array(), Array():
                yield from self._between(reader.items, writer.items, f"{path}/items")
            case Map(), Map():
                yield from self._between(reader.values, writer.values, f"{path}/values")
            case Record() | Enum() | Fixed(), Record() | Enum() | Fixed() if are_alike(
                reader, writer
            ):
                yield from self._between_named(reader, writer, path)
            case Primitive(), Primitive():
                yield from _between_primitives(reader, writer, path)
            case _:
                yield _mismatch(reader, writer, path)

    def _between_unions(self, reader: Union, writer: Union, path: str) -> Iterator[_Problem]:
        for index, branch in enumerate(writer.branches):
            some = self._writer.resolved(branch)
            if not self._union_takes(reader, some):
                yield _no_branch(some, f"{path}/{index}")
                yield from self._in_the_branch_meant(reader, some, path)

    def _into_union(self, reader: Union, writer: Type, path: str) -> Iterator[_Problem]:
        if not self._union_takes(reader, writer):
            yield _no_branch(writer, path)
            yield from self._in_the_branch_meant(reader, writer, path)

    def _union_takes(self, reader: Union, writer: Type) -> bool:
        return any(self._fits(candidate, writer) for candidate in self._candidates(reader, writer))

    def _candidates(self, reader: Union, writer: Type) -> Iterator[Type]:
        if id(reader) not in self._branches:
            self._branches[id(reader)] = _Branches(reader, self._reader)
        return self._branches[id(reader)].candidates(writer)

    def _in_the_branch_meant(self, reader: Union, writer: Type, path: str) -> Iterator[_Problem]:
        """Yield what is wrong with the branch that has the name of the data."""
        meant = next(self._candidates(reader, writer), None)
        if not isinstance(meant, Definition):
            return
        for index, branch in enumerate(reader.branches):
            if self._reader.resolved(branch) is meant:
                yield from self._between(branch, writer, f"{path}/{index}")

    def _between_named(
        self, reader: Definition, writer: Definition, path: str
    ) -> Iterator[_Problem]:
        same = simple_name(reader.name) == simple_name(writer.name)
        if not same and writer.name not in reader.aliases:
            message = f"`{reader.name}` has neither the name `{writer.name}` nor an alias for it"
            yield _problem("NAME_MISMATCH", f"{path}/name", message)
        match reader, writer:
            case Record(), Record():
                yield _Inner(self._pair(reader, writer), path)
            case Enum(), Enum():
                yield from self._between_enums(reader, writer, path)
            case Fixed(), Fixed():
                yield from _between_fixed(reader, writer, path)

    def _between_enums(self, reader: Enum, writer: Enum, path: str) -> Iterator[Incompatibility]:
        pair = (reader.name, writer.name)
        if pair not in self._symbols:
            known = set(reader.symbols)
            self._symbols[pair] = [symbol for symbol in writer.symbols if symbol not in known]
        missing = self._symbols[pair]
        if missing and reader.default is None:
            message = f"`{reader.name}` lacks {_listed(missing)} and has no default"
            yield _problem("MISSING_ENUM_SYMBOLS", f"{path}/symbols", message)

    def _between_fields(self, reader: Record, writer: Record, path: str) -> Iterator[_Problem]:
        for index, field in enumerate(reader.fields):
            here = f"{path}/{index}"
            sources = self._sources(field, writer)
            if len(sources) > 1:
                names = _listed([source.name for source in sources])
                message = f"the field `{field.name}` stands for several fields of the data: {names}"
                yield _problem("NAME_MISMATCH", here, message)
            elif sources:
                yield from self._between(field.type, sources[0].type, f"{here}/type")
            elif field.default is None:
                message = f"the field `{field.name}` is not in the data and has no default"
                yield _problem("READER_FIELD_MISSING_DEFAULT_VALUE", here, message)

    def _sources(self, field: Field, writer: Record) -> list[Field]:
        """Return the fields of the data that a reader's field goes by, by name and by alias."""
        if writer.name not in self._fields:
            self._fields[writer.name] = {source.name: source for source in writer.fields}
        known = self._fields[writer.name]
        names = dict.fromkeys((field.name, *field.aliases))
        return [known[name] for name in names if name in known]


def _between_primitives(
    reader: Primitive, writer: Primitive, path: str
) -> Iterator[Incompatibility]:
    if reader.kind is writer.kind:
        yield from _between_decimals(reader, writer, path)
    elif reader.kind not in PROMOTED_TO.get(writer.kind, ()):
        yield _mismatch(reader, writer, path)


def _between_fixed(reader: Fixed, writer: Fixed, path: str) -> Iterator[Incompatibility]:
    if reader.size != writer.size:
        message = f"`{reader.name}` has {reader.size} bytes, the data has {writer.size}"
        yield _problem("FIXED_SIZE_MISMATCH", f"{path}/size", message)
    yield from _between_decimals(reader, writer, path)


def _between_decimals(
    reader: Primitive | Fixed, writer: Primitive | Fixed, path: str
) -> Iterator[Incompatibility]:
    expected, found = decimal_of(reader), decimal_of(writer)
    if expected is not None and found is not None and expected != found:
        message = (
            f"decimal({expected.precision}, {expected.scale}) cannot read data of type "
            f"decimal({found.precision}, {found.scale})"
        )
        yield _problem("TYPE_MISMATCH", path, message)


def _mismatch(reader: Type, writer: Type, path: str) -> Incompatibility:
    message = f"`{type_word(reader)}` cannot read data of type `{type_word(writer)}`"
    return _problem("TYPE_MISMATCH", path, message)


def _no_branch(writer: Type, path: str) -> Incompatibility:
    message = f"no branch of the union takes data of type `{type_word(writer)}`"
    return _problem("MISSING_UNION_BRANCH", path, message)


def _problem(kind: str, path: str, message: str) -> Incompatibility:
    return Incompatibility(kind=kind, path=path or "/", message=message)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10:,} more"
