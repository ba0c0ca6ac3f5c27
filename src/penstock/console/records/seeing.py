"""What somebody sees of a record: decoded by its contract, masked for his role, safe to be shown.

Nothing here is cut: a page shows as much as it has room for (`shown`, `preview`).
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from penstock.console.records.masking import MASK
from penstock.kafka.formats import Decoded, Place, Side, may_name_schema
from penstock.kafka.json_pointer import MISSING

if TYPE_CHECKING:
    from penstock.console.records.masking import Masking
    from penstock.kafka import Header, Record
    from penstock.kafka.formats import Recognizer, RegistryFormat, Undecoded


class Kind(StrEnum):
    """As what a key or value is shown."""

    NULL = "null"
    JSON = "JSON"
    TEXT = "text"
    BYTES = "bytes"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A key, a value or a header as somebody may see it."""

    kind: Kind
    text: str
    """All of it on one line or as many as it has; empty for null."""

    document: object = MISSING
    """What it stands for, masked; MISSING where it is no JSON."""

    raw: bytes | None = None
    """The bytes as they are stored; None for null, and where something is hidden."""

    is_masked: bool = False
    """Whether something is hidden."""

    registry_format: RegistryFormat | None = None
    schema_id: int | None = None
    reason: str | None = None
    """Why it could not be decoded, where a schema was named."""

    @property
    def pretty(self) -> str:
        """The text with objects and arrays laid out in lines."""
        if self.kind is Kind.JSON and isinstance(self.document, dict | list):
            with suppress(RecursionError):  # as deep as nobody reads
                return json.dumps(self.document, ensure_ascii=False, indent=2)
        return self.text


NULL: Final = Seen(kind=Kind.NULL, text="")
HIDDEN: Final = Seen(kind=Kind.HIDDEN, text=MASK, is_masked=True)


class SeenRecord:
    """A record through the eyes of one role. Key and value are decoded when they are asked for."""

    def __init__(self, record: Record, recognizer: Recognizer, masking: Masking) -> None:
        self.place = record.partition, record.offset
        self.timestamp, self.timestamp_type = record.timestamp, record.timestamp_type
        self._record, self._recognizer, self._masking = record, recognizer, masking

    @cached_property
    def key(self) -> Seen:
        """The key."""
        return self._seen(Side.KEY, self._record.key)

    @cached_property
    def value(self) -> Seen:
        """The value."""
        return self._seen(Side.VALUE, self._record.value)

    @cached_property
    def headers(self) -> tuple[tuple[str, Seen], ...]:
        """The headers by name, in their order; those that are removed are not among them."""
        return tuple(
            (header.name, HIDDEN if self._masking.hides_header(header.name) else _header(header))
            for header in self._record.headers
            if not self._masking.removes_header(header.name)
        )

    @property
    def byte_count(self) -> int | None:
        """The bytes of key, value and headers; None where something is hidden."""
        parts = (self.key, self.value, *(seen for _, seen in self.headers))
        everything = len(self.headers) == len(self._record.headers)
        is_open = everything and not any(part.is_masked for part in parts)
        return self._record.byte_count if is_open else None

    def value_contains(self, text: str) -> bool:
        """Whether what may be seen of the value contains a text; decodes as rarely as it can."""
        data = self._record.value
        if data is None:
            return False
        if not self._masking.hides(Side.VALUE):
            if text.encode("utf-8", "surrogatepass") in data:
                return True
            if not may_name_schema(Side.VALUE, data, self._record.headers):
                return False
        return text in self.value.text

    def key_is(self, text: str) -> bool:
        """Whether the key is this text, or stands for it."""
        data = self._record.key
        if data is None or self._masking.hides(Side.KEY):
            return False
        if data == text.encode("utf-8", "surrogatepass"):
            return True
        if not may_name_schema(Side.KEY, data, self._record.headers):
            return False
        return text in (self.key.document, self.key.text)

    def _seen(self, side: Side, data: bytes | None) -> Seen:
        if data is None:
            return NULL
        if self._masking.hides_all(side):
            return HIDDEN
        place = Place(topic=self._record.topic, side=side)
        content = self._recognizer.content(place, data, self._record.headers)
        if self._masking.hides(side):
            return self._masked(side, content)
        if isinstance(content, Decoded):
            return Seen(
                kind=Kind.JSON,
                # What is JSON by itself is shown as it was written.
                text=compact(content.document) if content.registry_format else data.decode(),
                document=content.document,
                raw=data,
                registry_format=content.registry_format,
                schema_id=content.schema_id,
            )
        return _plain(data, content)

    def _masked(self, side: Side, content: Decoded | Undecoded) -> Seen:
        """Return what may be seen; what cannot be decoded, or walked, cannot be masked in part."""
        if not isinstance(content, Decoded):
            return HIDDEN
        try:
            document = self._masking.document(side, content.document)
            text = compact(document)
        except RecursionError:
            return HIDDEN
        return Seen(
            kind=Kind.JSON,
            text=text,
            document=document,
            is_masked=True,
            registry_format=content.registry_format,
            schema_id=content.schema_id,
        )


def compact(document: object) -> str:
    """Return a document on one line."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def shown(text: str, most: int) -> tuple[str, bool]:
    """Return the beginning of `text` without what could disturb a page, and whether it was cut."""
    beginning = text[:most]
    return harmless(beginning), len(text) > most


def harmless(text: str) -> str:
    """Return `text` with invisible characters written as escapes, such as those that turn it."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in "\n\t"
        else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def hex_lines(data: bytes, most: int) -> tuple[str, bool]:
    """Return bytes as offsets, hexadecimal digits and text, 16 in a line; and whether cut."""
    lines = [
        f"{at:08x}  {part.hex(' '):<47}  {''.join(_ascii(byte) for byte in part)}"
        for at in range(0, min(len(data), most), 16)
        for part in [data[at : at + 16]]
    ]
    return "\n".join(lines), len(data) > most


def _ascii(byte: int) -> str:
    return chr(byte) if 0x20 <= byte < 0x7F else "."


def _header(header: Header) -> Seen:
    return NULL if header.value is None else _plain(header.value, None)


def _plain(data: bytes, content: Undecoded | None) -> Seen:
    reason = content.reason if content else None
    schema_id = content.schema_id if content else None
    try:
        text, kind = data.decode("utf-8"), Kind.TEXT
        if content is not None and reason is not None:
            # A schema id stands before it: text by chance only.
            text, kind = data.hex(" "), Kind.BYTES
    except UnicodeDecodeError:
        text, kind = data.hex(" "), Kind.BYTES
    return Seen(kind=kind, text=text, raw=data, schema_id=schema_id, reason=reason)
