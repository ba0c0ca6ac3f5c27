"""The formats by name: what `--value-format avro` stands for."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, assert_never

from penstock.kafka.formats.errors import UnfitRecordError, WrongSchemaTypeError
from penstock.schemas import SchemaType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.kafka.formats.place import Place
    from penstock.kafka.records import Header
    from penstock.schemas import RegisteredSchema


class RegistryFormat(StrEnum):
    """Formats whose schemas are in a registry."""

    AVRO = "avro"
    JSON_SCHEMA = "json-schema"
    PROTOBUF = "protobuf"

    @property
    def schema_type(self) -> SchemaType:
        """The type of its schemas."""
        return SchemaType(self.name.removesuffix("_SCHEMA"))


class Encoder(Protocol):
    """Turns JSON values into the bytes of records."""

    def encode(self, document: object) -> bytes | None:
        """Return the bytes for `document`; None for null.

        Raises:
            UnfitRecordError: the schema has no such value; names the field.
        """
        ...


class Decoder(Protocol):
    """Turns the bytes of records into JSON values."""

    def decode(self, data: bytes, headers: Sequence[Header]) -> object:
        """Return the value that `data` stands for.

        Raises:
            UndecodableRecordError: these are other bytes, or nobody knows their schema.
            PenstockError: the registry does not answer; nothing is known about the record.
        """
        ...


def encoder(
    registry_format: RegistryFormat, source: SchemaSource, place: Place, writer: RegisteredSchema
) -> Encoder:
    """Return what writes records of `place` with the version `writer`.

    Raises:
        WrongSchemaTypeError: that schema is of another type.
    """
    if writer.type is not registry_format.schema_type:
        raise WrongSchemaTypeError(
            found=writer.type, wanted=registry_format.schema_type, schema=f"`{place.subject}`"
        )
    return _Naming(_opened(registry_format, source, place, writer), place, writer)


class _Naming:
    """Adds the schema to what an encoder says about a field."""

    def __init__(self, inner: Encoder, place: Place, writer: RegisteredSchema) -> None:
        self._inner, self._place, self._version = inner, place, writer.version

    def encode(self, document: object) -> bytes | None:
        try:
            return self._inner.encode(document)
        except UnfitRecordError as err:
            place = self._place
            raise err.in_schema(place.subject, self._version, side=place.side) from None
        except RecursionError:
            reason = "is nested too deep"
            raise UnfitRecordError(path="", reason=reason, side=self._place.side) from None


def _opened(
    registry_format: RegistryFormat, source: SchemaSource, place: Place, writer: RegisteredSchema
) -> Encoder:
    match registry_format:
        case RegistryFormat.AVRO:
            from penstock.kafka.formats.avro import AvroEncoder

            return AvroEncoder(source, place, writer)
        case RegistryFormat.JSON_SCHEMA:
            from penstock.kafka.formats.json_schema import JsonSchemaEncoder

            return JsonSchemaEncoder(source, place, writer)
        case RegistryFormat.PROTOBUF:
            from penstock.kafka.formats.protobuf import ProtobufEncoder

            return ProtobufEncoder(source, place, writer)
        case _:
            assert_never(registry_format)


def decoder(registry_format: RegistryFormat, source: SchemaSource, place: Place) -> Decoder:
    """Return what reads records of `place`, whichever schemas they were written with."""
    match registry_format:
        case RegistryFormat.AVRO:
            from penstock.kafka.formats.avro import AvroDecoder

            return AvroDecoder(source, place)
        case RegistryFormat.JSON_SCHEMA:
            from penstock.kafka.formats.json_schema import JsonSchemaDecoder

            return JsonSchemaDecoder(source, place)
        case RegistryFormat.PROTOBUF:
            from penstock.kafka.formats.protobuf import ProtobufDecoder

            return ProtobufDecoder(source, place)
        case _:
            assert_never(registry_format)
