"""Records as pages and their JSON twins show them: decoded, masked, harmless, and cut."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.records.seeing import Seen, harmless, shown

if TYPE_CHECKING:
    from penstock.console.records.seeing import SeenRecord

_KEY_CHARACTERS = 120
_VALUE_CHARACTERS = 400
_HEADER_CHARACTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A key, a value, or the value of a header."""

    kind: str
    """`null`, `JSON`, `text`, `bytes` (in hexadecimal digits) or `hidden`."""

    text: str
    is_cut: bool
    """Whether there is more than is shown."""

    is_masked: bool
    """Whether something in it is hidden."""

    byte_count: int | None
    """None for null, and where something is hidden."""

    registry_format: str | None
    schema_id: int | None
    reason: str | None
    """Why it could not be decoded, where a schema was named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderPart:
    """A header."""

    name: str
    value: Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record."""

    partition: int
    offset: int
    timestamp: datetime | None
    timestamp_type: str | None
    key: Part
    value: Part
    headers: tuple[HeaderPart, ...]
    byte_count: int | None


def row(record: SeenRecord) -> Row:
    """Return the beginning of a record, as a list has room for it."""
    return Row(
        partition=record.place[0],
        offset=record.place[1],
        timestamp=record.timestamp,
        timestamp_type=record.timestamp_type,
        key=part(record.key, _KEY_CHARACTERS),
        value=part(record.value, _VALUE_CHARACTERS),
        headers=headers(record),
        byte_count=record.byte_count,
    )


def headers(record: SeenRecord, most: int = _HEADER_CHARACTERS) -> tuple[HeaderPart, ...]:
    """Return the headers of a record."""
    return tuple(
        HeaderPart(name=harmless(name), value=part(value, most)) for name, value in record.headers
    )


def part(seen: Seen, most: int, *, is_pretty: bool = False) -> Part:
    """Return the beginning of what may be seen."""
    text, is_cut = shown(seen.pretty if is_pretty else seen.text, most)
    return Part(
        kind=seen.kind,
        text=text,
        is_cut=is_cut,
        is_masked=seen.is_masked,
        byte_count=None if seen.raw is None else len(seen.raw),
        registry_format=seen.registry_format,
        schema_id=seen.schema_id,
        reason=None if seen.reason is None else harmless(seen.reason[:most]),
    )
