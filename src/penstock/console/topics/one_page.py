"""The page of one topic: partitions, who reads it, and how it did."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.frame import Page
from penstock.console.frame.past import FRAME, HistoryGraph, Wanted, frame_of, graphs
from penstock.console.topics.finding import contracts, figures_of, groups_by_topic, name_of
from penstock.console.topics.list_page import TopicLine, line_of
from penstock.monitoring.catalog import topics as catalog
from penstock.monitoring.findings import of_topic
from penstock.monitoring.groups import Verdict  # noqa: TC001 - as above

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.monitoring.groups import GroupFigures
    from penstock.monitoring.topics import PartitionFigures, TopicFigures
    from penstock.names import TopicName

_MOST_CONSUMERS = 50
_MOST_PARTITIONS = 500
_GRAPHS = (
    Wanted("Records per second", ((catalog.TOPIC_RATE, "records"),)),
    Wanted("Space on disk", ((catalog.TOPIC_BYTES, "all replicas"),)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """One partition; what is not known is null."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    first: int | None
    end: int | None
    records_per_second: float | None
    size_bytes: int | None
    is_under_replicated: bool
    is_hot: bool
    """Whether it gets ten times as many records as the median partition."""

    is_led_by_preferred: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerLine:
    """A group that has committed offsets of the topic."""

    group: str
    state: str
    members: int
    lag: int | None
    """In this topic alone."""

    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage:
    """Everything that is known of a topic without reading it."""

    at: datetime
    topic: TopicLine
    min_in_sync: int | None
    findings: tuple[str, ...]
    partitions: tuple[PartitionLine, ...]
    """The first of them, where there are very many."""

    consumers: tuple[ConsumerLine, ...]
    """Those with most lag."""

    frame: str
    graphs: tuple[HistoryGraph, ...]


def load(ask: Ask) -> TopicPage:
    """Return the topic.

    Raises:
        UnknownTopicError: there is none of that name.
        ClusterError: the cluster does not answer.
    """
    figures = figures_of(ask)
    groups = groups_by_topic(ask.world).get(figures.name, [])
    line = line_of(figures, groups, contracts(ask.world).get(figures.name, ()))
    consumers = sorted(
        (_consumer(ask, group, figures.name) for group in groups),
        key=lambda item: -(item.lag or 0),
    )
    return TopicPage(
        at=ask.at,
        topic=line,
        min_in_sync=figures.settings.min_in_sync if figures.settings else None,
        findings=tuple(item.what for item in of_topic(figures)),
        partitions=tuple(_partition(item, figures) for item in figures.partitions)[
            :_MOST_PARTITIONS
        ],
        consumers=tuple(consumers[:_MOST_CONSUMERS]),
        frame=frame_of(ask).name,
        graphs=graphs(ask, _GRAPHS, {"topic": figures.name}),
    )


def _partition(item: PartitionFigures, topic: TopicFigures) -> PartitionLine:
    return PartitionLine(
        partition=item.partition,
        leader=item.leader,
        replicas=item.replicas,
        in_sync=item.in_sync,
        first=item.first,
        end=item.end,
        records_per_second=item.records_per_second,
        size_bytes=item.size_bytes,
        is_under_replicated=item.is_under_replicated,
        is_hot=item.partition in topic.hot,
        is_led_by_preferred=item.leader in item.replicas[:1],
    )


def _consumer(ask: Ask, group: GroupFigures, topic: TopicName) -> ConsumerLine:
    lags = [
        item.lag
        for item in ask.world.groups.partitions(group.group)
        if item.partition.topic == topic and item.lag is not None
    ]
    return ConsumerLine(
        group=group.group,
        state=group.state,
        members=group.member_count,
        lag=sum(lags) if lags else None,
        verdict=group.verdict,
    )


TOPIC = Page(
    path="/topics/{topic}",
    name="show_topic",
    summary="One topic: partitions, leaders, replicas, offsets, sizes, consumers, rates over time.",
    template="topics/topic.html",
    model=TopicPage,
    load=load,
    title=lambda model: model.topic.topic,
    command=lambda ask, _model: shlex.join(["penstock", "topics", "describe", name_of(ask)]),
    parameters=(FRAME,),
    live=("findings", "figures", "partitions", "consumers", "graphs"),
    menu="Topics",
)
