"""A parsed Avro schema."""

from collections.abc import Sequence

from penstock.schemas.avro.defaults import check_defaults
from penstock.schemas.avro.parser import Parser
from penstock.schemas.avro.printing import canonical, normalized, resolved
from penstock.schemas.avro.resolution import Graph, why_unreadable
from penstock.schemas.avro.types import Record
from penstock.schemas.errors import InvalidSchemaError
from penstock.schemas.json_text import load_json
from penstock.schemas.schema import (
    Incompatibility,
    Resolved,
    Schema,
    SchemaType,
    different_type,
    in_order,
)


class AvroSchema(Schema):
    """An Avro schema; `graph` holds its types, those of its references included."""

    type = SchemaType.AVRO

    def __init__(self, text: str, references: Sequence[Resolved], graph: Graph) -> None:
        super().__init__(text, references)
        self.graph = graph

    def canonical(self) -> str:
        """Return the schema as Avro's Java library prints it, which Confluent's registry stores."""
        return canonical(self.graph.root)

    def normalized(self) -> str:
        """Return the canonical text with sorted aliases and attributes."""
        return normalized(self.graph.root)

    def formatted(self, form: str) -> str:
        """Return the canonical text; the form `resolved` has the types of references in it."""
        if form == "resolved":
            return resolved(self.graph.root, self.graph.definitions)
        return self.canonical()

    @property
    def name(self) -> str | None:
        """The full name of a record; no other type has one here, as in Confluent's registry."""
        root = self.graph.resolved(self.graph.root)
        return root.name if isinstance(root, Record) else None

    def can_read(self, writer: Schema) -> list[Incompatibility]:
        """Return what schema resolution would fail on."""
        if not isinstance(writer, AvroSchema):
            return [different_type(self, writer)]
        return why_unreadable(self.graph, writer.graph)


def parse(text: str, references: Sequence[Resolved] = (), *, stored: bool = False) -> AvroSchema:
    """Return the Avro schema that `text` describes.

    Args:
        text: The schema, as JSON.
        references: Schemas whose named types may be used.
        stored: A registry has accepted this schema already, perhaps with an older Avro library.
            Names and defaults that the specification refuses are then let through, so that the
            schema can be compared with new ones.

    Raises:
        InvalidSchemaError: the specification does not allow it.
    """
    before = Parser(stored=True)
    for reference in in_order(references):
        _read_reference(before, reference)
    parser = Parser(stored=stored, definitions=before.definitions)
    root = parser.type(load_json(text))
    if not stored:
        check_defaults(parser.defaults, parser.definitions)
    return AvroSchema(text, references, Graph(root=root, definitions=parser.definitions))


def _read_reference(parser: Parser, reference: Resolved) -> None:
    try:
        parser.type(load_json(reference.text))
    except InvalidSchemaError as error:
        raise InvalidSchemaError(
            reason=f"in the reference `{reference.name}`: {error.reason}", path=error.path
        ) from error
