"""All partitions of the cluster: who leads and holds them, and who is behind."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from enum import IntEnum
from typing import TYPE_CHECKING

from penstock.console.frame import LISTING, Listing, Page, Parameter, listing
from penstock.names import BrokerId

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.console.frame import Ask
    from penstock.monitoring.topics import PartitionFigures, TopicFigures


class _Health(IntEnum):
    """The worst last."""

    OK = 0
    UNDER_REPLICATED = 1
    OFFLINE = 2

    @property
    def word(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOfCluster:
    """One partition of the list; what is not known is null."""

    topic: str
    partition: int
    health: str
    """`ok`, `under-replicated` or `offline`."""

    leader: int | None
    is_led_by_preferred: bool
    replicas: tuple[int, ...]
    """Brokers, the preferred leader first."""

    in_sync: tuple[int, ...]
    behind: tuple[int, ...]
    """Replicas that are away, or have not kept up."""

    records_per_second: float | None
    size_bytes: int | None
    """Of the leader's replica."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPartitions:
    """One page of the list of partitions."""

    at: datetime
    """When they were looked at."""

    broker: int | None
    """Only what this broker leads or holds."""

    only: str | None
    partitions: Listing[PartitionOfCluster]


_MOST_NAMES = 10
"""How many topics a command names at most: longer ones nobody reads."""

_Wanted = tuple["TopicFigures", "PartitionFigures"]

_ONLY: dict[str, Callable[[PartitionFigures], bool]] = {
    "unhealthy": lambda item: _health(item) is not _Health.OK,
    "moved": lambda item: item.leader is not None and not _is_led_by_preferred(item),
}


def load(ask: Ask) -> ClusterPartitions:
    """Return the page of the list that is asked for."""
    snapshot = ask.world.topics.snapshot()
    asked = ask.query.get("broker", "")
    broker = BrokerId(int(asked)) if asked.isdecimal() else None
    only = ask.query.get("only")
    is_wanted = _ONLY.get(only or "")
    found = listing(
        [
            (topic, item)
            for topic in snapshot.by_name.values()
            for item in topic.partitions
            if (broker is None or broker in item.replicas)
            and (is_wanted is None or is_wanted(item))
        ],
        ask,
        text=lambda found: found[0].name,
        columns={
            "topic": lambda found: (found[0].name, found[1].partition),
            "health": lambda found: _health(found[1]),
            "leader": lambda found: found[1].leader,
            "rate": lambda found: found[1].records_per_second,
            "size": lambda found: found[1].size_bytes,
        },
        sort="topic",
    )
    return ClusterPartitions(
        at=snapshot.at,
        broker=broker,
        only=only if is_wanted else None,
        partitions=found.shown_as(_line),
    )


def _line(found: _Wanted) -> PartitionOfCluster:
    topic, item = found
    return PartitionOfCluster(
        topic=topic.name,
        partition=item.partition,
        health=_health(item).word,
        leader=item.leader,
        is_led_by_preferred=_is_led_by_preferred(item),
        replicas=item.replicas,
        in_sync=item.in_sync,
        behind=tuple(replica for replica in item.replicas if replica not in item.in_sync),
        records_per_second=item.records_per_second,
        size_bytes=item.size_bytes,
    )


def _health(item: PartitionFigures) -> _Health:
    if item.leader is None:
        return _Health.OFFLINE
    return _Health.UNDER_REPLICATED if item.is_under_replicated else _Health.OK


def _is_led_by_preferred(item: PartitionFigures) -> bool:
    return item.leader in item.replicas[:1]


def _command(_ask: Ask, model: ClusterPartitions) -> str:
    """Return the command that shows the partitions of these topics; empty if these are many."""
    names = dict.fromkeys(line.topic for line in model.partitions.items)
    is_short = 0 < len(names) <= _MOST_NAMES
    return shlex.join(["penstock", "topics", "describe", *names]) if is_short else ""


PARTITIONS = Page(
    path="/cluster/partitions",
    name="list_partitions",
    summary="All partitions with leader, replicas, ISR and size; of one broker, or the unhealthy.",
    template="cluster/partitions.html",
    model=ClusterPartitions,
    load=load,
    title=lambda model: (
        "Partitions" if model.broker is None else f"Partitions of broker {model.broker}"
    ),
    command=_command,
    parameters=(
        *LISTING,
        Parameter(name="broker", meaning="only what this broker leads or holds", kind=int),
        Parameter(
            name="only",
            meaning="`unhealthy`: under-replicated or offline; `moved`: not led by the preferred",
        ),
    ),
    live=("partitions",),
    menu="Cluster",
)
