"""The page of alerts over a real cluster: what fires, silences, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from penstock.control.trail import Trail
from penstock.monitoring.alerts import READY_MADE, AlertTable
from penstock.monitoring.alerts.states import advanced
from penstock.settings import AlertSettings, RuleSettings
from support.alerting import NOON, labels_of, lag_rule
from support.consoles import proof_in, running_console
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}
RULES = [str(rule.name) for rule in READY_MADE]
HOSTILE = "<script>alert(1)</script>\n& more"
ONE_RULE = AlertSettings(
    rules=(
        RuleSettings(name="lag-growing", where={"group": "<script>*"}),
        *(RuleSettings(name=name, enabled=False) for name in RULES if name != "lag-growing"),
    )
)


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A console that finds an alert of an earlier one, about a group of a hostile name.

    What other tests leave on the same cluster may break the other rules.
    """
    rule = lag_rule("lag-growing", hold_seconds=0)
    (alert,) = advanced({}, [rule], {rule.name: {labels_of(group=HOSTILE): 12}}, NOON).values()
    with AlertTable(kafka.connection) as table:
        for key in table.alerts():  # what consoles of other tests have left
            table.write_alert(key, None)
        table.write_alert(alert.key, alert)
    folder = tmp_path_factory.mktemp("console")
    with running_console(kafka.connection, folder, alerts=ONE_RULE) as client:
        eventually(
            lambda: client.get("/alerts", headers=JSON).json()["is_evaluated"], within_seconds=60
        )
        yield client
    with AlertTable(kafka.connection) as table:
        table.write_alert(alert.key, None)


def test_the_page_says_what_fires_and_by_which_rules(console: TestClient) -> None:
    page, twin = console.get("/alerts"), console.get("/alerts", headers=JSON).json()

    (line,) = twin["firing"]
    assert (page.status_code, line["rule"], line["labels"]) == (
        200,
        "lag-growing",
        {"group": HOSTILE},
    )
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert f'href="/groups/{quote(HOSTILE, safe="")}"' in page.text
    rules = {rule["name"]: rule for rule in twin["rules"]}
    assert rules["data-loss-near"]["broken_when"] == "< 25.0%"
    assert rules["no-data"]["enabled"] is False
    assert "told nowhere else" in page.text


def test_the_first_page_leads_to_what_fires(console: TestClient) -> None:
    page, twin = console.get("/"), console.get("/", headers=JSON).json()

    assert twin["alerts_firing"] == 1
    assert 'href="/alerts"' in page.text
    assert "All is well" not in page.text


def test_an_alert_is_silenced_after_a_question_and_told_again_after_its_end(
    console: TestClient, kafka: KafkaCluster
) -> None:
    (line,) = console.get("/alerts", headers=JSON).json()["firing"]
    form = console.get(line["silence_url"])
    wish = {"rule": "lag-growing", "where": f"group={HOSTILE[:9]}*", "span": "1h", "why": "replay"}
    question = console.get("/alerts/silence", params={**wish, "_ask": "1"})
    done = console.post("/alerts/silence", data={**wish, "_proof": proof_in(question.text)})
    silenced = console.get("/alerts", headers=JSON).json()
    (silence,) = silenced["silences"]
    end = f"/alerts/silences/{silence['id']}/end"
    asked = console.get(end)
    console.post(end, data={"_proof": proof_in(asked.text)})
    after = console.get("/alerts", headers=JSON).json()

    assert "&lt;script&gt;" in form.text
    assert "Covered now" in question.text
    assert (done.status_code, done.headers["location"]) == (303, "/alerts")
    assert (len(silenced["firing"]), len(silenced["silenced"])) == (0, 1)
    assert (silence["who"], silence["why"]) == ("local", "replay")
    assert "by local (replay)" in asked.text
    assert (after["silences"], len(after["firing"])) == ([], 1)
    entries = Trail(kafka.connection).last(2)
    assert [entry.action for entry in entries] == ["end_silence", "silence_alerts"]
    assert (entries[1].done or "").startswith(f"Alerts of lag-growing for {wish['where']} are ")
    assert (entries[1].done or "").endswith(" UTC: replay")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rule": "lag-growin"}, "did you mean"),
        ({"span": "soon"}, "not a length of time"),
        ({"span": "90d"}, "within 30 days"),
        ({"where": "orders"}, "is not a label"),
        ({"why": " "}, "needs a reason"),
    ],
)
def test_a_silence_that_cannot_be_is_refused_before_the_question(
    console: TestClient, change: dict[str, str], told: str
) -> None:
    wish = {"rule": "lag-growing", "span": "1h", "why": "replay", **change, "_ask": "1"}

    answer = console.get("/alerts/silence", params=wish)

    assert answer.status_code == 400
    assert told in answer.text.replace("&#39;", "'")
