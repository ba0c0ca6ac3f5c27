"""The inputs of a flow for its analysis: frames with the right columns that contact nobody.

Topics are the streams that would run, with an address that is never called: Spark asks no broker
before a query starts. Tables, watched folders and lookups are empty, because at this point they
need not exist.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructType

from penstock.engine.enriching import FunctionLookup
from penstock.engine.named_sources import stream_reader
from penstock.engine.reading import Reader, SourceOptions, apply_view
from penstock.engine.schemas import struct_of
from penstock.engine.tables import TableLocations
from penstock.names import DatasetName
from penstock.pipeline import (
    Avro,
    Bytes,
    Contract,
    Files,
    JsonSchema,
    Lookup,
    LookupFile,
    LookupFunction,
    Protobuf,
    Table,
    Text,
    Topic,
    View,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from penstock.pipeline import FileFormat, Flow, Pipeline, RecordFormat

    Input = DataFrame | FunctionLookup

# Port 9 of this machine: an address must be given, and this one leads nowhere.
_NOBODY = {"kafka.bootstrap.servers": "127.0.0.1:9"}


class EmptyInputs:
    """The datasets of one flow, each one frame however often it is named."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        flow: Flow,
        *,
        table_columns: Callable[[Table], StructType],
    ) -> None:
        """Make nothing yet; `table_columns` knows the columns of tables that declare none."""
        self._spark, self._pipeline, self._table_columns = spark, pipeline, table_columns
        self._reader = Reader(
            spark,
            SourceOptions(flow=flow.name, pipeline=pipeline, kafka=_NOBODY),
            tables=TableLocations(warehouse="", project=Path()),
            lookups=self._lookup,
        )
        self._views: dict[DatasetName, DataFrame] = {}

    @property
    def opened(self) -> dict[DatasetName, DataFrame]:
        """The topics and lookups that were asked for so far, also by views."""
        return self._reader.opened

    def frame(self, name: DatasetName) -> Input:
        """Return the dataset of that name, as the parameter of a function gets it."""
        dataset = self._pipeline.dataset(name)
        match dataset:
            case Table():
                return self._stream(name, self._table_columns(dataset))
            case Files(value=value):
                return self._stream(name, columns_in(value))
            case View():
                return self._view(dataset)
            case _:
                return self._reader.stream(name)

    def _view(self, view: View) -> DataFrame:
        if view.name not in self._views:
            inputs = {name: self.frame(name) for name in view.reads}
            self._views[view.name] = apply_view(view, inputs)
        return self._views[view.name]

    def _stream(self, name: DatasetName, columns: StructType) -> DataFrame:
        rows = stream_reader(self._spark, name).format("rate").load()
        return rows.select(
            *(F.lit(None).cast(field.dataType).alias(field.name) for field in columns)
        )

    def _lookup(self, lookup: Lookup) -> Input:
        match lookup.source:
            case LookupFunction() as source:
                return FunctionLookup(name=lookup.name, source=source)
            case LookupFile(format=format_):
                return self._spark.createDataFrame([], columns_in(format_))
            case str(name):
                return self._spark.createDataFrame([], self._columns(DatasetName(name)))
            case _:
                assert_never(lookup.source)

    def _columns(self, name: DatasetName) -> StructType:
        dataset = self._pipeline.dataset(name)
        assert isinstance(dataset, Topic | Table)  # noqa: S101 - the first step lets nothing else pass
        if isinstance(dataset, Topic):
            return columns_in(dataset.value)
        return self._table_columns(dataset)


def columns_in(format_: RecordFormat | FileFormat) -> StructType:
    """Return the columns that `format_` decodes into, with Spark's types."""
    match format_:
        case Text():
            return StructType().add("value", StringType())
        case Bytes():
            return StructType().add("value", BinaryType())
        case Contract(columns=columns):
            return struct_of(columns)
        case Avro() | JsonSchema() | Protobuf():
            raise AssertionError(format_)  # contracts take their place before the analysis
        case _:
            return struct_of(format_.schema)
