"""A parsed JSON Schema."""

from collections.abc import Sequence

from penstock.schemas.json_schema.comparison import incompatibilities_of
from penstock.schemas.json_schema.cycles import check_cycles
from penstock.schemas.json_schema.documents import Documents, read_documents
from penstock.schemas.json_text import dump_json
from penstock.schemas.schema import (
    Incompatibility,
    Resolved,
    Schema,
    SchemaType,
    different_type,
)


class JsonSchema(Schema):
    """A schema in one of the drafts 04 to 2020-12, with all that it refers to."""

    type = SchemaType.JSON

    def __init__(self, text: str, references: Sequence[Resolved], documents: Documents) -> None:
        super().__init__(text, references)
        self.documents = documents

    def canonical(self) -> str:
        """Return the text without insignificant whitespace; the order of keys stays."""
        return dump_json(self.documents.root.document.contents)

    def normalized(self) -> str:
        """Return the text with sorted keys."""
        return dump_json(self.documents.root.document.contents, sort_keys=True)

    @property
    def name(self) -> str | None:
        """The title."""
        schema = self.documents.root.schema
        title = schema.get("title") if isinstance(schema, dict) else None
        return title if isinstance(title, str) else None

    def can_read(self, writer: Schema) -> list[Incompatibility]:
        """Return why documents of `writer` are not valid here, by Confluent's rules."""
        if not isinstance(writer, JsonSchema):
            return [different_type(self, writer)]
        return incompatibilities_of(old=writer.documents, new=self.documents)


def parse(text: str, references: Sequence[Resolved] = (), *, stored: bool = False) -> JsonSchema:
    """Return the schema that `text` describes.

    Args:
        text: The schema as a user wrote it.
        references: What it may refer to.
        stored: A registry has accepted the schema before. A keyword with a wrong value then says
            nothing, and a reference that leads nowhere accepts anything.

    Raises:
        InvalidSchemaError: the meta-schema does not allow it, a reference leads nowhere or would
            have to be fetched, or the schema applies itself to the same value forever.
    """
    documents = read_documents(text, references, stored=stored)
    check_cycles(documents)
    return JsonSchema(text, references, documents)
