"""Which field of a JSON value keeps it from being a message.

The library that reads JSON tells it in a sentence only. So the value is taken apart along the
fields of the message, and each part is tried alone until the smallest wrong one is left.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

MAX_DEPTH = 100
"""Of messages in each other, as in the library."""

MAX_SHOWN_CHARS = 60

REFUSALS = (json_format.ParseError, RecursionError, AttributeError, TypeError, ValueError)
"""How the library refuses a value: its own error, or what some of its conversions trip over."""

_TYPE_NAMES = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A part of a value that does not fit the field it stands for."""

    field: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One value of a message, with a message that has nothing but it."""

    path: str
    field: FieldDescriptor
    value: object
    alone: Mapping[str, object]


def first_mismatch(
    descriptor: Descriptor, value: object, pool: "DescriptorPool"
) -> Mismatch | None:
    """Return the first field of `value` that does not fit; nothing if only the whole does not."""
    return _Search(pool).in_message(descriptor, value, "", 0)


class _Search:
    def __init__(self, pool: "DescriptorPool") -> None:
        self._pool = pool

    def in_message(
        self, descriptor: Descriptor, value: object, path: str, depth: int
    ) -> Mismatch | None:
        if not isinstance(value, Mapping):
            return _expected(path, value, f"an object with fields of `{descriptor.full_name}`")
        if depth > MAX_DEPTH:
            return _too_deep(path)
        known = {name: f for f in descriptor.fields for name in (f.name, f.json_name)}
        for name, part in value.items():
            where = f"{path}.{name}" if path else str(name)
            if name in known:
                whole = _Part(path=where, field=known[name], value=part, alone={name: part})
                found = self._in_field(descriptor, whole, depth)
            else:
                found = _unknown(where, str(name), descriptor)
            if found:
                return found
        return _two_of_one(descriptor, value, path)

    def _in_field(self, owner: Descriptor, whole: _Part, depth: int) -> Mismatch | None:
        if self._fits(owner, whole.alone):
            return None
        for part in _parts(whole):
            if not self._fits(owner, part.alone):
                return self._in_part(part, depth)
        return _expected(whole.path, whole.value, _described(whole.field))

    def _in_part(self, part: _Part, depth: int) -> Mismatch:
        inside = part.field.message_type
        # Well-known types have JSON forms of their own; theirs is not one object per message.
        if inside is None or inside.full_name.startswith("google.protobuf."):
            return _expected(part.path, part.value, _described_one(part.field))
        # Each field alone can be right, where all of them are too deep inside each other.
        return self.in_message(inside, part.value, part.path, depth + 1) or _too_deep(part.path)

    def _fits(self, descriptor: Descriptor, value: Mapping[str, object]) -> bool:
        message = GetMessageClass(descriptor)()
        try:
            json_format.ParseDict(dict(value), message, descriptor_pool=self._pool)
        except REFUSALS:
            return False
        return True


def _parts(whole: _Part) -> Iterator[_Part]:
    """Yield the elements of a list, the values of a map, or the one value there is."""
    field, value, [name] = whole.field, whole.value, whole.alone
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        if isinstance(value, Mapping):
            for key, one in value.items():
                where, kind = f"{whole.path}[{json.dumps(key)}]", entry.fields_by_name["value"]
                yield _Part(path=where, field=kind, value=one, alone={name: {key: one}})
    elif not field.is_repeated:
        yield whole
    elif isinstance(value, list):
        for index, one in enumerate(value):
            where = f"{whole.path}[{index}]"
            yield _Part(path=where, field=field, value=one, alone={name: [one]})


def _two_of_one(descriptor: Descriptor, value: Mapping[str, object], path: str) -> Mismatch | None:
    for oneof in descriptor.oneofs:
        names = [f.name for f in oneof.fields if f.name in value or f.json_name in value]
        if len(names) > 1:
            both = " and ".join(f"`{name}`" for name in names)
            where = f"{path}.{names[1]}" if path else names[1]
            return Mismatch(field=where, reason=f"of {both} one at most can be set")
    return None


def _unknown(path: str, name: str, descriptor: Descriptor) -> Mismatch:
    names = [field.name for field in descriptor.fields]
    close = get_close_matches(name, names, n=1)
    meant = f"; did you mean `{close[0]}`?" if close else ""
    return Mismatch(field=path, reason=f"`{descriptor.full_name}` has no such field{meant}")


def _too_deep(path: str) -> Mismatch:
    return Mismatch(field=path, reason=f"messages are nested deeper than {MAX_DEPTH} levels")


def _expected(path: str, value: object, expected: str) -> Mismatch:
    return Mismatch(field=path, reason=f"found {_shown(value)}, expected {expected}")


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + '…'}`"


def _described(field: FieldDescriptor) -> str:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
        return f"an object from {_described_one(key)} to {_described_one(value)}"
    return f"a list of {_described_one(field)}" if field.is_repeated else _described_one(field)


def _described_one(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return f"`{field.message_type.full_name}`"
    if field.enum_type is not None:
        names = [value.name for value in field.enum_type.values]
        more = ", …" if len(names) > 5 else ""
        return f"`{field.enum_type.full_name}` ({', '.join(names[:5])}{more})"
    return f"`{_TYPE_NAMES[field.type]}`"
