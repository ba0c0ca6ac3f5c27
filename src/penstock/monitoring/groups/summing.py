"""From partitions to a group: what is added up, and where the worst decides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from penstock.kafka import GroupState
from penstock.monitoring.groups.figures import GroupFigures, flow_of, moment
from penstock.monitoring.groups.losing import decisive
from penstock.monitoring.groups.standing import NOTHING_FOLLOWS
from penstock.monitoring.groups.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.kafka import LoggedGroup, TopicPartition
    from penstock.monitoring.groups.standing import Standing
    from penstock.monitoring.groups.trend import LagHistory
    from penstock.names import GroupId


def group_figures(
    group: GroupId,
    logged: LoggedGroup,
    standings: Mapping[TopicPartition, Standing],
    *,
    state: GroupState | None,
    lags: LagHistory,
    at: float,
) -> GroupFigures:
    """Return how `group` does.

    Args:
        group: its name.
        logged: what brokers keep of it.
        standings: where it is in each partition in which it has committed.
        state: as brokers name it; None for kinds of groups that they do not list.
        lags: the lags that it had, to which this one is added.
        at: now.
    """
    seen = [item.lag for item in standings.values() if item.lag is not None]
    behind = {partition: item for partition, item in standings.items() if item.lag}
    lag = sum(seen) if seen else None
    if lag is not None:
        lags.note(lag, at=at)
    ages = [item.since for item in behind.values()]
    moments = [since for since in ages if since is not None and since != NOTHING_FOLLOWS]
    losses = [item.loss for item in behind.values() if item.loss is not None]
    age_known = None not in ages
    moved = max((item.commit.at for item in standings.values()), default=None)
    return GroupFigures(
        group=group,
        type=logged.type,
        state=state or (GroupState.STABLE if logged.member_count else GroupState.EMPTY),
        member_count=logged.member_count,
        topics=tuple(sorted({item.topic for item in standings})),
        partition_count=len(standings),
        lag=lag,
        max_lag=max(seen, default=None),
        unread_since=moment(min(moments)) if moments and age_known else None,
        age_known=age_known,
        losses=decisive(losses),
        worst=_worst(behind),
        expired=sum(item.expired for item in behind.values()),
        lag_per_second=lags.per_second(),
        verdict=max((item.verdict for item in standings.values()), key=_rank, default=Verdict.OK),
        moved_at=None if moved is None else moment(moved),
        flow=flow_of(group),
    )


def _rank(verdict: Verdict) -> int:
    return verdict.rank


def _worst(behind: Mapping[TopicPartition, Standing]) -> TopicPartition | None:
    """Return where records are lost first, or else where most wait."""

    def urgency(partition: TopicPartition) -> tuple[float, int, TopicPartition]:
        item = behind[partition]
        return (math.inf if item.loss is None else item.loss.at, -(item.lag or 0), partition)

    return min(behind, key=urgency, default=None)
