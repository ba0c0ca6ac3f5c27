"""The list of all topics of the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.frame import LISTING, Listing, Page, Parameter, listing
from penstock.console.topics.finding import Contract, contracts, groups_by_topic
from penstock.monitoring.groups import Verdict  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.console.frame import Ask
    from penstock.monitoring.groups import GroupFigures
    from penstock.monitoring.topics import TopicFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLine:
    """One topic of the list; what is not known is null."""

    topic: str
    is_internal: bool
    partitions: int
    replication_factor: int
    under_replicated: int
    offline: int
    hot: int
    records_per_second: float | None
    offsets: int | None
    """Between first and end: at least as many as there are records."""

    disk_bytes: int | None
    """All replicas together."""

    cleanup_policy: str | None
    retention_seconds: float | None
    """Null when time does not limit it."""

    retention_bytes: int | None
    consumers: int
    """Groups that have committed offsets of it."""

    worst_consumer: str | None
    worst_verdict: Verdict | None
    contracts: tuple[Contract, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """One page of the list of topics."""

    at: datetime
    """When they were looked at."""

    is_complete: bool
    """Whether the settings of all of them are known."""

    count: int
    internal: int
    partitions: int
    under_replicated: int
    offline: int
    records_per_second: float
    disk_bytes: int
    shows_internal: bool
    topics: Listing[TopicLine]


def load(ask: Ask) -> Topics:
    """Return the page of the list that is asked for."""
    snapshot = ask.world.topics.snapshot()
    every = snapshot.by_name.values()
    with_internal = ask.query.get("internal") == "yes"
    groups, formats = groups_by_topic(ask.world), contracts(ask.world)
    found = listing(
        [topic for topic in every if with_internal or not topic.is_internal],
        ask,
        text=lambda topic: topic.name,
        columns={
            "topic": lambda topic: topic.name,
            "partitions": lambda topic: len(topic.partitions),
            "replicas": lambda topic: topic.replication_factor,
            "rate": lambda topic: topic.records_per_second,
            "offsets": lambda topic: topic.span,
            "disk": lambda topic: topic.disk_bytes,
            "retention": _retention,
            "consumers": lambda topic: len(groups.get(topic.name, ())),
            "health": lambda topic: (topic.offline, topic.under_replicated, len(topic.hot)),
        },
        sort="topic",
    )
    return Topics(
        at=snapshot.at,
        is_complete=snapshot.is_complete,
        count=len(snapshot.by_name),
        internal=sum(topic.is_internal for topic in every),
        partitions=sum(len(topic.partitions) for topic in every),
        under_replicated=sum(topic.under_replicated for topic in every),
        offline=sum(topic.offline for topic in every),
        records_per_second=sum(topic.records_per_second or 0 for topic in every),
        disk_bytes=sum(topic.disk_bytes or 0 for topic in every),
        shows_internal=with_internal,
        topics=found.shown_as(
            lambda topic: line_of(topic, groups.get(topic.name, ()), formats.get(topic.name, ()))
        ),
    )


def line_of(
    topic: TopicFigures, groups: Sequence[GroupFigures], formats: tuple[Contract, ...]
) -> TopicLine:
    """Return what the list shows of a topic."""
    settings = topic.settings
    worst = max(groups, key=lambda group: group.verdict.rank, default=None)
    retention = _retention(topic)
    return TopicLine(
        topic=topic.name,
        is_internal=topic.is_internal,
        partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        under_replicated=topic.under_replicated,
        offline=topic.offline,
        hot=len(topic.hot),
        records_per_second=topic.records_per_second,
        offsets=topic.span,
        disk_bytes=topic.disk_bytes,
        cleanup_policy=settings.cleanup_policy if settings else None,
        retention_seconds=None if retention is None else retention / 1000,
        retention_bytes=settings.retention_bytes if settings else None,
        consumers=len(groups),
        worst_consumer=worst.group if worst else None,
        worst_verdict=worst.verdict if worst else None,
        contracts=formats,
    )


def _retention(topic: TopicFigures) -> int | None:
    """Return for how many milliseconds records are kept; None where nothing is deleted by time."""
    settings = topic.settings
    if settings is None or "delete" not in (settings.cleanup_policy or ""):
        return None
    return settings.retention_ms


TOPICS = Page(
    path="/topics",
    name="list_topics",
    summary="All topics with rates, sizes, health, retention, consumers and contracts.",
    template="topics/list.html",
    model=Topics,
    load=load,
    title=lambda _: "Topics",
    command=lambda ask, _model: (
        "penstock topics list" + (" --internal" if ask.query.get("internal") == "yes" else "")
    ),
    parameters=(
        *LISTING,
        Parameter(name="internal", meaning="`yes`: also topics of Kafka's and Penstock's own"),
    ),
    live=("figures", "topics"),
    menu="Topics",
)
