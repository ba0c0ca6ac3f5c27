"""Registry formats: JSON values in, records with a schema id out, and back."""

from penstock.kafka.formats.errors import (
    UndecodableRecordError,
    UnfitRecordError,
    WrongSchemaTypeError,
)
from penstock.kafka.formats.lookup import SchemaSource
from penstock.kafka.formats.opening import Decoder, Encoder, RegistryFormat, decoder, encoder
from penstock.kafka.formats.place import Place, Side

__all__ = [
    "Decoder",
    "Encoder",
    "Place",
    "RegistryFormat",
    "SchemaSource",
    "Side",
    "UndecodableRecordError",
    "UnfitRecordError",
    "WrongSchemaTypeError",
    "decoder",
    "encoder",
]
