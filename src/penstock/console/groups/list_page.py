"""The list of all groups of the cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING

from penstock.console.frame import LISTING, Listing, Page, listing
from penstock.kafka import GroupState, GroupType  # noqa: TC001 - pydantic reads the annotations
from penstock.monitoring.groups import FlowAddress, GroupFigures, Trend, Verdict

if TYPE_CHECKING:
    from penstock.console.frame import Ask

_MOST_TOPICS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """One group of the list; what is not known is null."""

    group: str
    type: GroupType
    state: GroupState
    members: int
    topics: tuple[str, ...]
    """The first of them."""

    topic_count: int
    lag: int | None
    lag_seconds: float | None
    trend: Trend | None
    lag_per_second: float | None
    seconds_to_loss: float | None
    """For how long all that is unread is there for certain; 0: it is being lost."""

    loss_margin: float | None
    """How much of the retention that is: 1 is all of it."""

    expired: int
    verdict: Verdict
    flow: FlowAddress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """One page of the list of groups."""

    at: datetime
    """When they were looked at."""

    is_complete: bool
    """Whether everything was looked at since the console has started."""

    count: int
    members: int
    by_verdict: dict[Verdict, int]
    losing: int
    """How many groups have unread records that retention may delete now, or has deleted."""

    groups: Listing[GroupLine]


def line_of(item: GroupFigures, at: datetime) -> GroupLine:
    """Return what the list shows of a group."""
    return GroupLine(
        group=item.group,
        type=item.type,
        state=item.state,
        members=item.member_count,
        topics=item.topics[:_MOST_TOPICS],
        topic_count=len(item.topics),
        lag=item.lag,
        lag_seconds=item.lag_seconds(at),
        trend=item.trend,
        lag_per_second=item.lag_per_second,
        seconds_to_loss=item.seconds_to_loss(at),
        loss_margin=item.loss_margin(at),
        expired=item.expired,
        verdict=item.verdict,
        flow=item.flow,
    )


def load(ask: Ask) -> Groups:
    """Return the page of the list that is asked for."""
    snapshot = ask.world.groups.snapshot()
    groups = snapshot.by_group.values()
    found = listing(
        groups,
        ask,
        text=_text,
        columns={
            "group": lambda item: item.group,
            "type": lambda item: item.type,
            "state": lambda item: item.state,
            "members": lambda item: item.member_count,
            "lag": lambda item: item.lag,
            "seconds": lambda item: _age(item, ask.at),
            "trend": lambda item: item.lag_per_second,
            "loss": lambda item: item.lost_at,
            "verdict": lambda item: item.verdict.rank,
        },
        sort="-lag",
    )
    verdicts = Counter(item.verdict for item in groups)
    return Groups(
        at=snapshot.at,
        is_complete=snapshot.complete,
        count=len(snapshot.by_group),
        members=sum(item.member_count for item in groups),
        by_verdict={verdict: verdicts[verdict] for verdict in Verdict},
        losing=sum(item.lost_at is not None and item.lost_at <= ask.at for item in groups),
        groups=found.shown_as(lambda item: line_of(item, ask.at)),
    )


def _text(item: GroupFigures) -> str:
    words = (item.group, *item.topics, item.type, item.state, item.verdict)
    return "\n".join(words)


def _age(item: GroupFigures, at: datetime) -> float | None:
    if item.unread_since is None:
        return item.lag_seconds(at)
    return (at - item.unread_since).total_seconds()


GROUPS = Page(
    path="/groups",
    name="list_groups",
    summary="All groups with members, lag in records and seconds, trend and time to data loss.",
    template="groups/list.html",
    model=Groups,
    load=load,
    title=lambda _: "Groups",
    command=lambda _ask, _model: "penstock groups list",
    parameters=LISTING,
    live=("figures", "groups"),
    menu="Groups",
)
