"""A flow read, run and written by the engine's parts alone: once, over all there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.engine.enriching import FunctionLookup
from penstock.engine.kafka_options import kafka_options
from penstock.engine.reading import Reader, SourceOptions, apply_flow
from penstock.engine.tables import TableLocations
from penstock.engine.writing import start_query
from penstock.pipeline import AvailableNow, Lookup, LookupFunction

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.kafka import Connection
    from penstock.pipeline import Pipeline


@dataclass(frozen=True, kw_only=True)
class FlowIO:
    """A pipeline with what its flows need to run."""

    spark: SparkSession
    pipeline: Pipeline
    connection: Connection
    folder: Path

    @property
    def tables(self) -> TableLocations:
        """Where tables are."""
        return TableLocations(warehouse=str(self.folder / "tables"), project=self.folder)

    def reader(self, flow: str) -> Reader:
        """Return the datasets of a flow; lookups are functions alone."""
        options = SourceOptions(
            flow=self.pipeline.flow(flow).name,
            pipeline=self.pipeline,
            kafka=kafka_options(self.connection),
        )
        return Reader(self.spark, options, tables=self.tables, lookups=_function_lookup)

    def run(self, flow: str) -> StreamingQuery:
        """Run a flow over what is there, on the checkpoint of earlier runs, and return its end."""
        declared, reader = self.pipeline.flow(flow), self.reader(flow)
        query = start_query(
            apply_flow(declared, reader.inputs(declared)),
            declared,
            self.pipeline,
            checkpoint=str(self.folder / "checkpoints" / flow),
            kafka=reader.options.kafka,
            tables=self.tables,
            trigger=AvailableNow(),
        )
        query.awaitTermination()
        return query

    def table(self, name: str) -> DataFrame:
        """Return the rows of a Delta table of the warehouse."""
        return self.spark.read.format("delta").load(str(self.folder / "tables" / name))


def _function_lookup(lookup: Lookup) -> FunctionLookup:
    assert isinstance(lookup.source, LookupFunction)
    return FunctionLookup(name=lookup.name, source=lookup.source)
