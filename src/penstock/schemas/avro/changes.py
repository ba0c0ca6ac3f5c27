"""What changed between two Avro schemas: fields, types, symbols, defaults and documentation."""

from collections.abc import Iterable, Iterator, Sequence

from penstock.schemas.avro.resolution import Graph
from penstock.schemas.avro.types import (
    Array,
    Attributes,
    Definition,
    Enum,
    Field,
    Fixed,
    FullName,
    Map,
    Primitive,
    Record,
    Type,
    Union,
    are_alike,
    decimal_of,
    simple_name,
    type_word,
)
from penstock.schemas.changes import Change, added, changed, cut, removed, shown
from penstock.schemas.json_text import dump_json


def changes_between(old: Graph, new: Graph) -> list[Change]:
    """Return what is different in `new`, outer things first; a type of a name is told once."""
    return list(_Comparison(old, new).changes())


class _Comparison:
    def __init__(self, old: Graph, new: Graph) -> None:
        self._old, self._new = old, new
        self._seen: set[tuple[FullName, FullName]] = set()
        # Named types wait here: how deep they lead into each other is not bounded by the text.
        self._waiting: list[tuple[Definition, Definition, str]] = []

    def changes(self) -> Iterator[Change]:
        path = simple_name(FullName(type_word(self._new.resolved(self._new.root))))
        yield from self._types(self._old.root, self._new.root, path)
        while self._waiting:
            yield from self._definitions(*self._waiting.pop(0))

    def _types(self, old: Type, new: Type, path: str) -> Iterator[Change]:
        old, new = self._old.resolved(old), self._new.resolved(new)
        match old, new:
            case Array(), Array():
                yield from self._types(old.items, new.items, f"{path}[]")
                yield from _attribute_changes(old.attributes, new.attributes, path)
            case Map(), Map():
                yield from self._types(old.values, new.values, f"{path}{{}}")
                yield from _attribute_changes(old.attributes, new.attributes, path)
            case Union(), Union():
                yield from self._unions(old, new, path)
            case Record() | Enum() | Fixed(), Record() | Enum() | Fixed() if are_alike(old, new):
                self._wait(old, new, path)
            case Primitive(), Primitive() if old.kind is new.kind:
                yield from _attribute_changes(old.attributes, new.attributes, path)
            case _:
                yield changed(path, f"type {described(old)} became {described(new)}")
                yield from self._common_branch(old, new, path)

    def _wait(self, old: Definition, new: Definition, path: str) -> None:
        if (old.name, new.name) not in self._seen:
            self._seen.add((old.name, new.name))
            self._waiting.append((old, new, path))

    def _common_branch(self, old: Type, new: Type, path: str) -> Iterator[Change]:
        """Yield the changes of a type that was put into a union, or taken out of one."""
        before = {type_word(branch): branch for branch in _branches(old)}
        for branch in _branches(new):
            if type_word(branch) in before:
                yield from self._types(before[type_word(branch)], branch, path)

    def _unions(self, old: Union, new: Union, path: str) -> Iterator[Change]:
        before = {type_word(branch): branch for branch in old.branches}
        after = {type_word(branch): branch for branch in new.branches}
        if before.keys() != after.keys():
            yield changed(path, f"type {described(old)} became {described(new)}")
        elif list(before) != list(after):
            message = f"the order of branches, {_listed(before)}, became {_listed(after)}"
            yield changed(path, message)
        for word in [word for word in before if word in after]:
            yield from self._types(before[word], after[word], path)

    def _definitions(self, old: Definition, new: Definition, path: str) -> Iterator[Change]:
        if old.name != new.name:
            yield changed(path, f"name `{old.name}` became `{new.name}`")
        yield from _set_changes("alias", old.aliases, new.aliases, path)
        yield from _doc_changes(old.doc, new.doc, path)
        yield from _attribute_changes(old.attributes, new.attributes, path)
        match old, new:
            case Record(), Record():
                yield from self._records(old, new, path)
            case Enum(), Enum():
                yield from _enum_changes(old, new, path)
            case Fixed(), Fixed() if old.size != new.size:
                yield changed(path, f"{old.size} bytes became {new.size}")

    def _records(self, old: Record, new: Record, path: str) -> Iterator[Change]:
        before = {field.name: field for field in old.fields}
        sources = {field.name: _source(field, before) for field in new.fields}
        taken = {source.name for source in sources.values() if source is not None}
        for field in old.fields:
            if field.name not in taken:
                yield removed(f"{path}.{field.name}", described_field(field))
        for field in new.fields:
            source = sources[field.name]
            if source is None:
                yield added(f"{path}.{field.name}", described_field(field))
            else:
                yield from self._fields(source, field, f"{path}.{field.name}")
        order = [source.name for source in sources.values() if source is not None]
        if order != [field.name for field in old.fields if field.name in taken]:
            yield changed(path, "the order of fields")

    def _fields(self, old: Field, new: Field, path: str) -> Iterator[Change]:
        if old.name != new.name:
            yield changed(path, f"name `{old.name}` became `{new.name}`")
        yield from self._types(old.type, new.type, path)
        yield from _default_changes(old, new, path)
        if old.order is not new.order:
            yield changed(path, f"order {old.order} became {new.order}")
        yield from _set_changes("alias", old.aliases, new.aliases, path)
        yield from _doc_changes(old.doc, new.doc, path)
        yield from _attribute_changes(old.attributes, new.attributes, path)


