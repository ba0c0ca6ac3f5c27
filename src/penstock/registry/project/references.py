"""What schema files need of each other, found in their texts before anything is parsed.

Avro names a type that another file defines, JSON Schema has a `$ref` to a file or its `$id`,
Protobuf imports a file. A need that no file meets is left to the parser, which tells where it is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import urldefrag, urljoin

from penstock.errors import Origin, UsageError
from penstock.names import Subject
from penstock.registry.project.files import SchemaFile
from penstock.schemas import InvalidSchemaError, Resolved, SchemaType
from penstock.schemas.json_text import load_json

_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_NAMED = ("record", "error", "enum", "fixed")
# Texts and comments are matched first, so that what is inside them is not taken for an import.
_PROTO_PARTS = re.compile(
    r'//[^\n]*|/\*.*?\*/|import\s+(?:public\s+|weak\s+)?(["\'])(?P<file>[^"\']+)\1\s*;'
    r'|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'',
    re.DOTALL,
)


class FileReferencesError(UsageError):
    """Files refer to each other in a way that no order of registering resolves."""

    code = "PEN-746"

    def __init__(self, *, reason: str, file: SchemaFile) -> None:
        super().__init__(
            reason,
            hint="let a schema refer to one file for each type, and not back to itself",
            origin=Origin(file.path),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a schema calls `name` is the schema of another file."""

    name: str
    subject: Subject


@dataclass(frozen=True, slots=True)
class FileGraph:
    """The files of a project, and what each needs of the others."""

    files: Mapping[Subject, SchemaFile]
    needs: Mapping[Subject, tuple[Need, ...]]

    def in_order(self, wanted: Sequence[SchemaFile]) -> list[SchemaFile]:
        """Return `wanted` and all they need, each after what it needs.

        Raises:
            FileReferencesError: they need each other in a circle.
        """
        done: dict[Subject, SchemaFile] = {}
        for file in wanted:
            self._visit(file, done, ())
        return list(done.values())

    def resolved(self, subject: Subject) -> tuple[Resolved, ...]:
        """Return what a schema refers to, with texts, for the parser."""
        return tuple(
            Resolved(
                name=need.name,
                text=self.files[need.subject].text,
                references=self.resolved(need.subject),
            )
            for need in self.needs[subject]
        )

    def _visit(
        self, file: SchemaFile, done: dict[Subject, SchemaFile], way: tuple[Subject, ...]
    ) -> None:
        if file.subject in way:
            circle = (*way[way.index(file.subject) :], file.subject)
            names = " → ".join(f"`{name}`" for name in circle)
            raise FileReferencesError(reason=f"schemas refer to each other: {names}", file=file)
        if file.subject in done:
            return
        for need in self.needs[file.subject]:
            self._visit(self.files[need.subject], done, (*way, file.subject))
        done[file.subject] = file


def graph_of(files: Sequence[SchemaFile]) -> FileGraph:
    """Return what each of `files` needs of the others.

    Raises:
        FileReferencesError: a type that a schema needs is defined in two files.
    """
    avro = _AvroNames([file for file in files if file.type is SchemaType.AVRO])
    needs = {}
    for file in files:
        others = [item for item in files if item.type is file.type and item is not file]
        match file.type:
            case SchemaType.AVRO:
                needs[file.subject] = tuple(avro.needs_of(file))
            case SchemaType.JSON:
                needs[file.subject] = tuple(_json_needs(file, others))
            case SchemaType.PROTOBUF:
                needs[file.subject] = tuple(_proto_needs(file, others))
    return FileGraph({file.subject: file for file in files}, needs)


class _AvroNames:
    """The types that each file defines and uses."""

    def __init__(self, files: Sequence[SchemaFile]) -> None:
        self._defined: dict[Subject, list[str]] = {}
        self._used: dict[Subject, list[str]] = {}
        self._files: dict[str, list[SchemaFile]] = {}
        for file in files:
            defined: list[str] = []
            used: list[str] = []
            _collect(_json(file), "", defined, used)
            self._defined[file.subject], self._used[file.subject] = defined, used
            for name in dict.fromkeys(defined):
                self._files.setdefault(name, []).append(file)

    def needs_of(self, file: SchemaFile) -> Iterator[Need]:
        """Yield a reference for each file that defines a type `file` uses and does not define."""
        own, seen = set(self._defined[file.subject]), set()
        for name in self._used[file.subject]:
            homes = self._files.get(name, [])
            if name in own or not homes:
                continue
            if len(homes) > 1:
                paths = " and ".join(f"`{home.path.name}`" for home in homes)
                reason = f"`{file.path.name}` refers to `{name}`, which {paths} define"
                raise FileReferencesError(reason=reason, file=file)
            subject = homes[0].subject
            if subject not in seen:
                seen.add(subject)
                # A file is referred to by its outermost type.
                yield Need(name=self._defined[subject][0], subject=subject)


def _collect(node: Any, namespace: str, defined: list[str], used: list[str]) -> None:  # noqa: ANN401 - JSON
    """Add the full names that a schema defines, outermost first, and those that it uses."""
    if isinstance(node, str):
        if node not in _PRIMITIVES:
            used.append(_full(node, namespace))
    elif isinstance(node, list):
        for branch in node:
            _collect(branch, namespace, defined, used)
    elif isinstance(node, dict):
        kind = node.get("type")
        if kind in _NAMED and isinstance(node.get("name"), str):
            full = _full(node["name"], str(node.get("namespace", namespace)))
            defined.append(full)
            fields = node.get("fields")
            for field in fields if isinstance(fields, list) else []:
                if isinstance(field, dict):
                    _collect(field.get("type"), full.rpartition(".")[0], defined, used)
        elif kind in ("array", "map"):
            _collect(node.get("items" if kind == "array" else "values"), namespace, defined, used)
        elif kind not in _NAMED:
            _collect(kind, namespace, defined, used)


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _json_needs(file: SchemaFile, others: Sequence[SchemaFile]) -> Iterator[Need]:
    """Yield a reference for each `$ref` to another file, by its place or by its `$id`."""
    document = _json(file)
    base = _id(document)
    by_id = {_id(_json(other)): other for other in others}
    by_place = {PurePosixPath(other.path.as_posix()): other for other in others}
    for address in dict.fromkeys(_addresses(document)):
        place = PurePosixPath(normpath(file.path.parent.joinpath(address).as_posix()))
        found = by_id.get(urljoin(base, address)) or by_place.get(place)
        if found is not None:
            yield Need(name=address, subject=found.subject)


def _addresses(node: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Yield what stands before `#` in each `$ref`."""
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and urldefrag(reference).url:
            yield urldefrag(reference).url
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _addresses(item)


def _id(document: Any) -> str:  # noqa: ANN401 - JSON
    found = document.get("$id", document.get("id")) if isinstance(document, dict) else None
    return urldefrag(found).url if isinstance(found, str) else ""


def _proto_needs(file: SchemaFile, others: Sequence[SchemaFile]) -> Iterator[Need]:
    """Yield a reference for each import of another file; imports begin at the folder's root."""
    by_import = {f"{other.subject}.proto": other for other in others}
    for part in _PROTO_PARTS.finditer(file.text):
        found = by_import.get(part["file"] or "")
        if found is not None:
            yield Need(name=part["file"], subject=found.subject)


def _json(file: SchemaFile) -> Any:  # noqa: ANN401 - JSON
    """Return the document of a file; None if it is none, which the parser will tell."""
    try:
        return load_json(file.text)
    except InvalidSchemaError:
        return None
