"""`penstock alerts` against a real broker: what is printed, with which status."""

from __future__ import annotations

import getpass
import platform
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.monitoring.alerts import AlertTable, DeliveryName
from penstock.monitoring.alerts.states import Told, advanced
from support.alert_sinks import mailbox, webhook
from support.alerting import NOON, labels_of, lag_rule
from support.in_process import PenstockInProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.kafka import Connection
    from penstock.monitoring.alerts import Alert

ORDERS = labels_of(group="orders")


@pytest.fixture
def penstock(connection: Connection, tmp_path: Path) -> PenstockInProcess:
    return PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": connection.bootstrap})


@pytest.fixture
def table(connection: Connection) -> Iterator[AlertTable]:
    """The table that commands read; it is left without alerts and silences."""
    with AlertTable(connection) as opened:
        yield opened
        for key in opened.alerts():
            opened.write_alert(key, None)
        for silence in opened.silences():
            opened.end_silence(silence.id)


def firing(table: AlertTable) -> Alert:
    rule = lag_rule("lag-growing", hold_seconds=0)
    (alert,) = advanced({}, [rule], {rule.name: {ORDERS: 12}}, NOON).values()
    table.write_alert(alert.key, alert)
    return alert


def test_list_shows_what_fires_since_when_and_that_nobody_evaluates(
    penstock: PenstockInProcess, table: AlertTable
) -> None:
    firing(table)

    done = penstock("alerts", "list")

    assert done.status == 0
    header, row = (line.split(maxsplit=4) for line in done.stdout.splitlines())
    assert header == ["STATE", "SEVERITY", "RULE", "SINCE", "MESSAGE"]
    assert row == [
        "firing",
        "warning",
        "lag-growing",
        "2026-05-01T12:00:00+00:00",
        "group `orders` is 12 behind",
    ]
    assert "no console" in done.stderr


def test_a_silence_begins_is_listed_and_ends(
    penstock: PenstockInProcess, table: AlertTable
) -> None:
    firing(table)
    begun = penstock(
        *("alerts", "silence", "lag-*", "--where", "group=ord*", "--for", "2h"),
        *("--why", "replay", "--json"),
    ).json

    listed = penstock("alerts", "list", "--json").json
    people = penstock("alerts", "list").stdout
    ended = penstock("alerts", "unsilence", begun["id"])

    assert (begun["rule"], begun["where"]) == ("lag-*", {"group": "ord*"})
    assert begun["who"] == f"{getpass.getuser()}@{platform.node()}"
    assert listed["silences"] == [begun]
    assert [(alert["state"], alert["silence"]) for alert in listed["alerts"]] == [
        ("silenced", begun["id"])
    ]
    assert people.split()[5] == "silenced"
    assert (ended.status, ended.stdout) == (0, f"{begun['id']}: ended\n")
    assert penstock("alerts", "unsilence", begun["id"]).status == 2
    assert [item["state"] for item in penstock("alerts", "list", "--json").json["alerts"]] == [
        "firing"
    ]


def test_json_of_list_has_all_that_is_known(penstock: PenstockInProcess, table: AlertTable) -> None:
    alert = firing(table)
    table.write_alert(alert.key, alert)

    found = penstock("alerts", "list", "--past", "--json").json

    assert found["alerts"] == [
        {
            "rule": "lag-growing",
            "labels": {"group": "orders"},
            "severity": "warning",
            "state": "firing",
            "since": "2026-05-01T12:00:00+00:00",
            "fired_at": "2026-05-01T12:00:00+00:00",
            "value": 12.0,
            "message": "group `orders` is 12 behind",
            "silence": None,
        }
    ]
    assert isinstance(found["past"], list)


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("lag-growin", "--for", "2h", "--why", "x"), "did you mean `lag-growing`?"),
        (("lag-growing", "--for", "90d", "--why", "x"), "give a time such as"),
        (("lag-growing", "--for", "2h", "--why", " "), "give a time such as"),
        (("lag-growing", "--for", "2h", "--why", "x", "--where", "orders"), "--help"),
    ],
)
def test_a_silence_that_cannot_be_is_refused(
    penstock: PenstockInProcess, arguments: tuple[str, ...], hint: str
) -> None:
    done = penstock("alerts", "silence", *arguments)

    assert (done.status, done.stdout) == (2, "")
    assert hint in done.stderr


def test_a_test_goes_through_each_delivery_and_says_which_arrived(
    penstock: PenstockInProcess, tmp_path: Path
) -> None:
    with webhook() as hook, mailbox() as box:
        (tmp_path / "penstock.toml").write_text(
            f"""
            [alerts.delivery.hook]
            kind = "webhook"
            url = "{hook.url}"
            [alerts.delivery.mail]
            kind = "mail"
            host = "127.0.0.1"
            port = {box.port}
            starttls = false
            sender = "penstock@example.org"
            recipients = ["ops@example.org"]
            """,
            encoding="utf-8",
        )
        all_arrived = penstock("alerts", "test")
        hook.status = 500
        one_failed = penstock("alerts", "test", "--json")
        one_alone = penstock("alerts", "test", "mail")

    assert all_arrived.status == 0
    assert [line.split()[0::2] for line in all_arrived.stdout.splitlines()[1:]] == [
        ["hook", "yes"],
        ["mail", "yes"],
    ]
    assert hook.news == [("test", "test")]
    assert [str(mail["Subject"]).split(" by ")[0] for mail in box.mails] == ["[test] a test"] * 3
    assert (one_failed.status, one_alone.status) == (1, 0)
    found = {item["delivery"]: item for item in one_failed.json}
    assert {name: item["arrived"] for name, item in found.items()} == {"hook": False, "mail": True}
    assert found["hook"]["error"]["code"] == "PEN-683"
    assert "s3cret" not in all_arrived.stdout + one_failed.stdout + one_failed.stderr


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        ("", (), "PEN-684"),
        ('[alerts.delivery.ops]\nkind = "log"', ("nowhere",), "PEN-684"),
        ('[alerts.delivery.ops]\nkind = "log"\n[[alerts.rules]]\nname = "x"', (), "PEN-681"),
    ],
)
def test_a_test_of_nothing_or_with_a_rule_that_cannot_be_is_refused(
    penstock: PenstockInProcess, tmp_path: Path, text: str, arguments: tuple[str, ...], code: str
) -> None:
    (tmp_path / "penstock.toml").write_text(text, encoding="utf-8")

    done = penstock("alerts", "test", *arguments, "--json")

    assert (done.status, done.json["error"]["code"]) == (2, code)


def test_what_was_told_survives_in_the_table(table: AlertTable) -> None:
    alert = firing(table)
    told = {DeliveryName("ops"): Told(at=NOON, is_open=True)}

    table.write_alert(alert.key, replace(alert, told=told))

    assert table.alerts()[alert.key].told == told
