"""Whether the defaults of fields fit their types.

The default of a union must fit one of its branches, as of Avro 1.12; earlier versions asked for the
first. A record in a default may leave out fields that have defaults of their own.
"""

from collections.abc import Iterable, Iterator, Mapping

from penstock.schemas.avro.parser import DefaultToCheck
from penstock.schemas.avro.types import (
    Array,
    Definition,
    Enum,
    Fixed,
    FullName,
    Kind,
    Map,
    Named,
    Primitive,
    Record,
    Type,
    Union,
    type_word,
)
from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_text import dump_json

FieldOf = tuple[FullName, str]
"""A field: the record it is in, and its name."""

MAX_DEFAULT_DEPTH = 50
"""Of arrays and objects in a default. Recursive types need several calls for each level."""

_INT_RANGE = range(-(2**31), 2**31)
_LONG_RANGE = range(-(2**63), 2**63)


def check_defaults(
    defaults: Iterable[DefaultToCheck], definitions: Mapping[FullName, Definition]
) -> None:
    """Refuse defaults that do not fit their types, and those that contain themselves.

    Raises:
        InvalidSchemaError: names the default and what is wrong with it.
    """
    needs: dict[FieldOf, tuple[FieldOf, ...]] = {}
    paths: dict[FieldOf, str] = {}
    for one in defaults:
        if one.field.default is None:
            continue
        key = (one.record, one.field.name)
        needs[key] = _Check(definitions).fields_left_out(
            one.field.type, one.field.default.value, one.path
        )
        paths[key] = one.path
    for key in _within_themselves(needs):
        raise InvalidSchemaError(
            reason=f"the default of `{key[1]}` contains itself, without end", path=paths[key]
        )


class _Misfit(Exception):  # noqa: N818 - a signal between branches of a union, never a fault
    def __init__(self, found: object, expected: str, path: str) -> None:
        self.found, self.expected, self.path = found, expected, path


class _Check:
    def __init__(self, definitions: Mapping[FullName, Definition]) -> None:
        self._definitions = definitions
        # Without it, records with unions of records take exponential time. None is a misfit.
        self._known: dict[tuple[int, FullName], tuple[FieldOf, ...] | None] = {}

    def fields_left_out(self, some: Type, value: object, path: str) -> tuple[FieldOf, ...]:
        """Return the fields whose own defaults complete `value`."""
        if _is_deeper(value, MAX_DEFAULT_DEPTH):
            raise InvalidSchemaError(
                reason=f"the default is nested deeper than {MAX_DEFAULT_DEPTH} levels", path=path
            )
        try:
            return tuple(self._type(some, value, path))
        except _Misfit as misfit:
            shown = dump_json(misfit.found)
            raise InvalidSchemaError(
                reason=f"the default `{shown if len(shown) <= 100 else shown[:99] + '…'}` "
                f"does not fit {misfit.expected}",
                path=misfit.path,
            ) from None

    def _type(self, some: Type, value: object, path: str) -> Iterator[FieldOf]:
        match some:
            case Named(name=name):
                yield from self._type(self._definitions[name], value, path)
            case Record():
                yield from self._remembered(some, value, path)
            case Union(branches=branches):
                yield from self._union(branches, value, path)
            case Array(items=items):
                for index, item in enumerate(_list(value, path)):
                    yield from self._type(items, item, f"{path}/{index}")
            case Map(values=values):
                for key, item in _object("map", value, path).items():
                    yield from self._type(values, item, f"{path}/{_escaped(key)}")
            case Primitive() | Enum() | Fixed():
                if not _fits(some, value):
                    raise _Misfit(value, _expected(some), path)

    def _union(self, branches: Iterable[Type], value: object, path: str) -> tuple[FieldOf, ...]:
        for branch in branches:
            try:
                return tuple(self._type(branch, value, path))
            except _Misfit:
                continue
        raise _Misfit(value, "any branch of the union", path)

    def _remembered(self, record: Record, value: object, path: str) -> tuple[FieldOf, ...]:
        key = (id(value), record.name)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = tuple(self._record(record, value, path))
        known = self._known[key]
        if known is None:
            raise _Misfit(value, f"`{record.name}`", path)
        return known

    def _record(self, record: Record, value: object, path: str) -> Iterator[FieldOf]:
        given = _object(f"the record `{record.name}`", value, path)
        for field in record.fields:
            if field.name in given:
                yield from self._type(field.type, given[field.name], f"{path}/{field.name}")
            elif field.default is not None:
                yield (record.name, field.name)
            else:
                raise _Misfit(value, f"`{record.name}`, which needs `{field.name}`", path)


def _list(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise _Misfit(value, "an array", path)
    return value


def _object(expected: str, value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _Misfit(value, expected, path)
    return value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _is_deeper(value: object, levels: int) -> bool:
    inner = [value]
    for _ in range(levels + 1):
        inner = [item for outer in inner for item in _inside(outer)]
    return bool(inner)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _fits(some: Primitive | Enum | Fixed, value: object) -> bool:
    match some:
        case Enum(symbols=symbols):
            return value in symbols
        case Fixed(size=size):
            return _is_bytes(value) and len(str(value)) == size
        case Primitive(kind=kind):
            return _fits_primitive(kind, value)


def _fits_primitive(kind: Kind, value: object) -> bool:
    match kind:
        case Kind.NULL:
            return value is None
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.STRING:
            return isinstance(value, str)
        case Kind.BYTES:
            return _is_bytes(value)
        case Kind.INT:
            return type(value) is int and value in _INT_RANGE
        case Kind.LONG:
            return type(value) is int and value in _LONG_RANGE
        case Kind.FLOAT | Kind.DOUBLE:
            return type(value) in (int, float)


def _is_bytes(value: object) -> bool:
    """Whether a string stands for bytes: each character for the byte with its number."""
    return isinstance(value, str) and all(ord(character) < 256 for character in value)


def _expected(some: Primitive | Enum | Fixed) -> str:
    match some:
        case Enum(name=name):
            return f"`{name}`: it is not one of the symbols"
        case Fixed(name=name, size=size):
            return f"`{name}` of {size} bytes"
        case Primitive():
            return f"`{type_word(some)}`"


def _within_themselves(needs: Mapping[FieldOf, tuple[FieldOf, ...]]) -> Iterator[FieldOf]:
    """Yield fields from which a chain of needs leads back to them."""
    done: set[FieldOf] = set()
    for start in needs:
        chain: dict[FieldOf, Iterator[FieldOf]] = {}
        if start not in done:
            chain[start] = iter(needs[start])
        while chain:
            current = next(reversed(chain))
            following = next(chain[current], None)
            if following is None:
                done.add(current)
                del chain[current]
            elif following in chain:
                yield following
            elif following not in done and following in needs:
                chain[following] = iter(needs[following])
