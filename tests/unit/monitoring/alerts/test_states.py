"""What becomes of alerts round by round, and what is told of them, with a clock that is set."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.monitoring.alerts import Alert, DeliveryName, Phase, Rule, Silence, SilenceId
from penstock.monitoring.alerts.conditions import Mean
from penstock.monitoring.alerts.states import (
    GIVEN_UP,
    MAX_SERIES,
    MISSING,
    QUIET,
    advanced,
    ended,
)
from penstock.monitoring.alerts.telling import News, Notice, Pace, owed, with_told
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from support.alerting import NOON, SetClock, after, labels_of, lag_rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.monitoring.alerts.states import AlertKey

SERIES = labels_of(group="orders")
OPS = DeliveryName("ops")
REPEAT = timedelta(hours=4)


class Rounds:
    """Rounds of one rule over one series, each followed by telling one delivery."""

    def __init__(self, rule: Rule | None = None) -> None:
        self.rule = rule or lag_rule()
        self.clock = SetClock()
        self.alerts: Mapping[AlertKey, Alert] = {}
        self.silences: list[Silence] = []
        self.is_away = False
        """Whether the delivery takes nothing."""

    def at(self, seconds: float, value: float | None, *, is_blind: bool = False) -> list[News]:
        """Return what is told in a round at a time after noon."""
        self.clock.at = after(seconds)
        numbers = {self.rule.name: {SERIES: value} if value is not None else {}}
        blind = {self.rule.name} if is_blind else set()
        self.alerts = advanced(self.alerts, [self.rule], numbers, self.clock.at, blind=blind)
        notices = self.owed()
        if self.is_away:
            return []
        self.alerts = with_told(self.alerts, OPS, notices, self.clock.at)
        return [notice.news for notice in notices]

    def owed(self) -> list[Notice]:
        return owed(OPS, self.alerts.values(), self.silences, repeat=REPEAT, now=self.clock.at)

    @property
    def phase(self) -> Phase | None:
        return next((alert.phase for alert in self.alerts.values()), None)

    def silence(self, begin: float, end: float) -> None:
        self.silences.append(
            Silence(
                id=SilenceId(f"{begin}"),
                rule="behind",
                begun_at=after(begin),
                until=after(end),
                who="ops",
                why="planned",
            )
        )


def test_a_rule_that_is_broken_fires_after_its_hold_down_and_resolves_after_as_long() -> None:
    rounds = Rounds()

    told = [rounds.at(second, value) for second, value in ((0, 11), (59, 12), (60, 13), (61, 14))]
    phases = [rounds.phase]
    told += [rounds.at(second, 5) for second in (70, 129, 130, 131)]

    assert told == [[], [], [News.FIRING], [], [], [], [News.RESOLVED], []]
    assert phases == [Phase.FIRING]


def test_what_passes_within_the_hold_down_is_never_told() -> None:
    rounds = Rounds()

    assert [rounds.at(s, v) for s, v in ((0, 11), (50, 12), (55, 9), (60, 11), (119, 12))] == [
        []
    ] * 5
    assert rounds.phase is Phase.PENDING


def test_an_alert_knows_since_when_and_with_which_value() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 42)

    (alert,) = rounds.alerts.values()

    assert (alert.since, alert.fired_at, alert.value) == (NOON, after(60), 42)
    assert alert.message == "group `orders` is 42 behind"


def test_a_short_recovery_resolves_nothing() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)

    assert [rounds.at(s, v) for s, v in ((100, 5), (150, 12), (170, 5), (229, 5))] == [[]] * 4
    assert rounds.at(230, 5) == [News.RESOLVED]


def test_an_alert_that_lasts_is_told_again_after_the_repeat_interval() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    hours = [60 + 3600 * hour for hour in range(9)]

    told = [rounds.at(second, 11) for second in hours]

    assert [index for index, news in enumerate(told) if news] == [0, 4, 8]
    assert told[4] == [News.STILL_FIRING]


def test_a_flapping_rule_is_told_to_be_back_only_after_a_quiet_time() -> None:
    rounds = Rounds(lag_rule(hold_seconds=0))

    told = [rounds.at(second, 11 if second % 10 == 0 else 5) for second in range(0, 300, 5)]

    assert told[:2] == [[News.FIRING], [News.RESOLVED]]
    assert [news for news in told[2:] if news] == []
    assert rounds.at(5 + QUIET.total_seconds(), 11) == [News.FIRING]


def test_a_series_that_is_not_measured_keeps_its_state_for_a_while() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)
    gone = 60 + MISSING.total_seconds()

    assert rounds.at(gone - 1, None) == []
    assert rounds.phase is Phase.FIRING
    assert rounds.at(gone, None) == [News.RESOLVED]


def test_nothing_is_over_because_nothing_can_be_measured() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)
    back = 60 + 3 * MISSING.total_seconds()

    assert rounds.at(back - 1, None, is_blind=True) == []
    assert rounds.at(back, None) == []
    assert rounds.phase is Phase.FIRING
    assert rounds.at(back + MISSING.total_seconds(), None) == [News.RESOLVED]


def test_what_looks_at_a_time_is_not_over_before_that_was_seen_again() -> None:
    """After a gap in the history, growth is known only when its window was seen anew."""
    rounds = Rounds(lag_rule(condition=Mean(GROUP_MAX_LAG.name, 600)))
    rounds.at(0, 11)
    rounds.at(60, 11)
    gone = 60 + 600 + MISSING.total_seconds()

    assert rounds.at(gone - 1, None) == []
    assert rounds.at(gone, None) == [News.RESOLVED]


def test_what_is_not_measured_does_not_begin_to_fire() -> None:
    rounds = Rounds()
    rounds.at(0, 11)

    assert rounds.at(100, None) == []
    assert rounds.phase is Phase.PENDING


def test_a_rule_that_is_switched_off_resolves_what_it_has_fired() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)

    rounds.rule = lag_rule(enabled=False)

    assert rounds.at(65, 11) == [News.RESOLVED]


def test_a_silenced_alert_is_told_when_the_silence_ends() -> None:
    rounds = Rounds()
    rounds.silence(0, 1000)

    told = [rounds.at(second, 11) for second in (0, 60, 999, 1000)]

    assert told == [[], [], [], [News.FIRING]]


def test_a_silence_does_not_keep_back_that_something_told_is_over() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)
    rounds.silence(61, 10_000)

    assert [rounds.at(second, 5) for second in (70, 130)] == [[], [News.RESOLVED]]


def test_a_silenced_alert_that_passes_is_never_told() -> None:
    rounds = Rounds()
    rounds.silence(0, 1000)
    rounds.at(0, 11)
    rounds.at(60, 11)

    assert [rounds.at(second, 5) for second in (70, 130, 1001)] == [[], [], []]
    assert rounds.alerts == {}


def test_a_silence_is_for_the_series_that_match() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)
    (alert,) = rounds.alerts.values()

    def silence(rule: str, **where: str) -> Silence:
        return Silence(
            id=SilenceId("1"),
            rule=rule,
            where=labels_of(**where),
            begun_at=NOON,
            until=after(3600),
            who="ops",
            why="planned",
        )

    covers = [
        silence(rule, **where).covers(alert, after(60))
        for rule, where in [
            ("behind", {}),
            ("b*", {"group": "ord*"}),
            ("other", {}),
            ("behind", {"group": "payments"}),
            ("behind", {"topic": "orders"}),
        ]
    ]
    assert covers == [True, True, False, False, False]


def test_what_came_and_went_while_a_delivery_was_away_is_never_told() -> None:
    rounds = Rounds()
    rounds.is_away = True
    for second, value in ((0, 11), (60, 11), (70, 5), (130, 5)):
        rounds.at(second, value)

    rounds.is_away = False

    assert rounds.at(140, 5) == []
    assert rounds.alerts == {}


def test_the_end_is_owed_until_the_delivery_is_back() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)
    rounds.is_away = True
    for second in (70, 130, 1000):
        rounds.at(second, 5)

    rounds.is_away = False

    assert rounds.at(2000, 5) == [News.RESOLVED]


def test_a_delivery_that_stays_away_is_not_told_an_end_of_yesterday() -> None:
    rounds = Rounds()
    rounds.at(0, 11)
    rounds.at(60, 11)
    rounds.is_away = True
    rounds.at(70, 5)
    rounds.at(130, 5)

    rounds.is_away = False

    assert rounds.at(130 + GIVEN_UP.total_seconds(), 5) == []
    assert rounds.alerts == {}


def test_what_ends_while_it_is_being_told_is_told_to_be_over() -> None:
    rule = lag_rule(hold_seconds=0)
    firing = advanced({}, [rule], {rule.name: {SERIES: 11}}, NOON)
    sent = owed(OPS, firing.values(), [], repeat=REPEAT, now=NOON)
    gone = advanced(firing, [rule], {rule.name: {SERIES: 5}}, after(5))

    told = with_told(gone, OPS, sent, after(6))

    assert gone == {}
    assert [item.news for item in owed(OPS, told.values(), [], repeat=REPEAT, now=after(6))] == [
        News.RESOLVED
    ]


def test_what_was_firing_is_kept_as_past_once() -> None:
    rule = lag_rule(hold_seconds=0)
    firing = advanced({}, [rule], {rule.name: {SERIES: 11}}, NOON)
    over = advanced(firing, [rule], {rule.name: {SERIES: 5}}, after(5))

    (past,) = ended(firing, over, after(5))

    assert (past.rule, past.fired_at, past.resolved_at) == (rule.name, NOON, after(5))
    assert ended(over, over, after(6)) == []


def test_of_many_series_the_worst_are_followed() -> None:
    rule = lag_rule(hold_seconds=0)
    values = {labels_of(group=f"{index:04}"): float(index) for index in range(1000)}

    found = advanced({}, [rule], {rule.name: values}, NOON)

    assert len(found) == MAX_SERIES
    assert min(alert.value for alert in found.values()) == 1000 - MAX_SERIES


def test_notices_begin_with_the_worst() -> None:
    rules = [lag_rule("a"), lag_rule("b", severity=lag_rule().severity.CRITICAL)]
    rules = [lag_rule(rule.name, hold_seconds=0, severity=rule.severity) for rule in rules]
    alerts = advanced({}, rules, {rule.name: {SERIES: 11} for rule in rules}, NOON)

    found = owed(OPS, alerts.values(), [], repeat=REPEAT, now=NOON)

    assert [notice.alert.rule for notice in found] == ["b", "a"]


def test_a_delivery_sends_so_many_messages_a_minute() -> None:
    pace = Pace(2)
    pace.sent(NOON)
    pace.sent(after(10))

    assert pace.wait_until(after(20)) == after(60)
    assert pace.wait_until(after(60)) == after(60)


def test_a_delivery_that_fails_is_tried_later_and_later_and_at_once_when_it_works_again() -> None:
    pace = Pace(600)
    pauses = []
    for _ in range(9):
        pace.failed(NOON)
        pauses.append((pace.wait_until(NOON) - NOON).total_seconds())

    pace.sent(NOON)

    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]
    assert pace.wait_until(NOON) == NOON
