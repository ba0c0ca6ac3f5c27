"""Schemas under version control: the files of a project's `schemas/` folder.

A file is named after its subject: `orders-value.avsc` is the Avro schema of the values of topic
`orders`. Folders are part of the subject. Characters that a file name cannot have are written as
in addresses (`%3A` for a colon). What files need of each other is in `references.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from penstock.errors import Origin, UsageError
from penstock.names import Subject, nearest
from penstock.schemas import SchemaType

FOLDER = "schemas"

SUFFIXES = {
    ".avsc": SchemaType.AVRO,
    ".json": SchemaType.JSON,
    ".proto": SchemaType.PROTOBUF,
}
_SUFFIX_OF = {kind: suffix for suffix, kind in SUFFIXES.items()}


class SchemaFolderError(UsageError):
    """The folder, or a file of it, is not what `penstock schemas` works with."""

    code = "PEN-745"

    def __init__(self, *, reason: str, hint: str, path: Path | None = None) -> None:
        super().__init__(reason, hint=hint, origin=Origin(path) if path else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFile:
    """A schema of the project, as it stands in its file."""

    path: Path
    subject: Subject
    type: SchemaType
    text: str


def load_files(folder: Path) -> list[SchemaFile]:
    """Return the schemas of a folder and the folders below it, by subject.

    Raises:
        SchemaFolderError: there is no such folder or nothing in it, a file cannot be read, or two
            files are of one subject.
    """
    if not folder.is_dir():
        raise SchemaFolderError(
            reason=f"there is no folder `{folder}` with the schemas of the project",
            hint=f"`penstock schemas pull` fetches schemas into `{FOLDER}/`",
        )
    files = [
        load_file(path, root=folder)
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and path.is_file()
    ]
    if not files:
        raise SchemaFolderError(
            reason=f"there are no schemas in `{folder}`",
            hint=f"files end in {', '.join(SUFFIXES)}; `penstock schemas pull` fetches some",
        )
    _refuse_twins(files)
    return sorted(files, key=lambda file: file.subject)


def load_file(path: Path, *, root: Path, subject: Subject | None = None) -> SchemaFile:
    """Return the schema of one file; its place below `root` is its subject, if none is given.

    Raises:
        SchemaFolderError: it cannot be read, or its name does not tell its type.
    """
    kind = SUFFIXES.get(path.suffix)
    if kind is None:
        raise SchemaFolderError(
            reason=f"`{path}` does not tell which type of schema it is",
            hint=f"name it with one of {', '.join(SUFFIXES)}",
        )
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise SchemaFolderError(
            reason=f"`{path}` cannot be read: {err}", hint="schemas are text files in UTF-8"
        ) from err
    return SchemaFile(
        path=path, subject=subject or subject_of(path, root=root), type=kind, text=text
    )


def subject_of(path: Path, *, root: Path) -> Subject:
    """Return the subject that a file below `root` is named after."""
    return Subject(unquote(path.relative_to(root).with_suffix("").as_posix()))


def path_of(subject: Subject, kind: SchemaType, *, root: Path) -> Path:
    """Return the file of a subject: never outside of `root`."""
    # A folder needs a name: where there is none, the slashes are no folders.
    parts = subject.split("/") if "//" not in f"/{subject}/" else [subject]
    steps = [_file_name(part) for part in parts]
    return root.joinpath(*steps[:-1], steps[-1] + _SUFFIX_OF[kind])


def chosen(files: Sequence[SchemaFile], names: Sequence[str]) -> list[SchemaFile]:
    """Return the files that `names` mean, by path or subject; all of them without names.

    Raises:
        SchemaFolderError: there is no such file.
    """
    if not names:
        return list(files)
    by_name = {file.subject: file for file in files} | {str(file.path): file for file in files}
    by_path = {file.path.resolve(): file for file in files}
    found: dict[Subject, SchemaFile] = {}
    for name in names:
        file = by_name.get(Subject(name)) or by_path.get(Path(name).resolve())
        if file is None:
            close = nearest(name, by_name)
            raise SchemaFolderError(
                reason=f"`{name}` is neither a file nor a subject of the project",
                hint=f"did you mean `{close}`?" if close else f"`{FOLDER}/` has the schemas",
            )
        found[file.subject] = file
    return list(found.values())


def _file_name(step: str) -> str:
    """Return a part of a subject as a file name: `..` must not lead elsewhere."""
    if step.strip(".") == "":
        return step.replace(".", "%2E")
    return quote(step, safe=" !#$&'()+,;=@[]{}~^`")


def _refuse_twins(files: Sequence[SchemaFile]) -> None:
    seen: dict[Subject, SchemaFile] = {}
    for file in files:
        twin = seen.setdefault(file.subject, file)
        if twin is not file:
            raise SchemaFolderError(
                reason=f"`{twin.path}` and `{file.path}` are both of subject `{file.subject}`",
                hint="remove or rename one of them",
                path=file.path,
            )
