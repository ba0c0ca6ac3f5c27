"""The watch on a real cluster: told once, over restarts, outages and two consoles."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from socket import socket
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.errors import PenstockError
from penstock.kafka import Admin, Connection, delete_topics
from penstock.monitoring.alerts import (
    READY_MADE,
    AlertsView,
    AlertTable,
    AlertWatch,
    DeliveryName,
    Duty,
    Phase,
    Rule,
    new_silence,
    open_deliveries,
    stored_view,
)
from penstock.monitoring.catalog.brokers import CLUSTER_ANSWERS
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from penstock.names import TopicName
from penstock.settings import AlertSettings
from support.alert_sinks import LOCALHOST, Mailbox, Webhook, mailbox, webhook
from support.alerting import SetClock, WrittenReadings, labels_of, lag_rule
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.monitoring.catalog import MetricName

(AWAY,) = (rule for rule in READY_MADE if rule.name == "cluster-away")
ORDERS = labels_of(group="orders")
HOOK, MAIL = DeliveryName("hook"), DeliveryName("mail")
SOON = 20.0


class Console:
    """What a console does of alerts: rounds of sampling, with a clock and values to set."""

    def __init__(
        self,
        connection: Connection,
        topic: TopicName,
        clock: SetClock,
        readings: WrittenReadings,
        sinks: tuple[Webhook, Mailbox],
        rules: tuple[Rule, ...] = (lag_rule(), AWAY),
    ) -> None:
        hook, box = sinks
        self.clock, self.readings = clock, readings
        deliveries = open_deliveries({HOOK: hook.delivery, MAIL: box.delivery}, connection)
        self.watch = AlertWatch(
            connection, rules, deliveries, AlertSettings(), now=clock, topic=topic
        )

    def now(self) -> AlertsView:
        view = self.watch.view()
        assert view is not None
        return view

    def round(self, value: float, *, after_seconds: float = 0) -> None:
        self.readings.values[GROUP_MAX_LAG.name] = {ORDERS: value}
        self.look(after_seconds)

    def look(self, after_seconds: float = 0, *, unmeasured: tuple[MetricName, ...] = ()) -> None:
        self.clock.move(after_seconds)
        self.watch.look(self.readings, unmeasured=unmeasured)


class Stage:
    """One cluster's alerts, and as many consoles as a test wants."""

    def __init__(self, connection: Connection, hook: Webhook, box: Mailbox) -> None:
        self.connection, self.hook, self.box = connection, hook, box
        self.topic = TopicName(f"alerts-{uuid4().hex}")
        self.clock = SetClock()
        self.readings = WrittenReadings()

    @contextmanager
    def console(
        self, *, waits: bool = True, connection: Connection | None = None
    ) -> Iterator[Console]:
        cluster = connection or self.connection
        console = Console(cluster, self.topic, self.clock, self.readings, (self.hook, self.box))
        with console.watch:
            if waits:
                eventually(lambda: console.watch.is_on_duty, within_seconds=SOON)
            yield console

    def fire(self, console: Console) -> None:
        """Let the rule fire, and wait until both deliveries were told."""
        console.round(12)
        console.round(12, after_seconds=60)
        self.await_told(1)

    def await_told(self, count: int) -> None:
        eventually(
            lambda: len(self.hook.bodies) == len(self.box.mails) == count, within_seconds=SOON
        )

    def is_written(self) -> bool:
        """Whether the table, if there is one, has an alert that both deliveries were told of."""
        try:
            with AlertTable(self.connection, self.topic) as table:
                return [len(alert.told) for alert in table.alerts().values()] == [2]
        except PenstockError:
            return False

    def await_written(self, *phases: Phase) -> None:
        """Wait until the table has alerts in these phases, told to both deliveries."""
        with AlertTable(self.connection, self.topic) as table:
            eventually(
                lambda: (
                    [(alert.phase, len(alert.told)) for alert in table.alerts().values()]
                    == [(phase, 2) for phase in phases]
                ),
                within_seconds=SOON,
            )


@pytest.fixture
def stage(connection: Connection) -> Iterator[Stage]:
    with webhook() as hook, mailbox() as box:
        yield Stage(connection, hook, box)


