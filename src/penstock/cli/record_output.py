"""How `penstock consume` writes records: values, columns or JSON, one record per line.

Bytes go to a pipe or a file as they are. On a terminal, control characters are shown escaped, so
that a record cannot move the cursor or change the terminal's state.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO

from penstock.cli.record_formats import DecodedRecord, with_documents
from penstock.kafka.records import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kafka import Record

NULL = b"null"
"""How a null key or value is written in a line; only JSON tells it from the text `null`."""


class Column(StrEnum):
    """What may stand before the value."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    KEY = "key"
    HEADERS = "headers"


def as_line(columns: Sequence[Column], record: Record) -> bytes:
    """Return the columns and the value of `record`, separated by tabs."""
    cells = [_cell(column, record) for column in columns]
    return b"\t".join([*cells, NULL if record.value is None else record.value])


def as_json_line(record: Record) -> bytes:
    """Return `record` as `penstock produce --format records` reads it."""
    shown = as_json(record)
    if isinstance(record, DecodedRecord):
        shown = with_documents(shown, record)
    return json.dumps(shown, ensure_ascii=False).encode("utf-8", "surrogateescape")


def for_terminal(line: bytes) -> bytes:
    """Return `line` without bytes that a terminal would obey."""
    text = line.decode("utf-8", errors="backslashreplace")
    shown = "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode()
        for char in text
    )
    return shown.encode()


class RecordWriter:
    """Writes one line per record to stdout."""

    def __init__(self, format_line: Callable[[Record], bytes], *, flush_each: bool) -> None:
        self._format = format_line
        self._out: BinaryIO = sys.stdout.buffer
        self._flush_each = flush_each or sys.stdout.isatty()
        self._escape = sys.stdout.isatty()

    def write(self, record: Record) -> None:
        """Write `record`."""
        line = self._format(record)
        self._out.write((for_terminal(line) if self._escape else line) + b"\n")
        if self._flush_each:
            self._out.flush()

    def flush(self) -> None:
        """Hand what is written to whoever reads it."""
        self._out.flush()


def _cell(column: Column, record: Record) -> bytes:
    match column:
        case Column.TOPIC:
            return record.topic.encode()
        case Column.PARTITION:
            return str(record.partition).encode()
        case Column.OFFSET:
            return str(record.offset).encode()
        case Column.TIMESTAMP:
            moment = record.timestamp
            return NULL if moment is None else moment.isoformat(timespec="milliseconds").encode()
        case Column.KEY:
            return NULL if record.key is None else record.key
        case Column.HEADERS:
            return b",".join(
                header.name.encode() + b"=" + (NULL if header.value is None else header.value)
                for header in record.headers
            )
