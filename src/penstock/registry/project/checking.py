"""What registering the files of a project would do: for a pull request, and before a push.

Compatibility is worked out here and not asked from the registry, so that each problem has its path
and kind, and so that a file can be compared whose references are not registered yet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from penstock.errors import PenstockError
from penstock.events import Emit, StepProgressed, StepStarted, ignore
from penstock.names import Subject
from penstock.registry.client import NotRegisteredError, RegistryClient
from penstock.registry.project.files import SchemaFile
from penstock.registry.project.references import FileGraph
from penstock.schemas import (
    Incompatibility,
    InvalidSchemaError,
    Level,
    Reference,
    RegisteredSchema,
    Schema,
    SchemaText,
    incompatibilities,
    parse,
)


class Finding(StrEnum):
    """What a file is to the registry."""

    UNCHANGED = "unchanged"
    NEW_SUBJECT = "new subject"
    NEW_VERSION = "new version"
    INCOMPATIBLE = "incompatible"
    INVALID = "invalid"

    @property
    def is_problem(self) -> bool:
        """Whether the schema cannot be registered."""
        return self in (Finding.INCOMPATIBLE, Finding.INVALID)


class UnfitSchemasError(PenstockError):
    """Schemas of the project cannot be registered."""

    code = "PEN-747"

    def __init__(self, subjects: Sequence[Subject], *, count: int) -> None:
        names = ", ".join(f"`{subject}`" for subject in subjects)
        super().__init__(
            f"{len(subjects)} of {count} schemas cannot be registered: {names}",
            hint="`penstock schemas diff SUBJECT` shows what was changed; "
            "`penstock schemas config SUBJECT` which level counts",
        )
        self.subjects = tuple(subjects)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """What was found out about one file.

    `version` is the one that the schema already has, if it is unchanged. `level` is what counts
    for its subject; both are None for a schema that cannot be parsed.
    """

    file: SchemaFile
    finding: Finding
    level: Level | None = None
    version: int | None = None
    incompatibilities: tuple[Incompatibility, ...] = ()
    invalid: InvalidSchemaError | None = None


def check_files(
    client: RegistryClient, graph: FileGraph, wanted: Sequence[SchemaFile], emit: Emit = ignore
) -> list[FileCheck]:
    """Compare files, and the files they need, with what is registered; changes nothing.

    Returns them in the order in which they can be registered.

    Raises:
        FileReferencesError: the files need each other in a circle.
        PenstockError: the registry does not answer, or not as one does.
    """
    found: dict[Subject, FileCheck] = {}
    order = graph.in_order(wanted)
    emit(StepStarted(step="comparing schemas"))
    for done, file in enumerate(order):
        found[file.subject] = _check(client, graph, file, found)
        emit(StepProgressed(step="comparing schemas", done=done + 1, total=len(order)))
    return list(found.values())


def sent_text(
    graph: FileGraph, file: SchemaFile, versions: Mapping[Subject, int | None]
) -> SchemaText | None:
    """Return a file as it is sent; None while something that it refers to has no version."""
    references = []
    for need in graph.needs[file.subject]:
        version = versions[need.subject]
        if version is None:
            return None
        references.append(Reference(name=need.name, subject=need.subject, version=version))
    return SchemaText(type=file.type, text=file.text, references=tuple(references))


def _check(
    client: RegistryClient, graph: FileGraph, file: SchemaFile, earlier: Mapping[Subject, FileCheck]
) -> FileCheck:
    try:
        schema = parse(file.type, file.text, graph.resolved(file.subject))
    except InvalidSchemaError as err:
        return FileCheck(file=file, finding=Finding.INVALID, invalid=err)
    level = client.level(file.subject)
    versions = versions_of(client, file.subject)
    if not versions:
        return FileCheck(file=file, finding=Finding.NEW_SUBJECT, level=level)
    text = sent_text(graph, file, {name: item.version for name, item in earlier.items()})
    same = None if text is None else client.find(file.subject, text)
    if same is not None:
        return FileCheck(file=file, finding=Finding.UNCHANGED, level=level, version=same.version)
    problems = problems_with(client, file.subject, schema, versions, level)
    finding = Finding.INCOMPATIBLE if problems else Finding.NEW_VERSION
    return FileCheck(file=file, finding=finding, level=level, incompatibilities=tuple(problems))


def problems_with(
    client: RegistryClient, subject: Subject, schema: Schema, versions: Sequence[int], level: Level
) -> list[Incompatibility]:
    """Return what keeps `schema` from following these versions of a subject at this level."""
    if level is Level.NONE:
        return []
    compared = versions if level.transitive else versions[-1:]
    earlier = [_parsed(client, client.version(subject, version)) for version in compared]
    return incompatibilities(schema, earlier, level)


def _parsed(client: RegistryClient, version: RegisteredSchema) -> Schema:
    try:
        return client.parsed(version)
    except InvalidSchemaError as err:
        # Without this, the fault would be looked for in the user's file.
        place = f"version {version.version} of `{version.subject}` in the registry"
        raise InvalidSchemaError(reason=f"{place}: {err.reason}", path=err.path) from err


def versions_of(client: RegistryClient, subject: Subject) -> list[int]:
    """Return the versions of a subject, none if it has never been heard of."""
    try:
        return client.versions(subject)
    except NotRegisteredError:
        return []
