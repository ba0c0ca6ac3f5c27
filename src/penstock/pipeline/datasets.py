"""Datasets: everything with a name that a flow can read, and most of what it can write.

All of it is inert data. Who opens what is in `engine/reading.py` and `engine/writing.py`; the
functions users call are in `declaring.py`. Annotations carry the checks of each setting.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    PlainValidator,
    StrictBool,
)

from penstock.errors import Origin
from penstock.names import DatasetName, TopicName
from penstock.pipeline.formats import (
    FileFormat,
    RecordFormat,
    Text,
    checked_file_format,
    checked_record_format,
    columns_of,
)
from penstock.pipeline.registry_formats import Avro, Contract, JsonSchema, Protobuf
from penstock.pipeline.schemas import column_types
from penstock.spans import parse_span

_KAFKA_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_LIKE_THE_DATASET = TopicName("")


def _as_span(value: object) -> timedelta:
    span = parse_span(value) if isinstance(value, str) else value
    # Bare numbers are refused: nobody can tell seconds from milliseconds.
    if not isinstance(span, timedelta) or span < timedelta(0):
        reason = f"`{value}` is not a span of time such as `10 minutes`"
        raise ValueError(reason)
    return span


def _as_start(value: object) -> object:
    if not isinstance(value, str | datetime):
        reason = f"`{value!r}` is neither `earliest` nor `latest` nor an aware datetime"
        raise ValueError(reason)  # noqa: TRY004 - pydantic shows only ValueError as a problem
    return value


def _as_names(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def is_identifier(value: str) -> str:
    """Return `value` if flows and checkpoints can use it as a name."""
    if not value.isidentifier() or not value.isascii() or value.startswith("_"):
        reason = f"`{value}` is not a Python identifier of plain letters that starts with a letter"
        raise ValueError(reason)
    return value


def _is_kafka_name(value: str) -> str:
    if not _KAFKA_NAME.fullmatch(value) or value in (".", ".."):
        reason = f"`{value}` is not made of up to 249 letters, digits, `.`, `_` and `-`"
        raise ValueError(reason)
    return value


def _takes_time(value: timedelta) -> timedelta:
    if not value:
        reason = "it must be longer than no time at all"
        raise ValueError(reason)
    return value


def _checked_schema(ddl: str) -> str:
    column_types(ddl)
    return ddl


class StartAt(StrEnum):
    """Where a flow begins in a topic at its very first start; a checkpoint knows the rest."""

    EARLIEST = "earliest"
    LATEST = "latest"


Schema = Annotated[str, AfterValidator(_checked_schema)]
"""Columns in Spark's DDL, such as `host string, seen timestamp`."""

Span = Annotated[timedelta, BeforeValidator(_as_span)]
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_as_names)]
_Start = Annotated[StartAt | AwareDatetime, BeforeValidator(_as_start)]
_Dataset = Annotated[DatasetName, AfterValidator(is_identifier)]
_Positive = Annotated[int, Field(ge=1, strict=True)]
_RecordFormat = Annotated[RecordFormat, PlainValidator(checked_record_format)]
_FileFormat = Annotated[FileFormat, PlainValidator(checked_file_format)]


class DataLoss(StrEnum):
    """What becomes of a flow when records were gone before it could read them."""

    FAIL = "fail"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What people want to know of a dataset."""

    name: _Dataset
    origin: Origin
    description: str = ""
    owner: str | None = None
    tags: Names = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic(Described):
    """A Kafka topic.

    Its DataFrame has the columns of the value and one struct `_record` (key, topic, partition,
    offset, timestamp, headers).
    """

    value: _RecordFormat = field(default_factory=Text)
    key: Names = ()
    """The columns that make the key when the topic is written."""
    key_format: _RecordFormat = field(default_factory=Text)
    kafka_name: Annotated[TopicName, AfterValidator(_is_kafka_name)] = _LIKE_THE_DATASET
    """What Kafka calls it: `name`, unless something else is given."""
    external: StrictBool = False
    """Somebody else's: never created and never altered."""

    partitions: _Positive | None = None
    replication: _Positive | None = None
    retention: Span | None = None
    compacted: StrictBool = False
    config: Mapping[str, str] = field(default_factory=dict)
    """Further topic configs by Kafka's own names."""
    keys_may_move: StrictBool = False
    """Whether partitions may be added although that moves keys."""

    event_time: str | None = None
    """The column of the value that says when the event happened."""
    allowed_lateness: Span = timedelta(0)

    start: _Start = StartAt.EARLIEST
    most_per_trigger: _Positive | None = None
    min_partitions: _Positive | None = None
    on_data_loss: DataLoss = DataLoss.FAIL

    def __post_init__(self) -> None:
        """Let Kafka's name be the dataset's when nothing else is said."""
        if self.kafka_name == _LIKE_THE_DATASET:
            object.__setattr__(self, "kafka_name", TopicName(self.name))

    @property
    def has_registry_format(self) -> bool:
        """Whether the schema of its value or key has yet to be looked up."""
        formats = (self.value, self.key_format)
        return any(isinstance(item, Avro | JsonSchema | Protobuf) for item in formats)

    @property
    def has_plain_key(self) -> bool:
        """Whether the key is one value by a schema that is no record, so its name is free."""
        is_plain = isinstance(self.key_format, Contract) and len(self.key) == 1
        return is_plain and columns_of(self.key_format) == ("value",)


