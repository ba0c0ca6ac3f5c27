"""What a driver tells of its pipeline once per start: the graph, the settings, the plans of flows.

They lie beside the status in the table `_penstock.status`, under keys of their own: the status is
written every few seconds, and these are large and do not change. Plans are bounded; settings are
without secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping  # noqa: TC003 - pydantic reads the fields' types
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - as above
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from penstock.names import FlowName, PipelineName, TopicName  # noqa: TC001 - as above
from penstock.pipeline import (
    Avro,
    Bytes,
    Contract,
    Csv,
    Graph,
    Json,
    JsonSchema,
    Pipeline,
    Protobuf,
    RecordFormat,
    Text,
    Topic,
    graph_of,
    types_of,
)
from penstock.settings import ServiceLevel, Settings  # noqa: TC001 - as above

MOST_PLAN_CHARACTERS = 20_000
_MOST_VALUE_CHARACTERS = 500

_ABOUT_PREFIX, _PLAN_PREFIX = "about/", "plan/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRecord:
    """A setting that is in force, and who says so."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredContract:
    """What a pipeline says that the values, or the keys, of a topic are."""

    topic: TopicName
    side: Literal["value", "key"]
    format: str
    """As it is declared: `json` for `ps.json(…)`."""

    columns: Mapping[str, str] | None
    """With Spark's types; None where a schema elsewhere says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutRecord:
    """What does not change while a driver runs."""

    graph: Graph
    topics: Mapping[str, TopicName]
    """The topics among the datasets, by dataset."""

    settings: tuple[SettingRecord, ...]
    service_levels: tuple[ServiceLevel, ...] = ()
    """What the project promises."""

    contracts: tuple[DeclaredContract, ...] = ()
    """What it says of the records of its topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRecord:
    """What Spark does for a flow, in its own words."""

    at: datetime
    text: str


_FORMATS: Mapping[type[RecordFormat], str] = {
    Text: "text",
    Bytes: "bytes",
    Json: "json",
    Csv: "csv",
    Avro: "avro",
    JsonSchema: "json_schema",
    Protobuf: "protobuf",
}

_ABOUT, _PLAN = TypeAdapter(AboutRecord), TypeAdapter(PlanRecord)


def about(pipeline: Pipeline, settings: Settings) -> AboutRecord:
    """Return what a driver tells of the pipeline that it runs with these settings."""
    return AboutRecord(
        graph=graph_of(pipeline),
        topics={
            item.name: item.kafka_name for item in pipeline.datasets if isinstance(item, Topic)
        },
        settings=tuple(
            SettingRecord(
                key=item.key, value=str(item.value)[:_MOST_VALUE_CHARACTERS], source=item.source
            )
            for item in settings.resolved
            if item.value is not None
        ),
        service_levels=settings.pipeline.service_levels,
        contracts=tuple(
            contract
            for item in pipeline.datasets
            if isinstance(item, Topic)
            for contract in _contracts(item)
        ),
    )


def _contracts(topic: Topic) -> Iterator[DeclaredContract]:
    yield _contract(topic, "value", topic.value)
    if not isinstance(topic.key_format, Text):  # any key can be read as text
        yield _contract(topic, "key", topic.key_format)


def _contract(
    topic: Topic, side: Literal["value", "key"], format_: RecordFormat
) -> DeclaredContract:
    declared = format_.format if isinstance(format_, Contract) else format_
    return DeclaredContract(
        topic=topic.kafka_name,
        side=side,
        format=_FORMATS[type(declared)],
        columns=types_of(format_),
    )


def bounded_plan(text: str) -> str:
    """Return a plan that is not too long to be told."""
    if len(text) <= MOST_PLAN_CHARACTERS:
        return text
    return f"{text[:MOST_PLAN_CHARACTERS]}\n… ({len(text):,} characters)"


def about_key(pipeline: PipelineName, epoch: int) -> str:
    """Return the key of what a driver tells of its pipeline."""
    return f"{_ABOUT_PREFIX}{pipeline}/{epoch}"


def plan_key(pipeline: PipelineName, epoch: int, flow: FlowName) -> str:
    """Return the key of the plan of a flow."""
    return f"{_PLAN_PREFIX}{pipeline}/{epoch}/{flow}"


def told_by(key: str) -> tuple[str, int] | None:
    """Return of which pipeline and epoch a key is; None when it is none of these."""
    kind, _, rest = key.partition("/")
    parts = rest.split("/")
    if (
        f"{kind}/" not in (_ABOUT_PREFIX, _PLAN_PREFIX)
        or len(parts) < 2
        or not parts[1].isdecimal()
    ):
        return None
    return parts[0], int(parts[1])


def encode_about(record: AboutRecord) -> bytes:
    """Return it as the table keeps it."""
    return _ABOUT.dump_json(record)


def encode_plan(record: PlanRecord) -> bytes:
    """Return it as the table keeps it."""
    return _PLAN.dump_json(record)


def decode_about(value: bytes) -> AboutRecord | None:
    """Return what the table keeps; None when it is another version's and unreadable."""
    try:
        return _ABOUT.validate_json(value)
    except ValidationError:
        return None


def decode_plan(value: bytes) -> PlanRecord | None:
    """Return what the table keeps; None when it is another version's and unreadable."""
    try:
        return _PLAN.validate_json(value)
    except ValidationError:
        return None
