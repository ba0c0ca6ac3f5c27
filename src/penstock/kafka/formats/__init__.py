"""Registry formats: JSON values in, records with a schema id out, and back."""

from penstock.kafka.formats.errors import (
    UndecodableRecordError,
    UnfitRecordError,
    WrongSchemaTypeError,
)
from penstock.kafka.formats.lookup import SchemaSource
from penstock.kafka.formats.opening import Decoder, Encoder, RegistryFormat, decoder, encoder
from penstock.kafka.formats.place import Place, Side
from penstock.kafka.formats.recognizing import (
    Decoded,
    Recognizer,
    Undecoded,
    may_name_schema,
    parse_json,
)

__all__ = [
    "Decoded",
    "Decoder",
    "Encoder",
    "Place",
    "Recognizer",
    "RegistryFormat",
    "SchemaSource",
    "Side",
    "UndecodableRecordError",
    "Undecoded",
    "UnfitRecordError",
    "WrongSchemaTypeError",
    "decoder",
    "encoder",
    "may_name_schema",
    "parse_json",
]