class TableFormat(StrEnum):
    """What the files of a table are."""

    DELTA = "delta"
    PARQUET = "parquet"
    ORC = "orc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Described):
    """A table, kept as a folder. Only Delta takes several writers and rows that replace others."""

    format: TableFormat = TableFormat.DELTA
    schema: Schema | None = None
    """The columns; None: those of the first flow that writes it."""
    key: Names = ()
    """Rows with the same key replace each other; without one, rows are appended."""
    partition_by: Names = ()
    path: str | None = None
    """A folder or URI other than the warehouse's."""
    cluster_by: Names = ()
    """The columns by which Delta lays out the rows."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of a Delta table, by Delta's own names or any others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedView(Table):
    """A table that is the result of a query: one flow computes it and replaces it as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Described):
    """A place outside of the pipeline that Spark can write streams to, by one of its formats."""

    format: Annotated[str, Field(min_length=1)]
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files(Described):
    """A watched folder: every file placed in it by a rename is read once."""

    path: Annotated[str, Field(min_length=1)]
    value: _FileFormat
    most_files_per_trigger: _Positive | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Socket(Described):
    """Lines from a TCP server, one column `value`; for trying out, as nothing is read twice."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Described):
    """Generated rows `timestamp, value`, for trying things out."""

    rows_per_second: _Positive = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Described):
    """A function from datasets to a DataFrame that flows can read by name; nothing is stored."""

    function: Callable[..., Any]
    reads: tuple[DatasetName, ...]
    """What it reads as streams."""

    consults: tuple[DatasetName, ...] = ()
    """What it reads as a whole, whenever it is evaluated."""
    is_declarative: bool = False
    """Whether the function has no parameters, and reads datasets from the session by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupFile:
    """A file of reference data, read as a whole; relative paths start at the project."""

    path: str
    format: FileFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupFunction:
    """A function that gets the distinct keys of a batch of rows and returns what it knows of them.

    It returns a mapping from key to a mapping of column values. It runs in Spark's Python workers.
    """

    function: Callable[[list[Any]], Mapping[Any, Mapping[str, object]]]
    key: Annotated[str, Field(min_length=1)]
    schema: Schema
    """The columns that it adds."""


def _checked_source(value: object) -> object:
    if isinstance(value, LookupFile):
        checked_file_format(value.format)
        if not isinstance(value.path, str) or not value.path:
            reason = f"`{value.path!r}` is not the path of a file"
            raise ValueError(reason)
    elif not isinstance(value, LookupFunction | str):
        reason = f"`{value!r}` is neither `ps.csv_file(…)` and the like, nor the name of a dataset"
        raise ValueError(reason)  # noqa: TRY004 - pydantic shows only ValueError as a problem
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup(Described):
    """Reference data that flows join with; one version of it within a batch."""

    source: Annotated[LookupFile | LookupFunction | DatasetName, PlainValidator(_checked_source)]
    """A name is that of a table, or of a compacted topic of which the last value per key counts."""
    reload_every: Annotated[Span, AfterValidator(_takes_time)] | None = timedelta(seconds=10)
    """How often to look for a change, which alone reloads; None: what was there at the start."""


Dataset = Topic | Table | Sink | Files | Socket | Rate | View | Lookup

_WORDS = {
    "Files": "watched folder",
    "MaterializedView": "materialized view",
    "Rate": "rate source",
}


def kind_of(dataset: Dataset | type[Dataset]) -> str:
    """Return the word users know for the kind of `dataset`."""
    name = dataset.__name__ if isinstance(dataset, type) else type(dataset).__name__
    return _WORDS.get(name, name.lower())
