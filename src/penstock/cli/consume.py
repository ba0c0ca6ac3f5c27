"""`penstock consume`: options, what they mean together, and the reading itself.

How records are written is in `record_output.py`; where reading begins is worked out in
`penstock.kafka.excerpts`.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.format_options import format_options
from penstock.cli.options import PLACE, SPAN, cluster_options, connect, json_option
from penstock.errors import UsageError
from penstock.names import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import timedelta

    from penstock.cli.record_formats import DecodedRecord, RecordDecoder
    from penstock.cli.record_output import RecordWriter
    from penstock.kafka import Connection, Consumer, Filter, Record, StartingPoint

_OPTION_KEYS = {
    "--last": "last",
    "--from": "start",
    "--group": "group",
    "--partition": "partitions",
    "--json": "as_json",
    "--show": "show",
    "--details": "details",
}
_CONTRADICTIONS = [
    ("--last", "--from"),
    ("--group", "--last"),
    ("--group", "--partition"),
    ("--json", "--show"),
    ("--json", "--details"),
    ("--details", "--show"),
]
# When scanning takes longer than this without anything to print, a line says how far it is.
_PROGRESS_AFTER_SECONDS = 2.0


class ConsumeOptionsError(UsageError):
    """Options of `penstock consume` that do not go together."""

    code = "PEN-950"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(reason, hint=hint)


class InvalidPatternError(UsageError):
    """A pattern for topics that is not a regular expression."""

    code = "PEN-951"

    def __init__(self, pattern: str, *, reason: str) -> None:
        super().__init__(
            f"`{pattern}` is not a regular expression: {reason}",
            hint="`orders-.*` matches every topic that begins with `orders-`",
        )


class End(StrEnum):
    """Why reading ended, as the summary says it."""

    LIMIT = "limit reached"
    END = "end reached"
    IDLE = "nothing more came in time"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the options ask for, after they were checked against each other."""

    topics: tuple[str, ...] | re.Pattern[str]
    start: StartingPoint
    partitions: tuple[int, ...]
    last: int | None
    group: str | None
    follow: bool
    limit: int | None
    timeout: timedelta | None
    isolation: str
    filters: tuple[Filter, ...]

    @property
    def is_subscription(self) -> bool:
        """Whether topics and partitions that are added while reading are to be read as well."""
        from penstock.kafka import FromBeginning, FromEnd

        whole = not self.partitions and self.last is None
        follows = self.follow and isinstance(self.start, FromBeginning | FromEnd)
        return self.group is not None or (whole and follows)


