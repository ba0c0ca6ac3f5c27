"""Flows whose batches a test makes up, watched by monitors that ask a real broker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from penstock.engine.events import FlowLag, PipelineEvent, SourceProgress
from penstock.kafka import Admin, TopicPartition, committed_offsets, delete_groups, describe_group
from penstock.monitoring import LagMonitor, ShadowGroups, shadow_group
from penstock.names import DatasetName, FlowName, Offset, Partition, PipelineName, TopicName
from support.pipeline_events import DETECT, batch
from support.producing import Sent

if TYPE_CHECKING:
    from penstock.engine.events import BatchFinished
    from penstock.kafka import Connection, GroupDescription

# Whole milliseconds, as Kafka keeps them; the past, as brokers refuse far futures, but not a past
# from before the retention of topics: records would go while a test looks at them.
WRITTEN = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
LATER = WRITTEN + timedelta(minutes=10)


def partition_of(topic: TopicName, number: int) -> TopicPartition:
    """Return one partition of `topic`."""
    return TopicPartition(topic, Partition(number))


def position(topic: TopicName, *ends: int) -> dict[TopicPartition, Offset]:
    """Return the offset of each partition of `topic`, from 0 on."""
    return {partition_of(topic, number): Offset(offset) for number, offset in enumerate(ends)}


def read_to(topic: TopicName, *ends: int, flow: FlowName = DETECT) -> BatchFinished:
    """Return a batch of `flow` that ends at these offsets of the topic's partitions."""
    end = position(topic, *ends)
    source = SourceProgress(dataset=DatasetName("lines"), start={}, end=end)
    return batch(flow=flow, sources=(source,))


def written_after(seconds: float, partition: int = 0) -> Sent:
    return Sent(partition=partition, timestamp=WRITTEN + timedelta(seconds=seconds))


class Watched:
    """A monitor with the clock at ten minutes after the first record, and what it told."""

    def __init__(self, connection: Connection) -> None:
        self.told: list[PipelineEvent] = []
        self.now = LATER
        self.monitor = LagMonitor(connection, self.told.append, clock=lambda: self.now)

    def look(self) -> list[FlowLag]:
        self.told.clear()
        self.monitor.look()
        return [event for event in self.told if isinstance(event, FlowLag)]

    def read(self, topic: TopicName, *ends: int, flow: FlowName = DETECT) -> None:
        """Let a batch of `flow` end at these offsets of the topic's partitions."""
        self.monitor.note(read_to(topic, *ends, flow=flow))


class Shadowed:
    """The groups of a pipeline of its own, with a clock that a test moves."""

    def __init__(self, connection: Connection) -> None:
        self.now = 0.0
        self.pipeline = PipelineName(f"shop{uuid4().hex}")
        self.groups = ShadowGroups(connection, self.pipeline, clock=lambda: self.now)
        self._admin = Admin(connection)

    def read(self, topic: TopicName, *ends: int, flow: FlowName = DETECT) -> None:
        """Let a batch of `flow` end at these offsets of the topic's partitions."""
        self.groups.note(read_to(topic, *ends, flow=flow))

    def described(self, flow: FlowName = DETECT) -> GroupDescription:
        return describe_group(self._admin, shadow_group(self.pipeline, flow))

    def committed(self, flow: FlowName = DETECT) -> list[int]:
        group = shadow_group(self.pipeline, flow)
        commits = committed_offsets(self._admin, [group])[group]
        return [commit.offset for _, commit in sorted(commits.items())]

    def lose(self, flow: FlowName = DETECT) -> None:
        """Let the broker forget the group, as it does when its offsets have expired."""
        delete_groups(self._admin, [shadow_group(self.pipeline, flow)])
