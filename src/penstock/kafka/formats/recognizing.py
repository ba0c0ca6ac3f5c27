"""Recognizing: what the bytes of a key or value stand for, when nobody has named a format.

A schema id of the registry decides; without one it is JSON, else text, else bytes. What should be
decodable and is not comes with the reason, so that a record is always shown somehow.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka.formats.errors import UndecodableRecordError
from penstock.kafka.formats.opening import RegistryFormat, decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka.formats.lookup import SchemaSource
    from penstock.kafka.formats.opening import Decoder
    from penstock.kafka.formats.place import Place, Side
    from penstock.kafka.records import Header
    from penstock.names import TopicName

_ID = struct.Struct(">bI")
_GUID_HEADER = "__{}_schema_id"
_GUID_BYTES = 17  # a magic byte before it
# Bytes that only look like a schema id must not make somebody ask the registry for each record.
_MOST_UNKNOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A JSON value, and the schema it was written with; None where it is JSON by itself."""

    document: object
    registry_format: RegistryFormat | None = None
    schema_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecoded:
    """Bytes that are no JSON value; `reason` says what is wrong where a schema was named."""

    reason: str | None = None
    schema_id: int | None = None


def may_name_schema(side: Side, data: bytes, headers: Sequence[Header]) -> bool:
    """Say whether a schema may have been used: without one, bytes are what they are."""
    name = _GUID_HEADER.format(side)
    return data[:1] == b"\0" or any(header.name == name for header in headers)


class Recognizer:
    """Decodes keys and values by what they say about themselves. One thread uses it.

    Args:
        source: where schemas are; None: there is no registry, and nothing is decoded with one.
    """

    def __init__(self, source: SchemaSource | None) -> None:
        self._source = source
        self._formats: dict[int, RegistryFormat | str] = {}
        self._decoders: dict[tuple[TopicName, Side, RegistryFormat], Decoder] = {}
        self._unknown = 0
        self._silence: PenstockError | None = None

    def content(self, place: Place, data: bytes, headers: Sequence[Header]) -> Decoded | Undecoded:
        """Return what `data` stands for; never raises for what is in it.

        A registry that does not answer is the reason why something is not decoded, and is not
        asked again by this recognizer.
        """
        schema_id = self._schema_id(place, data, headers)
        if schema_id is None:
            return _plain(data)
        if isinstance(schema_id, str):
            return Undecoded(reason=schema_id)
        found = self._format_of(schema_id)
        if not isinstance(found, RegistryFormat):
            return Undecoded(reason=found, schema_id=schema_id)
        try:
            document = self._decoder(place, found).decode(data, headers)
            require_finite(document)
        except UndecodableRecordError as err:
            return Undecoded(reason=err.reason, schema_id=schema_id)
        except PenstockError as err:
            return Undecoded(reason=err.message, schema_id=schema_id)
        except (ValueError, RecursionError) as err:
            return Undecoded(reason=str(err), schema_id=schema_id)
        return Decoded(document=document, registry_format=found, schema_id=schema_id)

    def _schema_id(self, place: Place, data: bytes, headers: Sequence[Header]) -> int | str | None:
        """Return the id, None when there is none, or why it is not known."""
        name = _GUID_HEADER.format(place.side)
        written = next((header.value for header in headers if header.name == name), None)
        if written is not None:
            return self._id_of_header(written)
        if len(data) < _ID.size or data[0] != 0:
            return None
        schema_id: int = _ID.unpack_from(data)[1]
        return schema_id

    def _id_of_header(self, written: bytes) -> int | str:
        from uuid import UUID

        if len(written) == _ID.size and written[0] == 0:
            schema_id: int = _ID.unpack(written)[1]
            return schema_id
        if len(written) != _GUID_BYTES or self._source is None:
            return "its header names no schema that is known here"
        try:
            found = self._source.id_of_guid(str(UUID(bytes=written[1:])))
        except PenstockError as err:
            return err.message
        return "its header names a schema that is not in the registry" if found is None else found

    def _format_of(self, schema_id: int) -> RegistryFormat | str:
        """Return the format of a schema, or why it is not known."""
        if schema_id not in self._formats:
            found = self._asked(schema_id)
            if not isinstance(found, RegistryFormat):
                if self._unknown >= _MOST_UNKNOWN:
                    return found  # so many are not worth remembering
                self._unknown += 1
            self._formats[schema_id] = found
        return self._formats[schema_id]

    def _asked(self, schema_id: int) -> RegistryFormat | str:
        if self._source is None:
            return "there is no schema registry to ask for its schema"
        if self._silence is not None:
            return self._silence.message
        if self._unknown >= _MOST_UNKNOWN:
            return f"schema id {schema_id} was not asked for: too many others were unknown"
        try:
            found = self._source.find_by_id(schema_id)
        except PenstockError as err:
            self._silence = err
            return err.message
        if found is None:
            return f"schema id {schema_id} is not in the registry"
        return next(item for item in RegistryFormat if item.schema_type is found.type)

    def _decoder(self, place: Place, registry_format: RegistryFormat) -> Decoder:
        key = (place.topic, place.side, registry_format)
        if key not in self._decoders:
            assert self._source is not None  # noqa: S101 - it has told the format
            self._decoders[key] = decoder(registry_format, self._source, place)
        return self._decoders[key]


def require_finite(document: object) -> None:
    """Refuse numbers that JSON cannot write.

    Raises:
        ValueError: there is NaN or an infinity in it.
        RecursionError: it is nested too deep to be walked.
    """
    if isinstance(document, dict):
        for item in document.values():
            require_finite(item)
    elif isinstance(document, list):
        for item in document:
            require_finite(item)
    elif isinstance(document, float) and not math.isfinite(document):
        reason = f"it has a number that JSON cannot write: {document}"
        raise ValueError(reason)


def parse_json(text: str) -> object:
    """Return the value that `text` stands for.

    Raises:
        ValueError: it is no JSON; NaN and numbers that are too large are none.
        RecursionError: it is nested too deep.
    """
    document: object = _JSON.decode(text)
    return document


def _plain(data: bytes) -> Decoded | Undecoded:
    try:
        return Decoded(document=parse_json(data.decode("utf-8")))
    except (ValueError, RecursionError):
        return Undecoded()


def _refuse_constant(name: str) -> object:
    """NaN and Infinity are Python's, not JSON's."""
    raise ValueError(name)


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(number)
    return value


# Made once: `json.loads` with an argument of its own makes a decoder for every value.
_JSON = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
