"""Registering the files of a project, each after what it refers to."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.events import Emit, StepFinished, ignore
from penstock.names import Subject
from penstock.registry.client import NotARegistryError, RegistryClient
from penstock.registry.project.checking import FileCheck, Finding, UnfitSchemasError, sent_text
from penstock.registry.project.files import SchemaFile
from penstock.registry.project.references import FileGraph
from penstock.schemas import RegisteredSchema


class PushStoppedError(PenstockError):
    """A schema was refused after others had been registered."""

    code = "PEN-748"

    def __init__(
        self, subject: Subject, *, reason: PenstockError, registered: Sequence[Subject]
    ) -> None:
        names = ", ".join(f"`{name}`" for name in registered) or "nothing"
        super().__init__(
            f"`{subject}` was not registered: {reason.message}; before it, {names} was registered",
            hint="remove the cause and push again: what is registered stays as it is",
        )
        self.registered = tuple(registered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A file and the version that its subject has it as."""

    file: SchemaFile
    finding: Finding
    schema: RegisteredSchema


def ensure_registrable(checks: Sequence[FileCheck]) -> None:
    """Refuse all of them if there is one that cannot be registered.

    Raises:
        UnfitSchemasError: names these.
    """
    unfit = [check.file.subject for check in checks if check.finding.is_problem]
    if unfit:
        raise UnfitSchemasError(unfit, count=len(checks))


def push(
    client: RegistryClient, graph: FileGraph, checks: Sequence[FileCheck], emit: Emit = ignore
) -> list[Pushed]:
    """Register files that were checked, in their order. Repeating it does no harm.

    Raises:
        UnfitSchemasError: one of them cannot be registered; nothing was.
        PushStoppedError: the registry refused one; those before it are registered.
    """
    ensure_registrable(checks)
    versions: dict[Subject, int | None] = {}
    pushed: list[Pushed] = []
    for check in checks:
        try:
            found = _registered(client, graph, check.file, versions)
        except PenstockError as err:
            done = [item.file.subject for item in pushed if item.finding is not Finding.UNCHANGED]
            raise PushStoppedError(check.file.subject, reason=err, registered=done) from err
        versions[check.file.subject] = found.version
        if check.finding is not Finding.UNCHANGED:
            step = f"{check.file.subject}: registered"
            emit(StepFinished(step=step, detail=f"version {found.version}, id {found.id}"))
        pushed.append(Pushed(file=check.file, finding=check.finding, schema=found))
    return pushed


def _registered(
    client: RegistryClient,
    graph: FileGraph,
    file: SchemaFile,
    versions: dict[Subject, int | None],
) -> RegisteredSchema:
    """Return the version of a file after it was registered."""
    text = sent_text(graph, file, versions)
    assert text is not None  # noqa: S101 - the order puts what it refers to before it
    client.register(file.subject, text)
    found = client.find(file.subject, text)
    if found is None:
        raise NotARegistryError(url=client.url, found=f"it does not find `{file.subject}` again")
    return found
