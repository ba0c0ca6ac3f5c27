"""Types in declarations: what only Spark can say of a schema or of a flow's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType, TimestampType

from penstock.engine.analysis_errors import FlowSettingError, WrongTypeError
from penstock.engine.flow_errors import EventTimeTypeError
from penstock.engine.named_sources import SOURCE_EVOLUTION
from penstock.engine.schemas import struct_of
from penstock.engine.user_code import spark_sentence
from penstock.pipeline import (
    Avro,
    Bytes,
    Contract,
    Csv,
    Files,
    Json,
    JsonSchema,
    Lookup,
    LookupFile,
    LookupFunction,
    Orc,
    Parquet,
    Protobuf,
    Table,
    Text,
    Topic,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from penstock.errors import PenstockError
    from penstock.pipeline import Dataset, FileFormat, Flow, RecordFormat

_STREAMING = "spark.sql.streaming."
OWNED_SETTINGS = {
    SOURCE_EVOLUTION: "checkpoints know sources by their names",
    f"{_STREAMING}offsetLog.formatVersion": "checkpoints know sources by their names",
    f"{_STREAMING}checkpointLocation": "each flow has its place under the checkpoint root",
    f"{_STREAMING}stateStore.stateSchemaCheck": "without it, other state is read as garbage",
    f"{_STREAMING}unsupportedOperationCheck": "without it, wrong results come out silently",
    f"{_STREAMING}stopActiveRunOnRestart": "a second query on a checkpoint must be an error",
}
"""What Penstock relies on, with the reason: no flow may choose otherwise."""


def type_problems(dataset: Dataset) -> Iterator[PenstockError]:
    """Return the types in the declaration of `dataset` that Spark does not have."""
    for setting, ddl in _schemas(dataset):
        try:
            columns = struct_of(ddl)
        except PySparkException as err:
            yield WrongTypeError(
                who=f"{kind_of(dataset)} `{dataset.name}`",
                setting=setting,
                reason=_lower(spark_sentence(str(err))),
                origin=dataset.origin,
            )
        else:
            if isinstance(dataset, Topic) and setting == "value":
                yield from _event_time_problems(dataset, columns)


def setting_problems(flow: Flow, session: SparkSession) -> Iterator[FlowSettingError]:
    """Set what `flow` chooses in `session`, and return what cannot be chosen for one flow."""
    for key, value in flow.conf.items():
        # Declarative flows open their sources themselves, which therefore have no names.
        is_given = flow.is_declarative and key == SOURCE_EVOLUTION
        if key in OWNED_SETTINGS and not is_given:
            yield FlowSettingError(
                flow,
                setting=key,
                reason=f"Penstock relies on it: {OWNED_SETTINGS[key]}",
                hint=f"leave out `{key}`",
            )
            continue
        try:
            session.conf.set(key, value)
        except PySparkException as err:
            yield FlowSettingError(
                flow,
                setting=key,
                reason=_lower(spark_sentence(str(err))),
                hint="what concerns the whole driver belongs under `[spark.conf]` in penstock.toml",
            )


def _schemas(dataset: Dataset) -> Iterator[tuple[str, str]]:
    match dataset:
        case Topic(value=value, key_format=key_format):
            yield from _schema("value", value)
            yield from _schema("key_format", key_format)
        case Files(value=value):
            yield from _schema("value", value)
        case Table(schema=str(schema)):
            yield "schema", schema
        case Lookup(source=LookupFile(format=format_)):
            yield from _schema("source", format_)
        case Lookup(source=LookupFunction(schema=schema)):
            yield "returns", schema
        case _:
            return


def _schema(setting: str, format_: RecordFormat | FileFormat) -> Iterator[tuple[str, str]]:
    match format_:
        case Json() | Csv() | Parquet() | Orc():
            yield setting, format_.schema
        case Contract():
            yield setting, format_.columns
        case Text() | Bytes() | Avro() | JsonSchema() | Protobuf():
            return


def _event_time_problems(topic: Topic, columns: StructType) -> Iterator[EventTimeTypeError]:
    if topic.event_time is None or topic.event_time not in columns.names:
        return
    found = columns[topic.event_time].dataType
    if not isinstance(found, TimestampType):
        yield EventTimeTypeError(
            topic.event_time, topic=topic.name, found=found.simpleString(), origin=topic.origin
        )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
