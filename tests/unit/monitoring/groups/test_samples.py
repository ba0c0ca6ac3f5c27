"""Which groups have series."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from penstock.kafka import GroupState, GroupType
from penstock.monitoring.catalog.groups import GROUP_SUM_LAG
from penstock.monitoring.groups.figures import GroupFigures, GroupsSnapshot
from penstock.monitoring.groups.losing import Loss
from penstock.monitoring.groups.samples import samples_of
from penstock.monitoring.groups.verdicts import Verdict
from penstock.names import GroupId, TopicName
from support.alerting import NOON

DEAD = GroupFigures(
    group=GroupId("orders"),
    type=GroupType.CONSUMER,
    state=GroupState.EMPTY,
    member_count=0,
    topics=(TopicName("orders"),),
    partition_count=1,
    lag=5000,
    max_lag=5000,
    unread_since=NOON - timedelta(hours=5),
    age_known=True,
    losses=(),
    worst=None,
    expired=0,
    lag_per_second=0.0,
    verdict=Verdict.STOP,
    moved_at=NOON - timedelta(hours=5),
    flow=None,
)


def has_series(item: GroupFigures) -> bool:
    snapshot = GroupsSnapshot(at=NOON, complete=True, by_group={item.group: item})
    return GROUP_SUM_LAG.name in {found.metric for found in samples_of(snapshot, lambda _: ())}


def test_a_group_that_nobody_uses_any_more_has_no_series() -> None:
    assert not has_series(DEAD)


def test_a_group_that_died_long_ago_has_series_while_its_lag_grows() -> None:
    """Its records are kept for ever, so none of them will be lost to it."""
    assert has_series(replace(DEAD, lag_per_second=10.0))


def test_a_group_has_series_while_it_has_members_or_records_to_lose_or_has_just_committed() -> None:
    found = [
        has_series(replace(DEAD, member_count=1)),
        has_series(replace(DEAD, losses=(Loss(at=NOON.timestamp() + 86_400, span=172_800),))),
        has_series(replace(DEAD, moved_at=NOON - timedelta(minutes=5))),
    ]

    assert found == [True, True, True]
