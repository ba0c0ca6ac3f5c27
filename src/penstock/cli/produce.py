"""`penstock produce`: options, the three ways of sending, the errors file and the summary.

What a line means is in `record_input.py`; sending itself is `penstock.kafka.Producer`.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, assert_never

import click

from penstock.cli.format_options import format_options, schema_options
from penstock.cli.options import SPAN, TIME, cluster_options, connect, json_option
from penstock.cli.produce_summary import Summary, tell
from penstock.cli.rendering import progress, show
from penstock.errors import PenstockError, UsageError
from penstock.events import StepProgressed, StepStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import timedelta

    from penstock.cli.errors_file import ErrorsFile
    from penstock.cli.record_formats import Encoders
    from penstock.cli.record_input import Line, Template
    from penstock.kafka import Connection, DeliveryReport, OutgoingRecord, Producer

# A run that takes longer shows how far it is, at most so often.
_PROGRESS_AFTER_SECONDS = 2.0
_PROGRESS_EVERY_SECONDS = 0.25
# Shorter pauses than this cost more than they regulate.
_SHORTEST_PAUSE_SECONDS = 0.002


class Sending(StrEnum):
    """The three ways of sending."""

    FIRE = "fire"
    SYNC = "sync"
    ASYNC = "async"


class ProduceOptionsError(UsageError):
    """Options of `penstock produce` that do not go together."""

    code = "PEN-941"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(reason, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the options ask for, after they were checked against each other."""

    template: Template
    files: tuple[Path, ...]
    sending: Sending
    acks: str
    compression: str
    linger: timedelta | None
    rate: float | None
    errors_file: Path
    errors_file_is_named: bool