def test_an_alert_is_told_everywhere_once_and_so_is_its_end(stage: Stage) -> None:
    with stage.console() as console:
        stage.fire(console)
        for _ in range(10):
            console.round(12, after_seconds=5)
        console.round(3, after_seconds=5)
        console.round(3, after_seconds=60)
        stage.await_told(2)
        stage.await_written(Phase.RESOLVED)
        # What is past is written after the end of the alert itself.
        eventually(lambda: console.now().past, within_seconds=SOON)
        view = console.now()

    assert stage.hook.news == [("firing", "behind"), ("resolved", "behind")]
    assert [mail["Subject"] for mail in stage.box.mails] == [
        "[firing] group `orders` is 12 behind",
        "[resolved] group `orders` is 12 behind",
    ]
    assert (view.alerts, view.is_evaluated) == ((), True)
    assert [(past.rule, past.labels) for past in view.past] == [("behind", ORDERS)]


def test_a_console_that_restarts_does_not_tell_again_and_tells_the_end(stage: Stage) -> None:
    with stage.console() as console:
        stage.fire(console)
    with stage.console() as console:
        console.round(12, after_seconds=5)
        (found,) = console.now().firing
        console.round(3, after_seconds=5)
        console.round(3, after_seconds=60)
        stage.await_told(2)

    assert found.alert.since == stage.clock.at - timedelta(seconds=130)
    assert stage.hook.news == [("firing", "behind"), ("resolved", "behind")]


def test_a_delivery_that_fails_is_told_later_and_holds_up_nobody(stage: Stage) -> None:
    stage.hook.status = 500
    with stage.console() as console:
        console.round(12)
        console.round(12, after_seconds=60)
        eventually(lambda: stage.box.mails and stage.hook.refused, within_seconds=SOON)
        eventually(
            lambda: (duty := console.now().duty) and duty.deliveries.get(HOOK),
            within_seconds=SOON,
        )
        duty = console.now().duty
        stage.hook.status = 200
        stage.clock.move(5)
        stage.await_told(1)
        stage.await_written(Phase.FIRING)
        healed = console.now().duty

    assert duty is not None
    assert healed is not None
    assert (duty.deliveries[HOOK].reason or "").endswith("answered with status 500")
    assert healed.deliveries[HOOK].reason is None


def test_a_silence_from_elsewhere_keeps_an_alert_from_being_told(stage: Stage) -> None:
    with stage.console() as console, AlertTable(stage.connection, stage.topic) as elsewhere:
        console.round(12)
        silence = new_silence(
            "behind",
            {"group": "ord*"},
            span=timedelta(hours=1),
            who="ops",
            why="replay",
            rules=console.watch.rules,
            now=stage.clock.at,
        )
        elsewhere.add_silence(silence)
        eventually(lambda: console.now().silences, within_seconds=SOON)
        console.round(12, after_seconds=60)
        (silenced,) = console.now().silenced
        told = list(stage.hook.bodies)
        elsewhere.end_silence(silence.id)
        stage.await_told(1)

    assert told == []
    assert silenced.silence == silence


def test_of_two_consoles_one_tells_and_the_other_takes_over(stage: Stage) -> None:
    with stage.console() as first, stage.console(waits=False) as second:
        stage.fire(first)
        second.round(12)
        was_on_duty = second.watch.is_on_duty
        stage.await_written(Phase.FIRING)
        eventually(lambda: (view := second.watch.view()) and view.firing, within_seconds=SOON)
        first.watch.__exit__()
        eventually(lambda: second.watch.is_on_duty, within_seconds=SOON)
        second.round(3, after_seconds=5)
        second.round(3, after_seconds=60)
        stage.await_told(2)

    assert not was_on_duty
    assert stage.hook.news == [("firing", "behind"), ("resolved", "behind")]


def test_a_console_that_has_died_is_followed_by_another_after_a_while(stage: Stage) -> None:
    dead = Duty(
        evaluator="dead",
        host="elsewhere",
        pid=1,
        evaluated_at=stage.clock.at,
        rule_count=1,
        deliveries={},
    )
    with AlertTable(stage.connection, stage.topic) as table:
        table.take_duty(dead, version=None)

    with stage.console(waits=False) as console:
        eventually(console.watch.view, within_seconds=SOON)
        stage.clock.move(29)
        was_on_duty = console.watch.is_on_duty

        def takes_over() -> bool:
            stage.clock.move(1)
            return console.watch.is_on_duty

        eventually(takes_over, within_seconds=SOON)

    assert not was_on_duty


