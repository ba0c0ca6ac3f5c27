"""The page of one group: members, positions, and where its lag goes."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.frame import Page, Parameter
from penstock.console.frame.charts import Line
from penstock.console.groups.list_page import GroupLine, line_of
from penstock.kafka import (
    Admin,
    ClusterError,
    GroupType,
    Member,
    Membership,
    PartitionLag,
    UnknownGroupError,
    committed_offsets,
    membership_of,
    partition_lags,
)
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG_SECONDS, GROUP_SUM_LAG
from penstock.monitoring.frames import DEFAULT_FRAME, FRAMES, frame_named
from penstock.monitoring.groups import Verdict  # noqa: TC001 - pydantic reads the annotations
from penstock.names import GroupId

if TYPE_CHECKING:
    from penstock.console.frame import Ask
    from penstock.kafka import TopicPartition
    from penstock.monitoring.catalog import Metric
    from penstock.monitoring.groups import GroupFigures, PartitionFigures

# To search thousands of names for the nearest would take longer than anybody waits.
_MOST_NAMES = 2_000
# Only these two can be asked for members; of others their number is known.
_VISIBLE = (GroupType.CLASSIC, GroupType.CONSUMER)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """One member of the group."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLine:
    """Where the group stands in one partition; what is not known is null."""

    topic: str
    partition: int
    committed: int | None
    committed_at: datetime | None
    first: int | None
    end: int | None
    lag: int | None
    held: int
    """Records of the lag behind an open transaction."""

    expired: int
    lag_seconds: float | None
    seconds_to_loss: float | None
    verdict: Verdict | None
    owner: str | None
    """The client id of the member that reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagPoint:
    """The lag at a moment."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """Everything that is known of a group."""

    at: datetime
    group: GroupLine
    assignor: str | None
    coordinator: str | None
    members: tuple[MemberLine, ...]
    partitions: tuple[PartitionLine, ...]
    moved_at: datetime | None
    """When it committed last."""

    moved_by: str | None
    """The command of Kafka's own that resets it; null where this console does."""

    cleared_in_seconds: float | None
    """How long the lag takes to go at the pace of the last minutes."""

    frame: str
    """The time that the graphs show; `frames` are those to choose from."""

    since: datetime
    frames: tuple[tuple[str, str], ...]
    lag: tuple[LagPoint, ...]
    age: tuple[LagPoint, ...]

    @property
    def lag_line(self) -> Line:
        """The lag as a graph shows it."""
        return Line(name="lag", points=[(point.at, point.value) for point in self.lag])

    @property
    def age_line(self) -> Line:
        """The age of the oldest unread record as a graph shows it."""
        return Line(name="age", points=[(point.at, point.value) for point in self.age])


def load(ask: Ask) -> GroupPage:
    """Return the group, with positions as the coordinator knows them now.

    Raises:
        UnknownGroupError: there is none of that name.
        ClusterError: the cluster does not answer.
    """
    group = GroupId(ask.path["group"])
    figures = figures_of(ask, group)
    membership, lags = _asked(ask, figures)
    frame = frame_named(ask.query.get("frame", "")) or DEFAULT_FRAME
    since = ask.at - frame.length
    line = line_of(figures, ask.at)
    if membership is not None:
        line = replace(line, state=membership.state, members=len(membership.members))
    return GroupPage(
        at=ask.at,
        group=line,
        assignor=membership.assignor if membership else None,
        coordinator=str(membership.coordinator) if membership else None,
        members=tuple(_member(item) for item in membership.members) if membership else (),
        partitions=partition_lines(ask, group, lags, membership),
        moved_at=figures.moved_at,
        moved_by=moved_by(figures.type, group, ask.world.connection.bootstrap),
        cleared_in_seconds=figures.cleared_in_seconds,
        frame=frame.name,
        since=since,
        frames=tuple((item.name, item.title) for item in FRAMES),
        lag=_points(ask, GROUP_SUM_LAG, group, since=since, frame=frame.name),
        age=_points(ask, GROUP_MAX_LAG_SECONDS, group, since=since, frame=frame.name),
    )


def moved_by(kind: GroupType, group: GroupId, bootstrap: str) -> str | None:
    """Return what resets a group that Kafka's client for Python cannot write offsets of.

    None for groups that `plan_reset` can move.
    """
    match kind:
        case GroupType.SHARE:
            tool, topics = "kafka-share-groups.sh", "--all-topics"
        case GroupType.STREAMS:
            tool, topics = "kafka-streams-groups.sh", "--all-input-topics"
        case _:
            return None
    words = [tool, "--bootstrap-server", bootstrap, "--group", group, "--reset-offsets", topics]
    return shlex.join([*words, "--to-earliest", "--execute"])


