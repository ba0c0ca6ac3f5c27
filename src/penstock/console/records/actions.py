"""Producing one record: entered in a form, or as another one was."""

from __future__ import annotations

import base64
import json
import shlex
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pydantic import Field

from penstock.console.access.roles import Role
from penstock.console.frame import Action, Question, Table
from penstock.console.frame.actions import Form
from penstock.console.records.asked import Asked
from penstock.console.records.browsing import opened_topic
from penstock.console.records.errors import HiddenRecordError, OwnTopicError, UnproducibleError
from penstock.console.records.pages import place_of
from penstock.kafka import (
    Admin,
    Header,
    OutgoingRecord,
    Producer,
    outgoing_record,
    partitions_to_read,
)
from penstock.kafka.formats import Place, RegistryFormat, Side, encoder, parse_json
from penstock.kafka.records import outgoing_as_json
from penstock.settings import DEFAULT_SCHEMAS_TOPIC

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.console.records.browsing import Topic

_DELIVERY_SECONDS = 10.0
# What a browser lets people edit without becoming slow.
_MOST_CHARACTERS = 1_000_000

_OWN = ("_penstock.", "__")

KeyFormat = Literal["text", "JSON", "registry schema", "base64", "empty"]
ValueFormat = Literal["text", "JSON", "registry schema", "base64", "null"]


class ProduceForm(Form):
    """A record to produce."""

    key: str = Field("", description="Empty: the record has no key.")
    key_format: KeyFormat = Field("text", title="The key is")
    value: str = Field("", json_schema_extra={"long": True})
    value_format: ValueFormat = Field(
        "text",
        title="The value is",
        description="With `registry schema`: JSON, checked against the topic's latest version.",
    )
    headers: str = Field(
        "",
        description="One in a line: `name=text`, `name:=base64`, or `name` alone for null.",
        json_schema_extra={"long": True},
    )
    partition: int | None = Field(
        None, ge=0, description="Empty: the one that Java's client chooses for the key."
    )


def record_of(topic: Topic, form: ProduceForm) -> OutgoingRecord:
    """Return the record that was entered.

    Raises:
        OwnTopicError: nobody should write there by hand.
        UnproducibleError, UnfitRecordError: it cannot become one.
        UnknownTopicError, UnknownPartitionError: it would have no place.
        PenstockError: the registry or the cluster does not answer.
    """
    if topic.name.startswith(_OWN) or topic.name == DEFAULT_SCHEMAS_TOPIC:
        raise OwnTopicError(topic.name)
    with Admin(topic.ask.world.connection) as admin:
        numbers = [] if form.partition is None else [form.partition]
        partitions_to_read(admin, [topic.name], numbers)
    return outgoing_record(
        topic.name,
        _value(topic, form),
        key=_key(topic, form),
        headers=_headers(form.headers),
        partition=form.partition,
    )


def _key(topic: Topic, form: ProduceForm) -> bytes | None:
    if form.key_format == "empty":
        _require_nothing(Side.KEY, form.key, "empty")
        return b""
    return _content(topic, Side.KEY, form.key_format, form.key) if form.key else None


def _value(topic: Topic, form: ProduceForm) -> bytes | None:
    if form.value_format == "null":
        _require_nothing(Side.VALUE, form.value, "null")
        return None
    # Browsers send line breaks their own way.
    return _content(topic, Side.VALUE, form.value_format, form.value.replace("\r\n", "\n"))


def _require_nothing(side: Side, text: str, kind: str) -> None:
    if text:
        raise UnproducibleError(
            side=side,
            reason=f"is to be {kind}, and has text",
            hint="choose another format, or clear it",
        )


def _content(topic: Topic, side: Side, kind: str, text: str) -> bytes | None:
    if kind == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except ValueError as err:
            raise UnproducibleError(side=side, reason="is not base64", hint=str(err)) from err
    if kind == "text":
        return text.encode("utf-8", "surrogatepass")
    try:
        document = parse_json(text)
    except (ValueError, RecursionError) as err:
        hint = "correct it; text needs double quotes in JSON, and none as `text`"
        raise UnproducibleError(side=side, reason=f"is not JSON: {err}", hint=hint) from err
    return text.encode() if kind == "JSON" else _encoded(topic, side, document)


def _encoded(topic: Topic, side: Side, document: object) -> bytes | None:
    from penstock.registry.client import NotRegisteredError

    place = Place(topic=topic.name, side=side)
    if topic.registry is None:
        hint = "`registry.url` in penstock.toml says where one is"
        raise UnproducibleError(
            side=side, reason="needs a schema, and there is no registry", hint=hint
        )
    try:
        writer = topic.registry.version(place.subject)
    except NotRegisteredError as err:
        hint = f"`penstock schemas register {place.subject} FILE` registers one"
        reason = f"needs a schema, and subject `{place.subject}` has none"
        raise UnproducibleError(side=side, reason=reason, hint=hint) from err
    chosen = next(item for item in RegistryFormat if item.schema_type is writer.type)
    return encoder(chosen, topic.registry, place, writer).encode(document)


def _headers(text: str) -> list[Header]:
    return [_header(line) for line in text.splitlines() if line.strip()]