class _Columns(click.ParamType["tuple[str, ...]"]):
    """A list of columns, separated by commas."""

    name = "columns"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names of the columns."""
        from penstock.cli.record_output import Column

        names = tuple(name.strip() for name in str(value).split(","))
        for name in names:
            if name not in list(Column):
                close = nearest(name, Column)
                advice = f"did you mean {close}?" if close else f"known are {', '.join(Column)}"
                self.fail(f"{name!r} is not a column; {advice}", param, ctx)
        return names


@click.command()
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@click.option(
    "--regex", metavar="PATTERN", help="Instead of names: topics whose whole name matches."
)
@click.option(
    "--from",
    "start",
    type=PLACE,
    metavar="WHERE",
    help="beginning, end, offset:N, or a time such as 6h or 2026-05-01T12:00:00Z. "
    "Default: end with --follow, else beginning.",
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    help="The newest N records of all partitions together, in the order of time.",
)
@click.option(
    "--partition",
    "partitions",
    type=int,
    multiple=True,
    metavar="P",
    help="Only this one; may be repeated.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="Join this consumer group: read on at its committed offsets, and commit.",
)
@click.option("--follow", "-f", is_flag=True, help="Go on when the end is reached, until Ctrl-C.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N records.")
@click.option("--timeout", type=SPAN, metavar="SPAN", help="Stop when nothing came for that long.")
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    default="read_committed",
    show_default=True,
    help="Whether open and aborted transactions are read.",
)
@click.option("--grep", metavar="TEXT", help="Only records whose value contains this text.")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only records whose JSON value fulfills it: '/user/age >= 18', or '$.user.age >= 18'. "
    "May be repeated.",
)
@click.option(
    "--show",
    type=_Columns(),
    metavar="COLUMNS",
    help="Columns before the value, such as key,offset: any of topic, partition, offset, "
    "timestamp, key, headers. Tabs separate them.",
)
@click.option("--details", is_flag=True, help="All columns.")
@format_options
@json_option
@cluster_options
def consume(bootstrap: str | None, profile: str | None, **options: Any) -> None:  # noqa: ANN401 - click hands over each option by its own type
    """Read records from topics, one per line: the value, or what you ask for.

    Without --follow it reads up to the end that the topics have now. Without --group it reads on
    its own and commits nothing. A null value is written as null; --json tells it from the text,
    and its lines go back byte for byte with `penstock produce --format records`. With
    --value-format or --key-format, records are decoded to JSON, and those that cannot be are shown
    with the reason. Ctrl-C ends cleanly, commits for the group, and is no failure.

    \b
    Examples:
      penstock consume orders --from beginning --limit 5
      penstock consume orders --last 10 --details
      penstock consume orders --follow --group audit
      penstock consume --regex 'orders-.*' --from 6h --where '/amount > 100' --json
      penstock consume users --value-format avro --last 3
    """
    from penstock.cli.record_formats import opened_decoder

    request = _request(options)
    writer = _writer(options, flush_each=request.follow or request.group is not None)
    tally = _Tally()
    try:
        with opened_decoder(options, profile) as decoder:
            end = _read(connect(bootstrap, profile), request, decoder, writer.write, tally)
        writer.flush()
    finally:
        tally.clear_progress()
    if end is End.STOPPED and sys.stderr.isatty():
        click.echo(err=True)  # the terminal has written `^C` at the start of the line
    click.echo(tally.summary(request, end), err=True)


def _request(options: dict[str, Any]) -> Request:
    """Check the options against each other; nothing has been tried yet."""
    from penstock.kafka import ContainsText, FromBeginning, FromEnd, parse_condition

    _refuse_contradictions(options)
    default = FromEnd() if options["follow"] and options["last"] is None else FromBeginning()
    texts = [] if options["grep"] is None else [ContainsText(options["grep"].encode())]
    return Request(
        topics=_pattern(options["regex"]) if options["regex"] else options["topics"],
        start=options["start"] or default,
        partitions=options["partitions"],
        last=options["last"],
        group=options["group"],
        follow=options["follow"],
        limit=options["limit"],
        timeout=options["timeout"],
        isolation=options["isolation"],
        filters=(*texts, *(parse_condition(text) for text in options["where"])),
    )


def _refuse_contradictions(options: dict[str, Any]) -> None:
    from penstock.kafka import FromOffset, FromTime

    if bool(options["topics"]) == bool(options["regex"]):
        raise ConsumeOptionsError(
            reason="name topics or a pattern" + (", not both" if options["topics"] else ""),
            hint="`penstock consume orders`, or `penstock consume --regex 'orders-.*'`",
        )
    for one, other in _CONTRADICTIONS:
        if options[_OPTION_KEYS[one]] and options[_OPTION_KEYS[other]]:
            raise ConsumeOptionsError(
                reason=f"`{one}` and `{other}` do not go together", hint=f"leave out `{other}`"
            )
    if options["group"] and isinstance(options["start"], FromOffset | FromTime):
        raise ConsumeOptionsError(
            reason="a group reads on at its committed offsets; `--from` with an offset or a time "
            "would not move it",
            hint=f"`penstock groups reset {options['group']}` moves it",
        )


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as err:
        raise InvalidPatternError(text, reason=str(err)) from None


def _writer(options: dict[str, Any], *, flush_each: bool) -> RecordWriter:
    from penstock.cli.record_output import Column, RecordWriter, as_json_line, as_line

    if options["as_json"]:
        return RecordWriter(as_json_line, flush_each=flush_each)
    shown = list(Column) if options["details"] else [Column(name) for name in options["show"] or ()]
    return RecordWriter(partial(as_line, shown), flush_each=flush_each)


def _read(
    connection: Connection,
    request: Request,
    decoder: RecordDecoder | None,
    write: Callable[[Record], None],
    tally: _Tally,
) -> End:
    """Hand the records that were asked for to `write`, and return why it ended."""
    from penstock.kafka import stopping_on_signals

    with (
        _opened(connection, request) as (consumer, records),
        _Stopper(consumer, request.timeout) as stopper,
        stopping_on_signals(stopper),
    ):
        for stored in records:
            stopper.postpone()
            tally.scanned += 1
            record = stored if decoder is None else tally.counted(decoder.decoded(stored))
            if all(item.matches(record) for item in request.filters):
                tally.clear_progress()
                write(record)
                tally.matched += 1
            elif not request.follow:
                tally.show_progress()
            if tally.matched == request.limit:
                return End.LIMIT
    return stopper.reason or End.END


@contextmanager
def _opened(
    connection: Connection, request: Request
) -> Iterator[tuple[Consumer, Iterable[Record]]]:
    """Yield a consumer at the starting point, and the records to take from it."""
    from penstock.kafka import (
        Admin,
        Consumer,
        FromEnd,
        FromOffset,
        Isolation,
        Start,
        last_records,
        partitions_to_read,
        starting_offsets,
    )

    isolation = Isolation(request.isolation)
    with Admin(connection) as admin:
        partitions = partitions_to_read(admin, request.topics, request.partitions)
        if isinstance(request.start, FromOffset) and len(partitions) > 1:
            raise ConsumeOptionsError(
                reason=f"an offset means something in one partition, and these are "
                f"{len(partitions)}",
                hint="choose one with `--partition`",
            )
        if request.is_subscription:
            start = Start.LATEST if isinstance(request.start, FromEnd) else Start.EARLIEST
            consumer = Consumer(
                connection, request.topics, group=request.group, start=start, isolation=isolation
            )
        else:
            consumer = Consumer(connection, isolation=isolation)
        with consumer:
            if request.last is not None:
                newest = partial(last_records, consumer, admin, partitions, request.last)
                yield consumer, _newest_first(newest, consumer if request.follow else ())
                return
            if not request.is_subscription:
                offsets = starting_offsets(admin, partitions, request.start, isolation=isolation)
                consumer.assign(partitions, at=offsets)
            yield consumer, consumer if request.follow else consumer.read_to_end()


def _newest_first(
    newest: Callable[[], list[Record]], following: Iterable[Record]
) -> Iterator[Record]:
    """Yield the newest records and what follows; reads nothing before it is asked."""
    yield from newest()
    yield from following


class _Stopper:
    """Ends a consumer's reading: at a signal, or when nothing has come for a while."""

    def __init__(self, consumer: Consumer, timeout: timedelta | None) -> None:
        self.reason: End | None = None
        self._consumer = consumer
        self._seconds = None if timeout is None else timeout.total_seconds()
        self._deadline = time.monotonic() + (self._seconds or 0)
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._stop_when_idle, daemon=True)

    def __enter__(self) -> _Stopper:
        if self._seconds is not None:
            self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def postpone(self) -> None:
        """Count the time from now: a record came."""
        if self._seconds is not None:
            self._deadline = time.monotonic() + self._seconds

    def stop(self) -> None:
        """End reading because the user asked for it."""
        self._end(End.STOPPED)

    def _stop_when_idle(self) -> None:
        while (left := self._deadline - time.monotonic()) > 0:
            if self._over.wait(left):
                return
        self._end(End.IDLE)

    def _end(self, reason: End) -> None:
        self.reason = self.reason or reason
        self._consumer.stop()


