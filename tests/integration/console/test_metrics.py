"""Metrics over HTTP: the text for Prometheus, the query API, the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.console.access import Role, load_users, token_line
from penstock.control.detached import Detached
from penstock.control.operating import Operator
from penstock.monitoring.catalog.flows import INPUT_RECORDS
from penstock.monitoring.catalog.registry import REGISTRY
from penstock.names import PipelineName, TopicName
from penstock.registry.client import RegistryAddress, RegistryClient
from support.consoles import running_console
from support.published_pipelines import published_pipeline
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from penstock.kafka import Connection
    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}
QUERY = {
    "aggregations": [{"metric": INPUT_RECORDS.name}],
    "granularity": "PT1M",
    "intervals": ["PT1H/now"],
}


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with running_console(kafka.connection, tmp_path_factory.mktemp("console")) as client:
        yield client


def test_prometheus_reads_what_the_console_measures(console: TestClient) -> None:
    answer = console.get("/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert all(family.documentation for family in text_string_to_metric_families(answer.text))


@pytest.mark.long
def test_the_console_tells_what_its_own_clients_do(console: TestClient) -> None:
    """A client tells every five seconds, and is known after the second time."""

    def followers() -> list[float]:
        families = text_string_to_metric_families(console.get("/metrics").text)
        return [
            item.value
            for family in families
            for item in family.samples
            if item.name == "penstock_consumer_request_rate"
        ]

    eventually(lambda: any(rate > 0 for rate in followers()), within_seconds=60)


def test_the_console_tells_what_the_registry_measures(
    kafka: KafkaCluster, registry_url: str, tmp_path: Path
) -> None:
    address = RegistryAddress(url=registry_url)
    with RegistryClient(address) as asking:
        asking.subjects()
    with running_console(kafka.connection, tmp_path, registry=address) as console:
        families = text_string_to_metric_families(console.get("/metrics").text)
        told = {item.name: item.value for family in families for item in family.samples}

    assert {metric.name for metric in REGISTRY} <= told.keys()
    assert told["penstock_registry_requests_total"] >= 1


def test_a_query_is_answered_in_the_dialect(console: TestClient) -> None:
    answer = console.post("/metrics/query", json=QUERY)

    assert answer.status_code == 200
    assert answer.json()["meta"] == {"pagination": {"page_size": 100}}


def test_the_query_of_the_course_is_answered(console: TestClient) -> None:
    """Printed so for another cluster and another year: there is nothing to tell about those."""
    body = {
        "aggregations": [{"metric": "io.confluent.kafka.server/sent_bytes"}],
        "filter": {
            "op": "OR",
            "filters": [{"field": "resource.kafka.id", "op": "EQ", "value": "lkc-o36739"}],
        },
        "granularity": "PT1M",
        "intervals": ["2022-08-02T14:56:00-04:00/2022-08-02T15:56:00-04:00"],
        "limit": 1000,
    }
    answer = console.post("/metrics/query", json=body)

    assert (answer.status_code, answer.json()["data"]) == (200, [])


def test_a_wrong_query_is_a_fault_of_whoever_asks(console: TestClient) -> None:
    answer = console.post("/metrics/query", json={**QUERY, "granularity": "PT7M"}, headers=JSON)

    assert answer.status_code == 400
    assert answer.json()["code"] == "PEN-643"
    assert "`granularity` of the query" in answer.json()["message"]
    assert console.post("/metrics/query", content=b"x" * 70_000, headers=JSON).status_code == 400


def test_the_explorer_is_a_page_with_a_twin(console: TestClient) -> None:
    page = console.get("/explorer?frame=6h")
    twin = console.get("/explorer?frame=6h", headers=JSON).json()

    assert "curl http://127.0.0.1:8090/metrics/query" in page.text
    assert (twin["frame"], twin["query"]["intervals"]) == ("6h", ["PT360M/now"])


def test_a_scrape_needs_a_token_where_users_log_in(kafka: KafkaCluster, tmp_path: Path) -> None:
    token, line = token_line("prometheus", Role.VIEWER)
    (tmp_path / "users").write_text(f"{line}\n")
    users = load_users(tmp_path / "users")
    with running_console(kafka.connection, tmp_path, users=users) as guarded:
        assert guarded.get("/metrics", headers=JSON).status_code == 401
        answer = guarded.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200
        query = guarded.post(
            "/metrics/query", json=QUERY, headers={"Authorization": f"Bearer {token}"}
        )
        assert query.status_code == 200
        # As the course's query is sent: a key and its secret.
        for name, secret, status in (("key", token, 200), ("key", "wrong", 401), (token, "", 401)):
            answer = guarded.post("/metrics/query", json=QUERY, headers=JSON, auth=(name, secret))
            assert answer.status_code == status


def test_what_a_pipeline_promises_is_on_a_page_and_scraped(
    kafka: KafkaCluster, tmp_path: Path
) -> None:
    name = PipelineName(f"shop-{uuid4().hex[:8]}")
    with published_pipeline(kafka.connection, name, output=TopicName("cleaned")):
        await_promises(kafka.connection, name, tmp_path)
        with running_console(kafka.connection, tmp_path) as console:
            page = console.get("/service-levels")
            levels = console.get("/service-levels", headers=JSON).json()["levels"]
            text = console.get("/metrics").text

    assert [
        (line["name"], line["promise"], line["promised_share"])
        for line in levels
        if line["pipeline"] == name
    ] == [("there", "99.5 % of the time `clean` runs, over 24 h", 0.995)]
    assert f'href="/pipelines/{name}"' in page.text
    assert (
        f'penstock_service_level_target_ratio{{pipeline="{name}",service_level="there"}} 0.995'
        in text
    )


def await_promises(connection: Connection, name: PipelineName, folder: Path) -> None:
    """Wait until the driver of a pipeline has told what it promises."""
    with Operator(connection, Detached(folder / "data")) as operator:
        eventually(
            lambda: any(
                found.pipeline == name and operator.about(found) for found in operator.list()
            ),
            within_seconds=30,
        )
