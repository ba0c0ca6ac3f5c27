"""The projects of `examples`, unchanged but for topics of their own, in the Spark of the tests."""

from __future__ import annotations

import importlib.util
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from penstock.engine.batch import bounded_run
from penstock.engine.queries import FlowQuery
from penstock.engine.reading import apply_flow
from penstock.kafka import FromBeginning, FromEnd
from penstock.names import DatasetName, PipelineName, TopicName
from penstock.pipeline import AvailableNow, Pipeline, Topic, load_pipeline
from support.flow_runs import FlowLab
from support.producing import Sent, send

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from pyspark.sql import DataFrame, Row, SparkSession

    from penstock.local.cluster import KafkaCluster
    from support.topic_contents import Stored

EXAMPLES = Path(__file__).parents[2] / "examples"

# Spark gives a Python worker 10 s to start. When a busy machine takes longer, a run starts the flow
# again, and so do tests.
_STARTS = 3


def load_example(name: str) -> Pipeline:
    """Return the pipeline that an example declares."""
    pipeline_name = PipelineName(name.replace("/", "_"))
    return load_pipeline(EXAMPLES / name, name=pipeline_name, files=["flows.py"])


def load_script(path: str) -> ModuleType:
    """Return the module of a file of the examples; it is not run as a script."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(pipeline: Pipeline, flow: str, **frames: DataFrame) -> list[Row]:
    """Return what a flow makes of plain DataFrames."""
    inputs = {DatasetName(name): frame for name, frame in frames.items()}
    result = apply_flow(pipeline.flow(flow), inputs)
    _ = result.sparkSession.streams  # starts what `transformWithState` needs in a batch as well
    return result.collect()


@dataclass(frozen=True, kw_only=True)
class ExampleRuns:
    """An example on a broker: send, run what there is through all flows, and look."""

    lab: FlowLab
    pipeline: Pipeline

    @classmethod
    @contextmanager
    def opened(
        cls,
        example: str,
        spark: SparkSession,
        kafka: KafkaCluster,
        folder: Path,
        *,
        registry_url: str | None = None,
        prefix: str | None = None,
    ) -> Iterator[ExampleRuns]:
        """Create the topics of an example, under names of this run; checkpoints are in `folder`.

        Args:
            example: its folder.
            spark: the session that flows run in.
            kafka: where the topics are.
            folder: for checkpoints, tables and the example's schemas, renamed like its topics.
            registry_url: the registry, for examples that have schemas.
            prefix: what names of this run begin with; two examples may share topics of others.
        """
        prefix = prefix or f"{example.replace('/', '_')}_{uuid4().hex[:8]}"
        lab = FlowLab(spark, kafka, folder, prefix, registry_url=registry_url)
        pipeline = _renamed(load_example(example), lab.name)
        _copy_schemas(EXAMPLES / example, folder, prefix)
        for topic in pipeline.topics(pipeline.flows):
            if topic.external:
                continue
            kafka.create_topic(
                topic.kafka_name,
                partition_count=topic.partitions or 1,
                config={"cleanup.policy": "compact"} if topic.compacted else None,
            )
        try:
            yield cls(lab=lab, pipeline=pipeline)
        finally:
            lab.close()

    def topic(self, name: str) -> Topic:
        """Return a topic of the example."""
        dataset = self.pipeline.dataset(DatasetName(name))
        assert isinstance(dataset, Topic)
        return dataset

    def send(self, topic: str, records: Iterable[Sent]) -> None:
        """Send records to a topic."""
        send(self.lab.kafka.connection, self.topic(topic).kafka_name, records)

    def send_json(self, topic: str, values: Iterable[dict[str, object]], *, key: str) -> None:
        """Send JSON objects, each with one of its fields as the key."""
        self.send(topic, [Sent(key=str(item[key]), value=json.dumps(item)) for item in values])

    def run_once(self, *names: str) -> None:
        """Run the flows in the order of their declaration, or those named, over all there is."""
        flows = [self.pipeline.flow(name) for name in names] or self.pipeline.flows
        for flow in flows:
            for _ in range(_STARTS):
                query = FlowQuery(flow, self.lab.context(self.pipeline), trigger=AvailableNow())
                query.start()
                assert query.await_end(110)
                if query.failure is None or not query.failure.error.retryable:
                    break
            assert query.failure is None, query.failure.error

    def run_as_batch(self) -> None:
        """Run the flows as batch jobs over everything, in the order of their declaration."""
        context = self.lab.context(self.pipeline)
        for flow in self.pipeline.flows:
            bounded_run(flow, context, self.lab.admin, FromBeginning(), FromEnd())

    def records(self, topic: str, *, besides: Iterable[Stored] = ()) -> list[Stored]:
        """Return the records of a topic, without some that were there before."""
        known = {(record.partition, record.offset) for record in besides}
        found = self.lab.records(self.topic(topic).kafka_name)
        return [record for record in found if (record.partition, record.offset) not in known]

    def table(self, name: str) -> DataFrame:
        """Return the rows of a Delta table."""
        return self.lab.spark.read.format("delta").load(str(self.lab.folder / "tables" / name))

    def rows(self, topic: str) -> list[Any]:
        """Return the values of a JSON topic, by partition and offset."""
        return self.lab.rows(self.topic(topic))

    def forget_last_commit(self, flow: str) -> None:
        """Leave the checkpoint as a crash does that comes after the writing of the last batch."""
        commits = self.lab.root / flow / "commits"
        newest = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        (commits / f"{newest}").unlink()
        (commits / f".{newest}.crc").unlink()


def last_values(records: Iterable[Stored]) -> dict[bytes | None, bytes]:
    """Return the last value of each key, as compaction leaves them; deleted keys are not there."""
    last = {record.key: record.value for record in records}
    return {key: value for key, value in last.items() if value is not None}


def _copy_schemas(example: Path, folder: Path, prefix: str) -> None:
    """Copy the schemas of an example; each is named after a topic, which has a prefix here."""
    for file in example.glob("schemas/*"):
        folder.joinpath("schemas").mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / "schemas" / f"{prefix}-{file.name}")


def _renamed(pipeline: Pipeline, prefix: str) -> Pipeline:
    datasets = tuple(
        replace(item, kafka_name=TopicName(f"{prefix}-{item.kafka_name}"))
        if isinstance(item, Topic)
        else item
        for item in pipeline.datasets
    )
    return replace(pipeline, name=PipelineName(prefix), datasets=datasets)
