"""The check at the end of the demonstration: what came out, against what the generator counted.

Nothing of the pipeline is used here: topics are read with a plain consumer, the table by its log
and the footers of its files.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from penstock.demo.generator import HostWindow, Tally
from penstock.kafka import Admin, Consumer, Start, partitions_to_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from penstock.kafka import Connection, Record

ALL_HOSTS = "*"
Key = TypeVar("Key")

_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One comparison: what was expected beside what was found."""

    what: str
    expected: int
    found: int
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the flows of the fraud pipeline have written."""

    hits: tuple[Record, ...]
    windows: tuple[Record, ...]
    dead_letters: tuple[Record, ...]
    table_rows: int


def read_output(connection: Connection, *, dead_letters: str, table: Path) -> Output:
    """Read all topics to their ends, and count the rows of the table."""
    return Output(
        hits=_records(connection, "fraudip"),
        windows=_records(connection, "fraudwindows"),
        dead_letters=_records(connection, dead_letters),
        table_rows=table_row_count(table),
    )


def checks(tally: Tally, output: Output, *, flows: Iterable[str]) -> tuple[Check, ...]:
    """Return every comparison of `output` with `tally`."""
    hits = Counter(_text(record.key) for record in output.hits)
    last = _last_values(output.windows)
    return (
        _same("hits in `fraudip`, host by host", tally.hits_by_host, hits),
        _same("hits per host and window", tally.hits_by_window, _counts(last, "hits", hosts=True)),
        _same(
            "requests per window",
            tally.lines_by_window,
            {where.start: n for where, n in _counts(last, "requests", hosts=False).items()},
        ),
        _equal("rows of the table `weblog`", tally.good_count, output.table_rows),
        *_dead_letter_checks(tally, output, flows),
    )


def latency_percentiles(hits: Iterable[Record]) -> dict[int, float]:
    """Return seconds from a line's arrival in Kafka to its hit's, by percentile."""
    seconds = sorted(
        (record.timestamp - _moment(json.loads(_text(record.value))["received"])).total_seconds()
        for record in hits
        if record.timestamp is not None
    )
    if not seconds:
        return {}
    return {item: seconds[(len(seconds) - 1) * item // 100] for item in _PERCENTILES}


def table_row_count(table: Path) -> int:
    """Return the rows of a Delta table by its log: the files that were added and not removed."""
    from pyarrow import parquet

    files: set[str] = set()
    for entry in sorted((table / "_delta_log").glob("*.json")):
        for line in entry.read_text(encoding="utf-8").splitlines():
            action = json.loads(line)
            if "add" in action:
                files.add(action["add"]["path"])
            elif "remove" in action:
                files.discard(action["remove"]["path"])
    return sum(parquet.read_metadata(table / file).num_rows for file in files)


def _records(connection: Connection, topic: str) -> tuple[Record, ...]:
    with Admin(connection) as admin, Consumer(connection, start=Start.EARLIEST) as consumer:
        consumer.assign(partitions_to_read(admin, [topic]))
        return tuple(consumer.read_to_end())


def _last_values(records: Iterable[Record]) -> list[dict[str, object]]:
    """Return the last value of each key, as compaction will leave them."""
    return [*{record.key: json.loads(_text(record.value)) for record in records}.values()]


def _counts(
    rows: Iterable[Mapping[str, object]], column: str, *, hosts: bool
) -> dict[HostWindow, int]:
    return {
        HostWindow(str(row["host"]), _moment(str(row["window_start"]))): int(str(row[column]))
        for row in rows
        if (row["host"] != ALL_HOSTS) is hosts
    }


def _dead_letter_checks(tally: Tally, output: Output, flows: Iterable[str]) -> Iterable[Check]:
    found = Counter(
        _text(header.value)
        for record in output.dead_letters
        for header in record.headers
        if header.name == "penstock.flow"
    )
    for flow in flows:
        yield _equal(f"dead letters of `{flow}`", tally.broken_count, found[flow])


def _same(what: str, expected: Mapping[Key, int], found: Mapping[Key, int]) -> Check:
    return Check(
        what=what,
        expected=sum(expected.values()),
        found=sum(found.values()),
        holds=dict(expected) == dict(found),
    )


def _equal(what: str, expected: int, found: int) -> Check:
    return Check(what=what, expected=expected, found=found, holds=expected == found)


def _text(data: bytes | None) -> str:
    return (data or b"").decode()


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
