"""Descriptors as .proto text: the form in which schemas are stored and compared.

What is printed compiles to the same descriptor again: the same fields in the same order, and the
same messages at the same index, on which the wire format relies. Comments are not kept, types have
their full names. Sorted, the text is the same for all files that mean the same: then fields stand
in the order of their numbers. Messages are never sorted, because their index has a meaning.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

from penstock.schemas.protobuf.options import Option, OptionReader, quoted

MAX_FIELD_NUMBER = 536_870_911
MAX_ENUM_NUMBER = 2_147_483_647

_INDENT = "  "
_LABELS = {
    FieldDescriptorProto.LABEL_OPTIONAL: "optional ",
    FieldDescriptorProto.LABEL_REQUIRED: "required ",
    FieldDescriptorProto.LABEL_REPEATED: "repeated ",
}

_Item = TypeVar("_Item")


@dataclass(slots=True)
class _Unit:
    """Lines that belong together, and how many of the messages beside them they define.

    A map defines its entry and a group its message: in the descriptor they stand among those that
    have a definition of their own.
    """

    lines: list[str] = field(default_factory=list)
    defines: int = 0


class Printer:
    """Prints one file."""

    def __init__(self, file: FileDescriptorProto, options: OptionReader, *, normal: bool) -> None:
        self._file = file
        self._options = options
        self._normal = normal
        self._proto3 = file.syntax == "proto3"

    def text(self) -> str:
        """Return the file."""
        parts = [self._head(), *self._definitions()]
        return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)

    def _head(self) -> list[str]:
        lines = [f'syntax = "{self._file.syntax or "proto2"}";']
        if self._file.package:
            lines.append(f"package {self._file.package};")
        return lines

    def _definitions(self) -> Iterator[list[str]]:
        file = self._file
        yield self._imports()
        yield self._option_lines(file.options)
        scope = f".{file.package}" if file.package else ""
        groups = _groups(file.extension)
        extends = self._extends(file.extension, file.message_type)
        yield from self._interleaved(extends, file.message_type, groups, scope)
        for enum in file.enum_type:
            yield self._enum(enum)
        for service in file.service:
            yield self._service(service)

    def _imports(self) -> list[str]:
        file = self._file
        public, weak = set(file.public_dependency), set(file.weak_dependency)
        lines = [
            f"import {'public ' if i in public else 'weak ' if i in weak else ''}{quoted(name)};"
            for i, name in enumerate(file.dependency)
        ]
        return self._ordered(lines, key=str)

    def _ordered(self, items: Iterable[_Item], key: Callable[[_Item], Any]) -> list[_Item]:
        return sorted(items, key=key) if self._normal else list(items)

    def _interleaved(
        self,
        units: Iterable[_Unit],
        messages: Sequence[DescriptorProto],
        defined: frozenset[str],
        scope: str,
    ) -> Iterator[list[str]]:
        """Yield `units` and those of `messages` that no unit defines, each at its index.

        Args:
            units: What stands beside the messages.
            messages: All messages of this scope in their order.
            defined: The names of those that are defined by units.
            scope: The full name of what is around.
        """
        waiting = deque(messages)
        for unit in units:
            for _ in range(unit.defines):
                while waiting and waiting[0].name not in defined:
                    yield self._message(waiting.popleft(), scope)
                if waiting:
                    waiting.popleft()
            yield unit.lines
        yield from (self._message(one, scope) for one in waiting if one.name not in defined)

    def _message(self, message: DescriptorProto, scope: str) -> list[str]:
        return [f"message {message.name} {{", *self._body(message, scope), "}"]

    def _body(self, message: DescriptorProto, scope: str) -> list[str]:
        """Return the indented lines between the braces of a message or group."""
        inside = f"{scope}.{message.name}"
        entries = {f"{inside}.{t.name}": t for t in message.nested_type if t.options.map_entry}
        defined = _groups(message.field) | _groups(message.extension)
        defined |= {entry.name for entry in entries.values()}
        lines = [*self._option_lines(message.options), *self._reserved(message)]
        lines += self._extension_ranges(message)
        units = [
            *self._fields(message, entries),
            *self._extends(message.extension, message.nested_type),
        ]
        for part in self._interleaved(units, message.nested_type, defined, inside):
            lines += part
        for enum in message.enum_type:
            lines += self._enum(enum)
        return [_INDENT + line for line in lines]

    def _fields(
        self, message: DescriptorProto, entries: dict[str, DescriptorProto]
    ) -> Iterator[_Unit]:
        printed: set[int] = set()
        for one in self._ordered(message.field, key=lambda f: f.number):
            if not in_oneof(one):
                yield self._field(one, message.nested_type, entries)
            elif one.oneof_index not in printed:
                printed.add(one.oneof_index)
                yield self._oneof(message, one.oneof_index)

    def _oneof(self, message: DescriptorProto, index: int) -> _Unit:
        declared = message.oneof_decl[index]
        unit = _Unit([f"oneof {declared.name} {{"])
        unit.lines += [_INDENT + line for line in self._option_lines(declared.options)]
        members = [f for f in message.field if in_oneof(f) and f.oneof_index == index]
        for one in self._ordered(members, key=lambda f: f.number):
            member = self._field(one, message.nested_type, {})
            unit.lines += [_INDENT + line for line in member.lines]
            unit.defines += member.defines
        unit.lines.append("}")
        return unit

    def _extends(
        self, extensions: Sequence[FieldDescriptorProto], messages: Sequence[DescriptorProto]
    ) -> Iterator[_Unit]:
        unit, extended = _Unit(), ""
        for one in self._ordered(extensions, key=lambda f: (f.extendee, f.number)):
            if one.extendee != extended:
                if extended:
                    yield unit
                unit, extended = _Unit([f"extend {one.extendee} {{", "}"]), one.extendee
            member = self._field(one, messages, {})
            unit.lines[-1:-1] = [_INDENT + line for line in member.lines]
            unit.defines += member.defines
        if extended:
            yield unit

    def _field(
        self,
        one: FieldDescriptorProto,
        messages: Sequence[DescriptorProto],
        entries: dict[str, DescriptorProto],
    ) -> _Unit:
        options = self._bracketed(self._field_options(one))
        if one.type == FieldDescriptorProto.TYPE_GROUP:
            return self._group(one, messages, options)
        entry = entries.get(one.type_name)
        kind = f"{self._label(one)}{type_text(one)}" if entry is None else _map_text(entry)
        return _Unit([f"{kind} {one.name} = {one.number}{options};"], 0 if entry is None else 1)

    def _group(
        self, one: FieldDescriptorProto, messages: Sequence[DescriptorProto], options: str
    ) -> _Unit:
        scope, _, name = one.type_name.rpartition(".")
        body = next((self._body(m, scope) for m in messages if m.name == name), [])
        head = f"{self._label(one)}group {name} = {one.number}{options} {{"
        return _Unit([head, *body, "}"], 1)

    def _label(self, one: FieldDescriptorProto) -> str:
        if in_oneof(one):
            return ""
        implicit = one.label == FieldDescriptorProto.LABEL_OPTIONAL and not one.proto3_optional
        return "" if self._proto3 and implicit else _LABELS[one.label]

    def _field_options(self, one: FieldDescriptorProto) -> list[Option]:
        options = []
        if one.HasField("default_value"):
            options.append(Option(name="default", value=_default_text(one)))
        if one.HasField("json_name") and one.json_name != default_json_name(one.name):
            options.append(Option(name="json_name", value=quoted(one.json_name)))
        return options + self._options.options(one.options)

    def _bracketed(self, options: list[Option]) -> str:
        ordered = self._ordered(options, key=lambda option: option.name)
        return f" [{', '.join(map(str, ordered))}]" if ordered else ""

    def _option_lines(self, options: Message) -> list[str]:
        found = self._options.options(options)
        return [f"option {one};" for one in self._ordered(found, key=lambda option: option.name)]

    def _reserved(self, message: DescriptorProto) -> list[str]:
        ranges = [(one.start, one.end - 1) for one in message.reserved_range]
        return self._reserved_lines(ranges, message.reserved_name, MAX_FIELD_NUMBER)

    def _reserved_lines(
        self, ranges: Sequence[tuple[int, int]], names: Iterable[str], maximum: int
    ) -> list[str]:
        numbers = [_range_text(*one, maximum) for one in self._ordered(ranges, key=lambda r: r)]
        words = [quoted(name) for name in self._ordered(names, key=str)]
        return [f"reserved {', '.join(some)};" for some in (numbers, words) if some]

    def _extension_ranges(self, message: DescriptorProto) -> list[str]:
        ranges = self._ordered(message.extension_range, key=lambda one: one.start)
        return [
            f"extensions {_range_text(one.start, one.end - 1, MAX_FIELD_NUMBER)}"
            f"{self._bracketed(self._options.options(one.options))};"
            for one in ranges
        ]

    def _enum(self, enum: EnumDescriptorProto) -> list[str]:
        lines = self._option_lines(enum.options)
        ranges = [(one.start, one.end) for one in enum.reserved_range]
        # The first value is the default one, whatever its number.
        later = self._ordered(enum.value[1:], key=lambda value: (value.number, value.name))
        for value in [*enum.value[:1], *later]:
            options = self._bracketed(self._options.options(value.options))
            lines.append(f"{value.name} = {value.number}{options};")
        lines += self._reserved_lines(ranges, enum.reserved_name, MAX_ENUM_NUMBER)
        return [f"enum {enum.name} {{", *(_INDENT + line for line in lines), "}"]

    def _service(self, service: ServiceDescriptorProto) -> list[str]:
        lines = self._option_lines(service.options)
        for method in service.method:
            lines += self._method(method)
        return [f"service {service.name} {{", *(_INDENT + line for line in lines), "}"]

    def _method(self, method: MethodDescriptorProto) -> list[str]:
        request = f"{'stream ' if method.client_streaming else ''}{method.input_type}"
        response = f"{'stream ' if method.server_streaming else ''}{method.output_type}"
        head = f"rpc {method.name} ({request}) returns ({response})"
        options = self._option_lines(method.options)
        if not options:
            return [f"{head};"]
        return [f"{head} {{", *(_INDENT + line for line in options), "}"]


def in_oneof(one: FieldDescriptorProto) -> bool:
    """Return whether the field stands in a oneof that the user wrote.

    An `optional` field of proto3 has a oneof of its own that is in no text.
    """
    return one.HasField("oneof_index") and not one.proto3_optional


def type_text(one: FieldDescriptorProto) -> str:
    """Return the type of a field that is no map: `int32`, `.orders.Item`."""
    if one.type_name:
        return one.type_name
    return FieldDescriptorProto.Type.Name(one.type).removeprefix("TYPE_").lower()


def default_json_name(name: str) -> str:
    """Return the name a field has in JSON when none is given: `order_id` becomes `orderId`."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def _groups(fields: Iterable[FieldDescriptorProto]) -> frozenset[str]:
    return frozenset(
        one.type_name.rpartition(".")[2]
        for one in fields
        if one.type == FieldDescriptorProto.TYPE_GROUP
    )


def _map_text(entry: DescriptorProto) -> str:
    key, value = entry.field
    return f"map<{type_text(key)}, {type_text(value)}>"


def _default_text(one: FieldDescriptorProto) -> str:
    match one.type:
        case FieldDescriptorProto.TYPE_STRING:
            return quoted(one.default_value)
        case FieldDescriptorProto.TYPE_BYTES:
            return f'"{one.default_value}"'  # escaped already
        case _:
            return one.default_value


def _range_text(first: int, last: int, maximum: int) -> str:
    if first == last:
        return str(first)
    return f"{first} to {'max' if last >= maximum else last}"