def figures_of(ask: Ask, group: GroupId) -> GroupFigures:
    """Return what was sampled of `group`.

    Raises:
        UnknownGroupError: there is none of that name.
    """
    known = ask.world.groups.snapshot().by_group
    if group not in known:
        raise UnknownGroupError(group, known=known if len(known) <= _MOST_NAMES else ())
    return known[group]


def positions(ask: Ask, group: GroupId) -> tuple[PartitionLine, ...]:
    """Return where `group` stands now.

    Raises:
        UnknownGroupError: there is none of that name.
        ClusterError: the cluster does not answer.
    """
    membership, lags = _asked(ask, figures_of(ask, group))
    return partition_lines(ask, group, lags, membership)


def partition_lines(
    ask: Ask, group: GroupId, lags: tuple[PartitionLag, ...], membership: Membership | None
) -> tuple[PartitionLine, ...]:
    """Return positions with what the samples tell of their age."""
    sampled = {item.partition: item for item in ask.world.groups.partitions(group)}
    owners = {
        partition: member.client_id
        for member in (membership.members if membership else ())
        for partition in member.partitions
    }
    return tuple(
        _line(item, sampled.get(item.partition), owners.get(item.partition), ask.at)
        for item in lags
    )


def _asked(ask: Ask, figures: GroupFigures) -> tuple[Membership | None, tuple[PartitionLag, ...]]:
    """Ask the coordinator for members and commits, and the leaders for ends."""
    group = figures.group
    if figures.type is GroupType.SHARE:  # it has no commits to ask for
        return None, tuple(
            PartitionLag(
                partition=item.partition, committed=item.committed, first=item.first, end=item.end
            )
            for item in ask.world.groups.partitions(group)
        )
    with Admin(ask.world.connection) as admin:
        membership = None
        if figures.type in _VISIBLE:
            try:
                membership = membership_of(admin, group)
            except ClusterError as fault:
                if fault.retryable:
                    raise
                # A group of Connect's is classic as well, and cannot be described.
        committed = committed_offsets(admin, [group])[group]
        partitions: set[TopicPartition] = set(committed)
        for member in membership.members if membership else ():
            partitions.update(member.partitions)
        return membership, partition_lags(admin, partitions, committed)


def _line(
    item: PartitionLag, sampled: PartitionFigures | None, owner: str | None, at: datetime
) -> PartitionLine:
    unread = sampled.unread_since if sampled else None
    lost_at = sampled.lost_at if sampled else None
    waited = None if unread is None else max(0.0, (at - unread).total_seconds())
    return PartitionLine(
        topic=item.partition.topic,
        partition=item.partition.partition,
        committed=item.committed,
        committed_at=sampled.committed_at if sampled else None,
        first=item.first,
        end=item.end,
        lag=item.lag,
        held=item.held,
        expired=item.expired,
        lag_seconds=0.0 if item.lag == 0 else waited,
        seconds_to_loss=None
        if not item.lag or lost_at is None
        else max(0.0, (lost_at - at).total_seconds()),
        verdict=sampled.verdict if sampled else None,
        owner=owner,
    )


def _member(item: Member) -> MemberLine:
    return MemberLine(
        member_id=item.member_id,
        client_id=item.client_id,
        host=item.host,
        instance_id=item.instance_id,
        partitions=tuple(str(partition) for partition in item.partitions),
    )


def _points(
    ask: Ask, metric: Metric, group: GroupId, *, since: datetime, frame: str
) -> tuple[LagPoint, ...]:
    step = (frame_named(frame) or DEFAULT_FRAME).step
    found = ask.world.history.series(
        metric.name, {"group": group}, since=since, until=ask.at, step=step
    )
    return tuple(
        LagPoint(at=point.at, value=point.value) for series in found for point in series.points
    )


GROUP = Page(
    path="/groups/{group:path}",
    name="show_group",
    summary="One group: members and assignment, positions, lag over time, time to data loss.",
    template="groups/group.html",
    model=GroupPage,
    load=load,
    title=lambda model: model.group.group,
    command=lambda ask, _model: f"penstock groups describe {shlex.quote(ask.path['group'])}",
    parameters=(Parameter(name="frame", meaning="the time of the graphs, such as `1h`"),),
    live=("figures", "members", "partitions", "graphs"),
    menu="Groups",
)
