"""The page of the whole cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.cluster.lines import BrokerLine, TimesLine, broker_line, times_lines
from penstock.console.frame import Page
from penstock.console.frame.past import FRAME, HistoryGraph, Wanted, frame_of, graphs
from penstock.monitoring.balance import leader_imbalance, traffic_imbalance
from penstock.monitoring.broker_measures import PARTS
from penstock.monitoring.catalog import brokers as catalog
from penstock.monitoring.findings import FindingKind, findings

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.kafka import ClusterDescription, QuorumMember
    from penstock.monitoring.findings import Finding

_MOST_FINDINGS = 50
_SLOW = ("0.99",)
_GRAPHS = (
    Wanted("Bytes in", ((catalog.BROKER_BYTES_IN_RATE, "broker {broker}"),)),
    Wanted("Bytes out", ((catalog.BROKER_BYTES_OUT_RATE, "broker {broker}"),)),
    Wanted("Records in", ((catalog.BROKER_RECORDS_IN_RATE, "broker {broker}"),)),
    Wanted(
        "Partitions that miss a replica, or a leader",
        ((catalog.CLUSTER_UNDER_REPLICATED, "a replica"), (catalog.CLUSTER_OFFLINE, "a leader")),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLine:
    """One thing that is wrong."""

    kind: FindingKind
    is_critical: bool
    what: str
    hint: str
    broker: int | None
    topic: str | None
    partition: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """A controller that votes, or a broker that follows the metadata log."""

    node: int
    is_leader: bool
    votes: bool
    log_end: int
    lag: int
    """Metadata records behind the leader."""

    last_caught_up: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLine:
    """A feature at the level that the cluster has agreed on."""

    name: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPage:
    """Everything that is known of the cluster as a whole."""

    at: datetime | None
    """When it was looked at; null until it has answered."""

    cluster_id: str | None
    controller: int | None
    controllers: int | None
    """How many brokers say that they are the active controller."""

    brokers: tuple[BrokerLine, ...]
    topics: int
    partitions: int
    under_replicated: int
    offline: int
    leader_imbalance: float
    """How much the broker with most has, compared with an even share: 1 is even."""

    traffic_imbalance: float
    findings: tuple[FindingLine, ...]
    """The worst of them."""

    finding_count: int
    times: tuple[TimesLine, ...]
    """Where the time of the slowest hundredth of requests went."""

    parts: tuple[str, ...]
    quorum: tuple[MemberLine, ...]
    features: tuple[FeatureLine, ...]
    frame: str
    graphs: tuple[HistoryGraph, ...]


def load(ask: Ask) -> ClusterPage:
    """Return the cluster as of the last look."""
    snapshot = ask.world.brokers.snapshot()
    brokers = snapshot.brokers if snapshot else ()
    cluster = snapshot.cluster if snapshot else None
    found = findings(snapshot, ask.world.topics.snapshot().by_name.values())
    return ClusterPage(
        at=snapshot.at if snapshot else None,
        cluster_id=cluster.cluster_id if cluster else None,
        controller=cluster.controller if cluster else None,
        controllers=snapshot.controllers if snapshot else None,
        brokers=tuple(broker_line(broker) for broker in brokers),
        topics=cluster.topic_count if cluster else 0,
        partitions=cluster.partition_count if cluster else 0,
        under_replicated=cluster.under_replicated_count if cluster else 0,
        offline=cluster.offline_count if cluster else 0,
        leader_imbalance=leader_imbalance(brokers),
        traffic_imbalance=traffic_imbalance(brokers),
        findings=tuple(_finding(item) for item in found[:_MOST_FINDINGS]),
        finding_count=len(found),
        times=tuple(line for broker in brokers for line in times_lines(broker, _SLOW)),
        parts=tuple(PARTS),
        quorum=_members(cluster) if cluster else (),
        features=tuple(
            FeatureLine(name=feature.name, level=feature.level)
            for feature in (cluster.features if cluster else None) or ()
        ),
        frame=frame_of(ask).name,
        graphs=graphs(ask, _GRAPHS, {}),
    )


def _finding(item: Finding) -> FindingLine:
    return FindingLine(
        kind=item.kind,
        is_critical=item.is_critical,
        what=item.what,
        hint=item.hint,
        broker=item.broker,
        topic=item.topic,
        partition=item.partition,
    )


def _members(cluster: ClusterDescription) -> tuple[MemberLine, ...]:
    quorum = cluster.quorum
    if quorum is None:
        return ()

    def line(member: QuorumMember, *, votes: bool) -> MemberLine:
        return MemberLine(
            node=member.node_id,
            is_leader=member.node_id == quorum.leader,
            votes=votes,
            log_end=member.log_end,
            lag=member.lag,
            last_caught_up=member.last_caught_up,
        )

    return (
        *(line(member, votes=True) for member in quorum.voters),
        *(line(member, votes=False) for member in quorum.observers),
    )


CLUSTER = Page(
    path="/cluster",
    name="show_cluster",
    summary="Brokers with rates and disks, what is wrong, request times, quorum, features.",
    template="cluster/cluster.html",
    model=ClusterPage,
    load=load,
    title=lambda _: "Cluster",
    command=lambda _ask, _model: "penstock cluster describe",
    parameters=(FRAME,),
    live=("figures", "findings", "brokers", "graphs", "times", "quorum"),
    menu="Cluster",
)
