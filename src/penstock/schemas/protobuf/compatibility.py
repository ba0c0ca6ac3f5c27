"""Which messages written with one schema can be read with another.

The rules and their names are those of Confluent's registry: fields are told apart by their numbers
and messages by their names. In three cases this is stricter than theirs, because values would be
lost or not be readable at all:

- a number without a label and a repeated one are as incompatible as an `optional` and a repeated;
- a field of any type that becomes required counts as one that was added;
- fields of two oneofs in one oneof count as fields moved into a oneof.

Messages of imported files are compared when a field has them. Each pair is compared once: messages
can contain each other, and many fields can have the same one.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from penstock.schemas.protobuf.fields import Field, Kind, Label, Scalar, Value, fields_of
from penstock.schemas.schema import Incompatibility

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A message of some file, and what its fields need to be understood."""

    message: DescriptorProto
    file: FileDescriptorProto
    full_name: str
    """With a dot before it."""

    @property
    def local_path(self) -> _Path:
        """The names of the messages around it and its own, without the package."""
        package = f".{self.file.package}" if self.file.package else ""
        return tuple(self.full_name.removeprefix(f"{package}.").split("."))

    def nested(self) -> "list[Definition]":
        """Return the messages inside, those of maps and groups left out."""
        groups = {
            one.type_name
            for one in self.message.field
            if one.type == FieldDescriptorProto.TYPE_GROUP
        }
        return [
            one
            for one in _inside(self.message.nested_type, self.file, self.full_name)
            if not one.message.options.map_entry and one.full_name not in groups
        ]

    def fields(self) -> dict[int, Field]:
        """Return the fields by number."""
        entries = {
            f"{self.full_name}.{one.name}": one
            for one in self.message.nested_type
            if one.options.map_entry
        }
        return fields_of(self.message, entries, proto3=self.file.syntax == "proto3")


