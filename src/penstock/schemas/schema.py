"""What all schemas have in common: type, text, references, and whether one reads another's data.

Each type has a package of its own: `avro`, `json_schema` and `protobuf`, each with a function
`parse`. Nothing here reads a file or the network: what a schema refers to is handed over with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from penstock.schemas.errors import InvalidSchemaError

MAX_SCHEMA_CHARS = 1024 * 1024
"""Of a schema with all it refers to. A megabyte parses in a fraction of a second, in any type."""

MAX_REFERENCES = 1000
"""Of a schema, those of its references included."""


class SchemaType(StrEnum):
    """The languages that schemas are written in, spelled as the registry's API spells them."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference to another schema, as a client sends it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A reference together with the text that it stands for."""

    name: str
    text: str
    references: tuple["Resolved", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Incompatibility:
    """One reason why data written with one schema cannot be read with another.

    `kind` is Confluent's word for it (`TYPE_MISMATCH`), `path` says where in the reader's schema.
    """

    kind: str
    path: str
    message: str


class Schema(ABC):
    """A parsed schema; made by `parse`, never changed."""

    type: ClassVar[SchemaType]

    def __init__(self, text: str, references: Sequence[Resolved] = ()) -> None:
        self.text = text
        self.references = tuple(references)

    @abstractmethod
    def canonical(self) -> str:
        """Return the text that a registry stores; two schemas with the same one are the same."""

    @abstractmethod
    def normalized(self) -> str:
        """Return one text for all schemas that mean the same, as `normalize=true` asks for."""

    def formatted(self, form: str) -> str:  # noqa: ARG002  # for types that know other forms
        """Return the text in another form, as `format=` asks for; unknown ones are canonical."""
        return self.canonical()

    @property
    @abstractmethod
    def name(self) -> str | None:
        """The full name of the record or message, or the title: for record name strategies."""

    @abstractmethod
    def can_read(self, writer: "Schema") -> list[Incompatibility]:
        """Return why data written with `writer` cannot be read with this schema: empty if it can.

        A writer of another type yields `different_type`.
        """


def different_type(reader: Schema, writer: Schema) -> Incompatibility:
    """Return what keeps schemas of two types from reading each other's data."""
    return Incompatibility(
        kind="SCHEMA_TYPE_MISMATCH",
        path="/",
        message=f"a schema of type {reader.type} cannot read data of type {writer.type}",
    )


def in_order(references: Sequence[Resolved]) -> Iterator[Resolved]:
    """Yield everything that `references` need, each name once, dependencies first.

    A name that stands for two texts keeps the one met first, as Confluent's registry has it.
    """
    seen: set[str] = set()
    waiting = [iter(references)]
    open_references: list[Resolved] = []
    while waiting:
        reference = next(waiting[-1], None)
        if reference is None:
            waiting.pop()
            if open_references:
                yield open_references.pop()
        elif reference.name not in seen:
            seen.add(reference.name)
            open_references.append(reference)
            waiting.append(iter(reference.references))


def check_size(text: str, references: Sequence[Resolved]) -> None:
    """Refuse a schema that could not be parsed within a second.

    Raises:
        InvalidSchemaError: the text is too long, or refers to too much.
    """
    chars = len(text)
    for count, reference in enumerate(in_order(references), start=1):
        if count > MAX_REFERENCES:
            raise InvalidSchemaError(
                reason=f"the schema refers to more than {MAX_REFERENCES:,} other schemas"
            )
        chars += len(reference.text)
    if chars > MAX_SCHEMA_CHARS:
        raise InvalidSchemaError(
            reason=f"the schema and its references have {chars:,} characters, "
            f"at most {MAX_SCHEMA_CHARS:,} are accepted"
        )
