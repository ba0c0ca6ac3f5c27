"""What holds for alerts whatever happens: values, outages of a delivery, silences, restarts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.monitoring.alerts import DeliveryName, Silence, SilenceId
from penstock.monitoring.alerts.states import QUIET, advanced
from penstock.monitoring.alerts.telling import News, owed, with_told
from support.alerting import NOON, SetClock, labels_of, lag_rule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from penstock.monitoring.alerts import Alert
    from penstock.monitoring.alerts.states import AlertKey

SERIES = labels_of(group="orders")
OPS = DeliveryName("ops")
REPEAT = timedelta(minutes=10)
HOLD = 20.0
RULE = lag_rule(hold_seconds=HOLD)


@dataclass(frozen=True)
class Round:
    """What happens in one round."""

    seconds: int
    """After the one before."""

    broken: bool | None
    """None: the series was not measured."""

    delivery_works: bool
    silence_seconds: int
    """0: no silence begins."""


@dataclass
class Story:
    """What was told, and what was true then."""

    told: list[tuple[datetime, News]] = field(default_factory=list)
    broken_for: list[timedelta | None] = field(default_factory=list)
    """Of each beginning that was told: for how long without a break, when it began to fire."""

    is_broken: list[bool] = field(default_factory=list)
    silenced: list[bool] = field(default_factory=list)


rounds_strategy = st.lists(
    st.builds(
        Round,
        seconds=st.integers(1, 120),
        broken=st.sampled_from([True, True, True, False, False, None]),
        delivery_works=st.sampled_from([True, True, True, False]),
        silence_seconds=st.sampled_from([0, 0, 0, 0, 30, 300]),
    ),
    max_size=60,
)


def played(rounds: list[Round]) -> tuple[Story, Mapping[AlertKey, Alert], SetClock]:
    story, clock = Story(), SetClock()
    alerts: Mapping[AlertKey, Alert] = {}
    silences: list[Silence] = []
    broken_since: datetime | None = None
    broken_at: dict[datetime, datetime | None] = {}
    for item in rounds:
        clock.move(item.seconds)
        now = clock.at
        if item.silence_seconds:
            until = now + timedelta(seconds=item.silence_seconds)
            silences.append(
                Silence(
                    id=SilenceId(now.isoformat()),
                    rule="*",
                    begun_at=now,
                    until=until,
                    who="ops",
                    why="planned",
                )
            )
        numbers = {} if item.broken is None else {SERIES: 11.0 if item.broken else 5.0}
        if item.broken is not None:
            broken_since = (broken_since or now) if item.broken else None
        alerts = advanced(alerts, [RULE], {RULE.name: numbers}, now)
        broken_at[now] = broken_since
        notices = owed(OPS, alerts.values(), silences, repeat=REPEAT, now=now)
        assert len(notices) <= 1
        if item.delivery_works:
            alerts = with_told(alerts, OPS, notices, now)
            for notice in notices:
                story.told.append((now, notice.news))
                fired_at = notice.alert.fired_at
                since = broken_at.get(fired_at) if fired_at else None
                story.broken_for.append(fired_at - since if fired_at and since else None)
                story.is_broken.append(broken_since is not None)
                story.silenced.append(any(silence.until > now for silence in silences))
    return story, alerts, clock


@given(rounds_strategy)
@settings(max_examples=100)
def test_every_beginning_that_is_told_is_followed_by_its_end(rounds: list[Round]) -> None:
    story, _, _ = played(rounds)

    states = [news for _, news in story.told if news is not News.STILL_FIRING]

    expected = [News.FIRING if index % 2 == 0 else News.RESOLVED for index in range(len(states))]
    assert states == expected


@given(rounds_strategy)
@settings(max_examples=100)
def test_nothing_is_told_before_the_hold_down_nor_while_silenced(rounds: list[Round]) -> None:
    story, _, _ = played(rounds)

    begun = [
        (silenced, is_broken, broken_for is not None and broken_for >= timedelta(seconds=HOLD))
        for (_, news), silenced, is_broken, broken_for in zip(
            story.told, story.silenced, story.is_broken, story.broken_for, strict=True
        )
        if news is not News.RESOLVED
    ]

    assert begun == [(False, True, True)] * len(begun)


@given(rounds_strategy)
@settings(max_examples=100)
def test_the_end_of_what_was_told_is_told_whatever_is_silenced(rounds: list[Round]) -> None:
    calm = [
        Round(seconds=30, broken=False, delivery_works=True, silence_seconds=300) for _ in range(3)
    ]

    story, alerts, _ = played([*rounds, *calm])

    last = [news for _, news in story.told][-1:]
    assert last in ([], [News.RESOLVED])
    assert not any(alert.is_owed for alert in alerts.values())


@given(rounds_strategy)
@settings(max_examples=100)
def test_nothing_is_told_twice_in_short_order(rounds: list[Round]) -> None:
    story, _, _ = played(rounds)

    opened = [at for at, news in story.told if news is News.FIRING]
    ended = [at for at, news in story.told if news is News.RESOLVED]
    repeated = [
        (earlier, later)
        for (earlier, _), (later, news) in zip(story.told[:-1], story.told[1:], strict=True)
        if news is News.STILL_FIRING
    ]

    assert [at for end, at in zip(ended, opened[1:], strict=False) if at - end < QUIET] == []
    assert [pair for pair in repeated if pair[1] - pair[0] < REPEAT] == []


@given(rounds_strategy)
@settings(max_examples=100)
def test_alerts_are_forgotten_when_all_has_been_well_for_long(rounds: list[Round]) -> None:
    calm = Round(seconds=30, broken=False, delivery_works=True, silence_seconds=0)
    minutes = int(QUIET.total_seconds() // 60) + 3

    _, alerts, clock = played([*rounds, *([calm] * 2 * minutes)])

    assert alerts == {}
    assert clock.at > NOON
