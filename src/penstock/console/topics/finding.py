"""What the world knows of topics: figures, who reads them, what their records look like."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.kafka import Admin, describe_topics
from penstock.monitoring.topics import PartitionFigures, TopicFigures
from penstock.names import TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.console.frame import Ask
    from penstock.console.world import World
    from penstock.kafka import PartitionDescription, TopicDescription
    from penstock.monitoring.groups import GroupFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What keys or values are: by the topic's own subject, or else as a pipeline declares it."""

    side: str
    type: str
    subject: str | None = None
    version: int | None = None
    """The newest of the subject."""

    pipeline: str | None = None
    """Who declares it, where no subject is the topic's own."""

    columns: str | None = None
    """As it is declared: `host string, hits bigint`."""


def name_of(ask: Ask) -> TopicName:
    """Return the topic that the address names."""
    return TopicName(ask.path["topic"])


def figures_of(ask: Ask) -> TopicFigures:
    """Return what was sampled of the topic; one that is newer than that is asked about.

    Raises:
        UnknownTopicError: there is none of that name.
        ClusterError: the cluster does not answer.
    """
    name = name_of(ask)
    known = ask.world.topics.snapshot().by_name.get(name)
    if known is not None:
        return known
    with Admin(ask.world.connection) as admin:
        (found,) = describe_topics(admin, [name])
    return _as_figures(found)


def groups_by_topic(world: World) -> Mapping[TopicName, list[GroupFigures]]:
    """Return the groups that have committed offsets of each topic."""
    found: defaultdict[TopicName, list[GroupFigures]] = defaultdict(list)
    for group in world.groups.snapshot().by_group.values():
        for topic in group.topics:
            found[topic].append(group)
    return found


def contracts(world: World) -> Mapping[TopicName, tuple[Contract, ...]]:
    """Return what is known of the records of topics, values before keys."""
    found: defaultdict[TopicName, list[Contract]] = defaultdict(list)
    for topic, contract in (*_registered(world), *_declared(world)):
        sides = [item.side for item in found[topic] if item.subject]
        if contract.side not in sides and contract not in found[topic]:
            found[topic].append(contract)
    return {
        topic: tuple(sorted(items, key=lambda item: item.side, reverse=True))
        for topic, items in found.items()
    }


def _registered(world: World) -> Iterator[tuple[TopicName, Contract]]:
    for schema in world.schemas:
        topic, _, side = (schema.subject or "").rpartition("-")
        if topic and side in ("key", "value"):
            yield (
                TopicName(topic),
                Contract(
                    side=side, type=schema.type, subject=schema.subject, version=schema.version
                ),
            )


def _declared(world: World) -> Iterator[tuple[TopicName, Contract]]:
    for overview in world.pipelines:
        about = world.operator().about(overview)
        for item in about.contracts if about else ():
            columns = item.columns or {}
            yield (
                item.topic,
                Contract(
                    side=item.side,
                    type=item.format,
                    pipeline=overview.pipeline,
                    columns=", ".join(f"{name} {type_}" for name, type_ in columns.items()) or None,
                ),
            )


def _as_figures(topic: TopicDescription) -> TopicFigures:
    return TopicFigures(
        name=topic.name,
        is_internal=topic.internal,
        partitions=tuple(_partition(item) for item in topic.partitions),
        hot=(),
        disk_bytes=topic.disk_bytes,
        settings=None,
    )


def _partition(item: PartitionDescription) -> PartitionFigures:
    return PartitionFigures(
        partition=item.partition,
        leader=item.leader,
        replicas=item.replicas,
        in_sync=item.in_sync,
        first=item.first,
        end=item.end,
        records_per_second=None,
        size_bytes=item.size_bytes,
    )
