"""Fetching what is registered into the files of a project."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from penstock.names import Subject
from penstock.registry.client import RegistryClient
from penstock.registry.project.files import path_of
from penstock.schemas import RegisteredSchema, SchemaType


class FileState(StrEnum):
    """What a pull does to a file."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class PulledFile:
    """The latest version of a subject, and the file it goes to."""

    schema: RegisteredSchema
    path: Path
    text: str
    state: FileState


def plan_pull(
    client: RegistryClient, folder: Path, subjects: Sequence[Subject] = ()
) -> list[PulledFile]:
    """Return what pulling subjects would write: these and all they refer to, or every subject.

    Raises:
        NotRegisteredError: there is no such subject.
    """
    found = _with_references(client, subjects) if subjects else client.latest_schemas()
    planned = [_planned(schema, folder) for schema in found]
    return sorted(planned, key=lambda item: item.path)


def write_files(planned: Sequence[PulledFile]) -> None:
    """Write the files that are new or changed."""
    for item in planned:
        if item.state is not FileState.SAME:
            item.path.parent.mkdir(parents=True, exist_ok=True)
            item.path.write_text(item.text, encoding="utf-8")


def _with_references(client: RegistryClient, subjects: Sequence[Subject]) -> list[RegisteredSchema]:
    found: dict[Subject, RegisteredSchema] = {}
    waiting = list(subjects)
    while waiting:
        subject = waiting.pop()
        if subject not in found:
            found[subject] = client.version(subject)
            waiting += [Subject(item.subject) for item in found[subject].references]
    return list(found.values())


def _planned(schema: RegisteredSchema, folder: Path) -> PulledFile:
    assert schema.subject is not None  # noqa: S101 - it was asked for by its subject
    path = path_of(schema.subject, schema.type, root=folder)
    text = _pretty(schema)
    state = FileState.NEW
    if path.exists():
        same = _means(path.read_text(encoding="utf-8"), schema.type) == _means(text, schema.type)
        state = FileState.SAME if same else FileState.CHANGED
    return PulledFile(schema=schema, path=path, text=text, state=state)


def _pretty(schema: RegisteredSchema) -> str:
    """Return a schema as people keep it: registries store JSON without spaces."""
    if schema.type is SchemaType.PROTOBUF:
        return schema.text.rstrip() + "\n"
    return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False) + "\n"


def _means(text: str, kind: SchemaType) -> object:
    """Return what of a text counts: not its spaces, nor the order of keys in JSON."""
    if kind is SchemaType.PROTOBUF:
        return text.split()
    try:
        return json.loads(text)
    except ValueError:
        return None
