"""From JSON to Avro's types, by the rules of the Avro specification 1.12.

Whether defaults fit their types is told in `defaults.py`, once all types are known.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from penstock.schemas.avro.names import PRIMITIVES, Names, full_alias, unknown_type
from penstock.schemas.avro.types import (
    Array,
    Attributes,
    Default,
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
    namespace_of,
    type_word,
)
from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_text import dump_json

MAX_FIXED_SIZE = 2**31 - 1
"""Java's largest array: no other implementation can be expected to read more."""

MAX_ENUM_SYMBOLS = 50_000
"""An enum is compared, printed and sent as a whole: what has more values is a string."""

_RESERVED = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "symbols", "items", "values", "size"}
)
_RESERVED_IN_ENUM = _RESERVED | {"default"}
_RESERVED_IN_FIELD = frozenset({"name", "type", "doc", "default", "order", "aliases"})

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultToCheck:
    """A default, where it stands, and the record and field that have it."""

    record: FullName
    field: Field
    path: str


class Parser:
    """Reads schemas one after another; later ones may use the names that earlier ones define."""

    def __init__(
        self, *, stored: bool, definitions: Mapping[FullName, Definition] | None = None
    ) -> None:
        """Begin with the names that other schemas have defined.

        Args:
            stored: The schemas are in a registry already, so they need only satisfy what Avro's
                Java library asked for when they came there, which is less than the specification.
            definitions: What may be used without being defined.
        """
        self.definitions = dict(definitions or {})
        self.defaults: list[DefaultToCheck] = []
        self._stored = stored
        self._names = Names(stored=stored)
        self._known = set(self.definitions)
        # Names and aliases that are defined here, each with the type it belongs to.
        self._own: dict[FullName, FullName] = {}
        self._complex: dict[str, Callable[[JsonObject, str, str], Type]] = {
            "record": self._record,
            "error": self._record,
            "enum": self._enum,
            "fixed": self._fixed,
            "array": self._array,
            "map": self._map,
        }

    def type(self, value: object, namespace: str = "", path: str = "") -> Type:
        """Return the type that a JSON value describes within `namespace`.

        Raises:
            InvalidSchemaError: the specification does not allow it.
        """
        if isinstance(value, str):
            return self._use(value, namespace, path)
        if isinstance(value, list):
            return self._union(value, namespace, path)
        if not isinstance(value, dict):
            raise _wrong(value, "a schema", "a name, an object or an array", path)
        return self._object(value, namespace, path)

    def _object(self, schema: JsonObject, namespace: str, path: str) -> Type:
        word = _required(schema, "type", path)
        if not isinstance(word, str):
            raise _wrong(word, "`type`", "the name of a type here", f"{path}/type")
        if word in self._complex:
            return self._complex[word](schema, namespace, path)
        used = self._use(word, namespace, f"{path}/type")
        if isinstance(used, Primitive):
            return Primitive(kind=used.kind, attributes=_attributes(schema, _RESERVED))
        return used

    def _use(self, name: str, namespace: str, path: str) -> Type:
        if name in PRIMITIVES:
            return Primitive(kind=Kind(name))
        full = FullName(f"{namespace}.{name}" if namespace and "." not in name else name)
        if full in self._known:
            return Named(name=full)
        # By the specification a name without a dot belongs to the namespace around it. The Java
        # library then tries it without any, and may have stored schemas that need this.
        if self._stored and FullName(name) in self._known:
            return Named(name=FullName(name))
        raise unknown_type(name, self._known, path)

    def _union(self, branches: list[object], namespace: str, path: str) -> Union:
        parsed: list[Type] = []
        seen: set[str] = set()
        for index, branch in enumerate(branches):
            here = f"{path}/{index}"
            some = self.type(branch, namespace, here)
            word = type_word(some)
            if isinstance(some, Union):
                raise InvalidSchemaError(reason="a union directly within a union", path=here)
            if word in seen:
                raise InvalidSchemaError(reason=f"the union has `{word}` twice", path=here)
            seen.add(word)
            parsed.append(some)
        return Union(branches=tuple(parsed))

    def _array(self, schema: JsonObject, namespace: str, path: str) -> Array:
        items = self.type(_required(schema, "items", path), namespace, f"{path}/items")
        return Array(items=items, attributes=_attributes(schema, _RESERVED))

    def _map(self, schema: JsonObject, namespace: str, path: str) -> Map:
        values = self.type(_required(schema, "values", path), namespace, f"{path}/values")
        return Map(values=values, attributes=_attributes(schema, _RESERVED))

    def _fixed(self, schema: JsonObject, namespace: str, path: str) -> Fixed:
        name = self._new_name(schema, namespace, path)
        size = _required(schema, "size", path)
        if type(size) is not int or not 0 <= size <= MAX_FIXED_SIZE:
            raise _wrong(size, "`size`", f"a number from 0 to {MAX_FIXED_SIZE:,}", f"{path}/size")
        fixed = Fixed(
            name=name,
            size=size,
            doc=_text(schema, "doc", path),
            aliases=self._type_aliases(schema, name, path),
            attributes=_attributes(schema, _RESERVED),
        )
        self.definitions[name] = fixed
        return fixed

    def _enum(self, schema: JsonObject, namespace: str, path: str) -> Enum:
        name = self._new_name(schema, namespace, path)
        symbols = self._symbols(_required(schema, "symbols", path), f"{path}/symbols")
        default = schema.get("default")
        if "default" in schema and default not in symbols:
            raise _wrong(default, "`default`", "one of the symbols", f"{path}/default")
        enum = Enum(
            name=name,
            symbols=symbols,
            default=default if isinstance(default, str) else None,
            doc=_text(schema, "doc", path),
            aliases=self._type_aliases(schema, name, path),
            attributes=_attributes(schema, _RESERVED_IN_ENUM),
        )
        self.definitions[name] = enum
        return enum

    def _symbols(self, value: object, path: str) -> tuple[str, ...]:
        if isinstance(value, list) and len(value) > MAX_ENUM_SYMBOLS:
            raise InvalidSchemaError(
                reason=f"the enum has {len(value):,} symbols, at most {MAX_ENUM_SYMBOLS:,} are "
                "accepted",
                path=path,
            )
        symbols = tuple(self._names.check(text, here) for here, text in _texts(value, path))
        _check_unique("symbol", symbols, path)
        return symbols

    def _record(self, schema: JsonObject, namespace: str, path: str) -> Record:
        name = self._new_name(schema, namespace, path)
        fields = _required(schema, "fields", path)
        if not isinstance(fields, list):
            raise _wrong(fields, "`fields`", "an array", f"{path}/fields")
        parsed: list[Field] = []
        for index, field in enumerate(fields):
            parsed.append(self._field(field, name, f"{path}/fields/{index}"))
        self._check_fields(parsed, f"{path}/fields")
        record = Record(
            name=name,
            fields=tuple(parsed),
            doc=_text(schema, "doc", path),
            aliases=self._type_aliases(schema, name, path),
            is_error=schema["type"] == "error",
            attributes=_attributes(schema, _RESERVED),
        )
        self.definitions[name] = record
        return record

    def _field(self, value: object, record: FullName, path: str) -> Field:
        if not isinstance(value, dict):
            raise _wrong(value, "a field", "an object", path)
        name = _required_text(value, "name", path)
        field = Field(
            name=self._names.check(name, f"{path}/name"),
            type=self.type(_required(value, "type", path), namespace_of(record), f"{path}/type"),
            doc=_text(value, "doc", path),
            default=Default(value=value["default"]) if "default" in value else None,
            order=self._order(value.get("order", Order.ASCENDING.value), f"{path}/order"),
            aliases=tuple(dict.fromkeys(text for _, text in _aliases(value, path))),
            attributes=_attributes(value, _RESERVED_IN_FIELD),
        )
        if field.default is not None:
            self.defaults.append(DefaultToCheck(record=record, field=field, path=f"{path}/default"))
        return field

    def _order(self, value: object, path: str) -> Order:
        word = value.lower() if self._stored and isinstance(value, str) else value
        if word not in tuple(Order):
            raise _wrong(value, "`order`", f"one of {', '.join(Order)}", path)
        return Order(str(word))

    def _new_name(self, schema: JsonObject, namespace: str, path: str) -> FullName:
        given = _text(schema, "namespace", path)
        here = f"{path}/name"
        name = self._names.full(
            _required_text(schema, "name", path), namespace if given is None else given, here
        )
        if name in self._known:
            raise InvalidSchemaError(reason=f"`{name}` is defined twice", path=here)
        self._check_free(name, here)
        self._known.add(name)
        self._own[name] = name
        return name

    def _type_aliases(self, schema: JsonObject, name: FullName, path: str) -> tuple[FullName, ...]:
        found: dict[FullName, None] = {}
        for here, text in _aliases(schema, path):
            alias = full_alias(text, namespace_of(name))
            if self._own.get(alias) != name:
                self._check_free(alias, here)
            self._own[alias] = name
            found[alias] = None
        return tuple(found)

    def _check_free(self, name: FullName, path: str) -> None:
        """Refuse a name that is an alias of another type, and the other way round."""
        if name in self._own and not self._stored:
            reason = f"`{name}` is already a name or an alias of `{self._own[name]}`"
            raise InvalidSchemaError(reason=reason, path=path)

    def _check_fields(self, fields: Iterable[Field], path: str) -> None:
        """Refuse fields that share a name, or a name with an alias of another field."""
        named = list(fields)
        _check_unique("field", [field.name for field in named], path, "/name")
        owners = {field.name: field.name for field in named}
        for index, field in enumerate(named):
            for number, alias in enumerate(field.aliases):
                if owners.setdefault(alias, field.name) != field.name and not self._stored:
                    raise InvalidSchemaError(
                        reason=f"`{alias}` is already a name or an alias of `{owners[alias]}`",
                        path=f"{path}/{index}/aliases/{number}",
                    )