class _Header(click.ParamType["tuple[str, str]"]):
    """A header, written `name=value`."""

    name = "header"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return name and value."""
        name, separator, content = str(value).partition("=")
        if not name or not separator:
            self.fail(f"{value!r} is not a header; write name=value", param, ctx)
        return name, content


@click.command()
@click.argument("topic")
@click.argument(
    "files",
    nargs=-1,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    metavar="[FILE]...",
)
@click.option(
    "--format",
    "input_format",
    type=click.Choice(["lines", "json", "records"]),
    default="lines",
    show_default=True,
    help="lines: each line is a value. json: each line must be JSON, and is the value. "
    "records: what `penstock consume --json` writes, with key, headers and timestamp.",
)
@click.option(
    "--key-separator", metavar="TEXT", help="With lines: what stands between key and value."
)
@click.option(
    "--key-pointer", metavar="POINTER", help="With json: where the key is, such as /user/id."
)
@click.option("--null-value", metavar="TEXT", help="A value that is sent as null, a tombstone.")
@click.option(
    "--header",
    "headers",
    type=_Header(),
    multiple=True,
    metavar="NAME=VALUE",
    help="A header for every record; may be repeated.",
)
@click.option(
    "--partition",
    type=click.IntRange(min=0),
    metavar="P",
    help="Instead of the one that the key leads to.",
)
@click.option(
    "--timestamp",
    type=TIME,
    metavar="TIME",
    help="Of every record: 2026-05-01T12:00:00Z, epoch milliseconds or 6h. Default: now.",
)
@click.option(
    "--acks",
    type=click.Choice(["0", "1", "all"]),
    default="all",
    show_default=True,
    help="Who must have a record. With 0 and 1 records may get lost, repeated or reordered.",
)
@click.option(
    "--sending",
    type=click.Choice([sending.value for sending in Sending]),
    default=Sending.ASYNC.value,
    show_default=True,
    help="async: a delivery report for each. sync: wait for each before the next. "
    "fire: failures are counted, not kept.",
)
@click.option(
    "--compression",
    type=click.Choice(["none", "gzip", "snappy", "lz4", "zstd"]),
    default="lz4",
    show_default=True,
)
@click.option(
    "--linger", type=SPAN, metavar="SPAN", help="How long a batch waits for more. Default: 5ms."
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Records per second."
)
@click.option(
    "--errors-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where failed records and wrong lines go. Default: TOPIC.errors.jsonl.",
)
@format_options
@schema_options
@json_option
@cluster_options
def produce(bootstrap: str | None, profile: str | None, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click hands over each option by its own type
    """Send records to a topic: the lines of files, or of stdin.

    The same key goes to the same partition as with Java's client. Nothing is sent twice or out of
    order by retries. Records that fail, and lines that are wrong, are put aside in the errors file
    with their reason, and the exit status is 1; the others are sent. With --value-format or
    --key-format, JSON is checked against a schema of the registry and written in that format.

    \b
    Examples:
      seq 1 1000 | penstock produce orders
      penstock produce orders orders.jsonl --format json --key-pointer /customer/id
      echo 'ann|{"age": 41}' | penstock produce users --key-separator '|' --header source=shell
      penstock consume orders --json | penstock produce copy --format records
      penstock produce users users.jsonl --value-format avro --value-schema user.avsc
    """
    from penstock.cli.record_formats import opened_encoders

    request = _request(options)
    connection = connect(bootstrap, profile)
    _require_topic(connection, request.template)
    with opened_encoders(request.template.topic, options, profile) as encoders:
        summary = _run(connection, request, encoders)
    show(summary.as_json(), lambda: None, as_json=as_json)
    tell(summary)
    if summary.interrupted:
        click.get_current_context().exit(130)
    if summary.failed or summary.wrong_lines:
        click.get_current_context().exit(1)


def _request(options: dict[str, Any]) -> Request:
    """Check the options against each other; nothing has been tried yet."""
    from penstock.cli.record_input import InputFormat, Template
    from penstock.kafka import Header

    input_format = InputFormat(options["input_format"])
    _refuse_contradictions(input_format, options)
    separator, null = options["key_separator"], options["null_value"]
    return Request(
        template=Template(
            topic=options["topic"],
            input_format=input_format,
            key_separator=separator.encode() if separator else None,
            key_pointer=_pointer(options["key_pointer"]),
            null_value=None if null is None else null.encode(),
            headers=tuple(Header(name, text.encode()) for name, text in options["headers"]),
            partition=options["partition"],
            timestamp=options["timestamp"],
        ),
        files=options["files"],
        sending=Sending(options["sending"]),
        acks=options["acks"],
        compression=options["compression"],
        linger=options["linger"],
        rate=options["rate"],
        errors_file=_errors_path(options["topic"], options["errors_file"], options["files"]),
        errors_file_is_named=options["errors_file"] is not None,
    )


def _refuse_contradictions(input_format: str, options: dict[str, Any]) -> None:
    for option, key, needed in (
        ("--key-separator", "key_separator", "lines"),
        ("--key-pointer", "key_pointer", "json"),
    ):
        if options[key] is not None and input_format != needed:
            raise ProduceOptionsError(
                reason=f"`{option}` goes with `--format {needed}`, not `{input_format}`",
                hint=f"leave it out, or add `--format {needed}`",
            )
    if options["key_separator"] == "":
        raise ProduceOptionsError(
            reason="`--key-separator` is empty", hint="write a text, such as `--key-separator '|'`"
        )


def _pointer(text: str | None) -> tuple[str, ...] | None:
    from penstock.kafka import parse_pointer

    if text is None:
        return None
    pointer = parse_pointer(text)
    if pointer is None:
        raise ProduceOptionsError(
            reason=f"`{text}` is not a JSON pointer, which begins with `/`",
            hint=f"write `--key-pointer /{text.replace('.', '/')}`",
        )
    return pointer


def _errors_path(topic: str, chosen: Path | None, files: Sequence[Path]) -> Path:
    """Return where failed records go: never into a file that is being read."""
    inputs = {path.resolve() for path in files}
    if chosen is not None:
        if chosen.resolve() in inputs:
            raise ProduceOptionsError(
                reason=f"`{chosen}` is read, and cannot take the errors as well",
                hint="name another file with `--errors-file`",
            )
        return chosen
    names = (f"{topic}.errors{suffix}.jsonl" for suffix in ("", *(f"-{n}" for n in range(2, 100))))
    return next(Path(name) for name in names if Path(name).resolve() not in inputs)


def _require_topic(connection: Connection, template: Template) -> None:
    """Look before reading: a wrong name costs no input."""
    from penstock.kafka import Admin, UnknownPartitionError

    with Admin(connection) as admin:
        topics = admin.metadata().topics
        if template.topic not in topics:
            raise admin.absence(template.topic, f"write to `{template.topic}`", known=topics)
    count = len(topics[template.topic].partitions)
    if template.partition is not None and template.partition >= count:
        raise UnknownPartitionError(template.topic, template.partition, partition_count=count)


def _run(connection: Connection, request: Request, encoders: Encoders) -> Summary:
    from penstock.cli.errors_file import ErrorsFile
    from penstock.cli.record_input import lines_of

    if not request.files and sys.stdin.isatty():
        click.echo("type records, one per line; Ctrl-D ends", err=True)
    errors = ErrorsFile(request.errors_file, named=request.errors_file_is_named)
    started = time.monotonic()
    run = _Run(_opened(connection, request), request, errors, encoders)
    interrupted = False
    try:
        with _ticker(request, run.producer) as tick:
            for line in lines_of(request.files):
                run.send(line)
                tick()
            run.wait(tick)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        run.finish(interrupted=interrupted)
    return Summary(
        topic=request.template.topic,
        metrics=run.producer.metrics(),
        failed=run.failed,
        wrong_lines=errors.line_count,
        first_reason=run.first_reason,
        seconds=time.monotonic() - started,
        errors_file=errors.path if errors.first else None,
        interrupted=interrupted,
    )


def _tell_waiting(count: int) -> None:
    if not count:
        return
    # The terminal has written `^C` at the start of the line.
    line_break = "\n" if sys.stderr.isatty() else ""
    records = "1 record" if count == 1 else f"{count:,} records"
    click.echo(
        f"{line_break}stopping: waiting for {records} to be acknowledged; Ctrl-C again gives up",
        err=True,
    )


def _opened(connection: Connection, request: Request) -> Producer:
    from penstock.kafka import Acks, Compression, Producer

    # Waiting for each record, a batch has nothing to wait for.
    default = 0.0 if request.sending is Sending.SYNC else 0.005
    return Producer(
        connection,
        acks=Acks(request.acks),
        compression=Compression(request.compression),
        linger_seconds=default if request.linger is None else request.linger.total_seconds(),
        # The client gives up on a record sooner, which makes room: input is held back, not lost.
        block_seconds=3600.0,
    )


class _Run:
    """Turns lines into records, sends them as asked, and puts aside what fails."""

    def __init__(
        self, producer: Producer, request: Request, errors: ErrorsFile, encoders: Encoders
    ) -> None:
        self.producer = producer
        self._encoders = encoders
        self._taken = self._accepted = 0
        self._request = request
        self._errors = errors
        self._unkept_reason: str | None = None
        self._started = time.monotonic()

    @property
    def failed(self) -> int:
        """The records that were not delivered."""
        unkept = self._request.sending is Sending.FIRE
        return self._errors.record_count + (self.producer.metrics().failed if unkept else 0)

    @property
    def first_reason(self) -> str | None:
        """Why the first line or record did not arrive."""
        return self._errors.first.message if self._errors.first else self._unkept_reason

    def send(self, line: Line) -> None:
        """Send what `line` describes."""
        from penstock.cli.record_input import InvalidInputError, record_of
        from penstock.kafka import DeliveryError
        from penstock.kafka.formats import UnfitRecordError

        try:
            record = record_of(line.data, self._request.template, self._encoders)
        except (InvalidInputError, UnfitRecordError) as err:
            self._errors.put_line(line, err)
            return
        if record is None:
            return
        self._pace()
        self._taken += 1
        accepted_before = self._accepted
        try:
            self._hand_over(record)
        except DeliveryError as err:
            self._errors.put_record(record, err)
        except KeyboardInterrupt:
            self._keep_unless_accepted(record, accepted_before)
            raise

    def wait(self, tick: Callable[[], None]) -> None:
        """Wait until the fate of every record is known, and show how far it is."""
        from penstock.kafka import DeliveriesFailedError, UndeliveredError

        while True:
            try:
                return self.producer.flush(_PROGRESS_EVERY_SECONDS)
            except UndeliveredError:
                tick()
            except DeliveriesFailedError as err:
                self._unkept_reason = err.first.message
                return None

    def finish(self, *, interrupted: bool) -> None:
        """Wait for what is still on its way; Ctrl-C gives it up, which makes it fail."""
        from penstock.kafka import DeliveriesFailedError, UndeliveredError

        try:
            if interrupted:
                _tell_waiting(self.producer.metrics().in_flight)
            self.producer.close()
        except DeliveriesFailedError as err:
            self._unkept_reason = err.first.message
        except KeyboardInterrupt:
            self._unkept_reason = "it was given up before it was acknowledged"
            # Nothing is left to do unless Ctrl-C came before `close` began.
            with suppress(DeliveriesFailedError, UndeliveredError):
                self.producer.close(timeout_seconds=0)
        finally:
            self._errors.close()

    def _hand_over(self, record: OutgoingRecord) -> None:
        settled: SimpleQueue[None] | None = None
        match self._request.sending:
            case Sending.FIRE:
                self.producer.send_record(record)
            case Sending.SYNC:
                settled = SimpleQueue()
                self.producer.send_record(record, on_delivery=partial(self._note, record, settled))
            case Sending.ASYNC:
                self.producer.send_record(record, on_delivery=partial(self._note, record, None))
            case _:
                assert_never(self._request.sending)
        self._accepted += 1
        if settled is not None:
            settled.get()  # unlike an event's `wait`, Ctrl-C cannot leave it locked

    def _keep_unless_accepted(self, record: OutgoingRecord, accepted_before: int) -> None:
        """Put aside a record that was waiting for room in the buffer when Ctrl-C came."""
        from penstock.kafka import RetriableDeliveryError

        if self.producer.metrics().sent == accepted_before:
            reason, hint = "it was stopped before there was room for it", "send it again"
            error = RetriableDeliveryError(record.topic, reason=reason, hint=hint)
            self._errors.put_record(record, error)

    def _note(
        self, record: OutgoingRecord, settled: SimpleQueue[None] | None, report: DeliveryReport
    ) -> None:
        try:
            if isinstance(report, PenstockError):
                self._errors.put_record(record, report)
        finally:
            if settled is not None:
                settled.put(None)

    def _pace(self) -> None:
        if self._request.rate is None:
            return
        pause = self._started + self._taken / self._request.rate - time.monotonic()
        if pause > _SHORTEST_PAUSE_SECONDS:
            time.sleep(pause)


@contextmanager
def _ticker(request: Request, producer: Producer) -> Iterator[Callable[[], None]]:
    """Yield a function that shows how many records were delivered, once it takes long."""
    if not request.files and sys.stdin.isatty():
        yield lambda: None
        return
    step = f"sending to {request.template.topic}"
    next_at = time.monotonic() + _PROGRESS_AFTER_SECONDS
    with progress() as emit:

        def tick() -> None:
            nonlocal next_at
            now = time.monotonic()
            if now < next_at:
                return
            if next_at == first_at:
                emit(StepStarted(step=step))
            next_at = now + _PROGRESS_EVERY_SECONDS
            emit(StepProgressed(step=step, done=producer.metrics().delivered))

        first_at = next_at
        yield tick
