"""The record browser's pages: some records of a topic, and one of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, assert_never

from penstock.console.access.roles import Role
from penstock.console.errors import NotFoundError
from penstock.console.frame import Page
from penstock.console.records.asked import PARAMETERS, UNCOMMITTED, Asked
from penstock.console.records.browsing import opened_topic, page_limits
from penstock.console.records.rows import HeaderPart, Part, Row, headers, part, row
from penstock.console.records.seeing import Seen, hex_lines
from penstock.errors import PenstockError
from penstock.kafka import Isolation
from penstock.kafka.browsing import (
    AtOffset,
    Continued,
    Direction,
    Ended,
    Ending,
    Found,
    Newest,
    Oldest,
    Since,
)
from penstock.kafka.browsing.places import direction_of

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.console.records.browsing import Topic

_TEXT_CHARACTERS = 256 * 1024
_HEX_BYTES = 16 * 1024
_HEADER_CHARACTERS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """How far reading went."""

    records: int
    byte_count: int
    seconds: float
    moment: datetime | None
    """The timestamp of the record that was looked at last."""

    ending: str
    is_complete: bool
    """Whether nothing is left to be read in this direction."""

    partitions: tuple[int, ...]
    left_out: tuple[int, ...]
    """Partitions that have no leader now."""

    positions: dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Some records of a topic, in the direction in which they were read."""

    topic: str
    asked: Asked
    rows: tuple[Row, ...]
    direction: str
    """`older`: the newest record comes first; `newer`: the oldest."""

    is_search: bool
    """Whether only some records are wanted."""

    searched: Searched
    older: str
    """The address of the records before these."""

    newer: str
    """The address of the records behind these, also of those that are still to come."""

    onwards: str
    """The one of the two that goes on in the same direction."""

    same: str
    """The address of these records, whatever is written meanwhile."""

    can_produce: bool
    """Whether who asks may produce records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A key or a value on the page of its record."""

    part: Part
    hex: str | None
    """The bytes as they are stored; None for null, and where something is hidden."""

    is_hex_cut: bool
    subject: str | None
    """A subject of the registry that has its schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRecord:
    """A record with all that is known of it."""

    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    timestamp_type: str | None
    byte_count: int | None
    key: Whole
    value: Whole
    headers: tuple[HeaderPart, ...]
    older: str
    newer: str
    can_produce: bool
    """Whether it can be produced again by who asks."""

    is_uncommitted: bool
    """Whether records of open and aborted transactions are shown."""


def load_records(ask: Ask) -> Records:
    """Return a page of records, read within seconds."""
    asked = Asked.of(ask.query)
    with opened_topic(ask) as topic:
        rows: list[Row] = []
        scan = topic.scan(asked, page_limits(asked), lambda seen, _: row(seen))
        for step in scan:
            if isinstance(step, Found):
                rows.append(step.kept)
        assert isinstance(step, Ended)  # noqa: S101 - a scan has a last word, or has raised
    return _page(ask, asked, tuple(rows), step)


def _page(ask: Ask, asked: Asked, rows: tuple[Row, ...], ended: Ended) -> Records:
    """Return what a scan has found, with the addresses of what lies around it."""
    topic, direction = ask.path["topic"], direction_of(asked.place)
    positions = ended.scanned.positions
    before, behind = (
        (positions, ended.begins) if direction is Direction.OLDER else (ended.begins, positions)
    )
    older = asked.from_positions(before, Direction.OLDER).url(topic)
    newer = asked.from_positions(behind, Direction.NEWER).url(topic)
    same = replace(asked, size=str(max(1, len(rows)))).from_positions(ended.begins, direction)
    return Records(
        topic=topic,
        asked=asked,
        rows=rows,
        direction=direction,
        is_search=not asked.wanted.is_everything,
        searched=_searched(ended),
        older=older,
        newer=newer,
        onwards=older if direction is Direction.OLDER else newer,
        same=same.url(topic),
        can_produce=ask.user.role >= Role.OPERATOR,
    )


def _searched(ended: Ended) -> Searched:
    """Return how far a scan went."""
    scanned = ended.scanned
    return Searched(
        records=scanned.records,
        byte_count=scanned.byte_count,
        seconds=round(scanned.seconds, 3),
        moment=scanned.moment,
        ending=ended.ending,
        is_complete=ended.ending is Ending.NOTHING_LEFT,
        partitions=tuple(sorted(scanned.positions)),
        left_out=ended.left_out,
        positions=dict(scanned.positions),
    )


def load_record(ask: Ask) -> OneRecord:
    """Return one record."""
    partition, offset = place_of(ask)
    asked = Asked(partition=str(partition), uncommitted=ask.query.get("uncommitted", ""))
    with opened_topic(ask) as topic:
        record = topic.record(partition, offset, asked.isolation)
        seen = topic.seen(record)
        is_masked = seen.key.is_masked or seen.value.is_masked or seen.byte_count is None
        return OneRecord(
            topic=topic.name,
            partition=partition,
            offset=offset,
            timestamp=seen.timestamp,
            timestamp_type=seen.timestamp_type,
            byte_count=seen.byte_count,
            key=_whole(topic, seen.key, "key"),
            value=_whole(topic, seen.value, "value"),
            headers=headers(seen, _HEADER_CHARACTERS),
            older=asked.from_positions({partition: offset}, Direction.OLDER).url(topic.name),
            newer=asked.from_positions({partition: offset + 1}, Direction.NEWER).url(topic.name),
            can_produce=ask.user.role >= Role.OPERATOR and not is_masked,
            is_uncommitted=asked.isolation is Isolation.READ_UNCOMMITTED,
        )


def place_of(ask: Ask) -> tuple[int, int]:
    """Return the partition and the offset that the path names.

    Raises:
        NotFoundError: it names none.
    """
    try:
        return int(ask.path["partition"]), int(ask.path["offset"])
    except ValueError:
        raise NotFoundError(ask.url) from None


def _whole(topic: Topic, seen: Seen, side: str) -> Whole:
    lines, is_cut = (None, False) if seen.raw is None else hex_lines(seen.raw, _HEX_BYTES)
    return Whole(
        part=part(seen, _TEXT_CHARACTERS, is_pretty=True),
        hex=lines,
        is_hex_cut=is_cut,
        subject=_subject(topic, seen.schema_id, side),
    )


def _subject(topic: Topic, schema_id: int | None, side: str) -> str | None:
    """Return the subject to show for a schema id: the topic's own, if it is one of them."""
    if schema_id is None or topic.registry is None:
        return None
    try:
        subjects = topic.registry.subjects_of_id(schema_id)
    except PenstockError:
        return None  # the record is what is shown; its schema is not reachable now
    own = f"{topic.name}-{side}"
    return own if own in subjects else next(iter(subjects), None)


