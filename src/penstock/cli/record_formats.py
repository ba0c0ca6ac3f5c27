"""Registry formats on the command line: what writes and reads records as the options ask.

The options are in `format_options.py`, the formats in `penstock.kafka.formats`; how records are
read from lines and written as lines is in `record_input.py` and `record_output.py`.
"""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.registry_access import opened_registry
from penstock.errors import UsageError
from penstock.kafka import Record
from penstock.kafka.formats import (
    Place,
    RegistryFormat,
    Side,
    UndecodableRecordError,
    WrongSchemaTypeError,
    decoder,
    encoder,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from penstock.cli.registry_access import RegistryAccess
    from penstock.kafka.formats import Decoder, Encoder
    from penstock.names import TopicName
    from penstock.schemas import RegisteredSchema


class NoWriterSchemaError(UsageError):
    """A registry format was chosen, and there is no schema to write with."""

    code = "PEN-754"

    def __init__(self, subject: str, *, side: str) -> None:
        super().__init__(
            f"subject `{subject}` has no schema to write with",
            hint=f"name a file with `--{side}-schema`, or register one: "
            f"`penstock schemas register {subject} FILE`",
        )


class SchemaWithoutFormatError(UsageError):
    """A schema was named, and no format that uses it."""

    code = "PEN-755"

    def __init__(self, side: str) -> None:
        super().__init__(
            f"`--{side}-schema` needs `--{side}-format`",
            hint=f"add `--{side}-format avro`, or json-schema, protobuf",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoders:
    """What writes keys and values in registry formats; None: they are sent as they are."""

    key: Encoder | None = None
    value: Encoder | None = None


@contextmanager
def opened_encoders(
    topic: TopicName, options: Mapping[str, Any], profile: str | None
) -> Iterator[Encoders]:
    """Yield what the options of `penstock produce` ask for; schemas are registered or found."""
    for side in Side:
        if options[f"{side}_schema"] is not None and options[f"{side}_format"] is None:
            raise SchemaWithoutFormatError(side)
    if options["key_format"] is None and options["value_format"] is None:
        yield Encoders()
        return
    with opened_registry(options["registry_url"], profile) as registry:
        opened = {
            side.value: _encoder(registry, Place(topic=topic, side=side), options) for side in Side
        }
        yield Encoders(**opened)


def _encoder(registry: RegistryAccess, place: Place, options: Mapping[str, Any]) -> Encoder | None:
    chosen, file = options[f"{place.side}_format"], options[f"{place.side}_schema"]
    if chosen is None:
        return None
    registry_format = RegistryFormat(chosen)
    if file is None:
        writer = _latest(registry, place)
    else:
        _require_type(file, registry_format)
        writer = _registered(registry, place, file)
    click.echo(
        f"{place.side}s are written as {place.subject} version {writer.version}, id {writer.id}",
        err=True,
    )
    return encoder(registry_format, registry.client, place, writer)


def _latest(registry: RegistryAccess, place: Place) -> RegisteredSchema:
    from penstock.registry.client import NotRegisteredError

    try:
        return registry.client.version(place.subject)
    except NotRegisteredError as err:
        raise NoWriterSchemaError(place.subject, side=place.side) from err


def _require_type(file: Path, registry_format: RegistryFormat) -> None:
    """Look before registering: a schema of another type must not become a version."""
    from penstock.registry.project import load_file

    found, wanted = load_file(file, root=file.parent).type, registry_format.schema_type
    if found is not wanted:
        raise WrongSchemaTypeError(found=found, wanted=wanted, schema=f"`{file}`")


def _registered(registry: RegistryAccess, place: Place, file: Path) -> RegisteredSchema:
    from penstock.registry.project import register_file

    return register_file(registry.client, file, place.subject, folder=registry.folder)


class Content(StrEnum):
    """What stands in the key or value of a record that was decoded."""

    BYTES = "bytes"
    DOCUMENT = "document"
    UNDECODABLE = "undecodable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRecord(Record):
    """A record whose key or value is the JSON that its bytes stand for.

    What cannot be decoded is an object with the reason and the bytes, so that a line stays a line
    of JSON.
    """

    key_content: Content
    value_content: Content

    @property
    def is_undecodable(self) -> bool:
        """Whether key or value could not be decoded."""
        return Content.UNDECODABLE in (self.key_content, self.value_content)


class RecordDecoder:
    """Decodes the records of any topic, with a decoder for each side that has a format."""

    def __init__(self, open_decoder: Callable[[Place], Decoder | None]) -> None:
        self._open = open_decoder
        self._decoders: dict[tuple[TopicName, Side], Decoder | None] = {}

    def decoded(self, record: Record) -> DecodedRecord:
        """Return `record` with JSON in the place of what was encoded.

        Raises:
            PenstockError: the registry does not answer.
        """
        key, key_content = self._content(record, Side.KEY, record.key)
        value, value_content = self._content(record, Side.VALUE, record.value)
        parts = {item.name: getattr(record, item.name) for item in fields(Record)}
        parts |= {"key": key, "value": value}
        return DecodedRecord(**parts, key_content=key_content, value_content=value_content)

    def _content(
        self, record: Record, side: Side, data: bytes | None
    ) -> tuple[bytes | None, Content]:
        decoder = self._decoder(record.topic, side)
        if decoder is None or data is None:
            return data, Content.BYTES
        try:
            return _line(decoder.decode(data, record.headers)), Content.DOCUMENT
        except UndecodableRecordError as err:
            stored = base64.b64encode(data).decode("ascii")
            shown = {"undecodable": err.reason, "base64": stored}
            return _line(shown), Content.UNDECODABLE

    def _decoder(self, topic: TopicName, side: Side) -> Decoder | None:
        if (topic, side) not in self._decoders:
            self._decoders[topic, side] = self._open(Place(topic=topic, side=side))
        return self._decoders[topic, side]


@contextmanager
def opened_decoder(
    options: Mapping[str, Any], profile: str | None
) -> Iterator[RecordDecoder | None]:
    """Yield what decodes records as the options of `penstock consume` ask, if they do."""
    chosen = {
        side: RegistryFormat(options[f"{side}_format"])
        for side in Side
        if options[f"{side}_format"] is not None
    }
    if not chosen:
        yield None
        return
    with opened_registry(options["registry_url"], profile) as registry:

        def open_decoder(place: Place) -> Decoder | None:
            if place.side not in chosen:
                return None
            return decoder(chosen[place.side], registry.client, place)

        yield RecordDecoder(open_decoder)


def with_documents(shown: dict[str, object], record: DecodedRecord) -> dict[str, object]:
    """Return a record as JSON shows it, with documents in the place of their texts."""
    shown = dict(shown)
    for side, content in (("key", record.key_content), ("value", record.value_content)):
        if content is Content.BYTES:
            continue
        document = json.loads(str(shown.pop(side)))
        if content is Content.DOCUMENT:
            shown[side] = document
        else:
            shown[f"{side}_base64"] = document["base64"]
            shown[f"{side}_error"] = document["undecodable"]
    return shown


def _line(document: object) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a character, which JSON can write as an escape only
        return json.dumps(document).encode()
