"""From a text to a schema of the type it is said to have."""

from collections.abc import Sequence

from penstock.schemas.schema import Resolved, Schema, SchemaType, check_size


def parse(
    kind: SchemaType, text: str, references: Sequence[Resolved] = (), *, stored: bool = False
) -> Schema:
    """Return the schema that `text` describes.

    Args:
        kind: The language of the text.
        text: The schema as a user wrote it.
        references: What the schema may name without defining it.
        stored: A registry has accepted the schema before, perhaps one that knew fewer rules: what
            can be overlooked is.

    Raises:
        InvalidSchemaError: the specification of `kind` does not allow this text, or it is too
            large or too deep to be looked at.
    """
    check_size(text, references)
    # The parsers are imported when needed: each brings a library that others can do without.
    match kind:
        case SchemaType.AVRO:
            from penstock.schemas import avro

            return avro.parse(text, references, stored=stored)
        case SchemaType.JSON:
            from penstock.schemas import json_schema

            return json_schema.parse(text, references, stored=stored)
        case SchemaType.PROTOBUF:
            from penstock.schemas import protobuf

            return protobuf.parse(text, references)