def _records_command(_ask: Ask, model: Records) -> str:
    """Return the command that shows the same; empty where there is none.

    `penstock consume` knows neither keys nor headers, reads onwards, and begins at an offset in one
    partition only. The newest records it knows before they are filtered.
    """
    asked = model.asked
    begin = None if asked.key or asked.header else _begin(model)
    if begin is None:
        return ""
    words = ["penstock", "consume", model.topic, *begin]
    if asked.text:
        words += ["--grep", asked.text]
    if asked.where:
        words += ["--where", asked.where]
    if asked.uncommitted:
        words += ["--isolation", "read_uncommitted"]
    chosen = next((item.value.registry_format for item in model.rows if item.value.schema_id), None)
    words += ["--value-format", chosen] if chosen else []
    return shlex.join([*words, "--details"])


def _begin(model: Records) -> list[str] | None:
    """Return where `penstock consume` has to begin and how much to read; None: it cannot."""
    asked, place = model.asked, model.asked.place
    words = [word for number in asked.partitions for word in ("--partition", str(number))]
    limit = ["--limit", str(asked.count)]
    match place:
        case Newest():
            return None if model.is_search else [*words, "--last", str(asked.count)]
        case Oldest():
            return [*words, "--from", "beginning", *limit]
        case Since():
            return [*words, "--from", asked.time.strip().removesuffix(" ago"), *limit]
        case AtOffset() | Continued():
            return _begin_at_offset(model, place)
        case _:
            assert_never(place)


def _begin_at_offset(model: Records, place: AtOffset | Continued) -> list[str] | None:
    if len(model.searched.partitions) != 1:
        return None
    (partition,), limit = model.searched.partitions, model.asked.count
    if isinstance(place, AtOffset):
        first: int | None = place.offset
    elif place.direction is Direction.NEWER:
        first = place.positions.get(partition)
    else:
        # The same records in the other order, unless some between them were left out.
        offsets = [] if model.is_search else [row.offset for row in model.rows]
        first, limit = min(offsets, default=None), len(offsets)
    if first is None:
        return None
    begin = ["--partition", str(partition), "--from", f"offset:{first}"]
    return [*begin, "--limit", str(limit)]


def _record_command(_ask: Ask, model: OneRecord) -> str:
    words = ["penstock", "consume", model.topic, "--partition", str(model.partition)]
    words += ["--from", f"offset:{model.offset}", "--limit", "1", "--json"]
    if model.is_uncommitted:
        words += ["--isolation", "read_uncommitted"]
    if model.key.part.registry_format:
        words += ["--key-format", model.key.part.registry_format]
    if model.value.part.registry_format:
        words += ["--value-format", model.value.part.registry_format]
    return shlex.join(words)


RECORDS = Page(
    path="/topics/{topic}/records",
    name="show_records",
    summary="Some records of a topic: the newest, or from a time or an offset on; filtered.",
    template="records/records.html",
    model=Records,
    load=load_records,
    title=lambda model: f"Records of {model.topic}",
    command=_records_command,
    parameters=PARAMETERS,
    menu="Topics",
)

RECORD = Page(
    path="/topics/{topic}/records/{partition}/{offset}",
    name="show_record",
    summary="One record: headers, key and value decoded, and as they are stored.",
    template="records/record.html",
    model=OneRecord,
    load=load_record,
    title=lambda model: f"Record {model.offset} of {model.topic}, partition {model.partition}",
    command=_record_command,
    parameters=(UNCOMMITTED,),
    menu="Topics",
)
