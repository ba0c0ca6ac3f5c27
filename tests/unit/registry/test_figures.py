"""What a registry measures of itself, and that the catalog of metrics says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from penstock.monitoring.catalog.registry import REGISTRY
from penstock.registry.figures import Figures, class_of
from penstock.registry.state import RegistryState

if TYPE_CHECKING:
    from prometheus_client import Metric
    from starlette.requests import Request
    from starlette.responses import Response


async def _subjects(_request: Request) -> Response:
    return PlainTextResponse("[]")


@pytest.fixture
def client() -> TestClient:
    figures = Figures(RegistryState(), leads=lambda: True)
    app = Starlette(routes=[Route("/subjects", _subjects)])
    return TestClient(figures.counting(figures.answering(app)))


def families(client: TestClient) -> dict[str, Metric]:
    text = client.get("/metrics").text
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_requests_are_counted_by_what_they_ask_and_the_status(client: TestClient) -> None:
    for path in ("/subjects", "/subjects", "/subjects/none", "/wp-login.php"):
        client.get(path)

    told = families(client)

    assert {
        (sample.labels["asked"], sample.labels["status"]): sample.value
        for sample in told["penstock_registry_requests"].samples
        if sample.name.endswith("_total")
    } == {("subjects", "200"): 2, ("subjects", "404"): 1, ("other", "404"): 1}
    assert told["penstock_registry_leads"].samples[0].value == 1


def test_the_catalog_has_what_a_registry_tells(client: TestClient) -> None:
    told = {
        name + ("_total" if family.type == "counter" else ""): (family.type, family.documentation)
        for name, family in families(client).items()
    }

    assert told == {item.name: (item.kind, item.meaning) for item in REGISTRY}


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/subjects/a/versions", "subjects"),
        ("/v1/metadata/id", "v1"),
        ("/", "other"),
        ("", "other"),
        ("/<script>", "other"),
    ],
)
def test_what_nobody_serves_is_one_class(path: str, asked: str) -> None:
    assert class_of(path) == asked
