"""Testing a schema, registering it, choosing a level, deleting a version."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import Field

from penstock.console.access.roles import Role
from penstock.console.errors import InvalidFormError
from penstock.console.frame import Action, Question, Table
from penstock.console.frame.actions import Form, NoFields
from penstock.console.schemas.registry import asking
from penstock.names import Subject
from penstock.registry.client import NotRegisteredError
from penstock.schemas import (
    Incompatibility,
    Level,
    Reference,
    SchemaText,
    SchemaType,
    differences,
    incompatibilities,
    parse,
    pretty_text,
)

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.registry.client import RegistryClient
    from penstock.schemas import RegisteredSchema


_FILES = {
    SchemaType.AVRO: "schema.avsc",
    SchemaType.JSON: "schema.json",
    SchemaType.PROTOBUF: "schema.proto",
}
"""How a file is called that holds what the form does."""


class SchemaForm(Form):
    """A schema that may become the next version."""

    text: str = Field(title="Schema", json_schema_extra={"long": True})
    type: SchemaType = Field(default=SchemaType.AVRO, title="Language")
    references: str = Field(
        default="",
        description="Other schemas that this one names, one in a line: name=subject:version.",
        json_schema_extra={"long": True},
    )


class SubjectForm(SchemaForm):
    """The first schema of a new subject."""

    subject: str = Field(
        title="Subject",
        description="orders-value is the schema of the values of topic orders",
        min_length=1,
        max_length=500,
    )


class LevelForm(Form):
    """Which versions must understand each other's data."""

    level: Level = Field(
        title="Level",
        description="BACKWARD: new readers read old data. FORWARD: old readers read new data. "
        "FULL: both. TRANSITIVE: all versions count, not the last alone.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    level: Level
    latest: int | None
    """The newest version; None: the subject would be new."""

    problems: tuple[Incompatibility, ...]
    changes: tuple[str, ...]


def _tested(ask: Ask, subject: Subject, form: SchemaForm) -> _Test:
    """Compare a schema with the versions that its subject's level names.

    Raises:
        PenstockError: it is not a schema, or the registry does not answer.
    """
    with asking(ask) as client:
        earlier = _versions(client, subject)
        new = parse(form.type, form.text, client.resolved(_references(form)))
        level = client.level(subject)
        old = [client.parsed(schema) for schema in earlier]
        return _Test(
            level=level,
            latest=earlier[-1].version if earlier else None,
            problems=tuple(incompatibilities(new, old, level)),
            changes=tuple(str(change) for change in differences(old[-1], new)) if old else (),
        )


def _test_question(ask: Ask, form: SchemaForm) -> Question:
    return _question(ask, _subject(ask), form, button=None)


def _register_question(ask: Ask, form: SchemaForm) -> Question:
    return _question(ask, _subject(ask), form, button="Register")


def _create_question(ask: Ask, form: SubjectForm) -> Question:
    return _question(ask, Subject(form.subject), form, button="Register")


def _question(ask: Ask, subject: Subject, form: SchemaForm, *, button: str | None) -> Question:
    found = _tested(ask, subject, form)
    if found.problems:
        return Question(
            sentence=f"It cannot follow version {found.latest} of {subject} ({found.level}).",
            button=None,
            preview=Table(
                head=("Kind", "Where", "Why"),
                rows=tuple((item.kind, item.path, item.message) for item in found.problems),
            ),
        )
    if found.latest is None:
        return Question(sentence=f"It would be the first version of {subject}.", button=button)
    if not found.changes:
        sentence = f"It says the same as version {found.latest} of {subject}."
        return Question(sentence=sentence, button=None)
    return Question(
        sentence=f"It may follow version {found.latest} of {subject} ({found.level}).",
        button=button,
        preview=Table(head=("What changes",), rows=tuple((item,) for item in found.changes)),
    )


def _refuse(_ask: Ask, _form: SchemaForm) -> str:
    place = "form"
    raise InvalidFormError(place, reason="a test changes nothing; send `_ask` with it")


def _register(ask: Ask, form: SchemaForm) -> str:
    return _registered(ask, _subject(ask), form)


def _create(ask: Ask, form: SubjectForm) -> str:
    return _registered(ask, Subject(form.subject), form)


def _registered(ask: Ask, subject: Subject, form: SchemaForm) -> str:
    text = SchemaText(type=form.type, text=form.text, references=_references(form))
    with asking(ask) as client:
        number = client.register(subject, text)
    ask.world.hasten("schemas")
    return f"Registered for {subject} as schema {number}."


def _level_question(ask: Ask, form: LevelForm) -> Question:
    with asking(ask) as client:
        now = client.level(_subject(ask))
    return Question(
        sentence=f"From now on new versions of {_subject(ask)} follow {form.level}, not {now}.",
        button="Set the level",
    )


def _set_level(ask: Ask, form: LevelForm) -> str:
    with asking(ask) as client:
        client.set_level(_subject(ask), form.level)
    return f"The level of {_subject(ask)} is {form.level}."


def _delete_question(ask: Ask, _form: NoFields) -> Question:
    return Question(
        sentence=f"Delete version {ask.path['version']} of {_subject(ask)} softly: records that "
        "were written with it can still be read.",
        button="Delete",
        is_dangerous=True,
    )


def _delete(ask: Ask, _form: NoFields) -> str:
    version = _version(ask)
    with asking(ask) as client:
        client.delete_version(_subject(ask), version)
    ask.world.hasten("schemas")
    return f"Version {version} of {_subject(ask)} is deleted."


def _versions(client: RegistryClient, subject: Subject) -> list[RegisteredSchema]:
    try:
        return [client.version(subject, number) for number in client.versions(subject)]
    except NotRegisteredError:
        return []


def _initial(ask: Ask) -> dict[str, str]:
    with asking(ask) as client:
        try:
            latest = client.version(_subject(ask))
        except NotRegisteredError:
            return {}
    references = "\n".join(_line(item) for item in latest.references)
    return {"text": pretty_text(latest.text), "type": latest.type, "references": references}


def _line(reference: Reference) -> str:
    return f"{reference.name}={reference.subject}:{reference.version}"


def _references(form: SchemaForm) -> tuple[Reference, ...]:
    return tuple(_reference(line.strip()) for line in form.references.splitlines() if line.strip())


def _reference(line: str) -> Reference:
    match = re.fullmatch(r"(.+)=([^=]+):([1-9][0-9]{0,8})", line)
    if match is None:
        place = "references"
        raise InvalidFormError(place, reason=f"`{line}` is not written as name=subject:version")
    name, subject, version = match.groups()
    return Reference(name=name.strip(), subject=subject.strip(), version=int(version))


def _initial_level(ask: Ask) -> dict[str, str]:
    with asking(ask) as client:
        return {"level": client.level(_subject(ask))}


def _subject(ask: Ask) -> Subject:
    return Subject(ask.path["subject"])


def _version(ask: Ask) -> int:
    version = ask.path["version"]
    if not version.isdecimal():
        place = "version"
        raise InvalidFormError(place, reason=f"`{version}` is not a number")
    return int(version)


def _target(ask: Ask) -> str:
    return f"subject {_subject(ask)}"


def _back(ask: Ask) -> str:
    return f"/schemas/subject/{quote(_subject(ask))}"


def _command(*words: str) -> str:
    return shlex.join(["penstock", "schemas", *words])


ACTIONS = (
    Action(
        path="/schemas/test/{subject:path}",
        name="test_schema",
        summary="Whether a schema may become the next version; changes nothing.",
        form=SchemaForm,
        question=_test_question,
        perform=_refuse,
        target=_target,
        back=_back,
        command=lambda ask, _: _command("check", _subject(ask)),
        title="Test a schema",
        role=Role.VIEWER,
        menu="Schemas",
        initial=_initial,
    ),
    Action(
        path="/schemas/register/{subject:path}",
        name="register_schema",
        summary="Register the next version of a subject.",
        form=SchemaForm,
        question=_register_question,
        perform=_register,
        target=_target,
        back=_back,
        command=lambda ask, form: _command("register", _subject(ask), _FILES[form.type]),
        title="Register a schema",
        role=Role.ADMIN,
        menu="Schemas",
        initial=_initial,
    ),
    Action(
        path="/schemas/new",
        name="create_subject",
        summary="Register the first schema of a new subject.",
        form=SubjectForm,
        question=_create_question,
        perform=_create,
        target=lambda _: "a new subject",
        back=lambda _: "/schemas",
        command=lambda _, form: _command("register", form.subject, _FILES[form.type]),
        title="Register a new subject",
        role=Role.ADMIN,
        menu="Schemas",
    ),
    Action(
        path="/schemas/level/{subject:path}",
        name="set_level",
        summary="Choose which versions of a subject must understand each other's data.",
        form=LevelForm,
        question=_level_question,
        perform=_set_level,
        target=_target,
        back=_back,
        command=lambda ask, form: _command("config", _subject(ask), "--set", form.level),
        title="Set the level of compatibility",
        role=Role.ADMIN,
        menu="Schemas",
        initial=_initial_level,
    ),
    Action(
        path="/schemas/delete/{version}/{subject:path}",
        name="delete_version",
        summary="Delete a version of a subject softly.",
        form=NoFields,
        question=_delete_question,
        perform=_delete,
        target=lambda ask: f"version {ask.path['version']} of subject {_subject(ask)}",
        back=lambda _: "/schemas",
        command=lambda ask, _: _command("delete", _subject(ask), ask.path["version"]),
        title="Delete a version",
        role=Role.ADMIN,
        menu="Schemas",
    ),
)