def _required(schema: JsonObject, key: str, path: str) -> object:
    if key not in schema:
        raise InvalidSchemaError(reason=f"`{key}` is missing", path=path)
    return schema[key]


def _required_text(schema: JsonObject, key: str, path: str) -> str:
    value = _required(schema, key, path)
    if not isinstance(value, str):
        raise _wrong(value, f"`{key}`", "a string", f"{path}/{key}")
    return value


def _text(schema: JsonObject, key: str, path: str) -> str | None:
    return None if schema.get(key) is None else _required_text(schema, key, path)


def _texts(value: object, path: str) -> Iterable[tuple[str, str]]:
    """Yield each string of an array with its path."""
    if not isinstance(value, list):
        raise _wrong(value, f"`{path.rpartition('/')[2]}`", "an array of strings", path)
    for index, text in enumerate(value):
        if not isinstance(text, str):
            raise _wrong(text, "an entry", "a string", f"{path}/{index}")
        yield f"{path}/{index}", text


def _aliases(schema: JsonObject, path: str) -> Iterable[tuple[str, str]]:
    """Return the aliases with their paths; the specification takes any string."""
    return _texts(schema["aliases"], f"{path}/aliases") if "aliases" in schema else ()


def _check_unique(what: str, names: Iterable[str], path: str, end: str = "") -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise InvalidSchemaError(
                reason=f"the {what} `{name}` is there twice", path=f"{path}/{index}{end}"
            )
        seen.add(name)


def _attributes(schema: JsonObject, reserved: frozenset[str]) -> Attributes:
    return tuple((key, value) for key, value in schema.items() if key not in reserved)


def _wrong(found: object, what: str, expected: str, path: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        reason=f"{what} must be {expected}, found {_described(found)}", path=path
    )


def _described(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return f"`{dump_json(value)[:100]}`"
