"""What the figures show to be wrong, the worst first. Pure: pages and alerts call it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.monitoring.balance import leader_imbalance, traffic_imbalance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from penstock.monitoring.brokers import BrokerFigures, BrokersSnapshot
    from penstock.monitoring.topics import TopicFigures
    from penstock.names import BrokerId, Partition, TopicName

IMBALANCE_LIMIT = 1.5
"""A broker with half as much again as its even share."""

DISK_LIMIT = 0.85
DISK_FULL = 0.95


class FindingKind(StrEnum):
    """What is wrong, the worst kinds first."""

    OFFLINE = "offline partitions"
    CONTROLLERS = "active controllers"
    BROKER_AWAY = "broker away"
    DIRECTORY_FAILED = "failed log directory"
    UNDER_MIN_ISR = "under min ISR"
    DISK = "disk nearly full"
    UNDER_REPLICATED = "under-replicated partitions"
    HOT_PARTITION = "hot partition"
    TRAFFIC = "traffic imbalance"
    LEADERS = "leader imbalance"
    EXPORTER = "no metrics"


CRITICAL = frozenset(
    {
        FindingKind.OFFLINE,
        FindingKind.CONTROLLERS,
        FindingKind.BROKER_AWAY,
        FindingKind.DIRECTORY_FAILED,
        FindingKind.UNDER_MIN_ISR,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong."""

    kind: FindingKind
    is_critical: bool
    what: str
    """A sentence of what was found."""

    hint: str
    """What to do, or to look at."""

    broker: BrokerId | None = None
    topic: TopicName | None = None
    partition: Partition | None = None


def findings(
    snapshot: BrokersSnapshot | None, topics: Iterable[TopicFigures]
) -> tuple[Finding, ...]:
    """Return all that is wrong with brokers and topics."""
    found = [item for topic in topics for item in of_topic(topic)]
    if snapshot is not None:
        found += of_cluster(snapshot)
        found += [item for broker in snapshot.brokers for item in of_broker(broker)]
    order = list(FindingKind)
    return tuple(
        sorted(found, key=lambda item: (order.index(item.kind), item.broker or 0, item.topic or ""))
    )


def of_topic(topic: TopicFigures) -> Iterator[Finding]:
    """Return what is wrong with one topic."""
    if topic.offline:
        yield _finding(
            FindingKind.OFFLINE,
            f"{_partitions(topic.offline)} of `{topic.name}` can be neither written nor read",
            "start the brokers that hold their replicas",
            topic=topic.name,
        )
    if topic.under_replicated:
        yield _finding(
            FindingKind.UNDER_REPLICATED,
            f"{_partitions(topic.under_replicated)} of `{topic.name}` have fewer replicas in sync "
            "than they should",
            "see which brokers are missing from their ISR: away, or too slow",
            topic=topic.name,
        )
    for item in topic.partitions:
        if item.partition in topic.hot:
            yield _finding(
                FindingKind.HOT_PARTITION,
                f"partition {item.partition} of `{topic.name}` gets {item.records_per_second:,.0f} "
                "records per second, ten times as many as the median of the others",
                "see which keys it gets: few keys, or one that is in most records",
                topic=topic.name,
                partition=item.partition,
            )


def of_broker(broker: BrokerFigures) -> Iterator[Finding]:
    """Return what is wrong with one broker."""
    name = f"broker {broker.broker_id}"
    if not broker.is_reachable:
        yield _finding(
            FindingKind.BROKER_AWAY,
            f"{name}, which holds {broker.replica_count} replicas, accepts no connections",
            "start it, or see its log for why it ended",
            broker=broker.broker_id,
        )
        return  # that its exporter is silent too is no news
    for directory in broker.directories or ():
        if directory.failed:
            yield _finding(
                FindingKind.DIRECTORY_FAILED,
                f"{name} has taken `{directory.path}` out of use",
                "see its log: the disk has failed, or is full",
                broker=broker.broker_id,
            )
    if broker.disk_used is not None and broker.disk_used >= DISK_LIMIT:
        yield Finding(
            kind=FindingKind.DISK,
            is_critical=broker.disk_used >= DISK_FULL,
            what=f"a disk of {name} is {broker.disk_used:.0%} full",
            hint="add room, or shorten the retention of its largest topics",
            broker=broker.broker_id,
        )
    if broker.measured is not None and broker.measured.under_min_isr:
        count = broker.measured.under_min_isr
        yield _finding(
            FindingKind.UNDER_MIN_ISR,
            f"{_partitions(count)} that {name} leads refuse records with `acks=all`",
            "start the brokers that are missing from their ISR",
            broker=broker.broker_id,
        )
    if broker.fault is not None:
        yield _finding(
            FindingKind.EXPORTER,
            f"{name}: {broker.fault}",
            "its other figures go on",
            broker=broker.broker_id,
        )


def of_cluster(snapshot: BrokersSnapshot) -> Iterator[Finding]:
    """Return what is wrong between brokers."""
    controllers = snapshot.controllers
    if controllers not in (None, 1):
        yield _finding(
            FindingKind.CONTROLLERS,
            f"{controllers} nodes say that they are the active controller",
            "see the quorum: a new one is elected within seconds, or a majority is missing",
        )
    for controller in snapshot.controllers_apart:
        if controller.fault is not None:
            yield _finding(
                FindingKind.EXPORTER,
                f"controller {controller.node_id}: {controller.fault}",
                "whether there is one active controller is not known without it",
            )
    yield from _imbalance(
        FindingKind.LEADERS, "leaders", leader_imbalance(snapshot.brokers), snapshot.brokers
    )
    yield from _imbalance(
        FindingKind.TRAFFIC, "traffic", traffic_imbalance(snapshot.brokers), snapshot.brokers
    )


def _imbalance(
    kind: FindingKind, what: str, imbalance: float, brokers: Sequence[BrokerFigures]
) -> Iterator[Finding]:
    if imbalance >= IMBALANCE_LIMIT:
        count = sum(broker.is_reachable for broker in brokers)
        yield _finding(
            kind,
            f"one of {count} brokers has {imbalance:.1f} times its even share of {what}",
            "move partitions, or let preferred replicas lead again",
        )


def _finding(
    kind: FindingKind,
    what: str,
    hint: str,
    *,
    broker: BrokerId | None = None,
    topic: TopicName | None = None,
    partition: Partition | None = None,
) -> Finding:
    return Finding(
        kind=kind,
        is_critical=kind in CRITICAL,
        what=what,
        hint=hint,
        broker=broker,
        topic=topic,
        partition=partition,
    )


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