@dataclass(frozen=True, kw_only=True)
class Files:
    """A file with all it imports."""

    root: FileDescriptorProto
    imported: tuple[FileDescriptorProto, ...]

    @cached_property
    def messages(self) -> dict[str, Definition]:
        """All messages of all files, by full name."""
        found: dict[str, Definition] = {}
        for file in (*self.imported, self.root):
            waiting = deque(self.top_level(file))
            while waiting:
                one = waiting.popleft()
                found[one.full_name] = one
                waiting += _inside(one.message.nested_type, file, one.full_name)
        return found

    def top_level(self, file: FileDescriptorProto) -> "list[Definition]":
        """Return the messages of `file` that stand in no other."""
        return _inside(file.message_type, file, f".{file.package}" if file.package else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Two messages of one name: the one to read with and the one that was written."""

    reader: Definition
    writer: Definition
    path: _Path


_Key = tuple[str, str]
_ROOT: _Key = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """A field whose two types are compared apart: if they do not fit, neither does the field."""

    user: _Key
    used: _Key
    path: _Path
    type_text: str


def reasons_against_reading(*, reader: Files, writer: Files) -> list[Incompatibility]:
    """Return why what was written with `writer` cannot be read with `reader`: empty if it can."""
    return _Comparison(reader, writer).reasons()


class _Comparison:
    def __init__(self, reader: Files, writer: Files) -> None:
        self._reader = reader
        self._writer = writer
        self._found: dict[_Key, list[Incompatibility]] = {_ROOT: []}
        self._uses: list[_Use] = []
        self._waiting: deque[tuple[_Key, _Pair]] = deque()
        self._current = _ROOT

    def reasons(self) -> list[Incompatibility]:
        reader, writer = self._reader.root, self._writer.root
        if reader.package != writer.package:
            self._add("PACKAGE_CHANGED", (), _package_change(reader.package, writer.package))
        tops = self._reader.top_level(reader), self._writer.top_level(writer)
        self._compare_messages(*tops, ())
        while self._waiting:
            self._current, pair = self._waiting.popleft()
            self._compare(pair)
        self._blame_users()
        return [one for found in self._found.values() for one in found]

    def _blame_users(self) -> None:
        """Report each field whose message does not fit, those of the messages around it too."""
        users = defaultdict(list)
        for use in self._uses:
            users[use.used].append(use)
        wrong = deque(key for key, found in self._found.items() if found)
        while wrong:
            for use in users.pop(wrong.popleft(), ()):
                told = f"`{use.type_text}` cannot be read as it is defined here"
                if not self._found[use.user]:
                    wrong.append(use.user)
                self._current = use.user
                self._add("FIELD_NAMED_TYPE_CHANGED", use.path, told)

    def _add(self, kind: str, path: _Path, message: str) -> None:
        one = Incompatibility(kind=kind, path="#/" + "/".join(path), message=message)
        if one not in self._found[self._current][-2:]:  # the key and the value of one map
            self._found[self._current].append(one)

    def _compare_messages(
        self, reader: Sequence[Definition], writer: Sequence[Definition], around: _Path
    ) -> None:
        readers = {one.message.name: one for one in reader}
        for written in writer:
            name = written.message.name
            path = (*around, name)
            if name in readers:
                self._compare(_Pair(reader=readers[name], writer=written, path=path))
            else:
                self._add("MESSAGE_REMOVED", path, f"the reader has no message `{name}`")

    def _compare(self, pair: _Pair) -> None:
        reader, writer = pair.reader.fields(), pair.writer.fields()
        for kind, oneof, message in _oneof_moves(reader, writer):
            self._add(kind, (*pair.path, oneof), message)
        for number in sorted(reader.keys() | writer.keys()):
            self._compare_fields(reader.get(number), writer.get(number), pair)
        self._compare_messages(pair.reader.nested(), pair.writer.nested(), pair.path)

    def _compare_fields(self, reader: Field | None, writer: Field | None, pair: _Pair) -> None:
        if reader and writer:
            path = (*pair.path, *_in_oneof(reader, writer), str(reader.number))
            self._compare_values(reader.value, writer.value, path)
            if reader.value.kind is writer.value.kind:
                self._compare_labels(reader, writer, path)
        elif writer and (removed := _removal(writer, pair.reader)):
            path = (*pair.path, *((writer.oneof,) if writer.oneof else ()), str(writer.number))
            self._add(removed, path, f"the reader has no field {writer.number}, `{writer}`")
        elif reader and reader.label is Label.REQUIRED:
            message = f"the writer has no field {reader.number}, `{reader}`"
            self._add("REQUIRED_FIELD_ADDED", (*pair.path, str(reader.number)), message)

    def _compare_labels(self, reader: Field, writer: Field, path: _Path) -> None:
        message = f"the field is `{reader}` for the reader and `{writer}` for the writer"
        number = reader.value.kind is Kind.SCALAR and reader.value.scalar is not Scalar.TEXT
        same_kind = reader.value.scalar is writer.value.scalar
        if number and same_kind and _numbers_differ(reader.label, writer.label):
            self._add("FIELD_NUMERIC_LABEL_CHANGED", path, message)
        elif reader.label is Label.REQUIRED and writer.label is not Label.REQUIRED:
            self._add("REQUIRED_FIELD_ADDED", path, message)

    def _compare_values(self, reader: Value, writer: Value, path: _Path) -> None:
        message = f"the type is `{reader.text}` for the reader and `{writer.text}` for the writer"
        if reader.kind is not writer.kind:
            self._add("FIELD_KIND_CHANGED", path, message)
        elif reader.kind is Kind.SCALAR:
            if reader.scalar is not writer.scalar:
                self._add("FIELD_SCALAR_KIND_CHANGED", path, message)
        elif reader.entry and writer.entry:
            for part, written in zip(reader.entry, writer.entry, strict=True):
                self._compare_values(part, written, path)
        else:
            self._compare_types(reader, writer, path, message)

    def _compare_types(self, reader: Value, writer: Value, path: _Path, message: str) -> None:
        read = self._reader.messages[reader.type_name]
        written = self._writer.messages[writer.type_name]
        if read.local_path != written.local_path:
            self._add("FIELD_NAMED_TYPE_CHANGED", path, message)
        elif reader.kind is Kind.GROUP or not self._defined_here(read, written):
            self._compare_later(_Pair(reader=read, writer=written, path=read.local_path), path)

    def _defined_here(self, reader: Definition, writer: Definition) -> bool:
        """Return whether both are compared anyway, for being messages of the schemas themselves."""
        return reader.file is self._reader.root and writer.file is self._writer.root

    def _compare_later(self, pair: _Pair, path: _Path) -> None:
        key = (pair.reader.full_name, pair.writer.full_name)
        if key not in self._found:
            self._found[key] = []
            self._waiting.append((key, pair))
        self._uses.append(
            _Use(user=self._current, used=key, path=path, type_text=pair.reader.full_name)
        )


def _inside(
    messages: Iterable[DescriptorProto], file: FileDescriptorProto, scope: str
) -> list[Definition]:
    return [Definition(message=one, file=file, full_name=f"{scope}.{one.name}") for one in messages]


def _package_change(reader: str, writer: str) -> str:
    return f"the package is `{reader}` for the reader and `{writer}` for the writer"


def _removal(field: Field, reader: Definition) -> str | None:
    """Return what it is called when the reader lacks `field`; nothing if that does no harm."""
    if field.label is Label.REQUIRED:
        return "REQUIRED_FIELD_REMOVED"
    if field.oneof and any(one.name == field.oneof for one in reader.message.oneof_decl):
        return "ONEOF_FIELD_REMOVED"
    return None


def _in_oneof(reader: Field, writer: Field) -> tuple[str, ...]:
    return (reader.oneof,) if reader.oneof and reader.oneof == writer.oneof else ()


def _numbers_differ(reader: Label, writer: Label) -> bool:
    if reader is writer:
        return False
    if Label.NONE in (reader, writer):
        return Label.REPEATED in (reader, writer)
    return True


def _oneof_moves(
    reader: dict[int, Field], writer: dict[int, Field]
) -> Iterator[tuple[str, str, str]]:
    """Yield kind, oneof and message for each oneof whose fields could be set together so far."""
    members = defaultdict(list)
    for number, field in reader.items():
        if field.oneof and number in writer:
            members[field.oneof].append(writer[number])
    for oneof, written in members.items():
        moved = sorted(field.name for field in written if not field.oneof)
        origins = {field.oneof for field in written if field.oneof}
        names = ", ".join(f"`{name}`" for name in moved)
        if len(moved) > 1:
            told = f"{names} are in no oneof for the writer, who can set all of them"
            yield "MULTIPLE_FIELDS_MOVED_TO_ONEOF", oneof, told
        elif moved and origins:
            told = f"{names} is in no oneof for the writer, who can set it beside others"
            yield "FIELD_MOVED_TO_EXISTING_ONEOF", oneof, told
        elif len(origins) > 1:
            told = "its fields are in several oneofs for the writer, who can set one of each"
            yield "MULTIPLE_FIELDS_MOVED_TO_ONEOF", oneof, told
