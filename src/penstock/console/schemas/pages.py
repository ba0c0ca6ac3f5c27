"""All subjects, and one of them with its versions and their differences."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal

from penstock.console.frame import Listing, Page, Parameter, listing
from penstock.console.frame.pages import LISTING
from penstock.console.schemas.registry import NoRegistryError, asking
from penstock.names import Subject
from penstock.schemas import InvalidSchemaError, differences, pretty_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.console.frame import Ask
    from penstock.console.world import World
    from penstock.registry.client import RegistryClient
    from penstock.schemas import RegisteredSchema

_ENDS = ("-value", "-key")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectLine:
    """A subject in the list."""

    subject: str
    type: str
    versions: int
    """The newest version, which is how many there have been."""

    schema_id: int
    topic: str | None
    """The topic that is called like the subject, if there is one."""

    flows: int
    """How many flows read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schemas:
    """All subjects."""

    subjects: Listing[SubjectLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A flow that reads a subject."""

    pipeline: str
    flow: str
    topic: str
    columns: dict[str, str]
    """What it uses of it, with Spark's types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A flow that writes the subject's topic."""

    pipeline: str
    flow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceLine:
    """A schema that another one names."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of two texts side by side; None where a text has none."""

    kind: Literal["same", "changed", "removed", "added"]
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two versions side by side."""

    left: int
    right: int
    rows: tuple[Row, ...]
    changes: tuple[str, ...]
    """The same in sentences; empty if both mean the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPage:
    """One subject."""

    subject: str
    type: str
    level: str
    mode: str
    versions: tuple[int, ...]
    version: int
    schema_id: int
    text: str
    references: tuple[ReferenceLine, ...]
    referenced_by: tuple[str, ...]
    """Subjects whose newest version names this one."""

    topic: str | None
    uses: tuple[Use, ...]
    writers: tuple[Writer, ...]
    comparison: Comparison | None
    """With the version before, or the one that was asked for."""


def load_all(ask: Ask) -> Schemas:
    """Return all subjects."""
    if ask.world.place.registry is None:
        raise NoRegistryError
    readers: dict[str, int] = {}
    for subject, _ in _uses(ask.world):
        readers[subject] = readers.get(subject, 0) + 1
    topics = _topics(ask.world)
    lines = [
        SubjectLine(
            subject=schema.subject,
            type=schema.type,
            versions=schema.version or 0,
            schema_id=schema.id,
            topic=_topic_of(schema.subject, topics),
            flows=readers.get(schema.subject, 0),
        )
        for schema in ask.world.schemas
        if schema.subject is not None
    ]
    found = listing(
        lines,
        ask,
        text=lambda line: f"{line.subject} {line.type}",
        columns={
            "subject": lambda line: line.subject,
            "type": lambda line: line.type,
            "versions": lambda line: line.versions,
            "id": lambda line: line.schema_id,
            "flows": lambda line: line.flows,
        },
        sort="subject",
    )
    return Schemas(subjects=found)


def load_subject(ask: Ask) -> SubjectPage:
    """Return one subject."""
    subject = Subject(ask.path["subject"])
    topic = _topic_of(subject, _topics(ask.world))
    with asking(ask) as client:
        versions = tuple(client.versions(subject))
        version = ask.number("version", versions[-1], most=versions[-1])
        shown = client.version(subject, version)
        earlier = [number for number in versions if number < version]
        against = ask.number("against", earlier[-1] if earlier else 0, most=versions[-1])
        comparison = None
        if against and against != version:
            comparison = _comparison(client, client.version(subject, against), shown)
        return SubjectPage(
            subject=subject,
            type=shown.type,
            level=client.level(subject),
            mode=client.mode(subject),
            versions=versions,
            version=version,
            schema_id=shown.id,
            text=pretty_text(shown.text),
            references=tuple(
                ReferenceLine(name=item.name, subject=item.subject, version=item.version)
                for item in shown.references
            ),
            referenced_by=tuple(
                other.subject
                for other in ask.world.schemas
                if other.subject and any(item.subject == subject for item in other.references)
            ),
            topic=topic,
            writers=tuple(_writers(ask.world, topic)) if topic else (),
            uses=tuple(use for name, use in _uses(ask.world) if name == subject),
            comparison=comparison,
        )


def _comparison(client: RegistryClient, old: RegisteredSchema, new: RegisteredSchema) -> Comparison:
    try:
        changes = tuple(
            str(change) for change in differences(client.parsed(old), client.parsed(new))
        )
    except InvalidSchemaError as error:  # accepted by a registry that knew fewer rules
        changes = (error.message,)
    left, right = pretty_text(old.text).splitlines(), pretty_text(new.text).splitlines()
    return Comparison(
        left=old.version or 0,
        right=new.version or 0,
        rows=tuple(_side_by_side(left, right)),
        changes=changes,
    )


def _side_by_side(left: list[str], right: list[str]) -> Iterator[Row]:
    matcher = SequenceMatcher(a=left, b=right, autojunk=False)
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        for step in range(max(left_to - left_from, right_to - right_from)):
            one = left[left_from + step] if left_from + step < left_to else None
            other = right[right_from + step] if right_from + step < right_to else None
            if tag == "equal":
                yield Row(kind="same", left=one, right=other)
            elif one is None:
                yield Row(kind="added", left=None, right=other)
            elif other is None:
                yield Row(kind="removed", left=one, right=None)
            else:
                yield Row(kind="changed", left=one, right=other)


def _uses(world: World) -> Iterator[tuple[str, Use]]:
    for overview in world.pipelines:
        record = overview.view.record if overview.view else None
        for flow in record.flows if record else ():
            for read in flow.reads:
                yield (
                    read.subject,
                    Use(
                        pipeline=overview.pipeline,
                        flow=flow.flow,
                        topic=read.topic,
                        columns=dict(read.columns),
                    ),
                )


def _writers(world: World, topic: str) -> Iterator[Writer]:
    for overview in world.pipelines:
        record, about = overview.view.record if overview.view else None, None
        for flow in record.flows if record else ():
            if flow.writes and about is None:
                about = world.operator().about(overview)
            if about and any(about.topics.get(name) == topic for name in flow.writes):
                yield Writer(pipeline=overview.pipeline, flow=flow.flow)


def _topics(world: World) -> frozenset[str]:
    return frozenset(item.topic for item in world.cluster.topics) if world.cluster else frozenset()


def _topic_of(subject: str, topics: frozenset[str]) -> str | None:
    named = (subject.removesuffix(end) for end in _ENDS if subject.endswith(end))
    return next((name for name in named if name in topics), None)


SCHEMAS = Page(
    path="/schemas",
    name="list_schemas",
    summary="The subjects of the registry.",
    template="schemas/schemas.html",
    model=Schemas,
    load=load_all,
    title=lambda _: "Schemas",
    command=lambda _ask, _model: "penstock schemas list",
    parameters=LISTING,
    live=("subjects",),
    menu="Schemas",
)
SUBJECT = Page(
    path="/schemas/subject/{subject:path}",
    name="show_subject",
    summary="A subject: a version, what it changed, and who uses it.",
    template="schemas/subject.html",
    model=SubjectPage,
    load=load_subject,
    title=lambda model: model.subject,
    command=lambda _, model: shlex.join(
        ["penstock", "schemas", "show", model.subject, str(model.version)]
    ),
    parameters=(
        Parameter(name="version", meaning="the version to show; unset: the newest", kind=int),
        Parameter(name="against", meaning="the version to compare it with", kind=int),
    ),
    live=("figures", "texts", "uses"),
    menu="Schemas",
)
