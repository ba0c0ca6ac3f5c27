"""What Kubernetes is told: valid by its own schema, complete, and without a secret."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from penstock.deployment import (
    DriverPod,
    chart_files,
    manifests,
    object_name,
    referenced_variables,
    yaml_text,
)
from penstock.settings import environment_variable, known_settings

POD = DriverPod(
    name="shop",
    namespace="streams",
    image="registry.example/shop:1.2",
    profile="production",
    secret="shop-secrets",  # noqa: S106 - the name of one
    variables=("KAFKA_PASSWORD",),
    executors="3",
    driver_memory_mb=2048,
)
API_VERSION = "1.33"

LETTERS = st.characters(codec="utf-8", max_codepoint=0xFFFF, exclude_categories=["Cs", "Cc"])
PLAIN = st.text(LETTERS)
NAMES = st.text(LETTERS, max_size=100)
"""Keys: YAML takes no more than 1,024 characters, six of which may stand for one of these."""

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN | PLAIN.map(lambda text: f"{text}\n{text}\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def objects(pod: DriverPod) -> dict[str, dict[str, Any]]:
    """Return the objects as Kubernetes reads them, by kind."""
    read = [yaml.safe_load(yaml_text(document)) for document in manifests(pod).values()]
    return {item["kind"]: item for item in read}


def container(pod: DriverPod, kind: str = "Deployment") -> dict[str, Any]:
    template = objects(pod)[kind]["spec"]["template"]
    found: dict[str, Any] = template["spec"]["containers"][0]
    return found


def rendered(template: str, values: dict[str, Any]) -> str:
    """Do what Helm does to our templates: put values in the place of plain expressions."""

    def value(match: re.Match[str]) -> str:
        kind, _, name = match[1].partition(".")
        release = {"Name": "shop", "Namespace": "streams"}
        return str(release[name] if kind == "Release" else values[name])

    text = re.sub(r"\{\{ \.([\w.]+) \}\}", value, template)
    assert "{{" not in text
    return text


@pytest.mark.parametrize("once", [False, True])
def test_every_manifest_is_valid_by_the_schema_of_the_api(*, once: bool) -> None:
    pod = replace(POD, once=once)

    kinds = [item["kind"] for item in objects(pod).values()]
    for item in objects(pod).values():
        kubernetes_validate.validate(item, API_VERSION, strict=True)

    assert kinds == [
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ConfigMap",
        "Service",
        "Job" if once else "Deployment",
    ]


def test_the_schema_refuses_what_is_wrong() -> None:
    wrong = objects(POD)["Deployment"]
    wrong["spec"]["replicas"] = "one"

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, API_VERSION, strict=True)


def test_secrets_are_named_and_never_shown() -> None:
    variables = {item["name"]: item for item in container(POD)["env"]}

    assert variables["KAFKA_PASSWORD"] == {
        "name": "KAFKA_PASSWORD",
        "valueFrom": {"secretKeyRef": {"name": "shop-secrets", "key": "KAFKA_PASSWORD"}},
    }


def test_there_is_one_driver_at_a_time() -> None:
    spec = objects(POD)["Deployment"]["spec"]

    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_executors_find_the_driver_by_the_name_of_the_service() -> None:
    found = objects(POD)
    conf = dict(
        line.split(" ", 1)
        for line in found["ConfigMap"]["data"]["spark-defaults.conf"].splitlines()
    )
    ports = {item["name"]: item["port"] for item in found["Service"]["spec"]["ports"]}

    assert conf["spark.driver.host"] == "shop.streams.svc"
    assert conf["spark.driver.port"] == str(ports["driver"])
    assert conf["spark.driver.blockManager.port"] == str(ports["blocks"])
    assert found["Service"]["spec"]["publishNotReadyAddresses"]
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"].items() <= labels.items()


def test_the_driver_may_start_executors_and_nothing_else() -> None:
    found = objects(POD)

    assert found["Role"]["rules"][0]["resources"] == [
        "pods",
        "configmaps",
        "persistentvolumeclaims",
    ]
    assert (
        found["RoleBinding"]["subjects"][0]["name"] == found["ServiceAccount"]["metadata"]["name"]
    )
    pod = found["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]


def test_health_and_readiness_are_asked_on_the_port_of_the_service() -> None:
    driver = container(POD)
    variables = {item["name"]: item.get("value") for item in driver["env"]}
    port = driver["ports"][0]["containerPort"]

    assert driver["livenessProbe"]["httpGet"] == {"path": "/health", "port": "health"}
    assert driver["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "health"}
    assert variables["PENSTOCK_PIPELINE_HEALTH_PORT"] == str(port)
    assert variables["PENSTOCK_PIPELINE_HEALTH_HOST"] == "0.0.0.0"  # noqa: S104 - the pod's own


def test_every_variable_of_penstock_is_a_setting() -> None:
    known = {environment_variable(item.key) for item in known_settings()}
    names = {item["name"] for item in container(POD)["env"]}

    assert {name for name in names if name.startswith("PENSTOCK_")} <= known


def test_a_run_that_ends_is_a_job_without_probes() -> None:
    job = container(replace(POD, once=True), "Job")

    assert job["command"][-1] == "--once"
    assert "livenessProbe" not in job


def test_the_chart_with_its_own_values_is_the_manifests() -> None:
    files = chart_files(POD, app_version="1f2e3d4c5b6a")
    values = yaml.safe_load(files["values.yaml"])
    templates = {
        path.removeprefix("templates/"): yaml.safe_load(rendered(text, values))
        for path, text in files.items()
        if path.startswith("templates/")
    }

    expected = {name: yaml.safe_load(yaml_text(item)) for name, item in manifests(POD).items()}
    assert templates == expected
    assert yaml.safe_load(files["Chart.yaml"])["appVersion"] == "1f2e3d4c5b6a"


def test_variables_of_other_profiles_are_not_asked_for() -> None:
    document = tomllib.loads(
        """
        [profiles.production]
        sasl_password = "${env:KAFKA_PASSWORD}"
        [profiles.production.spark.conf]
        "spark.hadoop.fs.s3a.secret.key" = "${env:S3_KEY}"
        [profiles.trial]
        sasl_password = "${env:TRIAL_PASSWORD}"
        """
    )

    assert referenced_variables(document, "production") == ("KAFKA_PASSWORD", "S3_KEY")


@pytest.mark.parametrize(
    ("pipeline", "expected"), [("web_logs", "web-logs"), ("a" * 80, "a" * 50), ("shop", "shop")]
)
def test_names_become_what_kubernetes_allows(pipeline: str, expected: str) -> None:
    assert object_name(pipeline) == expected


@given(DOCUMENTS)
def test_a_document_is_read_as_it_was_written(document: Any) -> None:  # noqa: ANN401
    assert yaml.safe_load(yaml_text(document)) == document
