"""Registering one file under a subject of choice; what it refers to must be registered already."""

from pathlib import Path

from penstock.names import Subject
from penstock.registry.client import NotARegistryError, RegistryClient
from penstock.registry.project.checking import sent_text
from penstock.registry.project.files import SchemaFile, SchemaFolderError, load_file, load_files
from penstock.registry.project.references import FileGraph, graph_of
from penstock.schemas import RegisteredSchema, SchemaText


def register_file(
    client: RegistryClient,
    path: Path,
    subject: Subject,
    *,
    folder: Path,
    normalize: bool = False,
) -> RegisteredSchema:
    """Register a file, and return the version that the subject has it as.

    A file of the project's `folder` may refer to others of it. A schema that the subject already
    has is not registered again.

    Raises:
        SchemaFolderError: the file cannot be read, or refers to one that is not registered.
        RequestRefusedError: the registry does not accept the schema.
    """
    text = _text_of(client, path, folder)
    client.register(subject, text, normalize=normalize)
    found = client.find(subject, text, normalize=normalize)
    if found is None:
        raise NotARegistryError(url=client.url, found=f"it does not find `{subject}` again")
    return found


def _text_of(client: RegistryClient, path: Path, folder: Path) -> SchemaText:
    if not path.resolve().is_relative_to(folder.resolve()):
        file = load_file(path, root=path.parent)
        return SchemaText(type=file.type, text=file.text)
    files = load_files(folder)
    file = next(item for item in files if item.path.resolve() == path.resolve())
    return text_with_versions(client, graph_of(files), file)


def text_with_versions(client: RegistryClient, graph: FileGraph, file: SchemaFile) -> SchemaText:
    """Return a file as it is sent, with the versions that the registry has of what it needs.

    Raises:
        SchemaFolderError: it refers to a file that is not registered.
    """
    versions: dict[Subject, int | None] = {}
    for item in graph.in_order([file]):
        text = sent_text(graph, item, versions)
        assert text is not None  # noqa: S101 - each that came before has a version
        if item is file:
            return text
        found = client.find(item.subject, text)
        if found is None:
            raise SchemaFolderError(
                reason=f"`{file.path}` refers to `{item.path}`, which is not registered",
                hint="`penstock schemas push` registers all files in their order",
                path=file.path,
            )
        versions[item.subject] = found.version
    raise AssertionError(file)
