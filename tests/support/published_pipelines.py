"""Pipelines as their drivers tell of them through Kafka, and answer commands; without Spark."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.control.about import AboutRecord, DeclaredContract, SettingRecord
from penstock.control.command_errors import NotNowError
from penstock.control.commands import SetLogLevel
from penstock.control.holders import this_process
from penstock.control.listening import CommandListener
from penstock.control.publishing import StatusPublisher
from penstock.control.status_fold import Identity
from penstock.control.status_records import STATUS_TOPIC
from penstock.control.supervision import FlowState
from penstock.engine.events import FlowPlanned, FlowStarted
from penstock.kafka.tables import KafkaTable
from penstock.names import DatasetName, FlowName, TopicName
from penstock.pipeline import Edge, Graph, Guarantee, Node, NodeKind
from penstock.settings import Measure, ServiceLevel
from support.pipeline_events import batch, failed, lag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.commands import Command
    from penstock.kafka import Connection
    from penstock.names import PipelineName

PLAN = "== Physical Plan ==\n<script>alert(1)</script>"


@dataclass
class PublishedPipeline:
    """A pipeline whose driver is this test."""

    name: PipelineName
    flow: FlowName
    output: TopicName
    publisher: StatusPublisher
    heard: list[Command] = field(default_factory=list)

    def carry_out(self, command: Command) -> str:
        """Answer a command as a driver does."""
        self.heard.append(command)
        if isinstance(command, SetLogLevel):
            raise NotNowError(doing="starting", hint="try again when it runs")
        return f"{command.verb} is under way"

    def finish_batch(self, batch_id: int, rows: int) -> None:
        """Tell that a batch is committed."""
        self.publisher.notify(
            batch(flow=self.flow, at=datetime.now(UTC), batch_id=batch_id, input_rows=rows)
        )


@contextmanager
def published_pipeline(
    connection: Connection, name: PipelineName, output: TopicName
) -> Iterator[PublishedPipeline]:
    """Tell of a pipeline of one flow that has failed once and runs, while the block runs."""
    flow = FlowName("clean")
    table = KafkaTable.open(connection, STATUS_TOPIC)
    identity = Identity(
        pipeline=name, driver=this_process("0123456789ab"), epoch=1, profile="local"
    )
    publisher = StatusPublisher(table, identity)
    publisher.begin([flow], at_first=FlowState.STARTING)
    publisher.tell_about(
        AboutRecord(
            graph=_graph(flow),
            topics={"lines": TopicName("lines"), "cleaned": output},
            settings=(SettingRecord(key="sasl_password", value="****", source="environment"),),
            service_levels=(
                ServiceLevel(
                    name="there",
                    measure=Measure.AVAILABILITY,
                    share=0.995,
                    over_seconds=86_400,
                    flow=flow,
                ),
            ),
            contracts=(
                DeclaredContract(
                    topic=output,
                    side="value",
                    format="json",
                    columns={"host": "string", "hits": "bigint"},
                ),
            ),
        )
    )
    now = datetime.now(UTC)
    for event in (
        failed(flow=flow),
        FlowStarted(
            flow=flow,
            at=now,
            query_id="8f4f",
            resumed_batch=None,
            writes={DatasetName("cleaned"): Guarantee.EXACTLY_ONCE},
        ),
        lag(12, 0.5, flow=flow),
        FlowPlanned(flow=flow, at=now, plan=PLAN),
    ):
        publisher.notify(event)
    found = PublishedPipeline(name=name, flow=flow, output=output, publisher=publisher)
    found.finish_batch(1, 100)
    try:
        with CommandListener(connection, name, found.carry_out) as listener:
            assert listener.is_listening.wait(30)
            yield found
    finally:
        publisher.end(None, within_seconds=10)
        table.close()


def _graph(flow: FlowName) -> Graph:
    topics = [
        Node(id=f"dataset:{name}", name=name, kind=NodeKind.DATASET, detail="topic")
        for name in ("lines", "cleaned")
    ]
    node = Node(id=f"flow:{flow}", name=flow, kind=NodeKind.FLOW, detail="flow")
    return Graph(
        nodes=(*topics, node),
        edges=(
            Edge(source=topics[0].id, target=node.id),
            Edge(source=node.id, target=topics[1].id),
        ),
    )
