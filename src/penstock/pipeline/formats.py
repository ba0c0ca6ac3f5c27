"""Formats: how the bytes of a record, or the lines of a file, become columns and back.

A format is inert: the expressions that decode and encode are `engine/decoding.py` and
`engine/encoding.py`. Those whose schemas live in a registry are `registry_formats.py`.
"""

from dataclasses import dataclass, fields, is_dataclass

from penstock.pipeline.registry_formats import (
    Avro,
    Contract,
    JsonSchema,
    Protobuf,
    checked_registry_format,
)
from penstock.pipeline.schemas import column_types


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8 text: one column `value string`."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes as they are: one column `value binary`."""


@dataclass(frozen=True, slots=True)
class Json:
    """One JSON object with the columns of `schema`; fields that are not in it are ignored."""

    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """One line of separated values with the columns of `schema`, in order."""

    schema: str
    separator: str = ","
    null_value: str = ""
    header: bool = False
    """Whether the first line of each file names the columns; of no meaning in a topic."""


@dataclass(frozen=True, slots=True)
class Parquet:
    """Parquet files with the columns of `schema`."""

    schema: str


@dataclass(frozen=True, slots=True)
class Orc:
    """ORC files with the columns of `schema`."""

    schema: str


RecordFormat = Text | Bytes | Json | Csv | Avro | JsonSchema | Protobuf | Contract
"""What the value or the key of a record can be."""

FileFormat = Text | Json | Csv | Parquet | Orc
"""What the files of a watched folder can be."""


def checked_record_format(value: object) -> object:
    """Return `value` if it is a format of records whose schema can be read.

    Raises:
        ValueError: it is not; the text says why.
    """
    if isinstance(value, Avro | JsonSchema | Protobuf):
        checked_registry_format(value)
        return value
    if isinstance(value, Contract):
        return value
    known = "`ps.text()`, `ps.bytes()`, `ps.json(…)`, `ps.csv(…)`"
    registered = "`ps.avro(…)`, `ps.json_schema(…)`, `ps.protobuf(…)`"
    return _checked_format(value, (Text, Bytes, Json, Csv), f"{known}, {registered}")


def checked_file_format(value: object) -> object:
    """Return `value` if it is a format of files whose schema can be read.

    Raises:
        ValueError: it is not; the text says why.
    """
    known = "`ps.text()`, `ps.json(…)`, `ps.csv(…)`, `ps.parquet(…)`, `ps.orc(…)`"
    return _checked_format(value, (Text, Json, Csv, Parquet, Orc), known)


def _checked_format(value: object, allowed: tuple[type, ...], known: str) -> object:
    if not isinstance(value, allowed) or not is_dataclass(value):
        reason = f"`{value!r}` is not one of {known}"
        raise ValueError(reason)
    for item in fields(value):
        found = getattr(value, item.name)
        if type(found) is not item.type:
            reason = f"`{item.name}` is `{found!r}`, not a {getattr(item.type, '__name__', '')}"
            raise ValueError(reason)
    if isinstance(value, Csv) and len(value.separator) != 1:
        reason = f"the separator `{value.separator}` is not one character"
        raise ValueError(reason)
    if isinstance(value, Json | Csv | Parquet | Orc):
        column_types(value.schema)
    return value


def columns_of(format_: RecordFormat | FileFormat) -> tuple[str, ...] | None:
    """Return the names of the columns that `format_` decodes into, None if a schema says so."""
    types = types_of(format_)
    return None if types is None else tuple(types)


def types_of(format_: RecordFormat | FileFormat) -> dict[str, str] | None:
    """Return the columns of `format_` with their types as written, None if a schema says so."""
    match format_:
        case Text():
            return {"value": "string"}
        case Bytes():
            return {"value": "binary"}
        case Json() | Csv() | Parquet() | Orc():
            return column_types(format_.schema)
        case Contract(columns=columns):
            return column_types(columns)
        case Avro() | JsonSchema() | Protobuf():
            return None


def text() -> Text:
    """UTF-8 text; the dataset has one column `value`."""
    return Text()


def bytes_() -> Bytes:
    """Bytes as they are; the dataset has one column `value`."""
    return Bytes()


def json(schema: str) -> Json:
    """One JSON object per record or line, with columns such as `host string, hits bigint`."""
    return Json(schema)


def csv(schema: str, *, separator: str = ",", null_value: str = "", header: bool = False) -> Csv:
    """Separated values, one record per line; `header` says that each file names its columns."""
    return Csv(schema=schema, separator=separator, null_value=null_value, header=header)


def parquet(schema: str) -> Parquet:
    """Parquet files; only for watched folders."""
    return Parquet(schema)


def orc(schema: str) -> Orc:
    """ORC files; only for watched folders."""
    return Orc(schema)
