"""Binding: at each start of a flow the registry formats of its topics become contracts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from penstock.engine.contracts import formats
from penstock.engine.contracts.errors import UnknownSchemaError
from penstock.engine.contracts.registering import Registering
from penstock.engine.contracts.sources import SchemaSources, Side
from penstock.engine.contracts.writers import Writers
from penstock.engine.schemas import fits
from penstock.names import DatasetName, Subject
from penstock.pipeline import RESERVED_COLUMNS, Avro, Contract, JsonSchema, Lookup, Protobuf, Topic
from penstock.registry.project import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from penstock.engine.contracts.errors import UnknownSchemaIdError
    from penstock.engine.contracts.sources import FoundSchema
    from penstock.pipeline import Flow, Pipeline, RecordFormat
    from penstock.registry.client import RegistryClient


class Contracts:
    """The contracts of one pipeline. Threads may share it."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        connect: Callable[[], RegistryClient],
        *,
        registers: bool,
        schemas: SchemaSources | None = None,
    ) -> None:
        """Ask nobody yet.

        Args:
            spark: any session.
            folder: that of the project.
            connect: opens the registry.
            registers: whether flows may register what they write.
            schemas: where schemas come from instead of the folder and the registry.
        """
        self._spark, self._schemas = spark, schemas or SchemaSources(folder / FOLDER, connect)
        self._registering = Registering(self._schemas, registers=registers)
        self._writers = Writers(self._schemas)

    def close(self) -> None:
        """Let the registry go, if it was asked; it is found again when it is needed."""
        self._schemas.close()

    def ask_about(self, unknown: UnknownSchemaIdError) -> None:
        """Let the next binding ask the registry for an id that a record named."""
        self._writers.ask_about(Subject(unknown.subject), unknown.schema_id)

    def for_analysis(self, topic: Topic, *, is_read: bool) -> Topic:
        """Return `topic` with the schemas that its columns follow from.

        The format of one that is only written stays as it is while there is no schema.

        Raises:
            UnknownSchemaError: it is read, and there is no schema to read by.
            PenstockError: the registry does not answer, or a file is wrong.
        """
        return self._bound(topic, lambda side: self._declared(side, is_read=is_read))

    def for_reading(self, topic: Topic) -> Topic:
        """Return `topic` with all schemas that its records may have been written with.

        Raises:
            UnknownSchemaError: there is no schema to read by.
            PenstockError: the registry does not answer, or a file is wrong.
        """
        return self._bound(topic, self._readable)

    def for_writing(self, topic: Topic, columns: StructType) -> Topic:
        """Return `topic` with the schema that rows of these columns are written with.

        Raises:
            IncompatibleSchemaError: the subject cannot take it.
            NotRegisteredYetError: flows may not register it.
            PenstockError: the registry does not answer, or a file is wrong.
        """
        return self._bound(topic, lambda side: self._writable(side, columns))

    def read_by(self, pipeline: Pipeline, flow: Flow) -> Pipeline:
        """Return the pipeline with contracts for all topics that `flow` reads."""
        sources = list(pipeline.sources(flow))
        looked_up = [
            DatasetName(item.source)
            for item in sources
            if isinstance(item, Lookup) and isinstance(item.source, str)
        ]
        names = {item.name for item in sources} | set(looked_up)
        return _with_topics(pipeline, self.for_reading, names)

    def written_by(self, pipeline: Pipeline, flow: Flow, columns: StructType) -> Pipeline:
        """Return the pipeline with contracts for all topics that `flow` writes."""
        names = set(flow.targets.values())
        return _with_topics(pipeline, lambda topic: self.for_writing(topic, columns), names)

    def _bound(self, topic: Topic, bind: Callable[[Side], RecordFormat]) -> Topic:
        value, key = topic.value, topic.key_format
        if isinstance(value, Avro | JsonSchema | Protobuf):
            value = bind(Side(topic=topic, format=value, is_key=False))
        if isinstance(key, Avro | JsonSchema | Protobuf):
            key = bind(Side(topic=topic, format=key, is_key=True))
        return replace(topic, value=value, key_format=key)

    def _declared(self, side: Side, *, is_read: bool) -> RecordFormat:
        found = self._required(side) if is_read else self._schemas.find(side)
        if found is None or not (is_read or found.is_declared_by(side)):
            return side.format  # what flows write into it says what it holds
        return self._contract(side, found)

    def _required(self, side: Side) -> FoundSchema:
        found = self._schemas.find(side)
        if found is not None:
            return found
        raise UnknownSchemaError(
            str(side),
            looked_for=f"there is no file for `{side.own_subject}` in `{FOLDER}/`, and nothing is "
            "registered under that name",
            hint=f"add `{FOLDER}/{side.own_subject}`, or start what writes the topic first",
            origin=side.topic.origin,
        )

    def _contract(self, side: Side, found: FoundSchema) -> Contract:
        columns = formats.columns(found.schema, self._spark, side.format)
        return Contract(
            format=side.format,
            subject=side.subject(found.schema.name),
            is_key=side.is_key,
            reader=found.as_writer,
            columns=columns.toDDL(),
        )

    def _readable(self, side: Side) -> Contract:
        found = self._required(side)
        return self._writers.added_to(self._contract(side, found), found.schema)

    def _writable(self, side: Side, columns: StructType) -> Contract:
        found = self._schemas.find(side)
        if found is None or not found.is_declared_by(side):
            found = self._grown(side, found, columns)
        contract = self._contract(side, found)
        return replace(contract, written=self._registering.registered(side, contract, found))

    def _grown(self, side: Side, latest: FoundSchema | None, columns: StructType) -> FoundSchema:
        """Return a schema for these columns: the latest one if it has them, else another."""
        names = [
            name
            for name in (side.topic.key if side.is_key else columns.names)
            if name not in RESERVED_COLUMNS
        ]
        chosen = StructType([columns[name] for name in names])
        if latest is not None and self._takes(side, latest, chosen):
            return latest
        return formats.inferred(side, chosen)

    def _takes(self, side: Side, latest: FoundSchema, chosen: StructType) -> bool:
        held = formats.columns(latest.schema, self._spark, side.format)
        if side.is_key and held.names == ["value"] and len(chosen) == 1:
            return fits(chosen[0].dataType, held[0].dataType)
        return set(held.names) == set(chosen.names) and all(
            fits(field.dataType, held[field.name].dataType) for field in chosen
        )


def _with_topics(
    pipeline: Pipeline, bind: Callable[[Topic], Topic], names: set[DatasetName]
) -> Pipeline:
    datasets = tuple(
        bind(item) if isinstance(item, Topic) and item.name in names else item
        for item in pipeline.datasets
    )
    return replace(pipeline, datasets=datasets)
