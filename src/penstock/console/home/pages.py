"""The home page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.alerts.pages import AlertLine, alert_line
from penstock.console.frame import Page
from penstock.console.pipelines.finding import pipelines_of
from penstock.console.pipelines.pages import NEAR_LOSS, PipelineEntry, entry_of
from penstock.console.pipelines.past import input_rates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.console.frame import Ask
    from penstock.console.world import World
    from penstock.monitoring.groups import GroupFigures

_MOST_PIPELINES = 20
_MOST_ALERTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHealth:
    """The Kafka cluster at a glance."""

    cluster_id: str
    brokers: int
    brokers_away: int
    controller: int | None
    topics: int
    partitions: int
    under_replicated: int
    offline: int
    disk_used: float | None
    """Which share of the fullest disk is in use; null until a broker has told."""

    @property
    def is_well(self) -> bool:
        """Whether nothing has to be done."""
        return not (self.brokers_away or self.under_replicated or self.offline)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryHealth:
    """The schema registry at a glance."""

    subjects: int
    fault: str | None
    """Why it does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What retention deletes unread next, or has deleted."""

    group: str
    seconds: float
    """Until then; 0 when it has begun."""

    flow: str | None
    """Such as `fraud/detect`, when it is a flow's group."""

    is_near: bool
    """Whether less than a quarter of the retention is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeLine:
    """A pipeline, and what it will lose if nobody acts."""

    entry: PipelineEntry
    next_loss: Loss | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """What the first page tells."""

    at: datetime
    cluster: ClusterHealth | None
    """None until it has been asked."""

    registry: RegistryHealth | None
    """None: this console knows no registry."""

    pipelines: tuple[HomeLine, ...]
    """Those in trouble first, and not more than fit a page."""

    pipeline_count: int
    in_trouble: int
    input_per_second: float
    lag_records: int | None
    slowest_seconds: float | None
    next_loss: Loss | None
    """None: nothing that is unread will be deleted, as far as that is known."""

    groups_losing: int
    """How many groups have lost records already."""

    alerts: tuple[AlertLine, ...]
    """The worst that fire and are not silenced."""

    alerts_firing: int
    is_up_to_date: bool
    """False: something could not be looked at, and what is shown of it is old."""

    @property
    def is_well(self) -> bool:
        """Whether nobody has to do anything."""
        return not (
            self.in_trouble
            or self.alerts_firing
            or not self.is_up_to_date
            or self.groups_losing
            or self.cluster is None
            or not self.cluster.is_well
            or (self.registry and self.registry.fault)
        )


def load(ask: Ask) -> Home:
    """Return the first page."""
    entries = sorted(
        (entry_of(ask, overview) for overview in pipelines_of(ask)),
        key=lambda entry: (not entry.is_in_trouble, entry.name),
    )
    shown = entries[:_MOST_PIPELINES]
    rates = input_rates(ask, (entry.name for entry in shown))
    alerts = ask.world.alerts.view()
    firing = alerts.firing if alerts else ()
    known = [entry.lag_records for entry in entries if entry.lag_records is not None]
    ages = [entry.lag_seconds for entry in entries if entry.lag_seconds is not None]
    groups = ask.world.groups.snapshot().by_group.values()
    by_pipeline: defaultdict[str, list[GroupFigures]] = defaultdict(list)
    for group in groups:
        if group.flow is not None:
            by_pipeline[group.flow.pipeline].append(group)
    return Home(
        at=ask.at,
        cluster=_cluster(ask.world),
        registry=_registry(ask.world),
        pipelines=tuple(
            HomeLine(
                entry=replace(entry, input_rates=rates.get(entry.name, ())),
                next_loss=_next_loss(by_pipeline[entry.name], ask.at),
            )
            for entry in shown
        ),
        pipeline_count=len(entries),
        in_trouble=sum(entry.is_in_trouble for entry in entries),
        input_per_second=sum(entry.input_per_second for entry in entries),
        lag_records=sum(known) if known else None,
        slowest_seconds=max(ages, default=None),
        next_loss=_next_loss(groups, ask.at),
        groups_losing=sum(bool(group.expired) for group in groups),
        alerts=tuple(alert_line(item) for item in firing[:_MOST_ALERTS]),
        alerts_firing=len(firing),
        is_up_to_date=not ask.world.faults,
    )


def _next_loss(groups: Iterable[GroupFigures], now: datetime) -> Loss | None:
    found = [(group.lost_at, group) for group in groups if group.lost_at is not None]
    if not found:
        return None
    at, group = min(found, key=lambda item: item[0])
    margin = group.loss_margin(now)
    return Loss(
        group=group.group,
        seconds=max(0.0, (at - now).total_seconds()),
        flow=f"{group.flow.pipeline}/{group.flow.flow}" if group.flow else None,
        is_near=margin is not None and margin < NEAR_LOSS,
    )


def _registry(world: World) -> RegistryHealth | None:
    if world.place.registry is None:
        return None
    watch = next(watch for watch in world.watches if watch.name == "schemas")
    return RegistryHealth(subjects=len(world.schemas), fault=watch.fault)


def _cluster(world: World) -> ClusterHealth | None:
    snapshot = world.brokers.snapshot()
    if snapshot is None:
        return None
    found = snapshot.cluster
    disks = [broker.disk_used for broker in snapshot.brokers]
    return ClusterHealth(
        cluster_id=found.cluster_id,
        brokers=len(found.brokers),
        brokers_away=sum(not broker.reachable for broker in found.brokers),
        controller=found.controller,
        topics=found.topic_count,
        partitions=found.partition_count,
        under_replicated=found.under_replicated_count,
        offline=found.offline_count,
        disk_used=max((used for used in disks if used is not None), default=None),
    )


HOME = Page(
    path="/",
    name="show_home",
    summary="Whether all is well: pipelines, lag, the cluster, and what is broken.",
    template="home/home.html",
    model=Home,
    load=load,
    title=lambda _: "Home",
    command=lambda _ask, _model: "penstock list",
    live=("health", "figures", "alerts", "pipelines", "cluster"),
    menu="Home",
)