def described(some: Type) -> str:
    """Return a type in a few words: `array<null | string>`."""
    match some:
        case Array(items=items):
            return cut(f"array<{described(items)}>")
        case Map(values=values):
            return cut(f"map<{described(values)}>")
        case Union(branches=branches):
            return cut(" | ".join(map(described, branches)) or "empty union")
        case Primitive():
            return _described_primitive(some)
        case _:
            return type_word(some)


def described_field(field: Field) -> str:
    """Return the type and the default of a field."""
    default = "no default" if field.default is None else f"default {shown(field.default.value)}"
    return f"{described(field.type)}, {default}"


def _described_primitive(some: Primitive) -> str:
    decimal = decimal_of(some)
    if decimal is not None:
        return f"decimal({decimal.precision}, {decimal.scale})"
    logical = dict(some.attributes).get("logicalType")
    return f"{some.kind} ({logical})" if isinstance(logical, str) else some.kind.value


def _branches(some: Type) -> Sequence[Type]:
    return some.branches if isinstance(some, Union) else (some,)


def _source(field: Field, before: dict[str, Field]) -> Field | None:
    """Return the field that this one was before: of the same name, or of one of its aliases."""
    names = [name for name in (field.name, *field.aliases) if name in before]
    return before[names[0]] if names else None


def _enum_changes(old: Enum, new: Enum, path: str) -> Iterator[Change]:
    yield from _set_changes("symbol", old.symbols, new.symbols, path)
    if old.symbols != new.symbols and set(old.symbols) == set(new.symbols):
        yield changed(path, "the order of symbols")
    if old.default != new.default:
        yield changed(path, f"default {shown(old.default)} became {shown(new.default)}")


def _default_changes(old: Field, new: Field, path: str) -> Iterator[Change]:
    if old.default is not None and new.default is None:
        yield removed(path, f"default {shown(old.default.value)}")
    elif old.default is None and new.default is not None:
        yield added(path, f"default {shown(new.default.value)}")
    elif old.default is not None and new.default is not None and old.default != new.default:
        yield changed(path, f"default {shown(old.default.value)} became {shown(new.default.value)}")


def _doc_changes(old: str | None, new: str | None, path: str) -> Iterator[Change]:
    if old != new:
        yield changed(path, f"documentation {shown(old)} became {shown(new)}")


def _set_changes(what: str, old: Iterable[str], new: Iterable[str], path: str) -> Iterator[Change]:
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    yield from (removed(path, f"{what} `{one}`") for one in before if one not in after)
    yield from (added(path, f"{what} `{one}`") for one in after if one not in before)


def _attribute_changes(old: Attributes, new: Attributes, path: str) -> Iterator[Change]:
    before, after = dict(old), dict(new)
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in after:
            yield removed(path, f"`{key}` {shown(before[key])}")
        elif key not in before:
            yield added(path, f"`{key}` {shown(after[key])}")
        elif dump_json(before[key]) != dump_json(after[key]):
            yield changed(path, f"`{key}` {shown(before[key])} became {shown(after[key])}")


def _listed(words: Iterable[str]) -> str:
    return cut(" | ".join(words))