def test_a_table_that_somebody_deletes_is_written_again_and_nothing_is_told_twice(
    stage: Stage,
) -> None:
    with stage.console() as console:
        stage.fire(console)
        stage.await_written(Phase.FIRING)
        with Admin(stage.connection) as admin:
            delete_topics(admin, [stage.topic])
        eventually(stage.is_written, within_seconds=60)
        console.round(12, after_seconds=5)
        console.round(3, after_seconds=5)
        console.round(3, after_seconds=60)
        stage.await_told(2)

    assert stage.hook.news == [("firing", "behind"), ("resolved", "behind")]


def test_a_console_that_begins_while_no_broker_answers_tells_that_and_nothing_else(
    stage: Stage,
) -> None:
    """Who is on duty, and what was told before, is in the cluster that does not answer."""
    with socket() as nobody:
        nobody.bind((LOCALHOST, 0))
        away = Connection(bootstrap=f"{LOCALHOST}:{nobody.getsockname()[1]}")
        with stage.console(waits=False, connection=away.with_request_timeout(1)) as console:
            stage.readings.values[CLUSTER_ANSWERS.name] = {(): 0.0}
            console.round(12)
            console.round(12, after_seconds=29)
            early = stage.hook.news
            console.round(12, after_seconds=1)
            stage.await_told(1)
            for _ in range(10):
                console.round(12, after_seconds=60)
            stage.readings.values[CLUSTER_ANSWERS.name] = {(): 1.0}
            console.round(12)
            console.round(12, after_seconds=30)
            stage.await_told(2)

    assert early == []
    assert stage.hook.news == [("firing", AWAY.name), ("resolved", AWAY.name)]


def test_a_metric_that_cannot_be_measured_ends_no_alert(stage: Stage) -> None:
    """Brokers answer, but groups cannot be looked at."""
    lag = (GROUP_MAX_LAG.name,)
    with stage.console() as console:
        stage.fire(console)
        del stage.readings.values[GROUP_MAX_LAG.name]
        for _ in range(60):
            console.look(60, unmeasured=lag)
        (still,) = console.now().firing
        console.look(301)
        stage.await_told(2)

    assert still.alert.labels == ORDERS
    assert stage.hook.news == [("firing", "behind"), ("resolved", "behind")]


def test_what_fired_before_a_console_was_away_is_not_over_before_it_was_looked_at(
    stage: Stage,
) -> None:
    with stage.console() as console:
        stage.fire(console)
    stage.clock.move(3600)
    del stage.readings.values[GROUP_MAX_LAG.name]
    with stage.console() as console:
        console.look()
        found = console.now().firing

    assert [item.alert.labels for item in found] == [ORDERS]


def test_a_mail_that_one_of_several_refuses_is_sent_once_and_the_refusal_is_shown(
    stage: Stage,
) -> None:
    stage.box.unknown.add("night@example.org")
    with stage.console() as console:
        stage.fire(console)
        stage.await_written(Phase.FIRING)
        for _ in range(20):
            console.round(12, after_seconds=60)
        console.round(3)
        console.round(3, after_seconds=60)
        stage.await_told(2)
        result = console.watch.result(MAIL)

    assert [mail["Subject"].split()[0] for mail in stage.box.mails] == ["[firing]", "[resolved]"]
    assert result.arrived_at is not None
    assert (result.reason or "").endswith("refused night@example.org")


def test_the_table_alone_says_what_fires_and_that_nobody_evaluates(stage: Stage) -> None:
    with stage.console() as console:
        stage.fire(console)

    def is_told() -> bool:
        view = stored_view(table, stage.clock.at)
        return bool(view.firing) and not view.is_evaluated

    with AlertTable(stage.connection, stage.topic) as table:
        eventually(is_told, within_seconds=SOON)
        view = stored_view(table, stage.clock.at)

    assert [item.alert.message for item in view.firing] == ["group `orders` is 12 behind"]
    assert not view.is_evaluated
