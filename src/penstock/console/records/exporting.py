"""Records as files: JSON lines that `penstock produce` takes back, CSV for spreadsheets, and bytes.

JSON lines are those of `penstock consume --json`: text where the bytes are UTF-8, else base64, so
that key, value, headers and timestamp come back byte for byte with
`penstock produce TOPIC --format records`; offsets and, without `--partition`, partitions are new.
Where something is hidden, a line has `key_masked` or `value_masked` instead and is not taken back.

CSV is for reading: a cell that a spreadsheet would take for a formula has `'` before it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from typing import TYPE_CHECKING, Final

from starlette.responses import Response, StreamingResponse

from penstock.console.access.roles import Role
from penstock.console.errors import NotFoundError
from penstock.console.frame.endpoints import Endpoint
from penstock.console.frame.pages import Parameter
from penstock.console.frame.spreadsheets import csv_line
from penstock.console.records.asked import PARAMETERS, UNCOMMITTED, Asked
from penstock.console.records.browsing import opened_topic, search_limits
from penstock.console.records.errors import (
    HiddenRecordError,
    InvalidQuestionError,
    TooManyExportsError,
)
from penstock.console.records.pages import place_of
from penstock.kafka.browsing import Found
from penstock.kafka.records import as_json, text_or_base64

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from starlette.requests import Request

    from penstock.console.frame import Ask
    from penstock.console.frame.answering import Answering
    from penstock.console.records.seeing import Seen, SeenRecord
    from penstock.kafka import Record

# Records are read as a whole; what a file may hold is held in memory.
_MOST_BYTES = 64 * 1024 * 1024

_MOST: Final = 2
"""Files that are made at once."""

_LINES_AT_ONCE: Final = 1000
_LOOK_SECONDS: Final = 0.2
"""How soon an export notices that nobody waits for it any more."""

_HEAD: Final = (
    "topic", "partition", "offset", "timestamp", "key_kind", "key", "value_kind", "value", "headers"
)  # fmt: skip
_KINDS: Final = {
    "jsonl": ("application/x-ndjson", "jsonl"),
    "csv": ("text/csv; charset=utf-8", "csv"),
}


class Exports:
    """The files that are made now."""

    def __init__(self) -> None:
        self._running = 0

    async def answer(self, answering: Answering, ask: Ask, request: Request) -> Response:
        """Answer with a file.

        Raises:
            TooManyExportsError: as many are made already as may be.
            UsageError: the question cannot be understood, or asks for what is hidden.
        """
        kind = ask.query.get("format", "jsonl")
        if kind not in _KINDS:
            raise InvalidQuestionError(kind, name="format", wanted="`jsonl` or `csv`")
        if self._running >= _MOST:
            raise TooManyExportsError(_MOST)
        self._running += 1
        is_over = threading.Event()
        try:
            work = asyncio.ensure_future(
                answering.in_thread(lambda: exported(ask, kind, is_over.is_set))
            )
            while not (await asyncio.wait((work,), timeout=_LOOK_SECONDS))[0]:
                if await request.is_disconnected():
                    is_over.set()
            lines = await work
        finally:
            is_over.set()
            self._running -= 1
        media_type, suffix = _KINDS[kind]
        return _file(lines, f"{ask.path['topic']}.{suffix}", media_type)


def exported(ask: Ask, kind: str, is_over: Callable[[], bool] = lambda: False) -> list[bytes]:
    """Return the records that `ask` means, as lines; those that were found when it is over."""
    asked = Asked.of(ask.query)
    write = _as_json_line if kind == "jsonl" else _as_csv_line
    lines = [] if kind == "jsonl" else [csv_line(_HEAD).encode()]
    held = 0
    with opened_topic(ask) as topic:
        scan = topic.scan(
            asked,
            search_limits(asked),
            lambda seen, record: write(seen, record).encode("utf-8", "surrogatepass"),
            is_stopped=lambda: held >= _MOST_BYTES or is_over(),
        )
        for step in scan:
            if isinstance(step, Found):
                lines.append(step.kept)
                held += len(step.kept)
    return lines


def _as_json_line(seen: SeenRecord, record: Record) -> str:
    told = as_json(record)
    for name in ("key", "key_base64", "value", "value_base64", "headers"):
        told.pop(name, None)
    told |= {**_told("key", seen.key), **_told("value", seen.value)}
    told["headers"] = [{"name": name, **_told("value", part)} for name, part in seen.headers]
    return json.dumps(told, ensure_ascii=False) + "\n"


def _told(name: str, part: Seen) -> dict[str, str | None]:
    return {f"{name}_masked": part.text} if part.is_masked else text_or_base64(name, part.raw)


def _as_csv_line(seen: SeenRecord, record: Record) -> str:
    moment = record.timestamp
    headers = json.dumps(
        [{"name": name, "value": _cell(part)[1]} for name, part in seen.headers],
        ensure_ascii=False,
    )
    cells = (
        record.topic,
        record.partition,
        record.offset,
        "" if moment is None else moment.isoformat(timespec="milliseconds"),
        *_cell(seen.key),
        *_cell(seen.value),
        headers,
    )
    return csv_line(cells)


def _cell(part: Seen) -> tuple[str, str]:
    """Return how a key or value is written, and the text."""
    if part.is_masked:
        return "masked", part.text
    if part.raw is None:
        return "null", ""
    if part.registry_format is not None:
        return part.registry_format, part.text
    try:
        return "text", part.raw.decode("utf-8")
    except UnicodeDecodeError:
        return "base64", base64.b64encode(part.raw).decode("ascii")


async def _bytes(answering: Answering, ask: Ask, _request: Request) -> Response:
    side = ask.query.get("side", "value")
    if side not in ("key", "value"):
        raise InvalidQuestionError(side, name="side", wanted="`key` or `value`")
    data: bytes = await answering.in_thread(lambda: stored_bytes(ask, side))
    partition, offset = place_of(ask)
    name = f"{ask.path['topic']}-{partition}-{offset}.{side}"
    return _file([data], name, "application/octet-stream")


def stored_bytes(ask: Ask, side: str) -> bytes:
    """Return the key or the value of a record as it is stored.

    Raises:
        HiddenRecordError: something of it is hidden from who asks.
        NotFoundError: it is null.
    """
    partition, offset = place_of(ask)
    asked = Asked(uncommitted=ask.query.get("uncommitted", ""))
    with opened_topic(ask) as topic:
        seen = topic.seen(topic.record(partition, offset, asked.isolation))
        part = seen.key if side == "key" else seen.value
        if part.is_masked:
            raise HiddenRecordError(topic.name, what="downloaded")
        if part.raw is None:
            raise NotFoundError(ask.url)
        return part.raw


def _file(parts: Sequence[bytes], name: str, media_type: str) -> Response:
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return StreamingResponse(
        _in_pieces(parts),
        media_type=media_type,
        headers={
            "Content-Length": str(sum(map(len, parts))),
            "Content-Disposition": f'attachment; filename="{safe}"',
            "Cache-Control": "no-store",
        },
    )


async def _in_pieces(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Yield some of the parts together: what is sent line by line takes long."""
    for first in range(0, len(parts), _LINES_AT_ONCE):
        yield b"".join(parts[first : first + _LINES_AT_ONCE])


EXPORT = Endpoint(
    path="/topics/{topic}/records/export",
    name="export_records",
    summary="Records as JSON lines that `penstock produce` takes back, or as CSV.",
    role=Role.VIEWER,
    answer=Exports().answer,
    parameters=(Parameter(name="format", meaning="jsonl or csv; default: jsonl"), *PARAMETERS),
)

BYTES = Endpoint(
    path="/topics/{topic}/records/{partition}/{offset}/bytes",
    name="download_bytes",
    summary="The key or value of one record as it is stored.",
    role=Role.VIEWER,
    answer=_bytes,
    parameters=(Parameter(name="side", meaning="key or value; default: value"), UNCOMMITTED),
)