def _header(line: str) -> Header:
    name, separator, value = line.partition("=")
    is_base64 = separator and name.endswith(":")
    name = name.removesuffix(":") if is_base64 else name
    if not name:
        hint = "write `name=value`, one in a line"
        raise UnproducibleError(side="headers", reason=f"have `{line}`, without a name", hint=hint)
    if not separator:
        return Header(name, None)
    if not is_base64:
        return Header(name, value.encode("utf-8", "surrogatepass"))
    try:
        return Header(name, base64.b64decode(value, validate=True))
    except ValueError as err:
        raise UnproducibleError(
            side="headers", reason=f"have `{name}`, which is not base64", hint=str(err)
        ) from err


def _question(ask: Ask, form: ProduceForm) -> Question:
    with opened_topic(ask) as topic:
        record = record_of(topic, form)
    return Question(
        sentence=f"Produce this record to `{topic.name}`: nothing takes it back.",
        button="Produce",
        preview=Table(
            head=("Part", "What is sent"),
            rows=(
                ("key", _size(record.key)),
                ("value", _size(record.value)),
                ("headers", ", ".join(header.name for header in record.headers) or "none"),
                (
                    "partition",
                    "the key's" if form.partition is None else str(form.partition),
                ),
            ),
        ),
    )


def _size(data: bytes | None) -> str:
    return "null" if data is None else f"{len(data):,} bytes"


def _perform(ask: Ask, form: ProduceForm) -> str:
    with opened_topic(ask) as topic:
        record = record_of(topic, form)
    with Producer(ask.world.connection, delivery_timeout_seconds=_DELIVERY_SECONDS) as producer:
        delivery = producer.send_record_and_wait(record)
    ask.world.hasten("topics", "groups")
    return f"produced to partition {delivery.partition} of `{topic.name}`, offset {delivery.offset}"


def _command(ask: Ask, form: ProduceForm) -> str:
    with opened_topic(ask) as topic:
        record = record_of(topic, form)
    told = {
        name: value
        for name, value in outgoing_as_json(record).items()
        if name not in ("topic", "partition", "timestamp")
    }
    line = shlex.quote(json.dumps(told, ensure_ascii=False))
    partition = "" if form.partition is None else f" --partition {form.partition}"
    return f"echo {line} | penstock produce {shlex.quote(topic.name)} --format records{partition}"


def _again(ask: Ask) -> dict[str, str]:
    """Return the inputs that make the record of the path once more.

    Raises:
        HiddenRecordError: something of it is hidden: the mask would be produced.
        UnproducibleError: it is too long for a form.
    """
    partition, offset = place_of(ask)
    asked = Asked(uncommitted=ask.query.get("uncommitted", ""))
    with opened_topic(ask) as topic:
        record = topic.record(partition, offset, asked.isolation)
        if topic.seen(record).byte_count is None:
            raise HiddenRecordError(topic.name, what="produced again")
    key, key_format = _as_input(record.key, has_lines=False)
    value, value_format = _as_input(record.value, has_lines=True)
    if record.key == b"":
        key_format = "empty"
    headers = "\n".join(_header_line(header) for header in record.headers)
    if len(key) + len(value) + len(headers) > _MOST_CHARACTERS:
        raise UnproducibleError(
            side="record",
            reason="is too long for a form",
            hint=f"`penstock consume {topic.name} --partition {partition} --from offset:{offset} "
            f"--limit 1 --json | penstock produce {topic.name} --format records`",
        )
    return {
        "key": key,
        "key_format": key_format,
        "value": value,
        "value_format": "null" if record.value is None else value_format,
        "headers": headers,
        "partition": str(partition),
    }


def _as_input(data: bytes | None, *, has_lines: bool) -> tuple[str, str]:
    """Return text that becomes the same bytes, and its format."""
    if data is None:
        return "", "text"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), "base64"
    # Inputs lose carriage returns and line breaks in front, those of one line all of them, and
    # pages the characters that nothing can show.
    shown = text.replace("\t", "")
    if has_lines and not text.startswith("\n"):
        shown = shown.replace("\n", "")
    if shown.isprintable():
        return text, "text"
    return base64.b64encode(data).decode("ascii"), "base64"


def _header_line(header: Header) -> str:
    if header.value is None:
        return header.name
    text, kind = _as_input(header.value, has_lines=False)
    if kind == "base64" or header.name.endswith(":"):
        return f"{header.name}:={base64.b64encode(header.value).decode('ascii')}"
    return f"{header.name}={text}"


def _path(ask: Ask) -> str:
    return f"/topics/{quote(ask.path['topic'], safe='')}/records"


PRODUCE = Action(
    path="/topics/{topic}/produce",
    name="produce_record",
    summary="Produce one record.",
    form=ProduceForm,
    question=_question,
    perform=_perform,
    target=lambda ask: f"topic {ask.path['topic']}",
    back=_path,
    command=_command,
    title="Produce a record",
    role=Role.OPERATOR,
    menu="Topics",
)

AGAIN = Action(
    path="/topics/{topic}/records/{partition}/{offset}/again",
    name="produce_again",
    summary="Produce a record once more, changed or not.",
    form=ProduceForm,
    question=_question,
    perform=_perform,
    target=lambda ask: f"topic {ask.path['topic']}",
    back=_path,
    command=_command,
    title="Produce a record again",
    role=Role.OPERATOR,
    menu="Topics",
    initial=_again,
)
