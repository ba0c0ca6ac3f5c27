"""Declarations for tests that need a pipeline and not what its flows do."""

from pathlib import Path

from penstock.errors import Origin
from penstock.names import DatasetName, FlowName, PipelineName, TopicName
from penstock.pipeline import Flow, Pipeline, Topic

ORIGIN = Origin(Path("pipeline.py"), 7)


def declared_topic(name: str, *, kafka_name: str | None = None) -> Topic:
    """Return the declaration of a topic; `dataclasses.replace` gives it settings."""
    return Topic(name=DatasetName(name), kafka_name=TopicName(kafka_name or name), origin=ORIGIN)


def declared_flow(name: str, *, reads: str, into: str) -> Flow:
    """Return a flow that is never run."""
    return Flow(
        name=FlowName(name),
        origin=ORIGIN,
        function=lambda frame: frame,
        reads=(DatasetName(reads),),
        targets={"": DatasetName(into)},
    )


def pipeline_of(*topics: Topic, name: str = "shop") -> Pipeline:
    """Return a pipeline with a flow from each topic to the next; one topic feeds itself."""
    targets = topics[1:] or topics
    return Pipeline(
        name=PipelineName(name),
        folder=Path(),
        datasets=topics,
        flows=tuple(
            declared_flow(f"flow{number}", reads=source.name, into=target.name)
            for number, (source, target) in enumerate(zip(topics, targets, strict=False))
        ),
    )
