"""Avro's types as JSON again: the text that a registry stores.

The order of the keys is that of Avro's Java library, whose text Confluent's registry stores and
compares. Documentation and extra attributes are kept, whatever the specification gives no meaning
is gone, and a type that comes from a reference is only named.
"""

from collections.abc import Iterable, Mapping

from penstock.schemas.avro.types import (
    Array,
    Attributes,
    Definition,
    Enum,
    Field,
    Fixed,
    FullName,
    Kind,
    Map,
    Named,
    Order,
    Primitive,
    Record,
    Type,
    Union,
    decimal_of,
    namespace_of,
    simple_name,
)
from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.java_json import java_json

MAX_INLINED_DEPTH = 50
"""Of types from references: each needs several calls, as does writing the result."""

JsonObject = dict[str, object]


def canonical(some: Type) -> str:
    """Return the text that Confluent's registry stores for a schema."""
    return java_json(_Printer(normalize=False).type(some, ""))


def normalized(some: Type) -> str:
    """Return the text stored for `normalize=true`.

    Against the canonical one, aliases and extra attributes are sorted, empty documentation of types
    is gone, and the defaults of floating-point fields are written as such.
    """
    return java_json(_Printer(normalize=True).type(some, ""))


def resolved(some: Type, definitions: Mapping[FullName, Definition]) -> str:
    """Return the canonical text with all types that come from references defined in it.

    Raises:
        InvalidSchemaError: types are in each other deeper than any reader could be expected to go.
    """
    return java_json(_Printer(normalize=False, inlined=definitions).type(some, ""))


class _Printer:
    def __init__(
        self, *, normalize: bool, inlined: Mapping[FullName, Definition] | None = None
    ) -> None:
        self._normalize = normalize
        self._inlined = inlined or {}
        self._printed: set[FullName] = set()
        self._depth = 0

    def type(self, some: Type, namespace: str) -> object:
        match some:
            case Primitive(kind=kind, attributes=attributes):
                extra = self._extra(attributes, some)
                return {"type": kind.value, **extra} if extra else kind.value
            case Array(items=items, attributes=attributes):
                inner = self.type(items, namespace)
                return {"type": "array", "items": inner, **self._extra(attributes)}
            case Map(values=values, attributes=attributes):
                inner = self.type(values, namespace)
                return {"type": "map", "values": inner, **self._extra(attributes)}
            case Union(branches=branches):
                return [self.type(branch, namespace) for branch in branches]
            case Named(name=name):
                return self._use(name, namespace)
            case Record(name=name) | Enum(name=name) | Fixed(name=name) if name in self._printed:
                return _shortest(name, namespace)
            case Record() | Enum() | Fixed():
                return self._definition(some, namespace)

    def _use(self, name: FullName, namespace: str) -> object:
        if name not in self._inlined or name in self._printed:
            return _shortest(name, namespace)
        self._depth += 1
        if self._depth > MAX_INLINED_DEPTH:
            reason = f"types of references are in each other more than {MAX_INLINED_DEPTH} times"
            raise InvalidSchemaError(reason=reason)
        printed = self._definition(self._inlined[name], namespace)
        self._depth -= 1
        return printed

    def _definition(self, some: Definition, namespace: str) -> JsonObject:
        self._printed.add(some.name)
        own = namespace_of(some.name)
        printed: JsonObject = {"type": _kind(some), "name": simple_name(some.name)}
        if own != namespace:
            printed["namespace"] = own
        if some.doc is not None and not (self._normalize and some.doc == ""):
            printed["doc"] = some.doc
        match some:
            case Record(fields=fields):
                printed["fields"] = [self._field(field, own) for field in fields]
                printed |= self._extra(some.attributes)
            case Enum(symbols=symbols, default=default):
                printed["symbols"] = list(symbols)
                printed |= {} if default is None else {"default": default}
                printed |= self._extra(some.attributes)
            case Fixed(size=size):
                printed["size"] = size
                printed |= self._extra(some.attributes, some)
        return printed | self._aliases(_shortest(alias, own) for alias in self._in_order(some))

    def _in_order(self, some: Definition) -> Iterable[FullName]:
        return sorted(some.aliases) if self._normalize else some.aliases

    def _field(self, field: Field, namespace: str) -> JsonObject:
        printed: JsonObject = {"name": field.name, "type": self.type(field.type, namespace)}
        if field.doc is not None:
            printed["doc"] = field.doc
        if field.default is not None:
            printed["default"] = self._default(field.type, field.default.value)
        if field.order is not Order.ASCENDING:
            printed["order"] = field.order.value
        aliases = sorted(field.aliases) if self._normalize else field.aliases
        return printed | self._aliases(aliases) | self._extra(field.attributes)

    def _aliases(self, aliases: Iterable[str]) -> JsonObject:
        listed = list(aliases)
        return {"aliases": listed} if listed else {}

    def _default(self, some: Type, value: object) -> object:
        if not self._normalize:
            return value
        if isinstance(some, Primitive) and some.kind in (Kind.FLOAT, Kind.DOUBLE):
            return float(value) if isinstance(value, int) else value
        return _sorted(value)

    def _extra(self, attributes: Attributes, some: Primitive | Fixed | None = None) -> JsonObject:
        if not self._normalize:
            return dict(attributes)
        # A decimal's parameters follow its name directly, as Confluent's registry writes them.
        decimal = None if some is None else decimal_of(some)
        first = [] if decimal is None else ["logicalType", "precision", "scale"]
        if decimal is not None and decimal.scale == 0:
            first.remove("scale")
        values = dict(attributes)
        ordered = [*first, *sorted(key for key in values if key not in first)]
        return {key: _sorted(values[key]) for key in ordered}


def _kind(some: Definition) -> str:
    match some:
        case Record(is_error=is_error):
            return "error" if is_error else "record"
        case Enum():
            return "enum"
        case Fixed():
            return "fixed"


def _shortest(name: FullName, namespace: str) -> str:
    """Return how `name` is written within `namespace`.

    A name that is also the word for a type, such as `record`, is always written in full.
    """
    simple = simple_name(name)
    clash = simple in {"record", "error", "enum", "array", "map", "fixed", "union"}
    return simple if namespace_of(name) == namespace and not clash else name


def _sorted(value: object) -> object:
    """Return a JSON value with the keys of all objects in order."""
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list():
            return [_sorted(item) for item in value]
        case _:
            return value
