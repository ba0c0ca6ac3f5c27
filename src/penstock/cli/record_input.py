"""What `penstock produce` reads: lines, JSON lines, or records as `penstock consume --json` writes.

A line that cannot be understood raises `InvalidInputError`; the command puts it aside and goes on.
"""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from penstock.cli.record_formats import Encoders
from penstock.errors import Origin, PenstockError
from penstock.kafka import (
    MISSING,
    Header,
    InvalidRecordError,
    OutgoingRecord,
    moment_of,
    outgoing_record,
    value_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from penstock.kafka import Pointer
    from penstock.kafka.formats import Encoder
    from penstock.names import TopicName

STDIN = Path("-")
NO_ENCODERS = Encoders()


class InvalidInputError(PenstockError):
    """A line of input is not what the format asks for."""

    code = "PEN-940"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(f"the line {reason}", hint=hint)


class InputFormat(StrEnum):
    """How a line becomes a record."""

    LINES = "lines"
    JSON = "json"
    RECORDS = "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What the options say about every record."""

    topic: TopicName
    input_format: InputFormat
    key_separator: bytes | None
    key_pointer: Pointer | None
    null_value: bytes | None
    headers: tuple[Header, ...]
    partition: int | None
    timestamp: datetime | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of input, without its end, and where it stands."""

    data: bytes
    origin: Origin


def lines_of(files: Sequence[Path]) -> Iterator[Line]:
    """Yield the lines of all files, or of stdin when there are none."""
    for path in files or (STDIN,):
        if path == STDIN:
            yield from _numbered(sys.stdin.buffer, Path("<stdin>"))
        else:
            with path.open("rb") as file:
                yield from _numbered(file, path)


def _numbered(file: Iterable[bytes], path: Path) -> Iterator[Line]:
    for number, data in enumerate(file, start=1):
        yield Line(data.removesuffix(b"\n").removesuffix(b"\r"), Origin(path, number))


def record_of(
    line: bytes, template: Template, encoders: Encoders = NO_ENCODERS
) -> OutgoingRecord | None:
    """Return the record that `line` describes; None for a blank line between JSON lines.

    With an encoder, the key or value is JSON, and is written in a registry format.

    Raises:
        InvalidInputError: the line is not what the format asks for.
        UnfitRecordError: the JSON does not fit the schema to write with.
    """
    match template.input_format:
        case InputFormat.LINES:
            return _from_text(line, template, encoders)
        case InputFormat.JSON:
            return _from_json(line, template, encoders) if line.strip() else None
        case InputFormat.RECORDS:
            return _from_record(line, template, encoders) if line.strip() else None
        case _:
            assert_never(template.input_format)


def _from_text(line: bytes, template: Template, encoders: Encoders) -> OutgoingRecord:
    if template.key_separator is None:
        return _built(template, encoders, key=None, value=line)
    key, separator, value = line.partition(template.key_separator)
    if not separator:
        raise InvalidInputError(
            reason=f"has no `{template.key_separator.decode()}` between key and value",
            hint="correct it, or choose another `--key-separator`",
        )
    return _built(template, encoders, key=key, value=value)


def _from_json(line: bytes, template: Template, encoders: Encoders) -> OutgoingRecord:
    document = _parsed(line)
    if template.key_pointer is None:
        return _built(template, encoders, key=None, value=line)
    found = value_at(template.key_pointer, document)
    if found is MISSING or found is None:
        raise InvalidInputError(
            reason=f"has nothing at `/{'/'.join(template.key_pointer)}`",
            hint="correct it, or choose another `--key-pointer`",
        )
    is_text = isinstance(found, str) and encoders.key is None
    key = str(found) if is_text else json.dumps(found, separators=(",", ":"))
    return _built(template, encoders, key=key, value=line)


def _from_record(line: bytes, template: Template, encoders: Encoders) -> OutgoingRecord:
    document = _parsed(line)
    if not isinstance(document, dict) or not {"value", "value_base64"} & document.keys():
        raise InvalidInputError(
            reason="is not a record: an object with `value` or `value_base64`",
            hint="`penstock consume --json` writes such lines; for other JSON use `--format json`",
        )
    headers = document.get("headers") or []
    if not isinstance(headers, list):
        raise _not_a_record(reason="`headers` is not a list")
    return _built(
        template,
        NO_ENCODERS,  # what is encoded is so by now; base64 stands for the bytes themselves
        key=_content(document, "key", encoders.key),
        value=_content(document, "value", encoders.value),
        headers=tuple(_header(header) for header in headers),
        timestamp=_timestamp(document.get("timestamp")),
    )


def _built(
    template: Template,
    encoders: Encoders,
    *,
    key: str | bytes | None,
    value: str | bytes | None,
    headers: tuple[tuple[str, str | bytes | None], ...] = (),
    timestamp: datetime | None = None,
) -> OutgoingRecord:
    is_null = isinstance(value, bytes) and value == template.null_value
    try:
        return outgoing_record(
            template.topic,
            None if is_null else _encoded(value, encoders.value),
            key=_encoded(key, encoders.key),
            headers=(*headers, *template.headers),
            partition=template.partition,
            timestamp=template.timestamp or timestamp,
        )
    except InvalidRecordError as err:
        raise InvalidInputError(reason=f"cannot be sent: {err.message}", hint=err.hint) from err


def _encoded(text: str | bytes | None, encoder: Encoder | None) -> str | bytes | None:
    if encoder is None or text is None:
        return text
    return encoder.encode(_strictly_parsed(text if isinstance(text, bytes) else text.encode()))


def _parsed(line: bytes, parse_constant: Callable[[str], object] | None = None) -> object:
    try:
        return json.loads(line.decode("utf-8"), parse_constant=parse_constant)
    except (ValueError, RecursionError) as err:
        raise InvalidInputError(
            reason=f"is not JSON: {err}",
            hint="correct it; without `--format` every line is sent as it is",
        ) from err


def _strictly_parsed(text: bytes) -> object:
    """Return a document that every format can write: without NaN, or halves of characters."""
    document = _parsed(text, parse_constant=_refuse_constant)
    if b"\\u" in text:
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError as err:
            raise InvalidInputError(
                reason=f"has half of a character: {err}", hint="write the character itself"
            ) from err
    return document


def _refuse_constant(name: str) -> object:
    """NaN and Infinity are Python's, not JSON's."""
    raise ValueError(name)


def _header(header: object) -> tuple[str, str | bytes | None]:
    if not isinstance(header, dict) or not isinstance(header.get("name"), str):
        raise _not_a_record(reason="a header is not an object with a `name`")
    return header["name"], _content(header, "value")


def _content(
    document: dict[str, object], name: str, encoder: Encoder | None = None
) -> str | bytes | None:
    text, encoded = document.get(name), document.get(f"{name}_base64")
    if text is not None and encoded is not None:
        raise _not_a_record(reason=f"it has both `{name}` and `{name}_base64`")
    if text is not None and encoder is not None:
        return encoder.encode(text)
    if text is not None and not isinstance(text, str):
        raise _not_a_record(reason=f"`{name}` is not a text")
    if encoded is None:
        return text
    try:
        return base64.b64decode(encoded, validate=True)  # type: ignore[arg-type]  # it checks itself
    except (ValueError, TypeError) as err:
        raise _not_a_record(reason=f"`{name}_base64` is not base64") from err


def _timestamp(stored: object) -> datetime | None:
    """Return the moment that ISO-8601 or milliseconds since 1970 name."""
    try:
        if isinstance(stored, str):
            moment = datetime.fromisoformat(stored)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(stored, int) and not isinstance(stored, bool):
            return moment_of(stored)
    except (ValueError, OverflowError) as err:
        raise _not_a_record(reason=f"its timestamp is `{stored}`") from err
    if stored is not None:
        raise _not_a_record(reason=f"its timestamp is `{stored}`")
    return None


def _not_a_record(*, reason: str) -> InvalidInputError:
    return InvalidInputError(
        reason=f"is not a record: {reason}",
        hint="`penstock consume --json` shows what one looks like",
    )
