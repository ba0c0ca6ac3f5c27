"""A broker dies and comes back: what consoles tell of it, to a real web and a real mail server."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from penstock.console.world import Place, World
from penstock.control.detached import Detached
from penstock.local.cluster import KafkaCluster
from penstock.monitoring.alerts import AlertTable
from penstock.names import GroupId
from penstock.settings import AlertSettings, RuleSettings
from support.alert_sinks import mailbox, webhook
from support.consoles import followed, running_console
from support.groups import commit, delete_records_before, produce
from support.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

    from support.alert_sinks import Mailbox, Webhook

RULE, AWAY = "under-replicated-partitions", "cluster-away"
JSON = {"Accept": "application/json"}
SOON = 150.0
OUTDATED = 60.0
"""After so long a page that is open says that its figures are old: a request, on a busy machine."""


def told(hook: Webhook, wanted: str = RULE) -> list[str]:
    return [news for news, rule in hook.news if rule == wanted]


def mailed(box: Mailbox) -> list[str]:
    """Return what mails have told of the rule, in order."""
    lines = [line for mail in box.mails for line in mail.get_content().splitlines()]
    found = [(line, rule) for line, rule in pairwise(lines) if rule.startswith(f"  {RULE},")]
    return [line.split()[0].lower() for line, _ in found]


def await_evaluation(console: TestClient) -> None:
    """Return when the console has evaluated all rules twice from now on."""

    def evaluated_at() -> str:
        page = console.get("/alerts", headers=JSON).json()
        return str(page["evaluated_at"]) if page["is_evaluated"] else ""

    seen = {"", evaluated_at()}
    while len(seen) < 4:
        eventually(lambda: evaluated_at() not in seen, within_seconds=SOON)
        seen.add(evaluated_at())


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_dead_broker_is_told_once_and_so_is_its_return(
    three_brokers: KafkaCluster, tmp_path: Path
) -> None:
    three_brokers.create_topic("orders", partition_count=3)
    dead = three_brokers.broker_ids[-1]
    with webhook() as hook, mailbox() as box:
        alerts = AlertSettings(
            rules=(RuleSettings(name=RULE, for_seconds=5),),
            delivery={"hook": hook.delivery, "mail": box.delivery},
        )
        with running_console(three_brokers.connection, tmp_path, alerts=alerts) as console:
            await_evaluation(console)
            assert told(hook) == []

            three_brokers.kill(dead)
            eventually(lambda: told(hook) and mailed(box), within_seconds=SOON)
            page = console.get("/alerts", headers=JSON).json()
            firing = {line["rule"]: line for line in page["firing"]}
        with running_console(three_brokers.connection, tmp_path, alerts=alerts) as console:
            await_evaluation(console)
            assert told(hook) == mailed(box) == ["firing"]

            three_brokers.start_broker(dead)
            eventually(lambda: len(told(hook)) == len(mailed(box)) == 2, within_seconds=SOON)
            await_evaluation(console)
            after = console.get("/alerts", headers=JSON).json()

    assert firing[RULE]["value"] >= 3
    assert told(hook) == mailed(box) == ["firing", "resolved"]
    assert RULE not in [line["rule"] for line in after["firing"]]
    assert RULE in [line["rule"] for line in after["past"]]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_first_page_tells_what_is_lost_and_what_will_be(tmp_path: Path) -> None:
    """On a cluster of its own: other consoles would be told of it as well."""
    with (
        KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster,
        running_console(cluster.connection, tmp_path) as console,
    ):
        topic = cluster.create_topic("brief", config={"retention.ms": "90000"})
        behind, gone = GroupId("behind"), GroupId("gone")
        produce(cluster.connection, topic, {0: 5}, timestamp=int(time.time() * 1000) - 30_000)
        commit(cluster.connection, behind, topic, {0: 3})

        def home() -> dict[str, Any]:
            return dict(console.get("/", headers=JSON).json())

        def is_near() -> bool:
            loss = home()["next_loss"]
            return bool(loss and loss["group"] == behind and 0 < loss["seconds"] < 90)

        eventually(is_near, within_seconds=60)
        page = console.get("/").text
        commit(cluster.connection, gone, topic, {0: 0})
        delete_records_before(cluster.connection, topic, 2)
        eventually(lambda: home()["groups_losing"] == 1, within_seconds=60)
        after = console.get("/").text

    assert re.search(r"Time to data loss.*behind", page, re.DOTALL)
    assert "All is well" in page
    assert "All is well" not in after


@pytest.mark.long
@pytest.mark.timeout(600)
def test_alerts_are_told_while_the_history_cannot_be_written(tmp_path: Path) -> None:
    """As on a full disk: another connection keeps the file to itself."""
    with (
        webhook() as hook,
        KafkaCluster.start(brokers=3, data_dir=tmp_path / "kafka") as cluster,
    ):
        cluster.create_topic("payments", partition_count=3)
        rules = (RuleSettings(name=RULE, for_seconds=1),)
        alerts = AlertSettings(rules=rules, delivery={"hook": hook.delivery})
        with running_console(cluster.connection, tmp_path, alerts=alerts) as console:
            await_evaluation(console)
            with closing(sqlite3.connect(tmp_path / "console" / "history.sqlite")) as other:
                other.execute("BEGIN IMMEDIATE")
                eventually(
                    lambda: "history" in console.get("/").text.partition("<h1>")[0],
                    within_seconds=SOON,
                )
                cluster.kill(cluster.broker_ids[-1])
                eventually(lambda: told(hook), within_seconds=SOON)
                other.rollback()
            cluster.start_broker(cluster.broker_ids[-1])
            eventually(lambda: len(told(hook)) == 2, within_seconds=SOON)
            eventually(
                lambda: console.get("/", headers=JSON).json()["is_up_to_date"],
                within_seconds=SOON,
            )

    assert told(hook) == ["firing", "resolved"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_cluster_without_any_broker_is_told_while_it_is_away_and_ends_no_other_alert(
    tmp_path: Path,
) -> None:
    """Nothing can be asked of it then, nor written to it.

    It has a cluster of its own: what another test was told of would not be told again so soon.
    """
    rules = tuple(RuleSettings(name=name, for_seconds=1) for name in (RULE, AWAY))
    with (
        webhook() as hook,
        KafkaCluster.start(brokers=3, data_dir=tmp_path / "kafka") as cluster,
    ):
        cluster.create_topic("payments", partition_count=3)
        first, *others = cluster.broker_ids
        alerts = AlertSettings(rules=rules, delivery={"hook": hook.delivery})
        with running_console(cluster.connection, tmp_path, alerts=alerts) as console:
            await_evaluation(console)
            cluster.kill(first)
            eventually(lambda: told(hook), within_seconds=SOON)
            with followed(console, "/", within_seconds=SOON) as shown:
                next(page for page in shown if "[faults] \n" in page)
                for broker in others:
                    cluster.kill(broker)
                died = time.monotonic()
                away = next(page for page in shown if "Figures may be out of date" in page)
                took = time.monotonic() - died
            home = console.get("/", headers=JSON).json()
            eventually(lambda: told(hook, AWAY), within_seconds=SOON)
            before = told(hook)
            for broker in cluster.broker_ids:
                cluster.start_broker(broker)
            eventually(lambda: len(told(hook, AWAY)) == len(told(hook)) == 2, within_seconds=SOON)

    assert "not up to date: some figures are of" in away
    assert not home["is_up_to_date"]
    assert took < OUTDATED
    assert before == ["firing"]
    assert told(hook) == told(hook, AWAY) == ["firing", "resolved"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_console_that_starts_while_no_broker_answers_tells_that_and_its_end(
    tmp_path: Path,
) -> None:
    with (
        webhook() as hook,
        KafkaCluster.start(brokers=1, data_dir=tmp_path / "kafka") as cluster,
    ):
        (broker,) = cluster.broker_ids
        cluster.kill(broker)
        rules = (RuleSettings(name=AWAY, for_seconds=5),)
        place = Place(
            connection=cluster.connection,
            profile="local",
            detached=Detached(tmp_path / "data"),
            folder=tmp_path / "console",
            alerts=AlertSettings(rules=rules, delivery={"hook": hook.delivery}),
        )
        with World(place):
            eventually(lambda: told(hook, AWAY), within_seconds=SOON)
            before = list(hook.news)
            cluster.start_broker(broker)
            eventually(lambda: len(told(hook, AWAY)) == 2, within_seconds=SOON)
        with AlertTable(cluster.connection) as table:
            past = [item.rule for item in table.past()]

    assert before == [("firing", AWAY)]
    assert told(hook, AWAY) == ["firing", "resolved"]
    assert past == [AWAY]