class _Tally:
    """How many records were read and written, and a line about it while nothing is written."""

    def __init__(self) -> None:
        self.scanned = self.matched = self.undecodable = 0
        self._is_shown = False
        self._is_watched = sys.stderr.isatty()
        self._next_line = time.monotonic() + _PROGRESS_AFTER_SECONDS

    def counted(self, record: DecodedRecord) -> DecodedRecord:
        """Return `record`, after counting whether it could be decoded."""
        self.undecodable += record.is_undecodable
        return record

    def show_progress(self) -> None:
        """Write how far scanning is, now and then, where somebody watches."""
        if self._is_watched and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + 0.2
            self._is_shown = True
            click.echo(f"\r{self.scanned:,} records scanned …", err=True, nl=False)

    def clear_progress(self) -> None:
        """Remove the line: records or the summary take its place."""
        if self._is_watched:
            self._next_line = time.monotonic() + _PROGRESS_AFTER_SECONDS
        if self._is_shown:
            self._is_shown = False
            click.echo("\r\x1b[K", err=True, nl=False)

    def summary(self, request: Request, end: End) -> str:
        """Return what is said when all is done."""
        plural = "" if self.scanned == 1 else "s"
        if request.filters:
            counted = f"{self.matched} of {self.scanned} record{plural} match"
        else:
            counted = f"{self.scanned} record{plural}"
        committed = f", committed for group `{request.group}`" if request.group else ""
        undecodable = f", {self.undecodable} could not be decoded" if self.undecodable else ""
        return f"{counted}{undecodable}{committed}; {end}"
