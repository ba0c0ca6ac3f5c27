"""What is known of groups at one moment: the snapshot that pages, alerts and `/metrics` read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.monitoring.groups.trend import Trend, trend_of
from penstock.names import FlowName, PipelineName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kafka import GroupState, GroupType, TopicPartition
    from penstock.monitoring.groups.losing import Loss
    from penstock.monitoring.groups.verdicts import Verdict
    from penstock.names import GroupId, Offset, TopicName

_SHADOW = "penstock."


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowAddress:
    """The flow whose position a shadow group shows."""

    pipeline: PipelineName
    flow: FlowName


def flow_of(group: str) -> FlowAddress | None:
    """Return the flow that a group's name says it shadows; the group itself decides nothing."""
    if not group.startswith(_SHADOW):
        return None
    pipeline, _, flow = group.removeprefix(_SHADOW).rpartition(".")
    if not pipeline or not flow:
        return None
    return FlowAddress(pipeline=PipelineName(pipeline), flow=FlowName(flow))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFigures:
    """Where a group stands in one partition; what is not known is None."""

    partition: TopicPartition
    committed: Offset
    committed_at: datetime
    first: Offset | None
    end: Offset | None
    """None when there is no such partition any more."""

    lag: int | None
    expired: int
    """Records that retention has deleted unread."""

    unread_since: datetime | None
    """When the first record came that it has not read; None when nothing waits."""

    lost_at: datetime | None
    """When retention may delete that record; None when it never will, or has nothing to."""

    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigures:
    """How one group does, over all partitions in which it has committed.

    Moments instead of durations, so that a group which stands still has figures that stand still.
    """

    group: GroupId
    type: GroupType
    state: GroupState
    member_count: int
    topics: tuple[TopicName, ...]
    partition_count: int
    lag: int | None
    """None when it has committed nothing, or no end is known."""

    max_lag: int | None
    unread_since: datetime | None
    """When the oldest unread record came; None when nothing waits, or it is not known."""

    age_known: bool
    """Whether it is known of every partition with lag when its first unread record came."""

    losses: tuple[Loss, ...]
    """What retention may delete unread, as far as it decides when and how soon: the earliest first.
    """

    worst: TopicPartition | None
    """Where that is, or else where most is unread."""

    expired: int
    """Records that retention has deleted before the group has read them."""

    lag_per_second: float | None
    """By how many records the lag grows, over the last ten minutes."""

    verdict: Verdict
    moved_at: datetime | None
    """When it committed last."""

    flow: FlowAddress | None
    """The flow that it shadows; it has no members, and nobody reads its offsets back."""

    @property
    def lost_at(self) -> datetime | None:
        """When retention may delete unread records next; now or earlier when it has done so."""
        return moment(self.losses[0].at) if self.losses else None

    @property
    def trend(self) -> Trend | None:
        """Where the lag goes; None while that is not known."""
        return None if self.lag is None else trend_of(self.lag, self.lag_per_second)

    @property
    def cleared_in_seconds(self) -> float | None:
        """How long the lag takes to go at this pace; None when it does not shrink."""
        if self.trend is not Trend.SHRINKING or not self.lag or not self.lag_per_second:
            return None
        return self.lag / -self.lag_per_second

    def lag_seconds(self, at: datetime) -> float | None:
        """Return the age of the oldest unread record; 0 when nothing waits, None if unknown."""
        if self.unread_since is None:
            return 0.0 if self.age_known and self.lag is not None else None
        return max(0.0, (at - self.unread_since).total_seconds())

    def seconds_to_loss(self, at: datetime) -> float | None:
        """Return for how long all that is unread is there for certain; 0: it is being lost."""
        return None if self.lost_at is None else max(0.0, (self.lost_at - at).total_seconds())

    def loss_margin(self, at: datetime) -> float | None:
        """Return how much of the retention is left until then, where it is least: 1 is all."""
        return min((loss.margin(at.timestamp()) for loss in self.losses), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsSnapshot:
    """All groups as of one look."""

    at: datetime
    complete: bool
    """Whether everything was looked at once: before, ages of unread records may be missing."""

    by_group: Mapping[GroupId, GroupFigures] = field(default_factory=dict)


def moment(seconds: float) -> datetime:
    """Return seconds since 1970 as a time."""
    return datetime.fromtimestamp(seconds, UTC)
