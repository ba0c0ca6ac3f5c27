"""A proposed schema: the file that has it, the schema of today, and finding out what it breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.control.fleet import Fleet
from penstock.control.impact import Impact, flow_impact, flows_elsewhere, subjects_used
from penstock.control.registry import registry_of
from penstock.errors import Origin, PenstockError, UsageError
from penstock.events import StepStarted, ignore
from penstock.registry.client import NotRegisteredError
from penstock.registry.project import (
    SUFFIXES,
    check_files,
    graph_of,
    load_file,
    load_files,
)
from penstock.schemas import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.control.fleet import PipelineView
    from penstock.events import Emit
    from penstock.kafka import Connection
    from penstock.names import Subject
    from penstock.pipeline import Pipeline
    from penstock.registry.client import RegistryClient
    from penstock.registry.project import FileCheck, FileGraph, SchemaFile
    from penstock.schemas import Schema
    from penstock.settings import Settings


class NoSubjectError(UsageError):
    """The name of a file does not tell whose schema it is."""

    code = "PEN-756"

    def __init__(self, path: Path, *, folder: Path) -> None:
        super().__init__(
            f"`{path}` is not in `{folder}`, so its name does not tell its subject",
            hint="name the subject: `--subject orders-value`",
            origin=Origin(path),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A schema that somebody would like to register."""

    file: SchemaFile
    today: SchemaFile | None
    """The project's file of the subject, if that is another one."""

    others: tuple[SchemaFile, ...]
    """The files of the project's other subjects."""

    @property
    def subject(self) -> Subject:
        """Whose schema it is."""
        return self.file.subject

    @property
    def graph(self) -> FileGraph:
        """The files of the project with the proposal in its place."""
        return graph_of([*self.others, self.file])

    @property
    def schema(self) -> Schema:
        """The schema itself."""
        return parse(self.file.type, self.file.text, self.graph.resolved(self.subject))


def load_proposal(path: Path, subject: Subject | None, *, folder: Path) -> Proposal:
    """Return the proposal in a file.

    Args:
        path: the file.
        subject: whose schema it is; None: that follows from its place in `folder`.
        folder: the project's schemas.

    Raises:
        NoSubjectError: nobody tells the subject.
        SchemaFolderError: it cannot be read, or its name does not tell its type.
        FileReferencesError: files refer to each other in a circle.
        InvalidSchemaError: it is no schema.
    """
    is_of_project = path.resolve().is_relative_to(folder.resolve())
    if subject is None and not is_of_project:
        raise NoSubjectError(path, folder=folder)
    root = folder.resolve() if is_of_project else path.parent
    file = load_file(path.resolve() if is_of_project else path, root=root, subject=subject)
    has_files = any(item.suffix in SUFFIXES for item in folder.rglob("*"))
    files = load_files(folder) if has_files else []
    same = next((item for item in files if item.subject == file.subject), None)
    proposal = Proposal(
        file=replace(file, path=path),
        today=None if same is None or same.path.resolve() == path.resolve() else same,
        others=tuple(item for item in files if item.subject != file.subject),
    )
    proposal.graph.in_order([proposal.file])
    _ = proposal.schema
    return proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a registry and a cluster say about a subject, and why if they say nothing."""

    check: FileCheck | None = None
    today: SchemaFile | None = None
    """The schema that flows are read by without the proposal; None: there is none."""

    registry_away: PenstockError | None = None
    pipelines: tuple[PipelineView, ...] = ()
    kafka_away: PenstockError | None = None

    @property
    def unknown(self) -> tuple[str, ...]:
        """What could not be found out, in a line each."""
        lines = {
            "the registry was not asked": self.registry_away,
            "pipelines elsewhere are not known": self.kafka_away,
        }
        return tuple(f"{what}: {err.message}" for what, err in lines.items() if err is not None)


def look_around(
    proposal: Proposal, settings: Settings, connect: Callable[[], Connection], emit: Emit = ignore
) -> Surroundings:
    """Ask the registry and the cluster; what does not answer is left out.

    Args:
        proposal: what is to be registered.
        settings: of the project.
        connect: returns how to reach Kafka; may raise PenstockError.
        emit: hears of the steps.
    """
    emit(StepStarted(step="asking the registry"))
    found = _asked_registry(proposal, settings)
    emit(StepStarted(step="asking the cluster"))
    try:
        with Fleet(connect()) as fleet:
            return replace(found, pipelines=fleet.list())
    except PenstockError as err:
        return replace(found, kafka_away=err)


def impact_of(
    proposal: Proposal,
    pipeline: Pipeline,
    spark: SparkSession,
    known: Surroundings,
    connect: Callable[[], RegistryClient],
) -> Impact:
    """Analyze the flows of a project with and without the proposal, and look at others' uses.

    Args:
        proposal: what is to be registered.
        pipeline: that of the project.
        spark: any session; nothing is run in it.
        known: what `look_around` has found.
        connect: opens the registry, which other schemas may be in.
    """
    from penstock.engine.impact import GraphSchemas, columns_of_schema, try_flows

    def ask() -> RegistryClient:
        if known.registry_away is not None:
            raise known.registry_away
        return connect()

    subject = proposal.subject
    after = GraphSchemas(proposal.graph, subject, ask)
    before = None
    if known.today is not None:
        before = GraphSchemas(graph_of([*proposal.others, known.today]), subject, ask)
    trials = list(try_flows(pipeline, spark, before, after))
    for schemas in (before, after):
        if schemas is not None:
            schemas.close()
    used = {read.subject for trial in trials for read in subjects_used(trial)}
    return Impact(
        subject=subject,
        file=proposal.file.path,
        flows=tuple(flow_impact(item, away=known.registry_away) for item in trials),
        elsewhere=flows_elsewhere(
            known.pipelines,
            but=pipeline.name,
            subjects=used | {subject},
            proposed=columns_of_schema(proposal.schema, spark),
        ),
        check=known.check,
        unknown=known.unknown,
    )


def _asked_registry(proposal: Proposal, settings: Settings) -> Surroundings:
    try:
        with registry_of(settings) as client:
            checks = check_files(client, proposal.graph, [proposal.file])
            check = next(item for item in checks if item.file.subject == proposal.subject)
            return Surroundings(check=check, today=proposal.today or _latest(proposal, client))
    except PenstockError as err:
        return Surroundings(today=proposal.today, registry_away=err)


def _latest(proposal: Proposal, client: RegistryClient) -> SchemaFile | None:
    """Return what is registered, as if it were still in the project's file."""
    try:
        found = client.version(proposal.subject, "latest")
    except NotRegisteredError:
        return None
    return replace(proposal.file, type=found.type, text=found.text)
