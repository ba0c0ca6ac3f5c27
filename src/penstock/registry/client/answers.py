"""What a registry answers, checked where it comes in and handed over as Penstock's own types."""

from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from penstock.names import Subject
from penstock.registry.client.errors import NotARegistryError
from penstock.schemas import Level, Reference, RegisteredSchema, SchemaType

Answer = TypeVar("Answer")


class _ReferenceAnswer(BaseModel):
    name: str
    subject: str
    version: int


class SchemaAnswer(BaseModel):
    """A schema that was asked for by its id."""

    text: str = Field(alias="schema")
    schema_type: SchemaType = Field(default=SchemaType.AVRO, alias="schemaType")
    references: list[_ReferenceAnswer] | None = None

    def registered(self, schema_id: int) -> RegisteredSchema:
        """Return the schema with the id that was asked for."""
        return RegisteredSchema(
            id=schema_id, type=self.schema_type, text=self.text, references=self.sent()
        )

    def sent(self) -> tuple[Reference, ...]:
        """Return the references as they were registered."""
        return tuple(Reference(**item.model_dump()) for item in self.references or ())


class VersionAnswer(SchemaAnswer):
    """A schema that was asked for as a version of a subject."""

    subject: str
    version: int
    id: int

    def as_version(self) -> RegisteredSchema:
        """Return the schema with all its numbers."""
        return replace(
            self.registered(self.id), subject=Subject(self.subject), version=self.version
        )


class IdAnswer(BaseModel):
    """What registering a schema answers."""

    id: int


class ContextIdAnswer(BaseModel):
    """The id of a schema in one context; the default context comes first."""

    context: str
    id: int


class CompatibilityAnswer(BaseModel):
    """A compatibility level."""

    level: Level = Field(alias="compatibilityLevel")


class ModeAnswer(BaseModel):
    """A mode."""

    mode: str


def parsed_answer(kind: type[Answer], answer: Any, *, url: str) -> Answer:  # noqa: ANN401 - JSON
    """Return `answer` as `kind`.

    Raises:
        NotARegistryError: a registry would have answered otherwise.
    """
    try:
        return TypeAdapter(kind).validate_python(answer)
    except ValidationError as err:
        first = err.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        found = f"the answer's `{place}`: {first['msg']}" if place else first["msg"]
        raise NotARegistryError(url=url, found=found) from err


def subjects_from(answer: Any, *, url: str) -> list[Subject]:  # noqa: ANN401 - JSON
    """Return a list of subjects."""
    return [Subject(name) for name in parsed_answer(list[str], answer, url=url)]


def ids_from(answer: Any, *, url: str) -> list[int]:  # noqa: ANN401 - JSON
    """Return a list of numbers."""
    return parsed_answer(list[int], answer, url=url)


def schemas_from(answer: Any, *, url: str) -> list[RegisteredSchema]:  # noqa: ANN401 - JSON
    """Return a list of schemas."""
    return [item.as_version() for item in parsed_answer(list[VersionAnswer], answer, url=url)]
