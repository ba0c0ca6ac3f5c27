"""What a proposed schema would do to the flows of a pipeline: each is analyzed with and without it.

Nothing is registered, read or started. What follows for people is in `control/impact.py`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine.analysis import analyze_flow
from penstock.engine.contracts import formats
from penstock.engine.contracts.binding import Contracts
from penstock.engine.contracts.errors import UnknownSchemaError
from penstock.engine.contracts.sources import SchemaSources, Side
from penstock.engine.outcomes import FlowTrial
from penstock.errors import PenstockError
from penstock.pipeline import Avro, JsonSchema, Protobuf, Table, Topic, schema_type
from penstock.schemas import SchemaType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from penstock.engine.contracts.sources import FoundSchema
    from penstock.engine.outcomes import FlowOutcome
    from penstock.names import DatasetName, FlowName, Subject
    from penstock.pipeline import Flow, Pipeline, RegistryFormat
    from penstock.registry.client import RegistryClient
    from penstock.registry.project import FileGraph
    from penstock.schemas import Schema

_FORMATS: dict[SchemaType, RegistryFormat] = {
    SchemaType.AVRO: Avro(),
    SchemaType.JSON: JsonSchema(),
    SchemaType.PROTOBUF: Protobuf(),
}


class GraphSchemas(SchemaSources):
    """The schemas of certain files, one of which counts for its subject whoever names another."""

    def __init__(
        self, graph: FileGraph, subject: Subject, connect: Callable[[], RegistryClient]
    ) -> None:
        super().__init__(Path(), connect)
        self.graph, self._subject = graph, subject

    def find(self, side: Side) -> FoundSchema | None:
        """Return the schema of a topic: that of the subject where it is the topic's."""
        found = super().find(side)
        file = self.graph.files.get(self._subject)
        if found is None or file is None or side.format.version is not None:
            return found
        if side.subject(found.schema.name) != self._subject:
            return found
        if file.type is not schema_type(side.format):
            raise UnknownSchemaError(
                str(side),
                looked_for=f"that of `{self._subject}` is of type {file.type}",
                hint="declare the topic with the format that its records have",
                origin=side.topic.origin,
            )
        return self.from_file(file)

    def concern(self, side: Side) -> bool:
        """Tell whether the subject has to do with how a topic is read or written."""
        if self._subject in (side.own_subject, side.format.schema):
            return True
        with suppress(PenstockError):  # what cannot be found is told by the analysis
            found = super().find(side)
            if found is None:
                return False
            needed = self.graph.in_order([found.file]) if found.file else []
            needs_it = self._subject in {file.subject for file in needed}
            return needs_it or side.subject(found.schema.name) == self._subject
        return False


def try_flows(
    pipeline: Pipeline, spark: SparkSession, before: GraphSchemas | None, after: GraphSchemas
) -> Iterator[FlowTrial]:
    """Analyze the flows that the subject concerns, with its schema of today and the proposed one.

    Args:
        pipeline: declarations without problems of the first step of validation.
        spark: any session; nothing is run in it.
        before: the schemas of today; None: the subject has none.
        after: the same, with the proposal.
    """
    schemas = [item for item in (before, after) if item is not None]
    concerned = [side for side in _sides(pipeline) if any(item.concern(side) for item in schemas)]
    topics = {side.topic.name for side in concerned}
    for flow in _concerned_flows(pipeline, topics):
        touched = [item for item in pipeline.topics([flow]) if item.name in topics]
        targets = flow.targets.values()
        yield FlowTrial(
            flow=flow,
            sides=frozenset((side.topic.kafka_name, side.is_key) for side in concerned),
            read=tuple(item for item in touched if item.name not in targets),
            written=tuple(item for item in touched if item.name in targets),
            before=_outcome(pipeline, flow, spark, before) if before else None,
            after=_outcome(pipeline, flow, spark, after),
        )


def columns_of_schema(schema: Schema, spark: SparkSession) -> dict[str, str] | None:
    """Return what records of `schema` decode into; None when Spark has no type for something."""
    try:
        columns = formats.columns(schema, spark, _FORMATS[schema.type])
    except PenstockError:
        return None
    return {field.name: field.dataType.simpleString() for field in columns}


def _sides(pipeline: Pipeline) -> Iterator[Side]:
    """Yield the values and keys of topics whose schemas are elsewhere."""
    for topic in pipeline.datasets:
        if not isinstance(topic, Topic):
            continue
        for format_, is_key in ((topic.value, False), (topic.key_format, True)):
            if isinstance(format_, Avro | JsonSchema | Protobuf):
                yield Side(topic=topic, format=format_, is_key=is_key)


def _concerned_flows(pipeline: Pipeline, topics: set[DatasetName]) -> list[Flow]:
    """Return the flows that touch a topic, or read a table whose columns come from such a flow."""
    found: set[FlowName] = set()
    while True:
        more = {
            flow.name
            for flow in pipeline.flows
            if flow.name not in found and _is_concerned(pipeline, flow, topics, found)
        }
        if not more:
            return [flow for flow in pipeline.flows if flow.name in found]
        found |= more


def _is_concerned(
    pipeline: Pipeline, flow: Flow, topics: set[DatasetName], found: set[FlowName]
) -> bool:
    if any(item.name in topics for item in pipeline.topics([flow])):
        return True
    tables = [item for item in pipeline.sources(flow) if isinstance(item, Table)]
    writers = [pipeline.writers(item.name)[:1] for item in tables if item.schema is None]
    return any(writer.name in found for first in writers for writer in first)


def _outcome(
    pipeline: Pipeline, flow: Flow, spark: SparkSession, schemas: GraphSchemas
) -> FlowOutcome:
    contracts = Contracts(
        spark, pipeline.folder, lambda: schemas.registry, registers=False, schemas=schemas
    )
    return analyze_flow(pipeline, flow, spark, contracts=contracts)
