"""The pages of pipelines over a real cluster, and commands that reach a driver."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.console.access import Role, load_users, token_line
from penstock.console.pipelines import output
from penstock.control.commands import Pause, Stop
from penstock.names import PipelineName
from support.consoles import proof_in, running_console
from support.producing import Sent, send
from support.published_pipelines import PublishedPipeline, published_pipeline
from support.terminal import line_on, understood
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response
    from starlette.testclient import TestClient

    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def shop(kafka: KafkaCluster) -> Iterator[PublishedPipeline]:
    name = PipelineName(f"shop-{uuid4().hex[:8]}")
    output = kafka.create_topic(f"{name}-cleaned", partition_count=2)
    with published_pipeline(kafka.connection, name, output) as published:
        yield published


@pytest.fixture(scope="module")
def console(
    kafka: KafkaCluster, shop: PublishedPipeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    with running_console(kafka.connection, tmp_path_factory.mktemp("console")) as client:
        place = f"/pipelines/{shop.name}/flows/{shop.flow}"

        def is_told() -> bool:
            found = client.get(place, headers=JSON)
            return found.status_code == 200 and found.json()["plan"] is not None

        eventually(is_told, within_seconds=30)
        yield client


def test_the_list_shows_every_pipeline(console: TestClient, shop: PublishedPipeline) -> None:
    page = console.get(f"/pipelines?q={shop.name}")
    twin = console.get(f"/pipelines?q={shop.name}", headers=JSON).json()

    assert f'href="/pipelines/{shop.name}"' in page.text
    (entry,) = twin["pipelines"]["items"]
    assert (entry["name"], entry["state"], entry["flows"]) == (shop.name, "running", 1)
    assert (entry["lag_records"], entry["lag_seconds"]) == (12, 0.5)


def test_a_pipeline_is_drawn_with_its_flows_and_driver(
    console: TestClient, shop: PublishedPipeline
) -> None:
    page = console.get(f"/pipelines/{shop.name}")
    twin = console.get(f"/pipelines/{shop.name}", headers=JSON).json()

    assert page.status_code == 200
    assert f'<a href="/pipelines/{shop.name}/flows/{shop.flow}"><g class="flow"' in page.text
    assert "<style" not in page.text
    assert "sasl_password" in page.text
    assert twin["driver"]["code_version"] == "0123456789ab"
    assert {node["kind"] for node in twin["graph"]["nodes"]} >= {"topic", "flow"}


def test_a_flow_shows_progress_failures_and_plan_and_runs_no_script(
    console: TestClient, shop: PublishedPipeline
) -> None:
    page = console.get(f"/pipelines/{shop.name}/flows/{shop.flow}")
    twin = console.get(f"/pipelines/{shop.name}/flows/{shop.flow}", headers=JSON).json()

    assert page.status_code == 200
    assert "<script>alert(1)" not in page.text
    assert "&lt;script&gt;alert(1)" in page.text
    assert "a broker hiccuped" in page.text
    assert twin["flow"]["last_batch"]["phases"] == {"addBatch": 400}
    assert twin["flow"]["failures"][0]["code"] == "PEN-999"
    assert twin["writes"] == [
        {"dataset": "cleaned", "topic": shop.output, "guarantee": "exactly once"}
    ]


def test_the_last_records_of_a_flow_are_shown_and_run_no_script(
    console: TestClient,
    shop: PublishedPipeline,
    kafka: KafkaCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unhurried = replace(output._LIMITS, seconds=60.0)  # noqa: SLF001 - two seconds are for people
    monkeypatch.setattr(output, "_LIMITS", unhurried)
    place = f"/pipelines/{shop.name}/flows/{shop.flow}/output"
    send(kafka.connection, shop.output, [Sent(value="<script>alert(2)</script>", key="k")])
    page, found = console.get(place), console.get(place, headers=JSON).json()

    assert page.status_code == 200
    assert "<script>alert(2)" not in page.text
    assert "&lt;script&gt;alert(2)" in page.text
    (sample,) = found["samples"]
    assert (sample["topic"], sample["fault"]) == (shop.output, None)
    assert [row["key"]["text"] for row in sample["rows"]] == ["k"]


@pytest.mark.parametrize(
    "path", ["none", "none/flows/f", "{pipeline}/flows/none", "{pipeline}/flows/none/output"]
)
def test_what_is_not_there_is_not_found(
    console: TestClient, shop: PublishedPipeline, path: str
) -> None:
    answer = console.get(f"/pipelines/{path.format(pipeline=shop.name)}", headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (404, "PEN-774")


def test_a_batch_is_on_the_page_within_seconds(
    console: TestClient, shop: PublishedPipeline
) -> None:
    place = f"/pipelines/{shop.name}/flows/{shop.flow}"
    before = console.get(place, headers=JSON).json()["flow"]["last_batch"]["batch_id"]
    shop.finish_batch(before + 1, 50)

    def shows_it() -> bool:
        flow = console.get(place, headers=JSON).json()["flow"]
        return bool(flow["last_batch"]["batch_id"] == before + 1)

    eventually(shows_it, within_seconds=15)


def test_viewers_see_no_buttons_for_what_they_may_not_do(
    kafka: KafkaCluster, shop: PublishedPipeline, tmp_path: Path
) -> None:
    token, line = token_line("grafana", Role.VIEWER)
    (tmp_path / "users").write_text(f"{line}\n")
    with running_console(
        kafka.connection, tmp_path, users=load_users(tmp_path / "users")
    ) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        pages = [
            client.get(f"/pipelines/{shop.name}{path}") for path in ("", f"/flows/{shop.flow}")
        ]
        pausing = client.get(f"/pipelines/{shop.name}/pause", headers=JSON)

    assert [page.status_code for page in pages] == [200, 200]
    assert not any("/pause" in page.text for page in pages)
    assert pausing.status_code == 403


def act(console: TestClient, path: str, **fields: str) -> Response:
    """Answer the question of an action with yes."""
    asked = console.get(path, params={"ask": "1", **fields} if fields else None)
    assert asked.status_code == 200, asked.text
    answer: Response = console.post(path, data={**fields, "_proof": proof_in(asked.text)})
    return answer


@pytest.mark.usefixtures("patient_commands")
def test_a_flow_is_paused_by_its_driver_once_somebody_has_said_yes(
    console: TestClient, shop: PublishedPipeline
) -> None:
    shop.heard.clear()
    place = f"/pipelines/{shop.name}/flows/{shop.flow}"
    question = console.get(f"{place}/pause")
    asked = list(shop.heard)
    done = act(console, f"{place}/pause")

    assert "finishes its batch and rests" in question.text
    assert f"penstock pause {shop.name} --flow {shop.flow}" in question.text
    assert asked == []
    assert done.status_code == 303
    assert done.headers["location"].startswith(place)
    assert shop.heard == [Pause(flow=shop.flow)]


@pytest.mark.usefixtures("patient_commands")
def test_a_whole_pipeline_is_told_to_stop_and_the_page_does_not_wait_for_its_end(
    console: TestClient, shop: PublishedPipeline
) -> None:
    shop.heard.clear()
    done = act(console, f"/pipelines/{shop.name}/stop")

    assert done.status_code == 303
    assert shop.heard == [Stop()]


def test_a_log_level_needs_a_time_after_which_it_ends(
    console: TestClient, shop: PublishedPipeline
) -> None:
    path = f"/pipelines/{shop.name}/log-level"
    proof = proof_in(console.get(path).text)
    entered = {"logger": "org.apache.kafka", "level": "debug", "_proof": proof}
    answers = [
        console.post(path, data={**entered, **time}, headers=JSON)
        for time in ({}, {"for_seconds": "0"}, {"for_seconds": "-5"})
    ]

    assert [answer.status_code for answer in answers] == [422, 422, 422]


def test_a_log_level_of_days_is_one_that_the_command_understands(
    console: TestClient, shop: PublishedPipeline
) -> None:
    asked = {"_ask": "1", "level": "debug", "for_seconds": "1000000"}
    page = console.get(f"/pipelines/{shop.name}/log-level", params=asked).text

    line = line_on(page)

    assert line is not None
    assert understood(line)["duration"] == timedelta(seconds=1_000_000)
    assert "1000000 seconds" in page


@pytest.mark.usefixtures("patient_commands")
def test_what_the_driver_refuses_is_told_with_its_reason(
    console: TestClient, shop: PublishedPipeline
) -> None:
    path = f"/pipelines/{shop.name}/log-level"
    proof = proof_in(console.get(path).text)
    entered = {"logger": "org.apache.kafka", "level": "debug", "for_seconds": "60"}
    answer = console.post(path, data={**entered, "_proof": proof}, headers=JSON)

    assert answer.status_code >= 400
    assert answer.json()["message"] == "the pipeline is starting"
