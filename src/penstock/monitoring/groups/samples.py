"""The series of groups, bounded: a cluster may have ten thousand groups of fifty partitions.

A group has series when somebody may want its curve: it has members, it committed within the last
hour, its lag grows, or it has unread records that retention will delete. The most urgent `GROUPS`
of them are told. Series per partition are told of groups with members and of those that committed
within the last ten minutes, `PARTITIONS` in all. How many groups there are by verdict covers every
group.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from penstock.monitoring.catalog import Sample, sample
from penstock.monitoring.catalog.groups import (
    GROUP_EXPIRED,
    GROUP_LOSS_MARGIN,
    GROUP_MAX_LAG,
    GROUP_MAX_LAG_SECONDS,
    GROUP_MEMBERS,
    GROUP_PARTITION_LAG,
    GROUP_PARTITION_LAG_SECONDS,
    GROUP_SUM_LAG,
    GROUP_TIME_TO_LOSS,
    GROUPS_BY_VERDICT,
)
from penstock.monitoring.groups.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from penstock.monitoring.groups.figures import GroupFigures, GroupsSnapshot, PartitionFigures
    from penstock.names import GroupId

GROUPS = 1_000
PARTITIONS = 1_000
_RECENT_SECONDS = 3600.0
_MOVING_SECONDS = 600.0


def samples_of(
    snapshot: GroupsSnapshot, partitions_of: Callable[[GroupId], Iterable[PartitionFigures]]
) -> Iterator[Sample]:
    """Return the series of one look."""
    at = snapshot.at
    verdicts = Counter(item.verdict for item in snapshot.by_group.values())
    for verdict in Verdict:
        yield sample(GROUPS_BY_VERDICT, verdicts[verdict], verdict=verdict.value)
    told = sorted(
        (item for item in snapshot.by_group.values() if _is_of_interest(item, at)),
        key=lambda item: _urgency(item, at),
    )[:GROUPS]
    room = PARTITIONS
    for item in told:
        yield from _group_samples(item, at)
        if room > 0 and (item.member_count or _moved_within(item, at, _MOVING_SECONDS)):
            partitions = list(partitions_of(item.group))[:room]
            room -= len(partitions)
            for partition in partitions:
                yield from _partition_samples(item.group, partition, at)


def _is_of_interest(item: GroupFigures, at: datetime) -> bool:
    return (
        item.member_count > 0
        or bool(item.losses)
        or (item.lag_per_second or 0) > 0
        or _moved_within(item, at, _RECENT_SECONDS)
    )


def _urgency(item: GroupFigures, at: datetime) -> tuple[float, int]:
    margin = item.loss_margin(at)
    return math.inf if margin is None else margin, -(item.lag or 0)


def _moved_within(item: GroupFigures, at: datetime, seconds: float) -> bool:
    return item.moved_at is not None and (at - item.moved_at).total_seconds() < seconds


def _group_samples(item: GroupFigures, at: datetime) -> Iterator[Sample]:
    group = str(item.group)
    yield sample(GROUP_MEMBERS, item.member_count, group=group)
    if item.lag is None or item.max_lag is None:
        return
    yield sample(GROUP_SUM_LAG, item.lag, group=group)
    yield sample(GROUP_MAX_LAG, item.max_lag, group=group)
    yield sample(GROUP_EXPIRED, item.expired, group=group)
    seconds = item.lag_seconds(at)
    if seconds is not None:
        yield sample(GROUP_MAX_LAG_SECONDS, seconds, group=group)
    left = item.seconds_to_loss(at)
    if left is not None:
        yield sample(GROUP_TIME_TO_LOSS, left, group=group)
    margin = item.loss_margin(at)
    if margin is not None:
        yield sample(GROUP_LOSS_MARGIN, margin, group=group)


def _partition_samples(group: GroupId, item: PartitionFigures, at: datetime) -> Iterator[Sample]:
    labels = {
        "group": str(group),
        "topic": str(item.partition.topic),
        "partition": str(item.partition.partition),
    }
    if item.lag is None:
        return
    yield sample(GROUP_PARTITION_LAG, item.lag, **labels)
    if item.unread_since is not None or item.lag == 0:
        waited = 0.0 if item.unread_since is None else (at - item.unread_since).total_seconds()
        yield sample(GROUP_PARTITION_LAG_SECONDS, max(0.0, waited), **labels)
