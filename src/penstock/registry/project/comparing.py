"""The two sides of a comparison: versions of a subject, or files."""

from dataclasses import dataclass
from pathlib import Path

from penstock.names import Subject
from penstock.registry.client import RegistryClient
from penstock.registry.project.files import FOLDER, SchemaFolderError, load_file, load_files
from penstock.registry.project.references import graph_of
from penstock.schemas import Schema, parse

_LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A schema and what to call it."""

    name: str
    schema: Schema


def compared_sides(
    client: RegistryClient, subject: Subject, old: str | None, new: str | None, *, folder: Path
) -> tuple[Side, Side]:
    """Return the older and the newer side that a user means.

    Args:
        client: of the registry with the versions.
        subject: whose versions are meant.
        old: a version, `latest` or a file; None: the latest version.
        new: the same; None: the project's file, or the latest version when `old` is older.
        folder: the project's schemas.

    Raises:
        NotRegisteredError: there is no such version.
        SchemaFolderError: there is no such file.
        InvalidSchemaError: a file cannot be parsed.
    """
    if old is None:
        path = _project_file(subject, folder)
        return _version(client, subject, _LATEST), _file(path, folder)
    if new is not None:
        return _side(client, subject, old, folder), _side(client, subject, new, folder)
    if _is_version(old):
        return _side(client, subject, old, folder), _version(client, subject, _LATEST)
    return _version(client, subject, _LATEST), _file(Path(old), folder)


def _side(client: RegistryClient, subject: Subject, text: str, folder: Path) -> Side:
    if _is_version(text):
        return _version(client, subject, text)
    return _file(Path(text), folder)


def _is_version(text: str) -> bool:
    return text == _LATEST or text.isdecimal()


def _version(client: RegistryClient, subject: Subject, text: str) -> Side:
    found = client.version(subject, int(text) if text != _LATEST else "latest")
    return Side(name=f"{subject} version {found.version}", schema=client.parsed(found))


def _file(path: Path, folder: Path) -> Side:
    """Parse a file; one of the project may refer to others of it."""
    if not path.resolve().is_relative_to(folder.resolve()):
        file = load_file(path, root=path.parent)
        return Side(name=str(path), schema=parse(file.type, file.text))
    files = load_files(folder)
    file = next((item for item in files if item.path.resolve() == path.resolve()), None) or (
        load_file(path, root=folder)
    )
    references = graph_of(files).resolved(file.subject)
    return Side(name=str(path), schema=parse(file.type, file.text, references))


def _project_file(subject: Subject, folder: Path) -> Path:
    found = next((item.path for item in load_files(folder) if item.subject == subject), None)
    if found is None:
        raise SchemaFolderError(
            reason=f"`{folder}` has no file of subject `{subject}`",
            hint=f"name two versions, or `penstock schemas pull {subject}` into `{FOLDER}/`",
        )
    return found
